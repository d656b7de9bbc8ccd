"""Dialect-free values: events of a stream, whole responses, requests, errors.

They say what was said, not how a wire spells it, and hold no storage identity.
Everything here is frozen: what a rule forbids cannot be constructed.
"""

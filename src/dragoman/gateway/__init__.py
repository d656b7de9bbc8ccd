"""The gateway: an ASGI application that answers clients of every dialect from upstreams of every dialect.

``config`` reads what the operator wrote, ``app`` takes requests, ``exchange`` answers one of them
from top to bottom, ``server`` listens.
"""

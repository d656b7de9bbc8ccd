"""Upstreams: whoever answers a request. One small interface, several implementations.

``interface`` is the contract, ``http`` a server behind a URL, ``demo`` one without a network,
``scripted`` one whose answers a test writes down.
"""

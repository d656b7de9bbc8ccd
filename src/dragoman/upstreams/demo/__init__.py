"""The demo upstream: recorded Chat Completions streams, quirks included, without a network.

    upstream = DemoUpstream(pace=0.03)

``streams.yaml`` holds the recordings, one model each: what real servers send, one oddity at a time.
``request`` reads what was asked, ``arguments`` makes up a call's arguments from its schema,
``recording`` plays a recording, ``answer`` chooses one and puts it on the wire, whole or streamed.
"""

from __future__ import annotations

from dragoman.upstreams.demo.recording import MODELS
from dragoman.upstreams.demo.upstream import DemoUpstream

__all__ = ["MODELS", "DemoUpstream"]

"""Bytes to records, records to the canonical stream. No IO, no clock, no randomness.

    bytes ─ body ─▶ records ─ dialect decoder ─▶ AnswerAssembler ─▶ canonical events ─ encoder ─▶ bytes

``sse`` and ``body`` cut bytes into records; ``answer`` is what decoders talk to, and behind it
``toolcalls`` (which call does a fragment belong to), ``arguments`` (what text of it goes out),
``sequence`` (one block at a time) and ``finish`` (how it ended). ``order`` holds the legal orders,
``encoder`` the base of the encoders, ``accumulate`` joins events to a whole response.
"""

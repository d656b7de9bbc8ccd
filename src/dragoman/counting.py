"""How many tokens a request has, about: for upstreams that do not count (design/requests.md, 6).

No tokenizer ships with this package: the only well-kept one that has its vocabulary inside is a wheel
of 40 MB, and would be right for one vendor only. What a tokenizer makes of a text depends above all
on its words, their lengths and their scripts, and these are counted here, each at what OpenAI's
``o200k_base`` needs for it on average. Measured against that on text which the figures do not come from
(``python -m bench.tokens``): {figures}
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections import Counter
from collections.abc import Iterable
from math import ceil
from typing import Any

from dragoman import jsontext
from dragoman.canonical import request as q


# ---- text

_LATIN = "A-Za-z\u00c0-\u024f\u1e00-\u1eff"
_ACCENTED = re.compile(f"[{_LATIN}]*[\u00c0-\u024f\u1e00-\u1eff][{_LATIN}]*")
_PIECE = re.compile("[A-Z]?[a-z]+|[A-Z](?![A-Z])")
_CAPITALS = re.compile("[A-Z]{2,}")
_DIGITS = re.compile("[0-9]{1,3}")
_MARKS = re.compile(r"[!-/:-@\[-`{-~]+")
_LINES = re.compile(r"\n+")
_INDENTS = re.compile(r"[ \t]{2,}")

_Cost = tuple[float, float, int]
"""Tokens of a run of characters: a first part, more for each character, and how many are free of that."""

_SCRIPTS: dict[str, tuple[str, _Cost]] = {
    "cyrillic": ("\u0400-\u052f", (0, 0, 0)),
    "greek": ("\u0370-\u03ff\u1f00-\u1fff", (0, 0, 0)),
    "armenian and georgian": ("\u0530-\u058f\u10a0-\u10ff", (0, 0, 0)),
    "hebrew": ("\u0590-\u05ff", (0, 0, 0)),
    "arabic": ("\u0600-\u06ff\u0750-\u077f", (0, 0, 0)),
    "devanagari": ("\u0900-\u097f", (0, 0, 0)),
    "other indic": ("\u0980-\u0dff", (0, 0, 0)),
    "thai": ("\u0e00-\u0e7f", (0, 0, 0)),
    "khmer, lao, burmese": ("\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff", (0, 0, 0)),
    "hangul": ("\u1100-\u11ff\uac00-\ud7af", (0, 0, 0)),
    "kana": ("\u3040-\u30ff", (0, 0, 0)),
    "han": ("\u3400-\u9fff\uf900-\ufaff", (0, 0, 0)),
    "full-width marks": ("\u3000-\u303f\uff00-\uffef", (0, 0, 0)),
    "marks": ("\u00a0-\u00bf\u2000-\u206f\u20a0-\u218f\u2190-\u2bff", (0, 0, 0)),
}

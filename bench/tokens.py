"""``python -m bench.tokens``: how far the estimate of ``dragoman.counting`` is from a real tokenizer.

Needs ``pip install bpe-openai`` (the vocabulary is in the package), and ``sphinx`` for texts in other
languages. Prints the error for each sort of text: on average, of the average, and of 19 of 20 pieces.
"""

from __future__ import annotations

import importlib.util
import random
import re
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

from dragoman.counting import text_tokens

PIECE = 3000  # characters
PIECES = 60  # of each sort
VOCABULARIES = ("o200k_base", "cl100k_base")

_MESSAGE = re.compile(r'^msgstr(?:\[\d\])? ((?:"(?:[^"\\]|\\.)*"\s*)+)', re.MULTILINE)
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')


def texts() -> Iterator[tuple[str, list[str]]]:
    """Sorts of text, with texts of each: what is there on any machine that runs this project."""
    library = Path(sysconfig.get_path("stdlib"))
    fixtures = Path(__file__).parent.parent / "tests" / "fixtures"
    yield "python", [_read(file) for file in sorted(library.glob("*.py"))]
    yield "json", ["\n".join(_read(file) for file in sorted(fixtures.rglob("*.json")))]
    yield "markdown", [_read(file) for file in sorted(Path(sysconfig.get_path("purelib")).rglob("*.md"))]
    found = importlib.util.find_spec("sphinx")
    if found is not None and found.origin is not None:
        for catalogue in sorted(Path(found.origin).parent.glob("locale/*/LC_MESSAGES/sphinx.po")):
            yield catalogue.parts[-3], [_translations(_read(catalogue))]


def _read(file: Path) -> str:
    return file.read_text("utf-8", errors="ignore")


def _translations(catalogue: str) -> str:
    said = ("".join(_QUOTED.findall(found[1])) for found in _MESSAGE.finditer(catalogue))
    return "\n".join(text.replace("\\n", "\n").replace('\\"', '"') for text in said if text)


def pieces(sort: list[str]) -> list[str]:
    """Up to ``PIECES`` pieces, the same in each run."""
    cut = [text[place : place + PIECE] for text in sort for place in range(0, len(text) - PIECE // 2, PIECE)]
    random.Random(len(cut)).shuffle(cut)
    return cut[:PIECES]


def table(name: str, count: Callable[[str], int]) -> None:
    every: list[float] = []
    print(f"\nagainst {name}\n{'':14}{'mean':>8}{'bias':>8}{'95 %':>8}")
    for sort, whole in texts():
        errors = [(text_tokens(piece) - tokens) / tokens for piece in pieces(whole) if (tokens := count(piece))]
        every += errors
        if errors:
            print(_row(sort, errors))
    print(_row("all", every))


def _row(sort: str, errors: list[float]) -> str:
    sizes = sorted(map(abs, errors))
    mean, bias, most = sum(sizes) / len(sizes), sum(errors) / len(errors), sizes[int(len(sizes) * 0.95)]
    return f"{sort:14}{mean:8.1%}{bias:+8.1%}{most:8.1%}"


def main() -> None:
    if importlib.util.find_spec("bpe_openai") is None:
        sys.exit("bench.tokens: pip install bpe-openai first")
    tokenizers = importlib.import_module("bpe_openai")
    for name in VOCABULARIES:
        encoding = tokenizers.get_encoding(name)
        table(name, lambda text, encoding=encoding: len(encoding.encode_ordinary(text)))  # type: ignore[misc]


if __name__ == "__main__":
    main()

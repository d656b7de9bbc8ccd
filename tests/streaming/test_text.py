"""Text deltas: halves of characters (case ``sse-surrogate-pair-split``), thoughts between tags, snapshots."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.streaming.text import SnapshotText, SurrogateJoiner, ThinkSplitter
from tests.streaming.building import as_sent, awkward, cut

# ------------------------------------------------------------------ surrogates


def joined(pieces: list[str]) -> str:
    joiner = SurrogateJoiner()
    return "".join(joiner.feed(piece) for piece in pieces) + joiner.finish()


def units(text: str) -> str:
    """The text in UTF-16 units, as a server that cuts between them sees it."""
    raw = text.encode("utf-16-le", "surrogatepass")
    return "".join(chr(raw[n] | raw[n + 1] << 8) for n in range(0, len(raw), 2))


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (["a\ud83d", "\ude00b"], "a😀b"),
        (["\ud83d", "\ude00"], "😀"),
        (["\ud83d", "", "\ude00"], "😀"),
        (["\ud83d", "\ude00\ud83d", "\ude00"], "😀😀"),
        (["a\ud83d"], "a\ufffd"),  # sse-surrogate-lone
        (["\ude00a"], "\ufffda"),
        (["\ud83db"], "\ufffdb"),
        (["\ud83d", "a"], "\ufffda"),
        (["\ud83d", "\ud83d", "\ude00"], "\ufffd😀"),
        (["\ud83d", "\ud83dX"], "\ufffd\ufffdX"),
        (["\ude00", "\ude00"], "\ufffd\ufffd"),
    ],
)
def test_halves_of_characters(pieces: list[str], text: str) -> None:
    assert joined(pieces) == text


@given(st.text(), st.data())
def test_a_pair_may_be_cut_anywhere(text: str, data: st.DataObject) -> None:
    assert joined([as_sent(piece) for piece in data.draw(cut(units(text)))]) == text


@given(st.text(st.sampled_from("a\ud83d\ude00\ud800\udfff"), min_size=1), st.data())
def test_halves_in_any_cut(text: str, data: st.DataObject) -> None:
    """A lone half is one U+FFFD, wherever the cut falls."""
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert joined([as_sent(piece) for piece in data.draw(cut(text))]) == whole


def test_whole_characters_are_not_held() -> None:
    joiner = SurrogateJoiner()
    assert [joiner.feed(piece) for piece in ("a", "é", "😀", "")] == ["a", "é", "😀", ""]
    assert joiner.finish() == ""


# ------------------------------------------------------------------ <think>


def split(pieces: list[str]) -> tuple[str, str]:
    splitter, texts = ThinkSplitter(), {True: "", False: ""}
    for found in [*(splitter.feed(piece) for piece in pieces), splitter.finish()]:
        for thought, text in found:
            assert text
            texts[thought] += text
    return texts[True], texts[False]


@pytest.mark.parametrize(
    ("text", "thoughts", "answer"),
    [
        ("", "", ""),
        ("Hello", "", "Hello"),
        ("<think>Hm.</think>Hello", "Hm.", "Hello"),
        ("\n<think>Hm.</think>\n\n Hello \n", "Hm.", "Hello \n"),  # blanks between belong to neither
        ("<think>\nHm.\n</think>Hello", "\nHm.\n", "Hello"),
        ("<think></think>Hello", "", "Hello"),
        ("<think>Hm", "Hm", ""),  # think-tag-unterminated: it stays reasoning
        ("<think>Hm</thin", "Hm</thin", ""),
        ("<think>a</b></think>c", "a</b>", "c"),
        ("<think>a<think>b</think>c", "a<think>b", "c"),
        ("<think>a</think>b</think>c", "a", "b</think>c"),
        ("Hm.</think>Hello", "", "Hm.</think>Hello"),  # think-tag-no-opener
        ("Say <think>no</think>", "", "Say <think>no</think>"),  # control-think-tag-later
        ("<thinking>no", "", "<thinking>no"),
        ("<thin", "", "<thin"),
        ("  ", "", "  "),
        ("<think>Hm.</think>\n", "Hm.", ""),
        ("<THINK>a", "", "<THINK>a"),
    ],
)
def test_a_leading_block_becomes_reasoning(text: str, thoughts: str, answer: str) -> None:
    for pieces in awkward(text):
        assert split(pieces) == (thoughts, answer), pieces


@given(st.text(st.sampled_from("a \n<>/")), st.text(st.sampled_from("b \n<>/thik")), st.data())
def test_thoughts_in_any_cut(thoughts: str, answer: str, data: st.DataObject) -> None:
    text = f"<think>{thoughts}</think>{answer}"
    assert split(data.draw(cut(text))) == (thoughts, answer.lstrip())


@given(st.text(st.sampled_from("<think>/ a\n")), st.data())
def test_the_cut_does_not_matter(text: str, data: st.DataObject) -> None:
    assert split(data.draw(cut(text))) == split([text])


@pytest.mark.parametrize(
    ("pieces", "found"),
    [
        (["<", "a"], [[], [(False, "<a")]]),
        (["<thi", "nk>a"], [[], [(True, "a")]]),
        (["<think>a<", "b"], [[(True, "a")], [(True, "<b")]]),
        (["Hi", "<think>"], [[(False, "Hi")], [(False, "<think>")]]),
        (["<think>a</think>", " ", " b"], [[(True, "a")], [], [(False, "b")]]),
    ],
)
def test_only_what_can_be_a_tag_is_held(pieces: list[str], found: list[list[tuple[bool, str]]]) -> None:
    splitter = ThinkSplitter()
    assert [splitter.feed(piece) for piece in pieces] == found


# ------------------------------------------------------------------ snapshots of text


def said(pieces: list[str]) -> tuple[list[str], bool]:
    text = SnapshotText()
    return [*(text.feed(piece) for piece in pieces), text.finish()], text.latched


@pytest.mark.parametrize(
    ("pieces", "text", "latched"),
    [
        # content-cumulative: two whole-buffer extensions in a row are proof
        (["The quick", "The quick brown", "The quick brown fox"], "The quick brown fox", True),
        (["The quick", "The quick b", "The quick br", "The quick br", "The quick bro"], "The quick bro", True),
        (["The quick", "The quick b", "The quick br", "The", "The quick bro"], "The quick bro", True),
        (["The quick", "The quick b", "The quick br", "!"], "The quick br!", True),
        (["The", "The quick", "The quick brown"], "The quick brown", True),
        (["T", "Th", "The ", "The quick", "The quick b", "The quick br"], "The quick br", True),
        # one of them is text like any other
        (["The quick", "The quick brown"], "The quickThe quick brown", False),
        (["The quick", "The quick brown", " fox"], "The quickThe quick brown fox", False),
        (["The quick", "The quick brown", "The quick brown"], "The quick" + "The quick brown" * 2, False),
        # reasoning-placeholder-repeats: equal neighbours are no evidence
        (["Thinking...", "Thinking...", "Thinking..."], "Thinking..." * 3, False),
        (["ha", "haha", "hahaha", "hahahaha"], "hahahahahahahahahaha", False),  # too short to mean anything
        (["Hello, world", " and", "Hello, world and", "Hello, world andHello"], "Hello, world andHello, world andHello, world andHello", False),
        ([], "", False),
        (["", "a", ""], "a", False),
    ],
)  # fmt: skip
def test_snapshots(pieces: list[str], text: str, latched: bool) -> None:
    found, proven = said(pieces)
    assert ("".join(found), proven) == (text, latched)


@given(st.text(min_size=20, max_size=60), st.data())
def test_snapshots_in_any_cut(text: str, data: st.DataObject) -> None:
    early = data.draw(st.sets(st.integers(1, SnapshotText.LEAST), min_size=1))
    edges = sorted(early | data.draw(st.sets(st.integers(SnapshotText.LEAST + 1, len(text) - 1), min_size=1)))
    found, latched = said([*(text[:edge] for edge in edges), text])
    assert "".join(found) == text
    assert latched


@given(st.text(st.sampled_from("ab "), max_size=60), st.data())
def test_deltas_are_not_taken_for_snapshots(text: str, data: st.DataObject) -> None:
    """Plain text in pieces comes out whole, however often it repeats itself."""
    pieces = [piece for piece in data.draw(cut(text)) if len(piece) <= SnapshotText.LEAST]
    found, latched = said(pieces)
    assert "".join(found) == "".join(pieces)
    assert not latched


def test_only_extensions_are_held() -> None:
    found, _ = said(["The quick", "The quick brown", "no", "The quick"])
    assert found == ["The quick", "", "The quick brownno", "The quick", ""]
    found, _ = said(["ha", "haha", "hahaha", "no"])
    assert found == ["ha", "", "", "hahahahahano", ""]


def test_snapshots_that_went_out_as_they_were_prove_nothing_any_more() -> None:
    text = SnapshotText()
    said = [text.feed("The quick"), text.feed("The quick brown"), text.finish(), text.feed("The quick brown fox")]
    assert "".join(said) == "The quickThe quick brownThe quick brown fox"
    assert text.sees_none

"""What argument text goes out: design/streams.md, 4. Rows named after a case are in ``cases/streams/chat``."""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dragoman.streaming.arguments import FreeformArguments, JSONArguments, argument_text
from tests.streaming.building import JSON_OBJECTS, Notes, awkward, cut, written


class Outcome(NamedTuple):
    text: str
    complete: bool
    sound: bool = True
    """Of all deltas: the text can be, or become, a JSON object."""


def outcome(pieces: list[str], *, normal: bool = True, notes: Notes | None = None) -> Outcome:
    arguments = JSONArguments(notes if notes is not None else Notes())
    for piece in pieces:
        arguments.feed(piece)
    complete = arguments.finish(normal=normal)
    sounds = [delta.sound for delta in arguments.out]
    assert sounds == sorted(sounds, reverse=True), "text that is unsound stays so"
    assert all(delta.text for delta in arguments.out)
    return Outcome("".join(delta.text for delta in arguments.out), complete, all(sounds))


PARIS = '{"city":"Paris"}'

AT_A_NORMAL_END: dict[str, tuple[list[str], Outcome, str | None]] = {
    # nothing, and what stands for nothing
    "nothing": ([], Outcome("{}", True), None),  # args-empty-zero-arg
    "blanks": (["\n", " "], Outcome("{}", True), None),
    "null": (["null"], Outcome("{}", True), None),  # args-null-literal
    "empty object": (["{}"], Outcome("{}", True), None),  # args-object-empty
    "empty object with blanks": (["{", "\n}"], Outcome("{\n}", True), None),
    "nothing in quotes": (['""'], Outcome("{}", True), None),
    "null in quotes": (['"null"'], Outcome("{}", True), None),
    "placeholder": (["{}", PARIS], Outcome(PARIS, True), "args-placeholder"),  # args-empty-object-prefix
    "placeholder in pieces": (["{", "}", '{"city":', '"Paris"}'], Outcome(PARIS, True), "args-placeholder"),
    "null as placeholder": (["null", PARIS], Outcome(PARIS, True), "args-placeholder"),
    "quotes as placeholder": (['""', PARIS], Outcome(PARIS, True), "args-placeholder"),
    "placeholder twice": (["{}", "{}", PARIS], Outcome(PARIS, True), "args-placeholder"),
    "placeholder twice, nothing else": (["{}", "{}"], Outcome("{}", True), None),
    "placeholder, then blanks": (["{}", "\n"], Outcome("{}", True), None),
    "placeholder, then no JSON": (["{}", "oops"], Outcome("{}oops", True, False), "args-not-json"),
    # blanks are no second value
    "leading blank": (["\n", PARIS], Outcome("\n" + PARIS, True), None),  # args-leading-space-fragment
    "trailing blank": ([PARIS, "\n", ""], Outcome(PARIS + "\n", True), None),  # args-trailing-empty-delta
    # one level of double encoding is undone, for an object
    "double": (['"{\\"city\\":\\"Paris\\"}"'], Outcome(PARIS, True), "args-double-encoded"),
    "double, streamed": (['"{\\"ci', 'ty\\":\\"Pa', 'ris\\"}"'], Outcome(PARIS, True), "args-double-encoded"),
    "double, empty object": (['"{}"'], Outcome("{}", True), None),
    "double, blanks inside": (['"{ }"'], Outcome("{ }", True), None),
    "double, with escapes": (['"{\\"a\\":\\"\\\\u00e9\\"}"'], Outcome('{"a":"\\u00e9"}', True), "args-double-encoded"),
    "double, sent twice": (['"{\\"a\\":1}"', '"{\\"a\\":1}"'], Outcome('{"a":1}', True), "args-echo"),
    "two levels": (['"\\"{}\\""'], Outcome('"\\"{}\\""', True, False), None),
    "a string": (['"{hello}"'], Outcome('"{hello}"', True, False), None),
    "a string with an array": (['"[1]"'], Outcome('"[1]"', True, False), None),
    "nested string": (['{"a":"{\\"b\\":1}"}'], Outcome('{"a":"{\\"b\\":1}"}', True), None),  # control
    # snapshots of all the text so far
    "cumulative": (['{"ci', '{"city":', '{"city":"Paris"}'], Outcome(PARIS, True), "args-cumulative"),
    "cumulative at a value": (['{"city":', '{"city":"Par', PARIS], Outcome(PARIS, True), "args-cumulative"),
    "cumulative, two snapshots": (['{"city":', PARIS], Outcome(PARIS, True), "args-cumulative"),
    "cumulative, each twice": (['{"ci', '{"ci', PARIS, PARIS], Outcome(PARIS, True), "args-cumulative"),
    "cumulative, behind": (['{"ci', '{"city":', '{"city"', PARIS], Outcome(PARIS, True), "args-cumulative"),
    "cumulative, then suffixes": (['{"ci', '{"city":', '"Paris"}'], Outcome(PARIS, True), "args-cumulative"),
    "cumulative, then no JSON": (['{"ci', '{"city":', "}"], Outcome('{"city":}', True, False), "args-not-json"),
    "cumulative, double": (['"{\\"ci', '"{\\"city\\":', '"{\\"city\\":\\"Paris\\"}"'], Outcome(PARIS, True), "args-double-encoded"),
    "cumulative, double, cut at a backslash": (['"{', '"{\\', '"{\\', '"{\\"a\\":1}"'], Outcome('{"a":1}', True), "args-double-encoded"),
    "starts like the buffer": (['{"', '{":1}'], Outcome('{"{":1}', True), None),  # control
    "repeated fragment": (['{"a":"', "ha", "ha", '"}'], Outcome('{"a":"haha"}', True), None),  # control
    "an object in itself": (['{"a":', '{"a":1}', "}"], Outcome('{"a":{"a":1}}', True), None),
    # whole arguments sent again
    "echo": ([PARIS, PARIS], Outcome(PARIS, True), "args-echo"),  # args-streamed-then-full
    "echo of pieces": (['{"city":', '"Paris"}', PARIS], Outcome(PARIS, True), "args-echo"),
    "echo in pieces": ([PARIS, '{"ci', 'ty":"Paris', '"}'], Outcome(PARIS, True), "args-echo"),
    "echo twice in one": ([PARIS, PARIS + PARIS], Outcome(PARIS, True), "args-echo"),
    "echo after a blank": ([PARIS, "\n" + PARIS], Outcome(PARIS + "\n", True), "args-echo"),
    "placeholder and arguments in one": (["{}" + PARIS], Outcome(PARIS, True), "args-placeholder"),
    "placeholder with a blank": (["{ }", PARIS], Outcome(PARIS, True), "args-placeholder"),
    "null and arguments in one": (["null" + PARIS], Outcome(PARIS, True), "args-placeholder"),
    "twice in one": ([PARIS + PARIS], Outcome(PARIS, True), "args-echo"),
    "twice in one, after a piece": (['{"city', '":"Paris"}' + PARIS], Outcome(PARIS, True), "args-echo"),
    "two objects in one": ([PARIS + '{"a":1}'], Outcome(PARIS + '{"a":1}', True, False), "args-not-json"),
    "no echo": ([PARIS, '{"city":"Rome"}'], Outcome(PARIS + '{"city":"Rome"}', True, False), "args-not-json"),
    "half an echo": ([PARIS, '{"ci'], Outcome(PARIS + '{"ci', True, False), None),
    "echo, then more": ([PARIS, PARIS, "!"], Outcome(PARIS + "!", True, False), "args-not-json"),
    # text that is no JSON: delivered as it is
    "single quotes": (["{'city': ", "'Paris'}"], Outcome("{'city': 'Paris'}", True, False), "args-not-json"),
    "trailing comma": (['{"a":1', ",}"], Outcome('{"a":1,}', True, False), "args-not-json"),
    "prose": (["Paris, ", "please"], Outcome("Paris, please", True, False), "args-not-json"),
    "wrong after a brace": (["{", "x}"], Outcome("{x}", True, False), "args-not-json"),
    "wrong inside quotes": (['"a', "\n", '"'], Outcome('"a\n"', True, False), "args-not-json"),
    "an array": (["[1,", "2]"], Outcome("[1,2]", True, False), None),
    "a number": (["12"], Outcome("12", True, False), None),
    "a fraction": (["-1.5", "e3"], Outcome("-1.5e3", True, False), None),
    # cut: never repaired, and never passed off as whole
    "half": (['{"city":"Par'], Outcome('{"city":"Par', False), None),  # finish-missing-no-done-tool-partial
    "a brace": (["{"], Outcome("{", False), None),
    "half an array": (["[1,"], Outcome("[1,", False, False), None),
    "half a number": (["1."], Outcome("1.", False, False), None),
    "half a string": (['"{hel'], Outcome('"{hel', False, False), None),
    "half a literal": (["tru"], Outcome("tru", False, False), None),
    "half a null": (["nul"], Outcome("nul", False, False), None),
    "half, double": (['"{\\"city\\":\\"Par'], Outcome('"{\\"city\\":\\"Par', False, False), None),
    "half an escape": (['{"a":"\\u00'], Outcome('{"a":"\\u00', False), None),
}  # fmt: skip


@pytest.mark.parametrize("row", AT_A_NORMAL_END)
def test_at_a_normal_end(row: str) -> None:
    pieces, expected, slug = AT_A_NORMAL_END[row]
    notes = Notes()
    assert outcome(pieces, notes=notes) == expected
    assert slug is None or notes[slug], notes


BOUNDARIES_MATTER = ("cumulative", "starts like", "an object in itself")


@pytest.mark.parametrize("row", [row for row in AT_A_NORMAL_END if not row.startswith(BOUNDARIES_MATTER)])
def test_the_cut_does_not_matter(row: str) -> None:
    """Only snapshots are told by where a fragment begins and ends."""
    pieces, expected, _ = AT_A_NORMAL_END[row]
    for number, piece in enumerate(pieces):
        for parts in awkward(piece):
            assert outcome([*pieces[:number], *parts, *pieces[number + 1 :]]) == expected, parts


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([], Outcome("", False)),  # a header cut by length is no call with empty arguments
        (["null"], Outcome("", False)),
        (['""'], Outcome("", False)),
        (["{}"], Outcome("{}", True)),
        (['"{}"'], Outcome("{}", True)),
        ([PARIS], Outcome(PARIS, True)),
        (['{"city":"Par'], Outcome('{"city":"Par', False)),  # args-truncated-finish-length
        ([PARIS, '{"ci'], Outcome(PARIS, True)),  # an echo that was cut
        (["{'city'"], Outcome("{'city'", False, False)),
        (["[1,"], Outcome("[1,", False, False)),
        (["[1]"], Outcome("[1]", True, False)),
        (["12"], Outcome("12", False, False)),  # more digits may have been cut
    ],
)
def test_at_a_cut(pieces: list[str], expected: Outcome) -> None:
    assert outcome(pieces, normal=False) == expected


# ------------------------------------------------------------------ what is held, and for how long


@pytest.mark.parametrize(
    ("pieces", "out"),
    [
        (["{", '"a"', ":1}"], ["", '{"a"', ":1}"]),  # a brace may be a placeholder's
        (["{}", '{"a":1}'], ["", '{"a":1}']),
        (['{"a":', '{"a":1', '{"a":1}'], ['{"a":', "", "1}"]),  # one fragment that reads in two ways
        (['{"a":', '{"a":1', "}}"], ['{"a":', "", '{"a":1}}']),
        (['{"a":1}', '{"a"', ":1}", '{"a"', "x"], ['{"a":1}', "", "", "", '{"a"x']),
        (['{"a":1}', " "], ['{"a":1}', " "]),
        (['"{', '}"'], ["", ""]),
        (["x", "y"], ["x", "y"]),
    ],
)
def test_only_what_is_ambiguous_is_held(pieces: list[str], out: list[str]) -> None:
    arguments, found = JSONArguments(Notes()), []
    for piece in pieces:
        before = len(arguments.out)
        arguments.feed(piece)
        found.append("".join(delta.text for delta in arguments.out[before:]))
    assert found == out


@pytest.mark.parametrize(
    ("pieces", "placeholder", "opened", "whole", "settled"),
    [
        ([], True, False, False, False),
        ([" "], True, False, False, False),
        (["{"], True, True, False, False),
        (["{}"], True, False, False, False),  # a bare {} never ends a call (design/streams.md, 5)
        (["null"], True, False, False, False),
        (['""'], True, False, False, False),
        (['"{}"'], True, False, False, False),
        (['"{'], False, True, False, False),
        (['{"a"'], False, True, False, False),
        (['{"a":1}'], False, False, True, True),
        (['{"a":1}\n'], False, False, True, True),
        (['{"a":1}', '{"a"'], False, False, True, False),  # the rest of an echo may come
        (['{"a":', '{"a":1}'], False, False, True, False),  # whole, if it is a snapshot
        (['{"a":', '{"a":1'], False, True, False, False),
        (["x"], False, False, False, False),
        (["[1]"], False, False, True, True),
    ],
)
def test_what_the_matching_of_fragments_asks(
    pieces: list[str], placeholder: bool, opened: bool, whole: bool, settled: bool
) -> None:
    arguments = JSONArguments(Notes())
    for piece in pieces:
        arguments.feed(piece)
    found = (arguments.placeholder, arguments.open, arguments.whole, arguments.settled)
    assert found == (placeholder, opened, whole, settled)


def test_repeats() -> None:
    """What could begin an echo: the beginning of the whole text, blanks aside."""
    arguments = JSONArguments(Notes())
    arguments.feed(' {"a":1}')
    assert all(arguments.repeats(text) for text in ("", "\n", '{"a"', '{"a":1}', ' {"a":1}\n'))
    assert not any(arguments.repeats(text) for text in ('{"b"', '{"a":1}x', '"a"'))
    undecided = JSONArguments(Notes())
    undecided.feed('{"a":')
    undecided.feed('{"a":1}')  # whole, if it is a snapshot
    assert undecided.repeats('{"a":1}')
    assert not undecided.repeats('{"a":2}')


def test_a_surrogate_pair_cut_over_two_deltas() -> None:
    assert outcome(['{"a":"\ud83d', '\ude00"}']) == Outcome('{"a":"😀"}', True)
    assert outcome(['{"a":"\ud83d']) == Outcome('{"a":"\ufffd', False)


# ------------------------------------------------------------------ properties


@given(written(JSON_OBJECTS), st.data())
def test_any_cut_of_an_object_gives_exactly_its_text(text: str, data: st.DataObject) -> None:
    """Never over-eager: fragments that repeat, nest or look like what came before are appended."""
    pieces = data.draw(cut(text))
    notes = Notes()
    assert outcome(pieces, notes=notes) == Outcome(text, True)
    assert not notes


@given(written(JSON_OBJECTS), st.data())
def test_snapshots_in_any_cut(text: str, data: st.DataObject) -> None:
    edges = sorted(data.draw(st.lists(st.integers(1, len(text)), min_size=1, max_size=6)))
    assume(text[: edges[0]].strip())
    assert outcome([*(text[:edge] for edge in edges), text]) == Outcome(text, True)


@given(written(JSON_OBJECTS), st.data())
def test_double_encoding_in_any_cut(text: str, data: st.DataObject) -> None:
    pieces = data.draw(written(st.just(text)).flatmap(cut))
    assert outcome(pieces) == Outcome(text, True)


@given(written(JSON_OBJECTS), st.integers(1, 3), st.data())
def test_echoes_in_any_cut(text: str, times: int, data: st.DataObject) -> None:
    pieces = data.draw(cut(text * (times + 1)))
    notes = Notes()
    assert outcome(pieces, notes=notes) == Outcome(text, True)
    assert notes == {"args-echo": times}


@given(written(JSON_OBJECTS), st.sampled_from(("{}", "null", '""', " {}", "{ }")), st.data())
def test_a_placeholder_before_any_cut(text: str, placeholder: str, data: st.DataObject) -> None:
    pieces = data.draw(cut(placeholder + text))
    assert outcome(pieces) == Outcome(text, True)


@given(st.text(max_size=30), st.booleans(), st.data())
def test_prose_passes_in_any_cut(text: str, normal: bool, data: st.DataObject) -> None:
    """Text that cannot be JSON from its first character on goes out as it is."""
    text = data.draw(st.sampled_from("<'Ix=`")) + text
    assert outcome(data.draw(cut(text)), normal=normal) == Outcome(text, normal, False)


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


@given(st.lists(st.text(st.sampled_from('{}":,\\ nul1a'), max_size=6), max_size=8), st.booleans())
def test_fragments_of_any_kind_end_well(pieces: list[str], normal: bool) -> None:
    found = outcome(pieces, normal=normal)
    if found.complete and found.sound:
        assert isinstance(json.loads(found.text), dict)
    if not found.complete and found.text and normal:
        assert not is_json(found.text)
    if not found.complete and found.sound and normal:
        assert not found.text or found.text.lstrip().startswith("{")


# ------------------------------------------------------------------ a closing snapshot


@pytest.mark.parametrize(
    ("pieces", "snapshot", "text"),
    [
        ([], PARIS, PARIS),
        ([], "", "{}"),
        ([], "{}", "{}"),
        (['{"city":'], PARIS, PARIS),  # the rest
        (["{"], PARIS, PARIS),
        ([PARIS], PARIS, PARIS),
        (["{}"], PARIS, PARIS),  # a placeholder gives way
        (["null"], PARIS, PARIS),
        (['""'], PARIS, PARIS),
        (["{}"], "null", "{}"),
        ([PARIS], '{"city":"Rome"}', PARIS),  # deltas win
        (['{"city":"R'], PARIS, '{"city":"R'),
        ([PARIS], "", PARIS),
        (["oops"], PARIS, "oops"),
        (['{"a":', '{"a":1'], '{"a":{"a":1}}', '{"a":{"a":1}}'),
        (['{"a":', '{"a":1}'], '{"a":1}', '{"a":1}'),
        (['"{\\"city'], json.dumps(PARIS), PARIS),
        ([], json.dumps(PARIS), PARIS),
    ],
)
def test_a_snapshot_supplies_what_deltas_did_not_bring(pieces: list[str], snapshot: str, text: str) -> None:
    arguments = JSONArguments(Notes())
    for piece in pieces:
        arguments.feed(piece)
    arguments.supply(snapshot)
    arguments.finish(normal=True)
    assert "".join(delta.text for delta in arguments.out) == text


@given(written(JSON_OBJECTS), st.data())
def test_a_snapshot_after_any_part(text: str, data: st.DataObject) -> None:
    arguments = JSONArguments(Notes())
    for piece in data.draw(cut(text[: data.draw(st.integers(0, len(text)))])):
        arguments.feed(piece)
    arguments.supply(text)
    assert arguments.finish(normal=True)
    assert "".join(delta.text for delta in arguments.out) == text


# ------------------------------------------------------------------ custom tools, and wire values


@given(st.text(max_size=12), st.booleans(), st.data())
def test_freeform_text_passes_as_it_is(text: str, normal: bool, data: st.DataObject) -> None:
    arguments = FreeformArguments(Notes())
    pieces = data.draw(cut(text))
    for piece in pieces:
        arguments.feed(piece)
        assert arguments.open
    assert (arguments.whole, arguments.settled, arguments.placeholder, arguments.repeats(text)) == (False,) * 4
    arguments.supply(text + "!")
    arguments.supply("something else")  # deltas win
    assert arguments.finish(normal=normal) is normal
    assert "".join(delta.text for delta in arguments.out) == arguments.text == text + "!"
    assert all(delta.sound for delta in arguments.out)


def test_freeform_half_a_character() -> None:
    arguments = FreeformArguments(Notes())
    arguments.feed("a\ud83d")
    arguments.finish(normal=False)
    assert [delta.text for delta in arguments.out] == ["a", "\ufffd"]
    assert arguments.text == "a\ufffd"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        ("", None),
        (" ", " "),
        ('{"a"', '{"a"'),
        ({}, "{}"),
        ({"a": [1, None]}, '{"a":[1,null]}'),
        ({"n": 2**64 + 1}, '{"n":18446744073709551617}'),  # args-object-big-number: no float round trip
        ({"a": "\ud83d"}, '{"a":"\ufffd"}'),
        ([1], "[1]"),
        (0, "0"),
        (False, "false"),
    ],
)
def test_argument_text(value: object, text: str | None) -> None:
    assert argument_text(value) == text

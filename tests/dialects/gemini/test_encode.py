"""The encoder and whole bodies: what Google's clients get."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.canonical import events as e
from dragoman.canonical.errors import Error, ErrorKind
from dragoman.canonical.events import FinishReason, Usage
from dragoman.canonical.opaque import Opaque, seal, unseal
from dragoman.dialects.gemini import DIALECT
from dragoman.exceptions import LocalProtocolError

from .driving import START, STOP, context, frames, one_answer, parts, whole_answer, written

OWN = Opaque("gemini", "signature", "U0lHLTE=")
FOREIGN = Opaque("messages", "signature", "abc.def")


def text_block(text: str, signature: Opaque | None = None) -> list[e.Event]:
    return [e.TextStart(), e.TextDelta(text), e.TextEnd(signature)]


def call_block(
    arguments: str,
    *,
    complete: bool = True,
    sound: bool = True,
    signature: Opaque | None = None,
) -> list[e.Event]:
    start = e.ToolCallStart(id="c1", name="f", signature=signature)
    half = len(arguments) // 2
    deltas = [e.ToolCallDelta(piece, sound) for piece in (arguments[:half], arguments[half:]) if piece]
    return [start, *deltas, e.ToolCallEnd(complete)]


# ---- frames


def test_text_goes_out_live_in_frames_of_data_alone() -> None:
    encoder = DIALECT.encoder(context())
    assert encoder.encode([START]) == b""
    assert encoder.encode([e.TextStart()]) == b""
    assert frames(encoder.encode([e.TextDelta("Hi \u2028\n\ud83d.")])) == [
        {
            "candidates": [{"content": {"parts": [{"text": "Hi \u2028\n\ufffd."}], "role": "model"}, "index": 0}],
            "modelVersion": "m1",
            "responseId": "r1",
        }
    ]
    assert encoder.encode([e.TextDelta("")]) == b""
    assert encoder.encode([e.TextEnd()]) == b""
    last = frames(encoder.encode([e.UsageUpdate(Usage(input=3, output=1)), STOP]))
    assert len(last) == 1
    assert last[0]["candidates"][0]["finishReason"] == "STOP"


def test_the_envelope_is_constant_and_never_empty() -> None:
    data = written(e.ResponseStart(), *text_block("x"), STOP)
    assert {(item["modelVersion"], item["responseId"]) for item in frames(data)} == {
        ("a-model", frames(data)[0]["responseId"])
    }
    assert frames(data)[0]["responseId"]


def test_a_stream_as_an_array() -> None:
    events = [START, *text_block("a"), *call_block("{}"), STOP]
    data = written(*events, array=True)
    assert data.startswith(b"[{")
    assert data.endswith(b"}]")
    assert data.count(b",\r\n{") == 2
    assert json.loads(data) == frames(written(*events))
    assert DIALECT.check(data) == []


@pytest.mark.parametrize("begun", [True, False])
def test_an_error_stands_alone_in_its_frame_in_either_form(begun: bool) -> None:
    failure = e.ResponseError(Error(kind=ErrorKind.OVERLOADED, message="Later."))
    events = [START, e.TextStart(), e.TextDelta("x"), failure] if begun else [failure]
    expected = {"error": {"code": 503, "message": "Later.", "status": "UNAVAILABLE"}}
    assert frames(written(*events))[-1] == expected
    assert written(*events).split(b"data: ")[-1].startswith(b'{"error":')
    assert json.loads(written(*events, array=True))[-1] == expected
    assert DIALECT.check(written(*events)) == DIALECT.check(written(*events, array=True)) == []


def test_illegal_order_raises() -> None:
    with pytest.raises(LocalProtocolError):
        DIALECT.encoder(context()).encode([e.TextDelta("x")])


def test_heartbeats_are_blank_lines_that_break_nothing() -> None:
    beat = DIALECT.heartbeat
    assert beat.strip() == b""
    first, second = written(START, *text_block("x")), written(START, *text_block("x"), STOP)
    assert DIALECT.check(beat + first + beat + beat + second) == []
    array = written(START, *text_block("x"), STOP, array=True)
    assert DIALECT.check(beat + array.replace(b",\r\n", b",\r\n" + beat)) == []


# ---- calls


@pytest.mark.parametrize(
    ("arguments", "args"),
    [
        ('{"city": "Paris"}', {"city": "Paris"}),
        ("", {}),
        ("  ", {}),
        ('{"n": 123456789012345678901234567890}', {"n": 123456789012345678901234567890}),
        ('{"a": "\\ud83d"}', {"a": "\ufffd"}),
        ('{city:"Paris"}', {"INVALID_JSON": '{city:"Paris"}'}),
        ("[1]", {"INVALID_JSON": "[1]"}),
    ],
)
def test_a_call_is_one_part_with_an_object(arguments: str, args: Any) -> None:
    events = call_block(arguments)
    expected = [{"functionCall": {"id": "c1", "name": "f", "args": args}}]
    chunks = one_answer(*events)
    assert parts(chunks) == expected
    assert chunks[-1]["candidates"][0]["finishReason"] == "STOP"
    assert (
        json.loads(json.dumps(whole_answer(*events)["candidates"][0]["content"]["parts"]).replace("\\ud83d", "\\ufffd"))
        == expected
    )


@pytest.mark.parametrize(
    ("arguments", "sound", "expected"),
    [
        ('{"city": "Pa', True, None),
        ("", True, {}),
        ("{city", False, {"INVALID_JSON": "{city"}),
        ('{"a": 1}', True, {"a": 1}),
    ],
)
def test_half_a_call_has_no_form(arguments: str, sound: bool, expected: Any) -> None:
    events = [*text_block("x"), *call_block(arguments, complete=False, sound=sound)]
    finish = e.ResponseEnd(finish=FinishReason.LENGTH)
    found = [
        part["functionCall"]["args"] for part in parts(one_answer(*events, finish=finish)) if "functionCall" in part
    ]
    assert found == ([] if expected is None else [expected])
    content = whole_answer(*events, finish=finish)["candidates"][0]["content"]["parts"]
    assert [part["functionCall"]["args"] for part in content if "functionCall" in part] == found


# ---- signatures


def test_signatures_stay_with_their_parts() -> None:
    events = [
        e.ReasoningStart(),
        e.ReasoningDelta("Plan."),
        e.ReasoningEnd((OWN,)),
        *text_block("Hi.", OWN),
        *call_block("{}", signature=OWN),
    ]
    assert parts(one_answer(*events)) == [
        {"text": "Plan.", "thought": True},
        {"text": "", "thought": True, "thoughtSignature": OWN.data},
        {"text": "Hi."},
        {"text": "", "thoughtSignature": OWN.data},
        {"functionCall": {"id": "c1", "name": "f", "args": {}}, "thoughtSignature": OWN.data},
    ]
    assert whole_answer(*events)["candidates"][0]["content"]["parts"] == [
        {"text": "Plan.", "thought": True, "thoughtSignature": OWN.data},
        {"text": "Hi.", "thoughtSignature": OWN.data},
        {"functionCall": {"id": "c1", "name": "f", "args": {}}, "thoughtSignature": OWN.data},
    ]


def test_a_late_signature_of_a_call() -> None:
    events: list[e.Event] = [e.ToolCallStart(id="c1", name="f"), e.ToolCallEnd(signature=OWN)]
    assert parts(one_answer(*events))[0]["thoughtSignature"] == OWN.data


@pytest.mark.parametrize(
    "proof", [FOREIGN, Opaque("responses", "encrypted", "e", "rs_1"), Opaque("gemini", "signature", "not base64!")]
)
def test_what_is_not_googles_is_sealed(proof: Opaque) -> None:
    events = [e.ReasoningStart(), e.ReasoningEnd((proof,)), *text_block("x")]
    signature = parts(one_answer(*events))[0]["thoughtSignature"]
    assert signature == seal(proof)
    assert unseal(signature) == proof


def test_several_proofs_are_several_parts() -> None:
    events = [e.ReasoningStart(), e.ReasoningDelta("P"), e.ReasoningEnd((OWN, FOREIGN)), *text_block("x")]
    assert len(parts(one_answer(*events))) == 4
    body = whole_answer(*events)["candidates"][0]["content"]["parts"]
    assert [part.get("text") for part in body] == ["P", "", "x"]


# ---- other parts


def test_server_tools_and_media() -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "1"}}
    events: list[e.Event] = [
        e.ServerTool("gemini", (code,)),
        e.ServerTool("messages", ({"type": "server_tool_use"},)),
        e.Media(media_type="image/png", data="AAAA", signature=OWN),
        e.Media(media_type="image/png", url="https://x/i.png", native={"mediaResolution": {}}, origin="gemini"),
        e.Media(media_type="image/png", native={"foreign": 1}, origin="chat"),
    ]
    expected = [
        code,
        {"inlineData": {"mimeType": "image/png", "data": "AAAA"}, "thoughtSignature": OWN.data},
        {"mediaResolution": {}, "fileData": {"mimeType": "image/png", "fileUri": "https://x/i.png"}},
    ]
    assert parts(one_answer(*events)) == expected
    assert whole_answer(*events)["candidates"][0]["content"]["parts"] == expected


def test_log_probabilities_stand_in_the_candidate() -> None:
    native = {"logprobsResult": {"chosenCandidates": [{"token": "a"}]}}
    events: list[e.Event] = [e.TextStart(), e.TextDelta("a", native), e.TextDelta("b", native), e.TextEnd()]
    assert [item["candidates"][0].get("logprobsResult") for item in one_answer(*events)] == [
        native["logprobsResult"],
        native["logprobsResult"],
        None,
    ]
    body = whole_answer(*events)
    assert body["candidates"][0]["logprobsResult"] == {"chosenCandidates": [{"token": "a"}, {"token": "a"}]}


# ---- citations


def test_foreign_citations_become_grounding_with_offsets_in_bytes() -> None:
    cited = e.Citation(url="https://a", title="A", start=3, end=7, origin="messages")
    again = e.Citation(url="https://a", title="A")
    file = e.Citation(title="notes.txt", start=0, end=99)
    events: list[e.Event] = [
        *text_block("é"),
        e.TextStart(),
        e.TextDelta("In Oslö."),
        *(e.CitationAdded(citation) for citation in (cited, again, file, e.Citation(quote="q"))),
        e.TextEnd(),
    ]
    expected = {
        "groundingChunks": [
            {"web": {"uri": "https://a", "title": "A"}},
            {"retrievedContext": {"title": "notes.txt"}},
        ],
        "groundingSupports": [
            {"segment": {"startIndex": 5, "endIndex": 10, "text": "Oslö"}, "groundingChunkIndices": [0]}
        ],
    }
    assert one_answer(*events)[-1]["candidates"][0]["groundingMetadata"] == expected
    assert whole_answer(*events)["candidates"][0]["groundingMetadata"] == expected


def test_googles_own_citations_stay_as_they_were() -> None:
    native = {"groundingMetadata": {"webSearchQueries": ["q"]}}
    cited = e.CitationAdded(e.Citation(url="https://a", origin="gemini"))
    events: list[e.Event] = [e.TextStart(), e.TextDelta("x"), cited, e.TextEnd()]
    finish = e.ResponseEnd(finish=FinishReason.STOP, raw="STOP", origin="gemini", native=native)
    assert one_answer(*events, finish=finish)[-1]["candidates"][0]["groundingMetadata"] == native["groundingMetadata"]
    whole = whole_answer(*events, finish=finish)
    assert whole["candidates"][0]["groundingMetadata"] == native["groundingMetadata"]


# ---- counts


@pytest.mark.parametrize(
    ("usage", "native", "expected"),
    [
        (Usage(input=30, output=9), None, (30, 9, 0, 0, 39, None)),
        (Usage(input=30, output=9, reasoning=4, cached=20, cache_write=5), None, (30, 5, 4, 0, 39, 20)),
        (Usage(input=30, output=9, reasoning=12), None, (30, 0, 9, 0, 39, None)),
        (Usage(reasoning=4), None, (0, 0, 4, 0, 4, None)),
        (
            Usage(input=15, output=2, cached=14),
            {"toolUsePromptTokenCount": 5, "trafficType": "T"},
            (10, 2, 0, 5, 17, 10),
        ),
        (Usage(input=3), {"toolUsePromptTokenCount": 5}, (0, 0, 0, 3, 3, None)),
    ],
)
def test_counts_are_complete_and_add_up(usage: Usage, native: Any, expected: tuple[Any, ...]) -> None:
    update = e.UsageUpdate(usage, native, "gemini")
    chunks = one_answer(*text_block("x"), update)
    metadata = chunks[-1]["usageMetadata"]
    names = (
        "promptTokenCount",
        "candidatesTokenCount",
        "thoughtsTokenCount",
        "toolUsePromptTokenCount",
        "totalTokenCount",
    )
    assert tuple(metadata.get(name) for name in (*names, "cachedContentTokenCount")) == expected
    assert metadata.get("trafficType") == (native or {}).get("trafficType")
    assert "usageMetadata" not in chunks[0]
    start = e.ResponseStart(origin="gemini")
    assert whole_answer(*text_block("x"), update, start=start)["usageMetadata"] == metadata


def test_unknown_counts_are_zeros_and_foreign_details_stay_out() -> None:
    assert one_answer(*text_block("x"))[-1]["usageMetadata"]["totalTokenCount"] == 0
    foreign = e.UsageUpdate(Usage(input=1, output=1), {"prompt_tokens_details": {}}, "chat")
    assert "prompt_tokens_details" not in one_answer(*text_block("x"), foreign)[-1]["usageMetadata"]


# ---- ends


@pytest.mark.parametrize(
    ("finish", "raw", "origin", "word"),
    [
        (FinishReason.STOP, "stop", "chat", "STOP"),
        (FinishReason.LENGTH, "length", "chat", "MAX_TOKENS"),
        (FinishReason.CONTENT_FILTER, "refusal", "messages", "SAFETY"),
        (FinishReason.PAUSED, "pause_turn", "messages", "MAX_TOKENS"),
        (FinishReason.PAUSED, "CONTINUATION", "gemini", "CONTINUATION"),
        (FinishReason.CONTENT_FILTER, "RECITATION", "gemini", "RECITATION"),
        (FinishReason.STOP, "OTHER", "gemini", "OTHER"),
        (FinishReason.STOP, "BRAND_NEW", "gemini", "STOP"),
        (FinishReason.LENGTH, "STOP", "gemini", "MAX_TOKENS"),
        (FinishReason.CONTENT_FILTER, "SAFETY", "chat", "SAFETY"),
    ],
)
def test_the_last_word(finish: FinishReason, raw: str, origin: str, word: str) -> None:
    ending = e.ResponseEnd(finish=finish, raw=raw, origin=origin)
    last = one_answer(*text_block("x"), finish=ending)[-1]["candidates"][0]
    assert last == {"content": {"parts": [{"text": ""}], "role": "model"}, "finishReason": word, "index": 0}
    assert whole_answer(*text_block("x"), finish=ending)["candidates"][0]["finishReason"] == word


def test_calls_are_never_voided_by_an_odd_word() -> None:
    ending = e.ResponseEnd(finish=FinishReason.TOOL_CALLS, raw="OTHER", origin="gemini")
    assert one_answer(*call_block("{}"), finish=ending)[-1]["candidates"][0]["finishReason"] == "STOP"


def test_native_members_survive_within_the_dialect_alone() -> None:
    native = {"continuationToken": "dG9r", "safetyRatings": []}
    for origin, kept in (("gemini", native), ("chat", {})):
        ending = e.ResponseEnd(finish=FinishReason.PAUSED, raw="CONTINUATION", origin=origin, native=native)
        last = one_answer(*text_block("x"), finish=ending)[-1]["candidates"][0]
        assert {name: last[name] for name in native if name in last} == kept


def test_envelope_members_come_in_the_last_chunk() -> None:
    start = e.ResponseStart(id="r", model="m", origin="gemini", native={"modelStatus": {"stage": "S"}})
    data = written(start, *text_block("x"), STOP)
    assert frames(data)[-1]["modelStatus"] == {"stage": "S"}


def test_a_blocked_prompt_is_told_as_such() -> None:
    feedback = {"blockReason": "PROHIBITED_CONTENT", "safetyRatings": []}
    ending = e.ResponseEnd(
        finish=FinishReason.CONTENT_FILTER,
        raw="PROHIBITED_CONTENT",
        origin="gemini",
        native={"promptFeedback": feedback},
    )
    chunks = one_answer(finish=ending)
    assert [item["promptFeedback"] for item in chunks] == [feedback]
    assert "candidates" not in chunks[0]
    assert whole_answer(finish=ending)["promptFeedback"] == feedback
    after_text = one_answer(*text_block("x"), finish=ending)[-1]
    assert "promptFeedback" not in after_text
    assert after_text["candidates"][0]["finishReason"] == "PROHIBITED_CONTENT"
    unknown = e.ResponseEnd(
        finish=FinishReason.CONTENT_FILTER,
        raw="NEW",
        origin="gemini",
        native={"promptFeedback": {"blockReason": "NEW"}},
    )
    assert one_answer(finish=unknown)[-1]["candidates"][0]["finishReason"] == "SAFETY"


# ---- several candidates


def test_each_choice_has_its_index_and_its_end() -> None:
    events: list[e.Event] = [START, *text_block("a")]
    events += [e.InChoice(1, event) for event in (*text_block("b"), *call_block('{"x":1}'))]
    events += [e.InChoice(1, STOP), e.UsageUpdate(Usage(input=1, output=2)), STOP]
    data = written(*events)
    assert DIALECT.check(data) == []
    told = [item["candidates"][0] for item in frames(data)]
    assert [item["index"] for item in told] == [0, 1, 1, 1, 0]
    assert [item.get("finishReason") for item in told] == [None, None, None, "STOP", "STOP"]
    assert [("usageMetadata" in item) for item in frames(data)] == [False, False, False, False, True]
    assert json.loads(written(*events, array=True))[-1] == frames(data)[-1]

"""The decoder: counts, ends, errors, whole bodies, citations, several candidates."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.canonical import events as e
from dragoman.canonical.errors import ErrorKind
from dragoman.canonical.events import FinishReason, Usage
from dragoman.dialects.gemini import DIALECT
from dragoman.streaming.answer import AnswerAssembler, DecodeContext
from dragoman.streaming.ids import Ids
from dragoman.streaming.sse import ServerSentEvent

from .driving import Upstream, answer, call, calls, chunk, end, error, of, reasoning, text, whole

COUNTS = {"promptTokenCount": 30, "candidatesTokenCount": 9, "totalTokenCount": 39}


# ---- counts


@pytest.mark.parametrize(
    ("chunks", "usage"),
    [
        ([COUNTS], Usage(input=30, output=9)),
        (
            [
                {
                    "promptTokenCount": 1000,
                    "cachedContentTokenCount": 900,
                    "candidatesTokenCount": 5,
                    "thoughtsTokenCount": 7,
                    "totalTokenCount": 1012,
                }
            ],
            Usage(input=1000, output=12, cached=900, reasoning=7),
        ),
        (
            [{"promptTokenCount": 10, "toolUsePromptTokenCount": 5, "candidatesTokenCount": 1}],
            Usage(input=15, output=1),
        ),
        ([{"promptTokenCount": 30, "totalTokenCount": 30}], Usage(input=30, output=0)),
        (
            [{"promptTokenCount": 10, "thoughtsTokenCount": 40, "totalTokenCount": 50}],
            Usage(input=10, output=40, reasoning=40),
        ),
        ([{"promptTokenCount": 10, "thoughtsTokenCount": 4}], Usage(input=10, output=4, reasoning=4)),
        ([{"trafficType": "ON_DEMAND"}, COUNTS], Usage(input=30, output=9)),
        (
            [{"promptTokenCount": 30, "thoughtsTokenCount": 4}, {"candidatesTokenCount": 6, "promptTokenCount": None}],
            Usage(input=30, output=10, reasoning=4),
        ),
        ([{**COUNTS, "candidatesTokenCount": 4}, COUNTS], Usage(input=30, output=9)),
        ([{"promptTokenCount": "30", "candidatesTokenCount": 9.0}], Usage(input=30, output=9)),
        # a relay that counts thoughts among the candidates
        (
            [{"promptTokenCount": 30, "candidatesTokenCount": 9, "thoughtsTokenCount": 4, "totalTokenCount": 39}],
            Usage(input=30, output=9, reasoning=4),
        ),
    ],
)
def test_usage(chunks: list[Any], usage: Usage) -> None:
    events = answer(*({**chunk({"text": "x"}), "usageMetadata": item} for item in chunks), chunk(finishReason="STOP"))
    assert [event.usage for event in of(events, e.UsageUpdate)] == [usage]


@pytest.mark.parametrize("odd", [None, [], "x", {"promptTokenCount": -1}, {"promptTokenCount": True}])
def test_odd_usage_is_unknown(odd: Any) -> None:
    events = answer({**chunk({"text": "x"}, finishReason="STOP"), "usageMetadata": odd})
    assert of(events, e.UsageUpdate) == []


def test_usage_after_the_finish_counts() -> None:
    events = answer(chunk({"text": "x"}, finishReason="STOP"), {"usageMetadata": COUNTS})
    assert of(events, e.UsageUpdate)[0].usage == Usage(input=30, output=9)


# ---- ends


@pytest.mark.parametrize(
    ("word", "finish"),
    [
        ("STOP", FinishReason.STOP),
        ("MAX_TOKENS", FinishReason.LENGTH),
        ("SAFETY", FinishReason.CONTENT_FILTER),
        ("RECITATION", FinishReason.CONTENT_FILTER),
        ("SPII", FinishReason.CONTENT_FILTER),
        ("MODEL_ARMOR", FinishReason.CONTENT_FILTER),
        ("SOME_NEW_WORD", FinishReason.STOP),
    ],
)
def test_finish_words(word: str, finish: FinishReason) -> None:
    assert end(answer(chunk({"text": "x"}), chunk(finishReason=word))).finish is finish


def test_the_strongest_word_counts_and_late_content_too() -> None:
    events = answer(
        chunk(finishReason="STOP"),
        chunk({"text": "a"}, finishReason="STOP"),
        chunk({"text": "b"}, finishReason="MAX_TOKENS"),
    )
    assert text(events) == "ab"
    assert (end(events).finish, end(events).raw) == (FinishReason.LENGTH, "MAX_TOKENS")


@pytest.mark.parametrize("word", ["", None, "FINISH_REASON_UNSPECIFIED"])
def test_no_word_is_no_end(word: Any) -> None:
    assert error(answer(chunk({"text": "x"}, finishReason=word))).error.code == "truncated"


@pytest.mark.parametrize(
    "word",
    [
        "MALFORMED_FUNCTION_CALL",
        "UNEXPECTED_TOOL_CALL",
        "TOO_MANY_TOOL_CALLS",
        "MISSING_THOUGHT_SIGNATURE",
        "MALFORMED_RESPONSE",
    ],
)
def test_words_of_failure_are_errors(word: str) -> None:
    told = error(
        answer(chunk({"text": "x"}), {"candidates": [{"finishReason": word, "finishMessage": "It broke: x"}]})
    ).error
    assert (told.type, told.message, told.origin) == (word.lower(), "It broke: x", "gemini")
    silent = error(answer({"candidates": [{"finishReason": word}]})).error
    assert silent.message.lower().startswith(word.lower().replace("_", " "))


def test_a_pause_keeps_its_token() -> None:
    events = answer(chunk({"text": "x"}, finishReason="CONTINUATION", continuationToken="dG9r"))
    assert end(events) == e.ResponseEnd(
        finish=FinishReason.PAUSED, raw="CONTINUATION", origin="gemini", native={"continuationToken": "dG9r"}
    )


def test_a_blocked_prompt_is_filtered() -> None:
    events = answer(
        {
            "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
            "usageMetadata": {"promptTokenCount": 30, "totalTokenCount": 30},
        }
    )
    assert end(events).finish is FinishReason.CONTENT_FILTER
    assert end(events).native == {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}
    assert of(events, e.UsageUpdate)[0].usage == Usage(input=30, output=0)


@pytest.mark.parametrize(
    "feedback", [{"safetyRatings": []}, {"blockReason": "BLOCK_REASON_UNSPECIFIED"}, "x", {"blockReason": None}]
)
def test_other_prompt_feedback_says_nothing(feedback: Any) -> None:
    events = answer({**chunk({"text": "x"}, finishReason="STOP"), "promptFeedback": feedback})
    assert end(events).finish is FinishReason.STOP


def test_native_members_of_the_candidate_are_kept() -> None:
    ratings = [{"category": "C", "probability": "LOW"}]
    events = answer(
        chunk({"text": "x"}, safetyRatings=ratings),
        chunk(finishReason="STOP", avgLogprobs=-0.5),
        chunk(urlContextMetadata={"a": 1}),
    )
    assert end(events).native == {"safetyRatings": ratings, "avgLogprobs": -0.5, "urlContextMetadata": {"a": 1}}


def test_log_probabilities_go_with_their_text() -> None:
    events = answer(chunk({"text": "x"}, logprobsResult={"a": 1}), chunk(finishReason="STOP", logprobsResult={"b": 2}))
    assert of(events, e.TextDelta) == [e.TextDelta("x", {"logprobsResult": {"a": 1}})]
    assert end(events).native == {"logprobsResult": {"b": 2}}


def test_done_is_an_end_without_a_reason() -> None:
    upstream = Upstream()
    events = upstream.says(chunk({"text": "x"}), b"[DONE]")
    assert end(events).finish is FinishReason.STOP
    assert upstream.assembler.quirks == {"gemini-done": 1}


# ---- errors


ERROR = {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}


@pytest.mark.parametrize("record", [ERROR, [ERROR], {"candidates": None, **ERROR}])
def test_an_error_in_the_stream(record: Any) -> None:
    told = error(answer(chunk({"text": "x"}), record)).error
    assert (told.kind, told.status, told.type, told.message) == (
        ErrorKind.OVERLOADED,
        503,
        "UNAVAILABLE",
        "The model is overloaded.",
    )


@pytest.mark.parametrize("data", [b'{"candidates":', b"not json", b"\xff"])
def test_corrupt_json_is_an_error(data: bytes) -> None:
    assert error(answer(chunk({"text": "x"}), data, chunk(finishReason="STOP"))).error.kind is ErrorKind.BAD_UPSTREAM


@pytest.mark.parametrize("data", [b'{"message": "out of order"}', b"out of order", b'"out of order"'])
def test_an_error_event(data: bytes) -> None:
    upstream = Upstream()
    upstream.decoder.decode(ServerSentEvent("error", data))
    assert error(upstream.ends()).error.message == "out of order"


# ---- whole bodies


def test_a_whole_body() -> None:
    body = {
        **chunk({"text": "Plan.", "thought": True}, call("f", {"a": 1}), finishReason="STOP"),
        "usageMetadata": COUNTS,
    }
    events = whole(body)
    assert reasoning(events) == "Plan."
    assert calls(events) == [("f", '{"a":1}')]
    assert end(events).finish is FinishReason.TOOL_CALLS
    assert events == answer(body)


def test_a_whole_body_needs_no_finish_word() -> None:
    assert end(whole(chunk({"text": "x"}))).finish is FinishReason.STOP


@pytest.mark.parametrize("body", [{}, {"candidates": []}, [], None, "x", {"usageMetadata": COUNTS}])
def test_a_body_without_an_answer_is_an_error(body: Any) -> None:
    assert error(whole(body)).error.kind is ErrorKind.BAD_UPSTREAM


def test_the_error_of_a_whole_body_counts() -> None:
    assert error(whole(ERROR)).error.type == "UNAVAILABLE"


# ---- citations


GROUNDING = {
    "groundingChunks": [
        {"web": {"uri": "https://a", "title": "A"}},
        {"retrievedContext": {"title": "Notes"}},
        {"odd": 1},
        None,
    ],
    "groundingSupports": [
        {"segment": {"startIndex": 7, "endIndex": 11, "text": "Oslo"}, "groundingChunkIndices": [0, 2, 9]},
        {"segment": {"endIndex": 999}, "groundingChunkIndices": [0]},
    ],
}


def test_grounding_is_cited_with_characters_and_kept_as_it_was() -> None:
    events = answer(
        chunk({"text": "Zürich"}), chunk({"text": "Oslo"}, finishReason="STOP", groundingMetadata=GROUNDING)
    )
    cited = [event.citation for event in of(events, e.CitationAdded)]
    assert cited == [
        e.Citation(url="https://a", title="A", quote="Oslo", start=6, end=10, origin="gemini"),
        e.Citation(url="https://a", title="A", origin="gemini"),
        e.Citation(title="Notes", origin="gemini"),
    ]
    assert end(events).native == {"groundingMetadata": GROUNDING}
    assert len(of(events, e.TextStart)) == 1


def test_citations_come_once_and_before_the_signature_ends_the_text() -> None:
    grounded = {"groundingChunks": [{"web": {"uri": "https://a"}}]}
    events = answer(
        chunk({"text": "x"}, groundingMetadata=grounded, finishReason=None),
        chunk({"text": "", "thoughtSignature": "U0lH"}, groundingMetadata=grounded, finishReason="STOP"),
        chunk(groundingMetadata=grounded),
    )
    kinds = [type(event) for event in events]
    assert kinds == [e.ResponseStart, e.TextStart, e.TextDelta, e.CitationAdded, e.TextEnd, e.ResponseEnd]


def test_citation_metadata() -> None:
    metadata = {"citationSources": [{"startIndex": 1, "endIndex": 3, "uri": "https://b"}, {}, "x"]}
    events = answer(chunk({"text": "abcd"}, citationMetadata=metadata, finishReason="STOP"))
    assert [event.citation for event in of(events, e.CitationAdded)] == [
        e.Citation(url="https://b", start=1, end=3, origin="gemini")
    ]


def test_offsets_count_from_the_latest_block() -> None:
    metadata = {
        "citations": [{"startIndex": 2, "endIndex": 4, "uri": "https://b"}, {"endIndex": 2, "uri": "https://c"}]
    }
    events = answer(
        chunk({"text": "ab"}, {"executableCode": {}}, {"text": "cd"}),
        chunk(citationMetadata=metadata, finishReason="STOP"),
    )
    assert [(c.citation.start, c.citation.end) for c in of(events, e.CitationAdded)] == [(0, 2), (None, None)]


def test_a_citation_without_text_is_reported() -> None:
    upstream = Upstream()
    upstream.says(chunk({"text": "x"}, call("f")), chunk(finishReason="STOP", groundingMetadata=GROUNDING))
    events = upstream.ends()
    assert of(events, e.CitationAdded) == []
    assert upstream.assembler.losses == {"a citation that came when no text was open": 2}


# ---- several candidates


def two(first: str, second: str, **members: Any) -> dict[str, Any]:
    texts = enumerate((first, second))
    return {"candidates": [{"content": {"parts": [{"text": item}]}, "index": n, **members} for n, item in texts]}


def test_candidates_stay_apart_where_several_were_asked_for() -> None:
    events = answer(two("a", "b"), two("c", "d", finishReason="STOP"), choices=2)
    assert text(events) == "ac"
    assert text(event.event for event in of(events, e.InChoice)) == "bd"
    assert len([event for event in of(events, e.InChoice) if isinstance(event.event, e.ResponseEnd)]) == 1


def test_candidates_without_an_index_are_told_by_their_place() -> None:
    body = two("a", "b", finishReason="STOP")
    for candidate in body["candidates"]:
        del candidate["index"]
    assert text(event.event for event in of(answer(body, choices=2), e.InChoice)) == "b"


def test_one_candidate_was_asked_for() -> None:
    events = answer(two("a", "b", finishReason="STOP"))
    assert text(events) == "ab"
    assert of(events, e.InChoice) == []


# ---- odd input


@pytest.mark.parametrize(
    "value",
    [
        {"candidates": {"content": 1}},
        {"candidates": [{"content": 5, "finishReason": 5, "index": "x", "groundingMetadata": []}]},
        chunk({"text": 5}, {"functionCall": {"name": 5, "args": [1]}}, finishReason=["STOP"]),
        chunk({"thought": "yes", "text": "x", "thoughtSignature": 5}, groundingMetadata={"groundingChunks": 5}),
        {"usageMetadata": {"promptTokenCount": {}}, "promptFeedback": 5, "responseId": 5, "modelVersion": None},
        {"error": 5},
        {"error": [1]},
        chunk({"functionCall": {"name": "f", "partialArgs": 5, "willContinue": 5}}),
        chunk({"inlineData": 5}, {"fileData": []}, {"executableCode": None}),
    ],
)
def test_nothing_raises(value: Any) -> None:
    assert isinstance(answer(value)[-1], e.ResponseError | e.ResponseEnd)
    assert isinstance(whole(value)[-1], e.ResponseError | e.ResponseEnd)


def test_quirks_are_declared() -> None:
    upstream = Upstream()
    upstream.says({"response": chunk({"text": "x"})}, {"usage_metadata": {}}, chunk(finishReason="NEW"))
    upstream.says(chunk({"functionCall": {"name": "f", "willContinue": True}}), b"[DONE]")
    ours = {slug for slug in upstream.assembler.quirks if slug.startswith("gemini-")}
    assert ours == set(DIALECT.quirks)


def test_the_end_of_a_stream_of_another_dialect_is_no_end() -> None:
    """An answer without candidates never looks finished, whatever word stands behind it."""
    assembler = AnswerAssembler(DecodeContext(origin="gemini", ids=Ids("seed")))
    decoder = DIALECT.decoder(assembler)
    decoder.decode(ServerSentEvent("", b'{"choices":[{"index":0,"delta":{"content":"Hi"}}]}'))
    decoder.decode(ServerSentEvent("", b"[DONE]"))
    (failure,) = assembler.take()
    assert isinstance(failure, e.ResponseError)

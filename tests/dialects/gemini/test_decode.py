"""The decoder: what each of Google's chunks says."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.canonical import events as e
from dragoman.canonical.errors import ErrorKind
from dragoman.canonical.events import FinishReason, Usage
from dragoman.canonical.opaque import Opaque, seal
from dragoman.dialects.gemini import DIALECT
from dragoman.streaming.sse import ServerSentEvent

from .driving import Upstream, answer, call, calls, chunk, end, error, of, reasoning, text, whole

COUNTS = {"promptTokenCount": 30, "candidatesTokenCount": 9, "totalTokenCount": 39}


# ---- the envelope and the text


def test_text_flows_chunk_by_chunk() -> None:
    upstream = Upstream()
    first = upstream.says({**chunk({"text": "Hel"}), "responseId": "r", "modelVersion": "m"})
    assert first == [e.ResponseStart(id="r", model="m", origin="gemini"), e.TextStart(), e.TextDelta("Hel")]
    assert upstream.says(chunk({"text": "lo"})) == [e.TextDelta("lo")]
    events = [*upstream.says(chunk(finishReason="STOP")), *upstream.ends()]
    assert events == [e.TextEnd(), e.ResponseEnd(finish=FinishReason.STOP, raw="STOP", origin="gemini")]


def test_envelope_members_of_this_dialect_alone_are_kept() -> None:
    events = answer({**chunk({"text": "x"}, finishReason="STOP"), "modelStatus": {"stage": "LEGACY"}})
    assert events[0] == e.ResponseStart(origin="gemini", native={"modelStatus": {"stage": "LEGACY"}})


def test_empty_parts_and_chunks_open_nothing() -> None:
    events = answer(
        chunk({"text": ""}),
        {},
        None,
        [],
        "x",
        chunk(),
        {"candidates": None},
        {"candidates": [None]},
        chunk({"text": None}),
    )
    assert error(events).error.kind is ErrorKind.BAD_UPSTREAM
    assert len(events) == 1


@pytest.mark.parametrize(
    "candidate",
    [
        {"content": {"parts": [{"text": "Hi."}]}, "finishReason": "STOP"},
        {"content": {"parts": {"text": "Hi."}}, "finishReason": "stop", "index": 7},
        {"content": [{"text": "Hi."}], "finishReason": "STOP", "futureMember": 1},
    ],
)
def test_role_index_and_list_may_be_missing(candidate: Any) -> None:
    events = answer({"candidates": [candidate]})
    assert text(events) == "Hi."
    assert end(events).finish is FinishReason.STOP


def test_snake_case_is_understood_but_not_inside_arguments() -> None:
    upstream = Upstream()
    part = {"function_call": {"name": "f", "args": {"some_key": {"deep_key": 1}}}, "thought_signature": "U0lH"}
    events = upstream.says(
        {
            "candidates": [{"content": {"parts": [part]}, "finish_reason": "MAX_TOKENS"}],
            "usage_metadata": {"prompt_token_count": 3},
        }
    )
    events += upstream.ends()
    assert calls(events) == [("f", '{"some_key":{"deep_key":1}}')]
    assert of(events, e.ToolCallStart)[0].signature == Opaque("gemini", "signature", "U0lH")
    assert end(events).finish is FinishReason.LENGTH
    assert of(events, e.UsageUpdate)[0].usage.input == 3
    assert upstream.assembler.quirks["gemini-snake-case"] == 1


def test_arguments_in_snake_case_are_no_oddity() -> None:
    upstream = Upstream()
    upstream.says(chunk(call("f", {"file_path": "a"}, id="c"), finishReason="STOP"))
    assert "gemini-snake-case" not in upstream.assembler.quirks


def test_responses_in_a_wrapper_are_understood() -> None:
    events = answer({"response": chunk({"text": "Hi."}, finishReason="STOP")})
    assert text(events) == "Hi."


def test_several_chunks_in_one_record() -> None:
    assert text(answer([chunk({"text": "a"}), chunk({"text": "b"}, finishReason="STOP")])) == "ab"


# ---- thoughts and signatures


def test_only_the_flag_makes_a_thought() -> None:
    events = answer(
        chunk(
            {"text": "Plan. ", "thought": True},
            {"text": "More.", "thought": True},
            {"text": "Hi.", "thoughtSignature": "U0lH"},
        ),
        chunk({"text": " There."}, finishReason="STOP"),
    )
    assert reasoning(events) == "Plan. More."
    assert text(events) == "Hi. There."
    assert [ending.signature for ending in of(events, e.TextEnd)] == [Opaque("gemini", "signature", "U0lH"), None]


def test_a_signed_thought_ends_with_its_proof() -> None:
    events = answer(
        chunk({"text": "One.", "thought": True, "thoughtSignature": "MQ=="}),
        chunk(
            {"text": "Two.", "thought": True},
            {"text": "", "thought": True, "thoughtSignature": "Mg=="},
            finishReason="STOP",
        ),
    )
    assert [ending.opaque for ending in of(events, e.ReasoningEnd)] == [
        (Opaque("gemini", "signature", "MQ=="),),
        (Opaque("gemini", "signature", "Mg=="),),
    ]


def test_an_empty_signed_part_belongs_to_the_text_before_it_else_it_stands_alone() -> None:
    after_text = answer(chunk({"text": "Hi."}), chunk({"text": "", "thoughtSignature": "U0lH"}, finishReason="STOP"))
    assert of(after_text, e.TextEnd) == [e.TextEnd(Opaque("gemini", "signature", "U0lH"))]
    alone = answer(chunk({"thoughtSignature": "U0lH"}, call("f"), finishReason="STOP"))
    assert of(alone, e.ReasoningEnd) == [e.ReasoningEnd((Opaque("gemini", "signature", "U0lH"),))]
    assert of(alone, e.ToolCallStart)[0].signature is None


def test_a_sealed_signature_is_told_for_what_it_is_and_the_stand_in_for_nothing() -> None:
    foreign = Opaque("messages", "signature", "abc")
    events = answer(chunk({"text": "T.", "thought": True, "thoughtSignature": seal(foreign)}, finishReason="STOP"))
    assert of(events, e.ReasoningEnd) == [e.ReasoningEnd((foreign,))]
    bypass = {**call("f"), "thoughtSignature": "skip_thought_signature_validator"}
    assert of(answer(chunk(bypass, finishReason="STOP")), e.ToolCallStart)[0].signature is None


def test_thoughts_apart_are_blocks_of_their_own() -> None:
    events = answer(
        chunk({"text": "A", "thought": True}, {"text": "x"}, {"text": "B", "thought": True}, finishReason="STOP")
    )
    assert len(of(events, e.ReasoningStart)) == 2


# ---- calls


def test_each_part_is_a_call_of_its_own_in_the_order_of_the_parts() -> None:
    events = answer(
        chunk(
            {"text": "First."},
            call("roll"),
            {"text": "Second."},
            call("roll"),
            call("add", {"a": 1}, id="x1"),
            finishReason="STOP",
        )
    )
    assert calls(events) == [("roll", "{}"), ("roll", "{}"), ("add", '{"a":1}')]
    starts = of(events, e.ToolCallStart)
    assert len({start.id for start in starts}) == 3
    assert starts[2].id == "x1"
    kinds = [type(event) for event in events if isinstance(event, e.TextStart | e.ToolCallStart)]
    assert kinds == [e.TextStart, e.ToolCallStart, e.TextStart, e.ToolCallStart, e.ToolCallStart]
    assert end(events).finish is FinishReason.TOOL_CALLS


@pytest.mark.parametrize("part", [{"functionCall": {"name": "f"}}, {"functionCall": {"name": "f", "args": None}}])
def test_no_args_are_an_empty_object(part: Any) -> None:
    assert calls(answer(chunk(part, finishReason="STOP"))) == [("f", "{}")]


def test_whole_numbers_stay_exact() -> None:
    raw = b'{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"n":123456789012345678901234567890,"x":1.5}}}]},"finishReason":"STOP"}]}'
    assert calls(answer(raw)) == [("f", '{"n":123456789012345678901234567890,"x":1.5}')]


def test_args_as_text_are_passed_on() -> None:
    assert calls(answer(chunk(call("f", '{"a": 1}'), finishReason="STOP"))) == [("f", '{"a": 1}')]


def test_odd_calls_are_reported_not_raised() -> None:
    upstream = Upstream()
    upstream.says(
        chunk({"functionCall": "f"}, {"functionCall": {"args": {"a": 1}}}, {"text": "x"}, finishReason="STOP")
    )
    events = upstream.ends()
    assert calls(events) == []
    assert "a functionCall that is not an object" in upstream.assembler.losses


def test_text_and_call_in_one_part_are_both_told_and_the_call_is_signed() -> None:
    events = answer(chunk({"text": "Now.", **call("f"), "thoughtSignature": "U0lH"}, finishReason="STOP"))
    assert text(events) == "Now."
    assert of(events, e.ToolCallStart)[0].signature == Opaque("gemini", "signature", "U0lH")


# ---- other parts


def test_server_tools_are_no_calls() -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "1"}, "thoughtSignature": "U0lH"}
    result = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}
    events = answer(chunk({"text": "a"}, code, result, {"text": "b"}, finishReason="STOP"))
    assert of(events, e.ServerTool) == [e.ServerTool("gemini", (code,)), e.ServerTool("gemini", (result,))]
    assert end(events).finish is FinishReason.STOP
    assert len(of(events, e.TextStart)) == 2


def test_media() -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}, "thoughtSignature": "U0lH"}
    file = {"fileData": {"mimeType": "video/mp4", "fileUri": "https://x/v"}}
    events = answer(chunk(image, file, finishReason="STOP"))
    assert of(events, e.Media) == [
        e.Media(media_type="image/png", data="AAAA", signature=Opaque("gemini", "signature", "U0lH"), origin="gemini"),
        e.Media(media_type="video/mp4", url="https://x/v", origin="gemini"),
    ]


def test_a_picture_of_a_thought_is_not_part_of_the_answer() -> None:
    part = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}, "thought": True}
    events = answer(chunk(part, {"text": "x"}, finishReason="STOP"))
    assert of(events, e.Media) == []
    assert of(events, e.ServerTool) == [e.ServerTool("gemini", (part,))]


def test_what_has_no_form_is_reported() -> None:
    upstream = Upstream()
    upstream.says(
        chunk(
            {"futurePart": {"a": 1}},
            {"functionResponse": {"name": "f"}},
            {"inlineData": {"mimeType": "image/png"}},
            {"text": "x"},
        )
    )
    assert set(upstream.assembler.losses) == {"a part with futurePart", "a functionResponse part", "a inlineData part"}


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

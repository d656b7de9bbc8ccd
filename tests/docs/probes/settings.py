"""Limits, sampling, thinking, the form of the answer, and all the rest."""

from __future__ import annotations

from tests.docs.probes import SCHEMA, Probe, alike, config, member

SETTINGS = [
    Probe(
        "limit of the answer",
        {
            "chat": member(max_completion_tokens=99),
            "responses": member(max_output_tokens=99),
            "messages": member(max_tokens=99),
            "gemini": config(maxOutputTokens=99),
        },
    ),
    Probe("temperature", {**alike("chat responses messages", temperature=0.5), "gemini": config(temperature=0.5)}),
    Probe("a temperature above 1", {**alike("chat responses", temperature=1.5), "gemini": config(temperature=1.5)}),
    Probe("`top_p`", {**alike("chat responses messages", top_p=0.5), "gemini": config(topP=0.5)}),
    Probe("`top_k`", {"messages": member(top_k=5), "gemini": config(topK=5)}),
    Probe("seed", {"chat": member(seed=7), "gemini": config(seed=7)}),
    Probe("presence penalty", {"chat": member(presence_penalty=0.5), "gemini": config(presencePenalty=0.5)}),
    Probe("frequency penalty", {"chat": member(frequency_penalty=0.5), "gemini": config(frequencyPenalty=0.5)}),
    Probe("bias of tokens", {"chat": member(logit_bias={"1": 5})}),
    Probe(
        "stop sequences",
        {
            "chat": member(stop=["END"]),
            "messages": member(stop_sequences=["END"]),
            "gemini": config(stopSequences=["END"]),
        },
    ),
    Probe(
        "log probabilities",
        {
            "chat": member(logprobs=True, top_logprobs=2),
            "responses": member(top_logprobs=2, include=["message.output_text.logprobs"]),
            "gemini": config(responseLogprobs=True, logprobs=2),
        },
    ),
    Probe("several answers", {"chat": member(n=2), "gemini": config(candidateCount=2)}),
    Probe(
        "thinking: an effort",
        {
            "chat": member(reasoning_effort="low"),
            "responses": member(reasoning={"effort": "low"}),
            "messages": member(thinking={"type": "adaptive"}, output_config={"effort": "low"}),
            "gemini": config(thinkingConfig={"thinkingLevel": "LOW"}),
        },
    ),
    Probe(
        "thinking: none",
        {
            "chat": member(reasoning_effort="none"),
            "responses": member(reasoning={"effort": "none"}),
            "messages": member(thinking={"type": "disabled"}),
            "gemini": config(thinkingConfig={"thinkingBudget": 0}),
        },
    ),
    Probe(
        "thinking: a budget",
        {
            "messages": member(thinking={"type": "enabled", "budget_tokens": 2048}),
            "gemini": config(thinkingConfig={"thinkingBudget": 2048}),
        },
    ),
    Probe(
        "thinking: the model's choice",
        {"messages": member(thinking={"type": "adaptive"}), "gemini": config(thinkingConfig={"thinkingBudget": -1})},
    ),
    Probe(
        "thinking is shown",
        {
            "responses": member(reasoning={"summary": "auto"}),
            "messages": member(thinking={"type": "adaptive", "display": "summarized"}),
            "gemini": config(thinkingConfig={"includeThoughts": True}),
        },
    ),
    Probe(
        "any JSON",
        {
            "chat": member(response_format={"type": "json_object"}),
            "responses": member(text={"format": {"type": "json_object"}}),
            "gemini": config(responseMimeType="application/json"),
        },
    ),
    Probe(
        "JSON of a schema",
        {
            "chat": member(
                response_format={
                    "type": "json_schema",
                    "json_schema": {"name": "a", "schema": SCHEMA, "strict": True},
                }
            ),
            "responses": member(
                text={"format": {"type": "json_schema", "name": "a", "schema": SCHEMA, "strict": True}}
            ),
            "messages": member(output_config={"format": {"type": "json_schema", "schema": SCHEMA}}),
            "gemini": config(responseMimeType="application/json", responseJsonSchema=SCHEMA),
        },
    ),
    Probe("verbosity", {"chat": member(verbosity="low"), "responses": member(text={"verbosity": "low"})}),
    Probe(
        "service tier",
        {**alike("chat responses", service_tier="flex"), "gemini": member(serviceTier="flex")},
    ),
    Probe(
        "no other tier",
        {**alike("chat responses", service_tier="default"), "messages": member(service_tier="standard_only")},
    ),
    Probe(
        "who the user is",
        {
            **alike("chat responses", safety_identifier="someone"),
            "messages": member(metadata={"user_id": "someone"}),
        },
    ),
    Probe("metadata", alike("chat responses", metadata={"a": "b"})),
    Probe("key of the cache", alike("chat responses", prompt_cache_key="k")),
    Probe("storing the answer", alike("chat responses", store=True)),
    Probe("the answer before", {"responses": member(previous_response_id="resp_1")}),
    Probe("a cached prefix", {"gemini": member(cachedContent="cachedContents/1")}),
    Probe("safety settings", {"gemini": member(safetySettings=[{"category": "A", "threshold": "OFF"}])}),
    Probe(
        "kinds of output",
        {"chat": member(modalities=["text", "audio"]), "gemini": config(responseModalities=["IMAGE"])},
    ),
    Probe("a member that nobody knows", {**alike("chat responses messages", future=1), "gemini": member(future=1)}),
]

"""Calls, results and reasoning of earlier turns."""

from __future__ import annotations

from tests.docs.probes import DATA, Probe, turns
from tests.docs.probes.words import ANSWERS, CALLED, SAYS, TEXT, THINKS, called, calling, said

CALLS = [
    Probe("a call and its result", CALLED),
    Probe(
        "arguments that are no JSON",
        {client: called(client, "18 C", calling(client, '{"city')) for client in ("chat", "responses")},
    ),
    Probe(
        "a failed result",
        {"messages": called("messages", "no", is_error=True), "gemini": called("gemini", {"error": "no"})},
    ),
    Probe(
        "an image in a result",
        {
            "responses": called("responses", [{"type": "input_image", "image_url": f"data:image/png;base64,{DATA}"}]),
            "messages": called(
                "messages",
                [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}}],
            ),
            "gemini": called(
                "gemini", {"output": "18 C"}, parts=[{"inlineData": {"mimeType": "image/png", "data": DATA}}]
            ),
        },
    ),
    Probe(
        "a call without a result",
        {
            "chat": said("chat", content=None, tool_calls=[calling("chat")]),
            "responses": said("responses", calling("responses")),
            "messages": said("messages", calling("messages")),
            "gemini": said("gemini", calling("gemini")),
        },
    ),
    Probe(
        "a result without a call",
        {
            "chat": turns({"role": "tool", "tool_call_id": "call_1", "content": "18 C"}),
            "responses": turns({"type": "function_call_output", "call_id": "call_1", "output": "18 C"}),
            "messages": turns(
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "18 C"}],
                }
            ),
            "gemini": turns(
                {"role": "user", "parts": [{"functionResponse": {"name": "weather", "response": {"output": "18 C"}}}]}
            ),
        },
    ),
    Probe(
        "reasoning with the vendor's proof",
        {
            "chat": said(
                "chat",
                content="Hi",
                reasoning_details=[{"type": "reasoning.encrypted", "data": "RU5D", "format": "unknown"}],
            ),
            "responses": said("responses", {**THINKS, "encrypted_content": "RU5D"}, SAYS),
            "messages": said("messages", {"type": "thinking", "thinking": "Hm.", "signature": "U0lH"}, TEXT),
            "gemini": said("gemini", {"text": "Hm.", "thought": True, "thoughtSignature": "U0lH"}, {"text": "Hi"}),
        },
        ANSWERS,
    ),
    Probe(
        "reasoning without a proof",
        {
            "chat": said("chat", content="Hi", reasoning_content="Hm."),
            "responses": said("responses", THINKS, SAYS),
            "messages": said("messages", {"type": "thinking", "thinking": "Hm.", "signature": ""}, TEXT),
            "gemini": said("gemini", {"text": "Hm.", "thought": True}, {"text": "Hi"}),
        },
        ANSWERS,
    ),
    Probe(
        "a signed call",
        {
            "chat": called("chat", "18 C", calling("chat", extra_content={"google": {"thought_signature": "U0lH"}})),
            "gemini": turns(
                {"role": "model", "parts": [{**calling("gemini"), "thoughtSignature": "U0lH"}]},
                {
                    "role": "user",
                    "parts": [
                        {"functionResponse": {"id": "call_1", "name": "weather", "response": {"output": "18 C"}}}
                    ],
                },
            ),
        },
        CALLED,
    ),
    Probe(
        "a call of the vendor's tool that the client ran",
        {
            "responses": turns(
                {"type": "shell_call", "call_id": "call_1", "action": {"commands": ["ls"]}},
                {
                    "type": "shell_call_output",
                    "call_id": "call_1",
                    "output": [{"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}],
                },
            )
        },
    ),
    Probe(
        "what the vendor's servers ran",
        {
            "responses": said(
                "responses",
                {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}},
                SAYS,
            ),
            "messages": said(
                "messages",
                {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
                {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
                TEXT,
            ),
            "gemini": said("gemini", {"executableCode": {"language": "PYTHON", "code": "1"}}, {"text": "Hi"}),
        },
        ANSWERS,
    ),
]

"""What a strict gemini upstream refuses."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.testing import validate
from tests.testing.changing import GONE, changed

BYPASS = "skip_thought_signature_validator"
SCHEMA = {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}, "required": ["city"]}
FIRST = {"functionCall": {"id": "a", "name": "weather", "args": {"city": "Utrecht"}}, "thoughtSignature": "U0lH"}
SECOND = {"functionCall": {"name": "read"}}
RESULTS = [
    {"functionResponse": {"id": "a", "name": "weather", "response": {"output": "18 C"}}},
    {"functionResponse": {"name": "read", "response": {}}},
]
BODY: dict[str, Any] = {
    "system_instruction": {"parts": [{"text": "Be brief."}]},
    "contents": [
        {"parts": [{"text": "Hi"}, {"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}}]},
        {"role": "model", "parts": [{"text": "Hm.", "thought": True}, FIRST, SECOND]},
        {"role": "user", "parts": RESULTS},
        {"role": "model", "parts": [{"text": "Fi"}]},
        {"role": "model", "parts": [{"text": "ne."}, {"text": "", "thoughtSignature": "VEVY"}]},
        {"role": "user", "parts": [{"text": "Again"}]},
        {"role": "model", "parts": [SECOND | {"thoughtSignature": BYPASS}]},
        {"role": "user", "parts": RESULTS[1:]},
    ],
    "tools": [
        {
            "functionDeclarations": [
                {"name": "weather", "parameters": SCHEMA},
                {"name": "read", "parameters_json_schema": {"type": "object", "additionalProperties": False}},
            ]
        },
        {"googleSearch": {}},
    ],
    "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["read"]}},
    "generationConfig": {
        "temperature": 1,
        "topK": 5,
        "maxOutputTokens": 99,
        "stopSequences": ["END"],
        "responseMimeType": "application/json",
        "responseJsonSchema": {"type": "object"},
        "thinkingConfig": {"includeThoughts": True, "thinkingLevel": "LOW"},
    },
}
CONFIG = "generationConfig"
DECLARED = "tools[0].functionDeclarations"


def test_a_sound_request() -> None:
    assert validate("gemini", BODY) == []
    assert validate("gemini", BODY, proofs=["U0lH", "VEVY"]) == []


@pytest.mark.parametrize(
    ("path", "value", "fault"),
    [
        ("messages", [], "messages: unknown member"),
        ("contents", [], "contents: expected at least 1"),
        ("contents[0].role", "assistant", "contents[0].role: 'assistant' is neither user nor model"),
        ("contents[0].role", "model", "contents[0]: the first turn must be the user's"),
        ("contents[0].parts", [], "contents[0].parts: expected at least 1"),
        ("contents[0].parts[0]", {}, "a part holds exactly one datum, not 0"),
        ("contents[0].parts[0]", {"text": "a", "functionCall": {}}, "a part holds exactly one datum, not 2"),
        ("contents[0].parts[0]", {"text": ""}, "contents[0].parts[0].text: must not be empty"),
        ("contents[0].parts[0]", {"type": "text", "text": "a"}, "contents[0].parts[0].type: unknown member"),
        ("contents[0].parts[1].inlineData.data", "?", "inlineData.data: is no base64"),
        ("contents[0].parts[0]", FIRST, "calls are the model's"),
        ("contents[1].parts[1].functionCall.name", "9a", "name: '9a' does not match"),
        ("contents[1].parts[1].functionCall.args", "{}", "args: expected an object, not a text"),
        ("contents[1].parts[1].thoughtSignature", "?!", "thoughtSignature: is no base64"),
        ("contents[1].parts[1].functionCall.name", "other", "functionResponse.name: the call has the name 'other'"),
        ("contents[1].parts[1].functionCall.id", "b", "functionResponse.id: the call has the id 'b'"),
        ("contents[2].parts", RESULTS[:1], "contents[2]: 1 results follow 2 calls"),
        ("contents[2].parts", RESULTS[::-1], "the call has the name 'weather'"),
        ("contents[2].parts[0].functionResponse.response", "18 C", "response: expected an object, not a text"),
        ("contents[5].parts", RESULTS[:1], "contents[5]: 1 results follow 0 calls"),
        ("contents[6].parts[0]", SECOND, "the first call of a step in the current turn must be signed"),
        ("contents[8]", {"role": "model", "parts": [FIRST]}, "contents[8]: calls without their results"),
        ("system_instruction", {"parts": [FIRST]}, "systemInstruction.parts[0].functionCall: unknown member"),
        (f"{DECLARED}[1].name", "weather", "there is another function weather"),
        (f"{DECLARED}[0].name", "-a", "'-a' does not match"),
        (f"{DECLARED}[0].strict", True, "strict: unknown member"),
        (f"{DECLARED}[1].parameters", SCHEMA, "does not go with parametersJsonSchema"),
        (f"{DECLARED}[0].parameters.additionalProperties", False, "additionalProperties: unknown member"),
        (f"{DECLARED}[0].parameters.required", ["town"], "there is no property 'town'"),
        (f"{DECLARED}[0].parameters.properties.city", {"type": ["string", "null"]}, "is none of ARRAY"),
        (f"{DECLARED}[0].parameters.properties.city", {"type": "ARRAY"}, "items: must be there"),
        (f"{DECLARED}[0].parameters.properties.city", {"type": "INTEGER", "enum": ["1"]}, "known for texts only"),
        (f"{DECLARED}[0].parameters.properties.city.format", "uri", "'uri' is not known for STRING"),
        (f"{DECLARED}[0].parameters.properties", {}, "a function without arguments has no parameters"),
        ("toolConfig.functionCallingConfig.mode", "REQUIRED", "mode: 'REQUIRED' is none of"),
        ("toolConfig.functionCallingConfig.mode", "AUTO", "does not go with the mode AUTO"),
        ("toolConfig.functionCallingConfig.allowedFunctionNames", ["b"], "there is no function 'b'"),
        ("tools", [], "toolConfig.functionCallingConfig: there are no functions"),
        (f"{CONFIG}.temperature", 3, "generationConfig.temperature: 3 is not"),
        (f"{CONFIG}.max_tokens", 3, "generationConfig.maxTokens: unknown member"),
        (f"{CONFIG}.seed", 1 << 31, "generationConfig.seed: 2147483648 is not"),
        (f"{CONFIG}.stopSequences", list("abcdef"), "6 of them, at most 5 are taken"),
        (f"{CONFIG}.logprobs", 2, "goes with responseLogprobs only"),
        (f"{CONFIG}.responseMimeType", GONE, "must be application/json with responseJsonSchema"),
        (f"{CONFIG}.responseSchema", SCHEMA, "does not go with responseJsonSchema"),
        (f"{CONFIG}.thinkingConfig.thinkingLevel", "MUCH", "thinkingLevel: 'MUCH' is none of"),
        (f"{CONFIG}.thinkingConfig.thinkingBudget", 9, "does not go with thinkingLevel"),
        (f"{CONFIG}.thinkingConfig", {"thinkingBudget": 0, "includeThoughts": True}, "there are no thoughts with"),
    ],
)
def test_faults(path: str, value: Any, fault: str) -> None:
    assert any(fault in line for line in validate("gemini", changed(BODY, path, value)))


def test_proofs_are_known_or_refused() -> None:
    fault = "contents[1].parts[1].thoughtSignature: this upstream has not given out such a proof"
    assert validate("gemini", BODY, proofs=["VEVY"]) == [fault]

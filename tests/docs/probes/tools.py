"""Tools, and the choice among them."""

from __future__ import annotations

from tests.docs.probes import SCHEMA, Probe, alike, member, on_tool, tool

GRAMMAR = {"type": "grammar", "syntax": "regex", "definition": "[a-z]+"}
BIG = {**SCHEMA, "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]}

TOOLS = [
    Probe(
        "a tool's description",
        dict.fromkeys(("chat", "responses", "messages", "gemini"), on_tool(description="It tells.")),
    ),
    Probe("`strict`", dict.fromkeys(("chat", "responses", "messages"), on_tool(strict=True))),
    Probe(
        "`strict` with limits on values",
        {
            "chat": on_tool(strict=True, parameters=BIG),
            "responses": on_tool(strict=True, parameters=BIG),
            "messages": on_tool(strict=True, input_schema=BIG),
        },
        {
            "chat": on_tool(parameters=BIG),
            "responses": on_tool(parameters=BIG),
            "messages": on_tool(input_schema=BIG),
        },
    ),
    Probe("a cache marker on a tool", {"messages": on_tool(cache_control={"type": "ephemeral"})}),
    Probe(
        "a tool that is loaded later",
        {"messages": on_tool(defer_loading=True), "responses": on_tool(defer_loading=True)},
    ),
    Probe(
        "the schema of a result",
        {
            "gemini": on_tool(responseJsonSchema={"type": "string"}),
            "responses": on_tool(output_schema={"type": "string"}),
        },
    ),
    Probe(
        "a freeform tool",
        {
            "chat": tool(
                {"type": "custom", "custom": {"name": "patch", "format": {"type": "grammar", "grammar": GRAMMAR}}}
            ),
            "responses": tool({"type": "custom", "name": "patch", "format": GRAMMAR}),
        },
    ),
    Probe(
        "tools in a namespace",
        {
            "responses": tool(
                {
                    "type": "namespace",
                    "name": "crm",
                    "description": "About clients",
                    "tools": [{"type": "function", "name": "find", "parameters": SCHEMA}],
                }
            )
        },
    ),
    Probe(
        "the vendor's tools that the client runs",
        {
            "responses": tool({"type": "local_shell"}),
            "messages": tool({"type": "bash_20250124", "name": "bash"}),
        },
    ),
    Probe(
        "tools that the vendor's servers run",
        {
            "chat": member(web_search_options={"search_context_size": "low"}),
            "responses": tool({"type": "web_search"}),
            "messages": tool({"type": "web_search_20250305", "name": "web_search"}),
            "gemini": tool({"googleSearch": {}}),
        },
    ),
    Probe(
        "choice: none",
        {
            **alike("chat responses", tool_choice="none"),
            "messages": member(tool_choice={"type": "none"}),
            "gemini": member(toolConfig={"functionCallingConfig": {"mode": "NONE"}}),
        },
    ),
    Probe(
        "choice: any tool",
        {
            **alike("chat responses", tool_choice="required"),
            "messages": member(tool_choice={"type": "any"}),
            "gemini": member(toolConfig={"functionCallingConfig": {"mode": "ANY"}}),
        },
    ),
    Probe(
        "choice: one tool",
        {
            "chat": member(tool_choice={"type": "function", "function": {"name": "weather"}}),
            "responses": member(tool_choice={"type": "function", "name": "weather"}),
            "messages": member(tool_choice={"type": "tool", "name": "weather"}),
            "gemini": member(
                toolConfig={"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["weather"]}}
            ),
        },
    ),
    Probe(
        "choice: as the schema says", {"gemini": member(toolConfig={"functionCallingConfig": {"mode": "VALIDATED"}})}
    ),
    Probe(
        "one call at a time",
        {
            **alike("chat responses", parallel_tool_calls=False),
            "messages": member(tool_choice={"type": "auto", "disable_parallel_tool_use": True}),
        },
        {"messages": member(tool_choice={"type": "auto"})},
    ),
]

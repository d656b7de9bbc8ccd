"""An MCP server for the tests, of the official SDK: tools that behave and tools that do not.

python lab_server.py [--http PORT] [--journal FILE]

The journal gets a line when a call starts, ends or is cancelled.
"""

from __future__ import annotations

import argparse
import os

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.types import AudioContent, CallToolResult, EmbeddedResource, ImageContent, TextContent, TextResourceContents

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"

server = MCPServer("lab")
journal = ""


def note(line: str) -> None:
    if journal:
        with open(journal, "a") as file:
            file.write(f"{line}\n")


@server.tool(description="Says it again.", structured_output=False)
async def echo(text: str) -> str:
    note(f"echo {text}")
    return text


@server.tool(structured_output=False)
async def wait(seconds: float) -> str:
    """Waits."""
    note("wait start")
    try:
        await anyio.sleep(seconds)
    except BaseException:
        note("wait cancelled")
        raise
    note("wait end")
    return f"waited {seconds}"


@server.tool(structured_output=False)
async def die() -> str:
    """Ends the server."""
    note("die start")
    os._exit(3)


@server.tool(structured_output=False)
async def fail() -> CallToolResult:
    """Fails."""
    return CallToolResult(content=[TextContent(type="text", text="the drawer is jammed")], is_error=True)


@server.tool(structured_output=False)
async def media() -> CallToolResult:
    """Gives one of each."""
    return CallToolResult(
        content=[
            TextContent(type="text", text="a pixel"),
            ImageContent(type="image", data=PIXEL, mime_type="image/png"),
            AudioContent(type="audio", data="UklGRg==", mime_type="audio/wav"),
            EmbeddedResource(
                type="resource",
                resource=TextResourceContents(uri="file:///a.txt", mime_type="text/plain", text="inside"),
            ),
        ]
    )


@server.tool()
async def weather(city: str) -> dict[str, int]:
    """Structured data."""
    return {"degrees": 21, "letters": len(city)}


@server.tool(structured_output=False)
async def variable(name: str) -> str:
    """A variable of the environment."""
    return os.environ.get(name, "not set")


@server.tool(structured_output=False)
async def header(name: str, context: Context) -> str:
    """A header of the request."""
    headers = context.headers or {}
    return headers.get(name, "not sent")


@server.tool(structured_output=False)
async def learn(name: str, context: Context) -> str:
    """Learns a new tool, and tells of it."""
    server.add_tool(echo, name=name, structured_output=False)
    await context.notify_tools_changed()
    await context.session.send_tool_list_changed()
    return "learnt"


def main() -> None:
    global journal
    parser = argparse.ArgumentParser()
    parser.add_argument("--http", type=int, metavar="PORT")
    parser.add_argument("--journal", default="")
    options = parser.parse_args()
    journal = options.journal
    if options.http is not None:
        server.run("streamable-http", host="127.0.0.1", port=options.http)
    else:
        server.run("stdio")


if __name__ == "__main__":
    main()

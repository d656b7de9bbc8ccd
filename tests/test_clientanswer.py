"""What a client's dialect has no form for is told, streamed and whole (promise 2 of the product)."""

from __future__ import annotations

import pytest

from dragoman import dialects
from dragoman.canonical import events as e
from dragoman.clientanswer import ClientAnswer
from dragoman.streaming.encoder import EncodeContext
from dragoman.streaming.ids import Ids

SOUND = e.Media(media_type="audio/wav", data="UklGRg==")
PICTURE = e.Media(media_type="image/png", data="iVBORw0KGgo=")
SEARCH = e.ServerTool("messages", ({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},))
BOOK = e.Citation(title="A book", origin="gemini")


def losses(client: str, *middle: e.Event, streaming: bool) -> dict[str, int]:
    context = EncodeContext(model="m", ids=Ids("seed"), now=0)
    answer = ClientAnswer(dialects.get(client), context, streaming=streaming)
    answer.add([e.ResponseStart(), *middle, e.ResponseEnd(finish=e.FinishReason.STOP)])
    assert answer.finished
    return answer.losses


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize(
    ("client", "event", "lost"),
    [
        ("chat", SEARCH, "a tool that the upstream ran"),
        ("messages", SEARCH, None),
        ("messages", PICTURE, "image/png that the model made"),
        ("chat", PICTURE, None),
        ("responses", PICTURE, None),
        ("responses", SOUND, "audio/wav that the model made"),
        ("gemini", SOUND, None),
    ],
)
def test_blocks_without_a_form(client: str, event: e.Event, lost: str | None, streaming: bool) -> None:
    assert losses(client, event, streaming=streaming) == ({lost: 1} if lost else {})


def test_blocks_of_several_answers() -> None:
    assert losses("chat", e.InChoice(0, SEARCH), e.InChoice(1, SEARCH), streaming=True) == {
        "a tool that the upstream ran": 2
    }


@pytest.mark.parametrize(("client", "lost"), [("chat", 1), ("gemini", 0)])
def test_sources_without_an_address(client: str, lost: int) -> None:
    text = (e.TextStart(), e.TextDelta("So it says."), e.CitationAdded(BOOK), e.TextEnd())
    assert sum(losses(client, *text, streaming=True).values()) == lost

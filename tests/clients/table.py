"""``docs/compatibility.md`` from the results: ``python -m tests.clients.table [FILE.jsonl…]``.

With files, these are the results from now on.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from dragoman import dialects
from tests.clients.results import Results, Row, load, read, save, summed_up
from tests.clients.stage import driver
from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "compatibility.md"
SCENARIOS: dict[str, str] = {
    "clean": "an answer as the dialect's own servers give it",
    "late-name": "the name of a call comes in a later fragment, and is absent before",
    "late-name-null": "the same, with `null` before",
    "late-name-empty": "the same, with an empty text before",
    "late-name-last": "the name comes behind all arguments",
    "repeat-name": "each fragment repeats the name",
    "bare-continuation": "later fragments have no index and no id",
    "no-index": "no fragment has an index",
    "shifted-index": "the index of later fragments is another",
    "null-continuation": "later fragments have `null` for id and name",
    "parallel-interleaved": "fragments of two calls by turns",
    "finish-stop": "the reason to finish is `stop`, in spite of the call",
    "interleaved": "fragments of two calls by turns",
    "parallel": "two calls",
    "finish-no-content": "the last event has no content",
    "no-role": "contents without a role",
    "no-signature": "a call without a signature",
    "bad-completed-empty-output": "the answer in `response.completed` is empty",
    "bad-empty-name-added": "the name is empty in `output_item.added`",
    "bad-no-name-added": "the name is absent in `output_item.added`",
    "bad-item-done-no-args": "`output_item.done` has no arguments",
    "bad-no-args-done": "no `function_call_arguments.done`",
    "bad-no-completed": "no `response.completed`: it is not known whether the answer was whole",
    "bad-no-created": "no `response.created`",
    "bad-no-event-lines": "no `event:` lines",
    "bad-no-item-added": "no `output_item.added`",
    "bad-no-item-done": "no `output_item.done`",
    "bad-no-item-id": "no ids of items",
    "bad-no-sequence": "no `sequence_number`",
    "bad-no-usage": "no counts of tokens",
    "bad-double-start": "`content_block_start` twice",
    "bad-empty-name": "a call whose name is empty: there is no tool to call",
    "bad-no-name": "a call without a name: there is no tool to call",
    "bad-interleaved-blocks": "two blocks at the same time",
    "bad-no-block-start": "no `content_block_start`, so a call without a name",
    "bad-no-block-stop": "no `content_block_stop`",
    "bad-no-message-delta": "no `message_delta`",
    "bad-no-message-stop": "no `message_stop`",
    "bad-same-index": "two blocks with one index",
    "bad-stop-reason": "the reason to stop is `end_turn`, in spite of the call",
    "bad-args-string": "the arguments are a text",
    "bad-no-args": "a call without arguments, though its tool demands some",
    "bad-no-finish": "no `finishReason`: it is not known whether the answer was whole",
}
"""What the scripted upstream does."""
_NAMELESS = "the call is dropped, and the answer ends with the text before it (decision 0017)"
_INSISTS = "it is told, and asks again and again, as after every server error, until its minute is over"
REASONS: dict[tuple[str | None, str | None], str] = {
    ("bad-no-name", None): _NAMELESS,
    ("bad-empty-name", None): _NAMELESS,
    ("bad-no-block-start", None): _NAMELESS,
    ("bad-no-args", None): "the call goes on as it came, since none are needed by many tools; what it lacks, "
    "the client tells its model",
    ("bad-no-finish", "cli-opencode-compat"): _INSISTS,
    ("bad-no-finish", "cli-opencode-responses"): _INSISTS,
    ("bad-no-completed", "cli-opencode-compat"): _INSISTS,
    ("bad-no-completed", "cli-opencode-responses"): _INSISTS,
    (None, "py-instructor-chat"): "takes one call of its one tool, without the gateway too",
}
"""Why a scenario fails with a client, whatever the client, or a client, whatever the scenario."""
_NO_ROWS = Row(upstream="", scenario="")


def rendered(results: Results, page: str) -> str:
    """The page with its tables as the results have them."""
    tables = {"clients": _clients(results), "scenarios": _scenarios(results), "failures": _failures(results)}
    for name, lines in tables.items():
        place = re.compile(rf"(<!-- results: {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        text = "\n" + "".join(f"{line}\n" for line in lines) + "\n"
        page, found = place.subn(lambda match, text=text: match[1] + text + match[2], page)  # type: ignore[misc]
        if found != 1:
            raise ValueError(f"{PAGE}: there is no place for {name}")
    return page


def _clients(results: Results) -> Iterator[str]:
    names = dialects.names()
    yield "| client | version | " + " | ".join(names) + " |"
    yield "| --- " * (len(names) + 2) + "|"
    for client, version in results.versions.items():
        yield f"| `{client}` | {version} | " + " | ".join(_cell(results, client, name) for name in names) + " |"


def _cell(results: Results, client: str, upstream: str) -> str:
    """How the clean answer went, and in how many other scenarios it went well."""
    rows = [row for row in results.rows if row.upstream == upstream and client in row.clients]
    failed = [row for row in rows if client in row.failed]
    if not rows:
        return "–"
    well = len(rows) - len(failed)
    clean = client in (results.row(upstream, "clean") or _NO_ROWS).ok
    return f"{'ok' if clean else 'fails'}, {well} of {len(rows)}"


def _scenarios(results: Results) -> Iterator[str]:
    yield "| upstream | scenario | what its server does | clients | work | are told | fail |"
    yield "| --- " * 7 + "|"
    for row in results.rows:
        name = f"`{row.scenario}`" + ("" if row.stream else ", not streamed")
        counts = (len(row.clients), len(row.ok), len(row.told) or "", len(row.failed) or "")
        yield f"| {row.upstream} | {name} | {SCENARIOS[row.scenario]} | " + " | ".join(map(str, counts)) + " |"


def _failures(results: Results) -> Iterator[str]:
    if not any(row.failed for row in results.rows):
        yield "Nothing."
    for row in results.rows:
        how = "" if row.stream else ", not streamed"
        where = f"{row.upstream}, `{row.scenario}`{how}"
        known = {client: reason(row.scenario, client) for client in row.failed}
        for why in dict.fromkeys(known.values()):
            if why is not None:
                names = [client for client in known if known[client] == why]
                told = f"{len(names)} clients" if len(names) > 3 else ", ".join(f"`{name}`" for name in names)
                yield f"- {where}, {told}: {why}."
        for client in row.failed:
            if known[client] is None:
                yield f"- {where}, `{client}`, not explained: {row.failed[client]}"


def reason(scenario: str, client: str) -> str | None:
    """Why this client fails in this scenario, if it is known."""
    return REASONS.get((scenario, client)) or REASONS.get((scenario, None)) or REASONS.get((None, client))


def main() -> None:
    if files := [Path(name) for name in sys.argv[1:]]:
        lines = [line for file in files for line in file.read_bytes().splitlines()]
        save(summed_up(read(lines), driver().ALL))
    PAGE.write_text(rendered(load(), PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()

"""Answers that are kept for ``previous_response_id`` and for ``GET /v1/responses/{id}``: what they mean, without IO.

A request that goes on from a kept answer is made to stand alone: the items that led to that answer,
the items that it gave, then the new ones. Instructions are not inherited (protocols/openai.md, part 2).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

from dragoman import jsontext
from dragoman.canonical.errors import Error, ErrorKind
from dragoman.dialects.contract import State
from dragoman.dialects.responses.errors import refused
from dragoman.dialects.responses.wire import JSON, MARK, NAME, PREFIXES, RESPONSE_PREFIX, text_of
from dragoman.streaming.ids import Ids

_LEAST, _MOST, _USUAL = 1, 100, 20
"""Items of a page (protocols/openai.md, "Other endpoints")."""


def wanted(body: JSON) -> bool:
    """Whether the answer is to be kept: ``store`` is true unless the client says no."""
    value = body.get("store")
    if value is not None and not isinstance(value, bool):
        raise refused("expected true or false", "store")
    return value is not False


def previous(body: JSON) -> str | None:
    """``previous_response_id``."""
    value = body.get("previous_response_id")
    if value is not None and not isinstance(value, str):
        raise refused("expected a string", "previous_response_id")
    return value or None


def references(body: JSON) -> tuple[str, ...]:
    """The ids of the items that ``input`` names instead of giving them."""
    return tuple(id for item in _listed(body.get("input")) if (id := _reference(item)) is not None)


def expand(body: JSON, before: Sequence[JSON] | None, known: Mapping[str, JSON]) -> JSON:
    """The body with the items before it, and with the items that it names, as far as they are known."""
    if before is None and not known:
        return body
    own = [known.get(_reference(item) or "", item) for item in map(_object, _listed(body.get("input")))]
    out = {**body, "input": [*(before or ()), *own]}
    if before is not None:
        del out["previous_response_id"]
    return out


def items(body: JSON) -> list[JSON]:
    """``input`` as items with ids: their own, or one made from what they say and how often it was said before."""
    seen: Counter[bytes] = Counter()
    out = []
    for raw in _listed(body.get("input")):
        item = _item(raw)
        if text_of(item.get("id")) is None:
            said = jsontext.render(item)
            seen[said] += 1
            digest = blake2b(said + b"#%d" % seen[said], digest_size=12).hexdigest()
            item = {"id": PREFIXES.get(str(item.get("type")), "item_") + MARK + digest, **item}
        out.append(item)
    return out


def unkept(body: JSON) -> JSON:
    """The body without ``store``: what keeps the answer is no business of this upstream."""
    return {name: value for name, value in body.items() if name != "store"}


def echo(id: str, before: str | None) -> JSON:
    """What a kept response says of itself. Its id is one of this gateway's: the upstream's may not be unique."""
    return {"id": id, "store": True, "previous_response_id": before}


def new_id(seed: str) -> str:
    """The id of a response that is kept here."""
    return Ids(f"{seed}:kept")(RESPONSE_PREFIX)


def missing(id: str) -> Error:
    """The error for a ``previous_response_id`` that is not held; the code is OpenAI's."""
    return Error(
        kind=ErrorKind.INVALID_REQUEST,
        message=f"the previous response {id[:100]!r} is not held here: send the full conversation in input",
        code="previous_response_not_found",
        param="previous_response_id",
        origin=NAME,
    )


def take(answer: JSON) -> tuple[JSON, list[JSON]]:
    """A response without its ``output``, and the items of it."""
    output = answer.get("output")
    rest = {name: value for name, value in answer.items() if name != "output"}
    return rest, output if isinstance(output, list) else []


def put(answer: JSON, output: Sequence[JSON]) -> JSON:
    """The response with its ``output``."""
    return {**answer, "output": list(output)}


def page(every: Sequence[JSON], parameters: Mapping[str, str]) -> JSON:
    """A page of a list of items: ``after`` an id, ``limit`` of them, newest first unless ``order`` is ``asc``."""
    order, limit = parameters.get("order", "desc"), parameters.get("limit", str(_USUAL))
    if order not in ("asc", "desc"):
        raise refused("expected asc or desc", "order")
    if not limit.isascii() or not limit.isdigit() or not _LEAST <= int(limit[:9]) <= _MOST:
        raise refused(f"expected a whole number from {_LEAST} to {_MOST}", "limit")
    ordered = list(every) if order == "asc" else list(reversed(every))
    begin = 0
    if after := parameters.get("after"):
        place = next((number for number, item in enumerate(ordered) if item.get("id") == after), None)
        if place is None:
            raise refused(f"there is no item {after[:100]!r} in this list", "after")
        begin = place + 1
    data = ordered[begin : begin + int(limit)]
    return {
        "object": "list",
        "data": data,
        "first_id": data[0]["id"] if data else None,
        "last_id": data[-1]["id"] if data else None,
        "has_more": begin + len(data) < len(ordered),
    }


def deleted(id: str) -> JSON:
    """What a client gets for a response that it had deleted."""
    return {"id": id, "object": "response", "deleted": True}


def _listed(given: Any) -> list[Any]:
    if given is None:
        return []
    return given if isinstance(given, list) else [given]


def _object(raw: Any) -> JSON:
    """An entry of ``input``, which may be a mere text."""
    return raw if isinstance(raw, dict) else {"role": "user", "content": raw}


def _reference(item: Any) -> str | None:
    """The id in an ``item_reference``, which may come without its type."""
    if not isinstance(item, dict):
        return None
    kind = item.get("type")
    if kind == "item_reference" or (kind is None and "role" not in item):
        return text_of(item.get("id"))
    return None


def _item(raw: Any) -> JSON:
    """An entry of ``input`` in its long form."""
    raw = _object(raw)
    if raw.get("type") or "role" not in raw:
        item = dict(raw)
    else:
        item = {**raw, "type": "message"}
    if item.get("type") == "message" and isinstance(item.get("content"), str):
        text = item["content"]
        if item.get("role") == "assistant":
            item["content"] = [{"type": "output_text", "text": text, "annotations": []}]
        else:
            item["content"] = [{"type": "input_text", "text": text}]
    return item


STATE = State(
    wanted=wanted,
    previous=previous,
    references=references,
    expand=expand,
    items=items,
    unkept=unkept,
    echo=echo,
    new_id=new_id,
    missing=missing,
    take=take,
    put=put,
    page=page,
    deleted=deleted,
)

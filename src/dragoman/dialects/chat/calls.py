"""The entries of ``tool_calls``, each read as a fragment of a call, whatever its form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from dragoman.canonical.opaque import Opaque
from dragoman.dialects.chat.wire import NAME, thought_signature
from dragoman.streaming.answer import AnswerAssembler
from dragoman.streaming.arguments import argument_text
from dragoman.streaming.fragments import CallFragment, read_fragment

_JSON = dict[str, Any]

_ARGUMENTS = ("arguments", "parameters", "args", "input")
"""Members that hold arguments, the right one first: Llama models write ``parameters``, LangChain's form of a call has
``args``, Anthropic's has ``input``."""
_NOTHING: tuple[Any, ...] = (None, "", {}, "{}")
_OWN = frozenset(
    {"index", "id", "type", "function", "custom", "name", "description", "strict", *_ARGUMENTS}
    | {"extra_content", "provider_specific_fields", "thoughtSignature"}
)
"""Members of a call that are read, or known to hold no arguments."""


def entries_in(calls: Any) -> list[Any]:
    """The calls of a list, of an object whose keys are their indexes, or a lone one."""
    if isinstance(calls, dict) and all(key.isdecimal() for key in calls):
        return [{"index": key, **entry} if isinstance(entry, dict) else entry for key, entry in calls.items()]
    return calls if isinstance(calls, list) else [calls]


def read_call(entry: _JSON, index: Any, assembler: AnswerAssembler) -> CallFragment:
    """One entry; ``index`` is a raw value. Arguments in a wrong member are a quirk, what may be some is a loss."""
    custom = entry.get("type") == "custom" or isinstance(entry.get("custom"), dict)
    body = entry.get("custom" if custom else "function")
    places = (body, entry) if isinstance(body, dict) else (entry,)
    return read_fragment(
        index=index,
        id=entry.get("id"),
        name=next(filter(None, (place.get("name") for place in places)), None),
        arguments=_arguments(places, "input" if custom else "arguments", assembler),
        kind="custom" if custom else "function",
        signature=_signature(entry),
    )


def read_legacy_call(call: _JSON, assembler: AnswerAssembler) -> CallFragment:
    """A call of the form before ``tool_calls``: there is one, so its fragments get the key that they lack."""
    return read_fragment(index=0, name=call.get("name"), arguments=_arguments((call,), "arguments", assembler))


def passed_on(proof: Opaque) -> Opaque:
    """A proof that another vendor made and a chat server gave: back to that server it goes."""
    return proof if proof.origin == NAME else msgspec.structs.replace(proof, via=NAME)


def _arguments(places: tuple[_JSON, ...], own: str, assembler: AnswerAssembler) -> Any:
    """The arguments, from the member that has them: the right one, unless it says nothing and another one has some."""
    found = places[0].get(own)
    held = [(name, value) for name in _ARGUMENTS for place in places if _may_be(value := place.get(name))]
    if found in _NOTHING and held:
        found = held[0][1]
        assembler.quirk("args-in-other-member")
    if found in _NOTHING:
        held += _unknown(places)
    for name, value in held:
        if argument_text(value) != argument_text(found):
            assembler.lose(f"member {name} of a call")
    return found


def _unknown(places: tuple[_JSON, ...]) -> Iterator[tuple[str, Any]]:
    """Members that nobody knows, and that may be arguments: objects, written as JSON or not."""
    for place in places:
        for name, value in place.items():
            if name not in _OWN and _may_be(value) and (isinstance(value, dict) or value.lstrip().startswith("{")):
                yield name, value


def _may_be(value: Any) -> bool:
    return isinstance(value, dict | str) and value not in _NOTHING


def _signature(entry: _JSON) -> Opaque | None:
    """Gemini's signature of a call, where Google's servers, LiteLLM or Databricks place it."""
    found = None
    if "extra_content" in entry:
        found = thought_signature(entry["extra_content"])
    elif "provider_specific_fields" in entry:
        found = thought_signature({"google": entry["provider_specific_fields"]})
    elif isinstance(data := entry.get("thoughtSignature"), str) and data:
        found = Opaque("gemini", "signature", data)
    return None if found is None else passed_on(found)

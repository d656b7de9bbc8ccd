"""Any LLM client to any LLM upstream, in every pair of dialects, streaming, without mangling a tool call.

``Translator`` joins two dialects without IO; the layers under it (``dragoman.streaming``,
``dragoman.dialects``, ``dragoman.canonical``) can be used by themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dragoman.translator import Translator

__all__ = ["Translator", "__version__"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name == "Translator":
        from dragoman.translator import Translator

        return Translator
    raise AttributeError(f"module 'dragoman' has no attribute {name!r}")

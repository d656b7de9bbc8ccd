"""Which model an agent is told, and what becomes of the names that it asks for besides."""

from __future__ import annotations

from dragoman.commands.catalogue import Catalogue
from dragoman.gateway.routing import Reason
from dragoman.launch.agents import Agent
from dragoman.launch.gateway import Running


class NoModelError(Exception):
    """There is no such model, or none to choose; ``str()`` says it."""


def choose(agent: Agent, wanted: str | None, catalogue: Catalogue, there: Running | None) -> str | None:
    """The model that the agent is told; ``None``: the one of its own choice leads somewhere. Raises ``NoModelError``."""
    if wanted is not None:
        if catalogue.find(wanted) or (there and there.knows(wanted)):
            return wanted
        near = catalogue.near(wanted)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise NoModelError(f"there is no model {wanted} ({catalogue.source}){hint}")
    if agent.usual and _leads(agent.usual, agent, catalogue):
        return None
    if len(catalogue.names) == 1:
        return catalogue.names[0]
    names = ", ".join(catalogue.names) or ", ".join(f"{upstream}/MODEL" for upstream in catalogue.places)
    why = (
        f"nothing leads from {agent.patterns[0]} to a model" if agent.patterns else f"{agent.title} has to be told one"
    )
    raise NoModelError(f"which model? {why} ({catalogue.source}): --model NAME with one of {names}")


def aliases(agent: Agent, model: str | None, catalogue: Catalogue) -> dict[str, list[str]]:
    """Entries for what the agent asks for by itself (small models, a second opinion), where none leads on.

    They lead to the model that it was told, since most agents cannot be told another name for all of it.
    """
    route = catalogue.find(model) if model else None
    if route is None:
        return {}
    targets = [str(target) for target in route.targets]
    return {one: targets for one in agent.patterns if not _leads(example(one), agent, catalogue)}


def example(pattern: str) -> str:
    """A name that the pattern fits."""
    return pattern.replace("*", "any")


def _leads(name: str, agent: Agent, catalogue: Catalogue) -> bool:
    """Whether a name of the agent's vendor leads to where such a model may be.

    That an upstream is the only one says so only if it speaks what the agent speaks.
    """
    route = catalogue.find(name)
    if route is None or route.reason is not Reason.ONLY:
        return route is not None
    return catalogue.places[route.entry].dialect == next(iter(agent.dialects))

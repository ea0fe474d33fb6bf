"""Whether a question asks for nodes, for summaries of communities, or for both (spec_context_leiden §6)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from graphrag_dagster.catalogue.tasks import GRAPH_ROUTER
from graphrag_dagster.core.language.answering import Routed
from graphrag_dagster.core.search.methods.graph.trace import Route
from graphrag_dagster.core.search.question import Search

_MOST_NAMES = 3
#: What each route is for, as a model is told that chooses.
_FOR: Mapping[Route, str] = MappingProxyType(
    {
        "local": "for a fact about certain nodes, such as what one is, what it is related to, or how two are "
        "connected; reads nodes and edges",
        "global": "for what holds of many nodes, such as themes, trends or what there is of a kind; reads "
        "summaries of communities of nodes",
        "hybrid": "for a broad question about certain nodes, such as themes, comparisons or developments "
        "around them; reads nodes and edges in the communities that summaries point to",
    }
)
#: By which a question asks for more than facts about one thing.
_CUES = re.compile(
    r"\b(?:themes?|topics?|overview|overall|summar(?:y|ies|i[sz]e[sd]?|i[sz]ing)|gist|outline|"
    r"trends?|patterns?|tendenc(?:y|ies)|compar(?:e[sd]?|ing|isons?)|contrast(?:s|ed|ing)?|"
    r"how many (?:different )?(?:kinds|types|sorts)|(?:what|which) (?:kinds|types|sorts)|"
    r"(?:main|major|key|central|biggest|most important|most common|recurring|common|broad(?:er)?|general) "
    r"\w+|in general|generally|typically|as a whole|across|throughout|big picture|describe|"
    r"over (?:time|the years))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Chosen:
    """A route, why, who chose it, and what a model said if it was asked."""

    route: Route
    reason: str
    by: Literal["rules", "model"] = "rules"
    routed: Routed | None = None


def chosen_for(search: Search, names: Sequence[str], possible: Sequence[Route]) -> Chosen:
    """Choose by a model where the options say so and the engine is one, else by rule.

    Without a usable reply of the model it is both: summaries and nodes.

    Args:
        search: the question.
        names: titles of the entities that it is linked to.
        possible: routes that the index has something for.
    """
    router = search.engines.task(GRAPH_ROUTER) if search.options.routing == "model" else None
    if router is None or len(possible) < 2:
        return by_rule(search.question.text, names)
    routed = router.route(search.question.text, {one: _FOR[one] for one in possible}, names)
    for route in possible:
        if route == routed.way:
            return Chosen(route, routed.reason, "model", routed)
    return Chosen("hybrid", "no usable reply of the model, so both summaries and nodes", routed=routed)


def by_rule(question: str, names: Sequence[str]) -> Chosen:
    """Choose by the entities that a question names, and by words that ask for more than facts about them.

    Args:
        question: as asked.
        names: titles of the entities that it is linked to.
    """
    cue = _CUES.search(question)
    said = f"it asks for “{cue[0].lower()}”" if cue else ""
    if not names:
        return Chosen("global", said or "it names no entity of the graph")
    named = f"it names {_listed(names)}"
    return Chosen("hybrid", f"{named}, and {said}") if cue else Chosen("local", named)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_MOST_NAMES]) + (" …" if len(names) > _MOST_NAMES else "")

"""Which query over the graph a question in plain words has the form of."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from graphrag_dagster.core.cypher.templates import TEMPLATES
from graphrag_dagster.core.search.context.index import IndexSnapshot
from graphrag_dagster.core.search.context.queries import MOST_ROWS
from graphrag_dagster.core.search.methods.sql.recognising import LONGEST, bare_question
from graphrag_dagster.core.search.methods.sql.slots import Filled, Unfit, fill
from graphrag_dagster.core.search.methods.sql.template import Template

#: Relations of a path where the question does not say how many.
_STEPS = 3
_TO = re.compile(r" to ", re.IGNORECASE)
_NEIGHBOURS = ("neighbour", "neighbor", "connections", "list")


@dataclass(frozen=True, slots=True)
class PlainQuery:
    """A query of a template.

    Attributes:
        template: its name.
        reading: how the question was read.
        text: the query, in openCypher.
        parameters: values of its ``$names``.
        guessed: names that were taken for longer ones.
    """

    template: str
    reading: str
    text: str
    parameters: dict[str, Any]
    guessed: tuple[str, ...] = ()


def recognised(question: str, index: IndexSnapshot) -> PlainQuery | str:
    """Return the query that a question has the form of, else why there is none.

    Args:
        question: in English, in whatever capitals; anything else fits no template.
        index: of the corpus, whose names and types are known.
    """
    if len(question) > LONGEST:
        return f"a question of more than {LONGEST} characters has the form of no template"
    bare = bare_question(question)
    missed: list[Unfit] = []
    for template in TEMPLATES:
        for pattern in template.patterns:
            if found := pattern.fullmatch(bare):
                for said in _said(found.groupdict()):
                    try:
                        return _query(template, fill(template, said, index))
                    except Unfit as reason:
                        missed.append(reason)
    best = max(missed, key=lambda one: one.weight, default=None)
    return str(best) if best else "the question has the form of no template"


def _said(groups: dict[str, str | None]) -> Iterator[dict[str, str | None]]:
    """The words by slot; once more for each *to* that may stand between two names, as it may in one."""
    types, names = (groups.get("types") or "").lower(), groups.get("names") or ""
    # Neighbours are of whatever type.
    if any(one in types for one in _NEIGHBOURS):
        groups = groups | {"types": "entities"}
    yield groups
    for between in _TO.finditer(names):
        yield groups | {"names": f"{names[: between.start()]} and {names[between.end() :]}"}


def _query(template: Template, filled: Filled) -> PlainQuery:
    types = filled.parameters.get("types")
    pieces = {
        "steps": filled.words.get("steps", _STEPS),
        "most": min(filled.words.get("most", template.most), MOST_ROWS),
        "of_type": " AND c.type IN $types" if types else "",
    }
    parameters = {"types": types} if types else {}
    parameters |= dict(zip(("first", "second"), filled.parameters.get("entities", ()), strict=False))
    text = template.sql.strip().format(**pieces)
    reading = template.says.format(**{"what": "entities", **pieces, **filled.words})
    return PlainQuery(template.name, reading, text, parameters, filled.guessed)

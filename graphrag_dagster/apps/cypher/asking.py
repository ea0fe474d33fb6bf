"""A question in plain words, answered by a guarded query over the graph, which is shown with its rows."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from graphrag_dagster.apps.cypher import tables as property_graph
from graphrag_dagster.apps.cypher.language.functions import FUNCTIONS
from graphrag_dagster.apps.cypher.port import Graph, Ran
from graphrag_dagster.apps.cypher.templates import TEMPLATES
from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.questions.context.index import IndexSnapshot
from graphrag_dagster.kernel.questions.context.queries import MOST_ROWS, QueryError
from graphrag_dagster.kernel.tasks.answering import FailedQuery, QueryWriter
from graphrag_dagster.kernel.tasks.ports import Usage
from graphrag_dagster.systems.graphrag.search.sql.recognising import LONGEST, bare_question
from graphrag_dagster.systems.graphrag.search.sql.slots import Filled, Unfit, fill
from graphrag_dagster.systems.graphrag.search.sql.template import Template

#: Tries after the first.
_MENDED = 2


@dataclass(frozen=True, slots=True)
class GraphAnswer:
    """What a question about the graph gives.

    Attributes:
        question: as asked.
        reading: how it was read.
        ran: the query, and its rows.
        template: that the query was made from; None where a model wrote it.
        guessed: names that were taken for longer ones.
        problems: queries that a model wrote and that could not be run, and why.
        usage: tokens that the model took.
    """

    question: str
    reading: str
    ran: Ran
    template: str | None = None
    guessed: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)


def asked_of(
    question: str, index: IndexSnapshot, graph: Graph, writer: QueryWriter | None = None
) -> GraphAnswer:
    """Answer a question by a query over the graph.

    Args:
        question: in plain words; templates know English.
        index: of the corpus, whose names and types are known.
        graph: runs the query.
        writer: writes the query, behind the guard; where what it writes cannot be run, and where it is None,
            a template makes it.

    Raises:
        QuestionError: the question has the form of no template, or its query cannot be run; says what can be
            asked.
        EndpointError: the model endpoint cannot be used.
    """
    problems: tuple[str, ...] = ()
    usage = Usage()
    if writer is not None:
        made = written(question, index, graph, writer)
        if isinstance(made, GraphAnswer):
            return made
        problems, usage = made
    plain = recognised(question, index)
    if isinstance(plain, str):
        examples = " · ".join(one.examples[0] for one in TEMPLATES)
        tried = "".join(f"\nthe model wrote a query that could not be run: {one}" for one in problems)
        raise QuestionError(f"{plain}; questions such as these can be asked: {examples}{tried}")
    ran = graph.run(plain.text, plain.parameters)
    return GraphAnswer(question, plain.reading, ran, plain.template, plain.guessed, problems, usage)


def written(
    question: str, index: IndexSnapshot, graph: Graph, writer: QueryWriter, within: str = ""
) -> GraphAnswer | tuple[tuple[str, ...], Usage]:
    """Return what a query that a model writes gives, mended up to two times.

    What is said of a query goes back to the model; what a query gives does not.

    Args:
        question: in plain words.
        index: of the corpus, whose types are told.
        graph: runs the query.
        writer: writes it.
        within: what is told of the part of the graph that the query has to stay in; blank: the whole.

    Returns:
        the answer, or where no query could be run, what was wrong, and what the model took.

    Raises:
        EndpointError: the model endpoint cannot be used.
    """
    types = "\n".join(sorted(index.entities["type"].unique()))
    functions = f"Functions: {', '.join(FUNCTIONS)}, and all, any, none and single"
    tables = "\n".join([*property_graph.told(), "", functions, *filter(None, [within])])
    failed: list[FailedQuery] = []
    problems: list[str] = []
    usage = Usage()
    while len(failed) <= _MENDED:
        one = writer.write(question, tables, types, failed)
        usage += one.usage
        if not one.text:
            problems.append(one.problem or "no query")
            break
        try:
            ran = graph.run(one.text, {})
        except QueryError as error:
            failed.append(FailedQuery(one.text, str(error)))
            problems.append(f"{' '.join(one.text.split())}: {' '.join(str(error).split())}")
            continue
        return GraphAnswer(question, one.reading, ran, problems=tuple(problems), usage=usage)
    return tuple(problems), usage


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

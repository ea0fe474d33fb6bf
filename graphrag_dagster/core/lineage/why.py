"""Why a row is there: the way from it down to the words of the documents."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal, get_args

import polars as pl

from graphrag_dagster.core.lineage.answers import answer_step
from graphrag_dagster.core.lineage.context_nodes import resembled_steps
from graphrag_dagster.core.lineage.coterag import summary_step, triple_steps
from graphrag_dagster.core.lineage.finding import find_one
from graphrag_dagster.core.lineage.instances import Instances
from graphrag_dagster.core.lineage.joined import ALIASES, names_step
from graphrag_dagster.core.lineage.reports import Reports
from graphrag_dagster.core.lineage.rows import Rows
from graphrag_dagster.core.lineage.steps import Step

WhyKind = Literal["entity", "relationship", "report", "claim", "answer", "triple", "summary"]
WHY_KINDS: tuple[WhyKind, ...] = get_args(WhyKind)

_NOTHING = pl.lit(None, pl.String)
_NUMBER = pl.col("human_readable_id")
_CANDIDATES: Mapping[WhyKind, tuple[str, Mapping[str, pl.Expr]]] = {
    "entity": (
        "graph.entities",
        {"id": pl.col("entity_id"), "number": _NUMBER, "label": pl.col("title"), "name": pl.col("name")},
    ),
    "relationship": (
        "graph.relationships",
        {
            "id": pl.col("relationship_id"),
            "number": _NUMBER,
            "label": pl.format("{} – {}", "source", "target"),
            "name": pl.format("{} – {}", "target", "source"),
        },
    ),
    "report": (
        "reports.community_reports",
        {"id": pl.col("report_id"), "number": _NUMBER, "label": pl.col("title"), "name": _NOTHING},
    ),
    "claim": (
        "graph.claims",
        {"id": pl.col("claim_id"), "number": _NUMBER, "label": pl.col("description"), "name": _NOTHING},
    ),
    "triple": (
        "graph.triples",
        {
            "id": pl.col("triple_id"),
            "number": _NUMBER,
            "label": pl.format("{} {} {}", "head", "relation", "tail"),
            "name": pl.format("{} – {}", "head", "tail"),
        },
    ),
    "summary": (
        "coterag.summaries",
        {
            "id": pl.col("community_id"),
            "number": pl.lit(None, pl.Int32),
            "label": pl.col("title"),
            "name": _NOTHING,
        },
    ),
    "answer": (
        "answers.answers",
        {
            "id": pl.col("answer_id"),
            "number": pl.lit(None, pl.Int32),
            "label": pl.format("{}: {}", "method", "question"),
            "name": pl.col("question"),
        },
    ),
}


def why(rows: Rows, kind: WhyKind, asked: str, most: int | None = 5) -> Step:
    """Return a row with everything it was made from, down to characters of documents.

    Args:
        rows: the tables.
        kind: what the row is.
        asked: its id, the beginning of that, its ``human_readable_id``, or what it is called: title or any
            name of an entity, ``SOURCE – TARGET`` of a relationship, ``HEAD relation TAIL`` of a triple, the
            title of a report or of a summary of CoTeRAG-S, the words of a claim, the question of an answer.
        most: most rows of one sort below a row; None for all. Entities and relationships that a report or an
            answer cites show fewer.

    Raises:
        QuestionError: no row fits, or more than one; names near ones.
    """
    identity = _identity(rows, kind, asked)
    instances = Instances(rows, most)
    if kind == "entity":
        return _placed(rows, _named(rows, instances.entities([identity])[identity], most), most)
    if kind == "relationship":
        return instances.relationships([identity])[identity]
    if kind == "claim":
        return instances.claims([identity])[identity]
    if kind == "triple":
        return triple_steps(rows, [identity], most)[0]
    if kind == "summary":
        return summary_step(rows, identity, most)
    if kind == "report":
        return Reports(rows, most).report(identity)
    return answer_step(rows, identity, most)


def entity_named(rows: Rows, asked: str) -> str:
    """Return the id of the entity that is meant; ``asked`` and errors as of :func:`why`."""
    return find_one("entity", _candidates(rows, "entity"), asked)


def _identity(rows: Rows, kind: WhyKind, asked: str) -> str:
    table, columns = _CANDIDATES[kind]
    (key,) = columns["id"].meta.root_names()
    # Who has the id needs none of the others.
    found = rows.of(table, key, [asked.strip()], (key,))
    return find_one(kind, _candidates(rows, kind), asked) if found.is_empty() else str(found[key][0])


def _candidates(rows: Rows, kind: WhyKind) -> pl.DataFrame:
    table, columns = _CANDIDATES[kind]
    needed = _names(columns.values())
    found = rows.all(table, needed).select(**columns)
    if kind != "entity":
        return found
    names = rows.all(ALIASES, ("entity", "name")).group_by("entity").agg(others=pl.col("name").unique())
    return found.join(names, left_on="name", right_on="entity", how="left", maintain_order="left")


def _named(rows: Rows, step: Step, most: int | None) -> Step:
    names = names_step(rows, step.facts["name"], most)
    return step if names is None else replace(step, steps=(names, *step.steps))


def _placed(rows: Rows, step: Step, most: int | None) -> Step:
    steps, left_out = resembled_steps(rows, step.id, most)
    return replace(step, steps=(*step.steps, *steps), left_out=step.left_out + left_out)


def _names(expressions: Iterable[pl.Expr]) -> list[Any]:
    return sorted({name for expression in expressions for name in expression.meta.root_names()})

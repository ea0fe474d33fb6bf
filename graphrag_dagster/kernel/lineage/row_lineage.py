"""Lineage of any row: the steps from it down to words of documents."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import polars as pl

from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.lineage.answer_lineage import answer_step
from graphrag_dagster.kernel.lineage.entity_lineage import (
    ALIASES,
    names_step,
    outside_entities,
    resemblance_steps,
)
from graphrag_dagster.kernel.lineage.instance_lineage import Instances, quotation_step, triple_steps
from graphrag_dagster.kernel.lineage.lineage_steps import (
    LineageRows,
    LineageStep,
    SystemLineage,
    lineages,
    titles_of,
    units_of,
)
from graphrag_dagster.kernel.text.text_similarity import normalise

_NEAR, _LEAST_PREFIX = 5, 4
#: Least similarity, 0–100, of a suggested name.
_ALIKE = 65


def find_rows(kind: str, candidates: pl.DataFrame, asked: str) -> list[str]:
    """Return the ids of the matching rows, in the order of the candidates.

    The first criterion that matches anything decides: the id; the small number; a name or the label, ignoring
    case; any other name; a prefix of the id of at least four characters, which must be unique.

    Args:
        kind: kind of the rows, for error messages.
        candidates: ``id``, ``number`` (nullable), ``label``, and ``name`` (nullable); optionally ``others``,
            a list of normalised names (nullable).
        asked: the user's input.

    Raises:
        QuestionError: nothing matches, or only a prefix of several ids; the message suggests similar rows.
    """
    query = asked.strip()
    lowered = query.lower()
    criteria = [pl.col("id") == query]
    if query.isascii() and query.isdigit() and len(query) < 10:
        criteria.append(pl.col("number") == int(query))
    criteria.append(
        (pl.col("label").str.to_lowercase() == lowered)
        | (pl.col("name").str.to_lowercase() == lowered)
        | (pl.col("name") == normalise(query))
    )
    if "others" in candidates.columns:
        criteria.append(pl.col("others").list.contains(normalise(query)))
    for criterion in criteria:
        matches: list[str] = candidates.filter(criterion.fill_null(value=False))["id"].to_list()
        if matches:
            return matches
    if len(query) >= _LEAST_PREFIX:
        prefixed = candidates.filter(pl.col("id").str.starts_with(lowered))
        if len(prefixed):
            return [_require_one(kind, prefixed, asked)]
    raise QuestionError(unknown_row_message(kind, candidates, query))


def find_row(kind: str, candidates: pl.DataFrame, asked: str) -> str:
    """Return the id of the only matching row; see :func:`find_rows`.

    Raises:
        QuestionError: nothing matches, or several rows do; the message lists similar or matching ones.
    """
    matches = find_rows(kind, candidates, asked)
    return _require_one(kind, candidates.filter(pl.col("id").is_in(matches)), asked)


def unknown_row_message(kind: str, candidates: pl.DataFrame, wanted: str) -> str:
    """Return an error message for an unknown row, with similar ones; arguments as for :func:`find_rows`."""
    if candidates.is_empty():
        return f"no {kind} {wanted!r}: there is none at all in this corpus"
    from rapidfuzz import process, utils

    labels = candidates["label"].to_list()
    # Labels that contain the input take precedence over similar ones.
    inside = [index for index, label in enumerate(labels) if wanted.lower() in label.lower()]
    near = [(labels[index], 100.0, index) for index in inside[:_NEAR]] or process.extract(
        wanted, labels, limit=_NEAR, processor=utils.default_process
    )
    if indices := [index for _, score, index in near if score >= _ALIKE]:
        return f"no {kind} {wanted!r}; did you mean {_list_candidates(candidates[indices], ' or ')}?"
    known = _list_candidates(candidates.head(_NEAR))
    return f"no {kind} {wanted!r}, nor one that is called alike; there are {known}"


def _require_one(kind: str, fits: pl.DataFrame, asked: str) -> str:
    if len(fits) == 1:
        return str(fits["id"][0])
    raise QuestionError(
        f"{asked!r} fits {len(fits)} rows; give the id of one {kind}: {_list_candidates(fits.head(_NEAR))}"
        + ("" if len(fits) <= _NEAR else f", and {len(fits) - _NEAR} more")
    )


def _list_candidates(rows: pl.DataFrame, between: str = ", ") -> str:
    return between.join(
        f"{_shorten(label)!r} ({row_id})" for row_id, label in rows.select("id", "label").iter_rows()
    )


def _shorten(text: str, length: int = 70) -> str:
    folded = " ".join(text.split())
    return folded if len(folded) <= length else folded[: length - 1] + "…"


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


def why(rows: LineageRows, kind: WhyKind, asked: str, most: int | None = 5) -> LineageStep:
    """Return a row with everything it was made from, down to characters of documents.

    Args:
        rows: the tables.
        kind: kind of the row.
        asked: its id, a prefix of it, its ``human_readable_id``, or its name: title or any name of an entity,
            ``SOURCE – TARGET`` of a relationship, ``HEAD relation TAIL`` of a triple, title of a report or of
            a summary of CoTeRAG-S, text of a claim, question of an answer.
        most: most rows of one kind below a row; None for all. Entities and relationships cited by a report or
            an answer show fewer.

    Raises:
        QuestionError: no row matches, or several do; the message suggests similar ones.
    """
    identity = _identity(rows, kind, asked)
    instances = Instances(rows, most)
    if kind == "entity":
        return _placed_step(rows, _named_step(rows, instances.entities([identity])[identity], most), most)
    if kind == "relationship":
        return instances.relationships([identity])[identity]
    if kind == "claim":
        return instances.claims([identity])[identity]
    if kind == "triple":
        return triple_steps(rows, [identity], most)[0]
    if (lineage := _of_a_system(kind)) is not None:
        return lineage.step(rows, identity, most)
    if kind == "report":
        return Reports(rows, most).report(identity)
    return answer_step(rows, identity, most)


def entity_named(rows: LineageRows, asked: str) -> str:
    """Return the id of an entity; ``asked`` and errors as for :func:`why`."""
    return find_row("entity", _candidates(rows, "entity"), asked)


def _of_a_system(kind: WhyKind) -> SystemLineage | None:
    return next((lineage for lineage in lineages() if lineage.kind == kind), None)


def _found_in(kind: WhyKind) -> tuple[str, Mapping[str, pl.Expr]]:
    if (lineage := _of_a_system(kind)) is not None:
        return lineage.table, lineage.columns
    if kind not in _CANDIDATES:
        raise QuestionError(f"no installed system has rows of the kind {kind}")
    return _CANDIDATES[kind]


def _identity(rows: LineageRows, kind: WhyKind, asked: str) -> str:
    table, columns = _found_in(kind)
    (key,) = columns["id"].meta.root_names()
    # With an exact id, the other candidates need not be read.
    matches = rows.of(table, key, [asked.strip()], (key,))
    return find_row(kind, _candidates(rows, kind), asked) if matches.is_empty() else str(matches[key][0])


def _candidates(rows: LineageRows, kind: WhyKind) -> pl.DataFrame:
    table, columns = _found_in(kind)
    needed = _names(columns.values())
    candidates = rows.all(table, needed).select(**columns)
    if kind != "entity":
        return candidates
    names = rows.all(ALIASES, ("entity", "name")).group_by("entity").agg(others=pl.col("name").unique())
    return candidates.join(names, left_on="name", right_on="entity", how="left", maintain_order="left")


def _named_step(rows: LineageRows, step: LineageStep, most: int | None) -> LineageStep:
    names = names_step(rows, step.facts["name"], most)
    return step if names is None else replace(step, steps=(names, *step.steps))


def _placed_step(rows: LineageRows, step: LineageStep, most: int | None) -> LineageStep:
    steps, left_out = resemblance_steps(rows, step.id, most)
    return replace(step, steps=(*step.steps, *steps), left_out=step.left_out + left_out)


def _names(expressions: Iterable[pl.Expr]) -> list[Any]:
    return sorted({name for expression in expressions for name in expression.meta.root_names()})


_CITED_INSTANCES = 2
_KINDS = ("entity", "relationship", "claim", "report", "text_unit")
_CONTEXT = ("report_id", "tokens", "complete", "entities", "relationships", "claims", "reports")


class Reports:
    """Looks up reports and what they are based on.

    Args:
        rows: the tables.
        most: most rows of one kind below a row; None for all.
    """

    def __init__(self, rows: LineageRows, most: int | None) -> None:
        self._rows = rows
        self._most = most
        self._instances = Instances(rows, None if most is None else min(most, _CITED_INSTANCES))

    def report(self, report_id: str) -> LineageStep:
        """Return a report with its context and its citations, down to words of documents."""
        (report,) = self._rows.of("reports.community_reports", "report_id", [report_id]).iter_rows(named=True)
        contexts = self._rows.of("reports.report_contexts", "report_id", [report_id], _CONTEXT)
        context = [self._context(row) for row in contexts.iter_rows(named=True)]
        facts = ("human_readable_id", "level", "rating", "tokens", "engine", "problem")
        return LineageStep(
            "report",
            report_id,
            report["title"],
            facts={name: report[name] for name in facts if report[name] is not None},
            steps=(*context, *self._parts([report_id], self._most)[report_id]),
        )

    def cited(self, ids: Iterable[str]) -> dict[str, LineageStep]:
        """Return cited reports, each with the words it quotes."""
        reports = self._rows.of("reports.community_reports", "report_id", ids)
        least = None if self._most is None else min(self._most, _CITED_INSTANCES)
        parts = self._parts(reports["report_id"].to_list(), least)
        return {
            identity: LineageStep("report", identity, title, facts={"level": level}, steps=parts[identity])
            for identity, title, level in reports.select("report_id", "title", "level").iter_rows()
        }

    def _context(self, row: Mapping[str, Any]) -> LineageStep:
        shown = self._rows.of("reports.report_context_rows", "report_id", [row["report_id"]]).sort("position")
        first = pl.concat([self._cut(shown.filter(pl.col("kind") == kind)) for kind in _KINDS])
        titles = titles_of(self._rows, first.select("kind", id="record_id"))
        outside = outside_entities(self._rows, row["report_id"], shown)
        return LineageStep(
            "context",
            row["report_id"],
            "what it was written from",
            facts={name: row[name] for name in _CONTEXT if name != "report_id"},
            steps=tuple(
                LineageStep(
                    "context node" if identity in outside else kind,
                    identity,
                    titles.get(identity, ""),
                    facts={"number": number},
                )
                for kind, identity, number in first.select("kind", "record_id", "number").iter_rows()
            ),
            left_out=len(shown) - len(first),
        )

    def _cut(self, shown: pl.DataFrame) -> pl.DataFrame:
        return shown if self._most is None else shown.head(self._most)

    def _parts(self, ids: Sequence[str], most: int | None) -> dict[str, tuple[LineageStep, ...]]:
        """Return the summary and the findings of reports, each with its citations."""
        references = self._rows.of("reports.report_references", "report_id", ids).sort(
            "report_id", "finding", "position"
        )
        shown = references
        if most is not None:
            shown = references.group_by("report_id", "finding", "kind", maintain_order=True).head(most)
        below = self._cited_steps(shown)
        counted = references.group_by("report_id", "finding").len().rows()
        totals = {(report, finding): number for report, finding, number in counted}
        written = self._written(ids)
        parts: dict[str, tuple[LineageStep, ...]] = {}
        for report_id in ids:
            parts[report_id] = tuple(
                LineageStep(
                    "summary" if finding < 0 else "finding",
                    f"{report_id}:{finding}",
                    title,
                    text,
                    steps=tuple(below.get((report_id, finding), ())),
                    left_out=totals.get((report_id, finding), 0) - len(below.get((report_id, finding), ())),
                )
                for finding, title, text in written[report_id]
            )
        return parts

    def _written(self, ids: Sequence[str]) -> dict[str, list[tuple[int, str, str]]]:
        summaries = self._rows.of("reports.community_reports", "report_id", ids, ("report_id", "summary"))
        findings = self._rows.of("reports.report_findings", "report_id", ids).sort("report_id", "position")
        parts = {report: [(-1, "summary", text)] for report, text in summaries.iter_rows()}
        for report, position, title, text in findings.select(
            "report_id", "position", "summary", "explanation"
        ).iter_rows():
            parts[report].append((position, title, text))
        return parts

    def _cited_steps(self, references: pl.DataFrame) -> dict[tuple[str, int], list[LineageStep]]:
        valid = references.filter("valid")
        ids = {
            kind: valid.filter(pl.col("kind") == kind)["record_id"].unique(maintain_order=True)
            for kind in _KINDS
        }
        records: dict[str, Mapping[str, LineageStep]] = {
            "entity": self._instances.entities(ids["entity"]),
            "relationship": self._instances.relationships(ids["relationship"]),
            "claim": self._instances.claims(ids["claim"]),
            "report": self.cited(ids["report"]) if len(ids["report"]) else {},
        }
        units = units_of(self._rows, ids["text_unit"])
        steps: dict[tuple[str, int], list[LineageStep]] = {}
        for row in references.iter_rows(named=True):
            kind, identity = row["kind"], row["record_id"]
            step = None
            if row["valid"] and kind == "text_unit":
                step = quotation_step(units, identity, row["start_char"], row["end_char"])
            elif row["valid"]:
                step = records[kind].get(identity)
            steps.setdefault((row["report_id"], row["finding"]), []).append(
                step or LineageStep(kind, identity or "", row["cited_as"], facts={"valid": False})
            )
        return steps

"""Lineage of any row: the steps from it down to words of documents."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from graphrag_dagster.kernel.lineage.instance_lineage import Instances, triple_steps
from graphrag_dagster.kernel.lineage.lineage_steps import (
    Below,
    LineageRows,
    LineageStep,
    facts_of,
    lineages,
    quotation_step,
    row_kinds,
    steps_below,
    titles_of,
    units_of,
)
from graphrag_dagster.kernel.lineage.row_lookup import find_row

WhyKind = Literal["entity", "relationship", "report", "claim", "answer", "triple", "summary"]
WHY_KINDS: tuple[WhyKind, ...] = get_args(WhyKind)


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
    if kind == "entity":
        return _entity_step(rows, identity, most)
    if kind in ("relationship", "claim"):
        return Instances(rows, most).of(kind, [identity])[identity]
    if kind == "triple":
        return triple_steps(rows, [identity], most)[0]
    if kind == "report":
        return Reports(rows, most).report(identity)
    if kind == "answer":
        return answer_step(rows, identity, most)
    return next(own.step(rows, identity, most) for own in lineages() if own.kind == kind)


def entity_named(rows: LineageRows, asked: str) -> str:
    """Return the id of an entity; ``asked`` and errors as for :func:`why`."""
    return find_row("entity", _candidates(rows, "entity"), asked)


def _identity(rows: LineageRows, kind: WhyKind, asked: str) -> str:
    if (declared := row_kinds().get(kind)) is None:
        raise QuestionError(f"no installed system has rows of the kind {kind}")
    # With an exact id, the other candidates need not be read.
    matches = rows.of(declared.table, declared.key, [asked.strip()], (declared.key,))
    if matches.is_empty():
        return find_row(kind, _candidates(rows, kind), asked)
    return str(matches[declared.key][0])


def _candidates(rows: LineageRows, kind: WhyKind) -> pl.DataFrame:
    candidates = row_kinds()[kind].candidates(rows)
    if kind != "entity":
        return candidates
    names = rows.all(ALIASES, ("entity", "name")).group_by("entity").agg(others=pl.col("name").unique())
    return candidates.join(names, left_on="name", right_on="entity", how="left", maintain_order="left")


def _entity_step(rows: LineageRows, identity: str, most: int | None) -> LineageStep:
    step = Instances(rows, most).of("entity", [identity])[identity]
    names = names_step(rows, step.facts["name"], most)
    similar, left_out = resemblance_steps(rows, identity, most)
    steps = (*([names] if names else []), *step.steps, *similar)
    return replace(step, steps=steps, left_out=step.left_out + left_out)


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
        return LineageStep(
            "report",
            report_id,
            report["title"],
            facts=facts_of(report, ("human_readable_id", "level", "rating", "tokens", "engine", "problem")),
            steps=(*context, *self._parts([report_id], self._most)[report_id]),
        )

    def _cited(self, ids: Iterable[str]) -> dict[str, LineageStep]:
        """Return cited reports, each with the words it quotes."""
        reports = self._rows.of("reports.community_reports", "report_id", ids)
        least = None if self._most is None else min(self._most, _CITED_INSTANCES)
        parts = self._parts(reports["report_id"].to_list(), least)
        return {
            identity: LineageStep("report", identity, title, facts={"level": level}, steps=parts[identity])
            for identity, title, level in reports.select("report_id", "title", "level").iter_rows()
        }

    def _context(self, row: Mapping[str, Any]) -> LineageStep:
        report = row["report_id"]
        shown = self._rows.of("reports.report_context_rows", "report_id", [report]).sort("position")
        first = pl.concat([shown.filter(pl.col("kind") == kind)[: self._most] for kind in _KINDS])
        titles = titles_of(self._rows, first.select("kind", id="record_id"))
        outside = outside_entities(self._rows, report, shown)
        return LineageStep(
            "context",
            report,
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

    def _parts(self, ids: Sequence[str], most: int | None) -> dict[str, tuple[LineageStep, ...]]:
        """Return the summary and the findings of reports, each with its citations."""
        below = self._citations(ids, most)
        summaries = self._rows.of("reports.community_reports", "report_id", ids, ("report_id", "summary"))
        findings = self._rows.of("reports.report_findings", "report_id", ids).sort("report_id", "position")
        parts = {
            report: [_part(below, report, -1, "summary", text)] for report, text in summaries.iter_rows()
        }
        columns = ("report_id", "position", "summary", "explanation")
        for report, *finding in findings.select(columns).iter_rows():
            parts[report].append(_part(below, report, *finding))
        return {report: tuple(steps) for report, steps in parts.items()}

    def _citations(self, ids: Sequence[str], most: int | None) -> Below:
        """Return what reports cite, by the ids of summaries and findings."""
        references = (
            self._rows.of("reports.report_references", "report_id", ids)
            .sort("report_id", "finding", "position")
            .with_columns(owner=pl.format("{}:{}", "report_id", "finding"))
        )
        return steps_below(references, most, self._citation_steps, ("owner", "kind"))

    def _citation_steps(self, references: pl.DataFrame) -> Iterator[LineageStep]:
        valid = references.filter("valid")
        ids = {
            kind: valid.filter(pl.col("kind") == kind)["record_id"].unique(maintain_order=True)
            for kind in _KINDS
        }
        records: dict[str, Mapping[str, LineageStep]] = {
            kind: self._instances.of(kind, ids[kind]) for kind in ("entity", "relationship", "claim")
        }
        records["report"] = self._cited(ids["report"]) if len(ids["report"]) else {}
        units = units_of(self._rows, ids["text_unit"])
        for row in references.iter_rows(named=True):
            kind, identity = row["kind"], row["record_id"]
            step = None
            if row["valid"] and kind == "text_unit":
                step = quotation_step(units, identity, row["start_char"], row["end_char"])
            elif row["valid"]:
                step = records[kind].get(identity)
            yield step or LineageStep(kind, identity or "", row["cited_as"], facts={"valid": False})


def _part(below: Below, report: str, finding: int, title: str, text: str) -> LineageStep:
    identity = f"{report}:{finding}"
    steps, left_out = below.get(identity, ((), 0))
    kind = "summary" if finding < 0 else "finding"
    return LineageStep(kind, identity, title, text, steps=steps, left_out=left_out)

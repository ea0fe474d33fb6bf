"""Why a row is there: the steps from it down to the words of the documents."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import polars as pl

from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.lineage.affected_rows import outsiders, resembled_steps
from graphrag_dagster.kernel.lineage.answer_lineage import answer_step
from graphrag_dagster.kernel.lineage.entity_lineage import ALIASES, names_step
from graphrag_dagster.kernel.lineage.instance_lineage import Instances, quoted, triple_steps
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
#: Likeness, 0–100, from which a name may be what was meant.
_ALIKE = 65


def find(kind: str, candidates: pl.DataFrame, asked: str) -> list[str]:
    """Return the ids of the rows that are meant, in the order of the candidates.

    The first of these that fits anything counts: the id; the small number; a name or the label, whatever its
    case; any other name; the beginning of the id, from four characters on, which only one row may have.

    Args:
        kind: what the rows are, for the errors.
        candidates: ``id``, ``number`` (may be null), ``label``, and ``name`` (may be null); perhaps
            ``others``, a list of normalised names (may be null).
        asked: what the person wrote.

    Raises:
        QuestionError: nothing fits, or only the beginning of several ids; names what comes near.
    """
    wanted = asked.strip()
    lowered = wanted.lower()
    ways = [pl.col("id") == wanted]
    if wanted.isascii() and wanted.isdigit() and len(wanted) < 10:
        ways.append(pl.col("number") == int(wanted))
    ways.append(
        (pl.col("label").str.to_lowercase() == lowered)
        | (pl.col("name").str.to_lowercase() == lowered)
        | (pl.col("name") == normalise(wanted))
    )
    if "others" in candidates.columns:
        ways.append(pl.col("others").list.contains(normalise(wanted)))
    for way in ways:
        found: list[str] = candidates.filter(way.fill_null(value=False))["id"].to_list()
        if found:
            return found
    if len(wanted) >= _LEAST_PREFIX:
        begins = candidates.filter(pl.col("id").str.starts_with(lowered))
        if len(begins):
            return [_only(kind, begins, asked)]
    raise QuestionError(unknown(kind, candidates, wanted))


def find_one(kind: str, candidates: pl.DataFrame, asked: str) -> str:
    """Return the id of the one row that is meant; see :func:`find`.

    Raises:
        QuestionError: nothing fits, or more than one does; names what comes near, or what fits.
    """
    found = find(kind, candidates, asked)
    return _only(kind, candidates.filter(pl.col("id").is_in(found)), asked)


def unknown(kind: str, candidates: pl.DataFrame, wanted: str) -> str:
    """Return that there is no such row, with those that come near; arguments as for :func:`find`."""
    if candidates.is_empty():
        return f"no {kind} {wanted!r}: there is none at all in this corpus"
    from rapidfuzz import process, utils

    labels = candidates["label"].to_list()
    # What holds the words that were asked for comes before what only looks like them.
    inside = [place for place, label in enumerate(labels) if wanted.lower() in label.lower()]
    near = [(labels[place], 100.0, place) for place in inside[:_NEAR]] or process.extract(
        wanted, labels, limit=_NEAR, processor=utils.default_process
    )
    if places := [place for _, score, place in near if score >= _ALIKE]:
        return f"no {kind} {wanted!r}; did you mean {_listed(candidates[places], ' or ')}?"
    return f"no {kind} {wanted!r}, nor one that is called alike; there are {_listed(candidates.head(_NEAR))}"


def _only(kind: str, fits: pl.DataFrame, asked: str) -> str:
    if len(fits) == 1:
        return str(fits["id"][0])
    raise QuestionError(
        f"{asked!r} fits {len(fits)} rows; give the id of one {kind}: {_listed(fits.head(_NEAR))}"
        + ("" if len(fits) <= _NEAR else f", and {len(fits) - _NEAR} more")
    )


def _listed(rows: pl.DataFrame, between: str = ", ") -> str:
    return between.join(f"{_cut(label)!r} ({one})" for one, label in rows.select("id", "label").iter_rows())


def _cut(text: str, length: int = 70) -> str:
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
    if (own := _of_a_system(kind)) is not None:
        return own.step(rows, identity, most)
    if kind == "report":
        return Reports(rows, most).report(identity)
    return answer_step(rows, identity, most)


def entity_named(rows: LineageRows, asked: str) -> str:
    """Return the id of the entity that is meant; ``asked`` and errors as of :func:`why`."""
    return find_one("entity", _candidates(rows, "entity"), asked)


def _of_a_system(kind: WhyKind) -> SystemLineage | None:
    return next((one for one in lineages() if one.kind == kind), None)


def _found_in(kind: WhyKind) -> tuple[str, Mapping[str, pl.Expr]]:
    if (own := _of_a_system(kind)) is not None:
        return own.table, own.columns
    if kind not in _CANDIDATES:
        raise QuestionError(f"no installed system has rows of the kind {kind}")
    return _CANDIDATES[kind]


def _identity(rows: LineageRows, kind: WhyKind, asked: str) -> str:
    table, columns = _found_in(kind)
    (key,) = columns["id"].meta.root_names()
    # Who has the id needs none of the others.
    found = rows.of(table, key, [asked.strip()], (key,))
    return find_one(kind, _candidates(rows, kind), asked) if found.is_empty() else str(found[key][0])


def _candidates(rows: LineageRows, kind: WhyKind) -> pl.DataFrame:
    table, columns = _found_in(kind)
    needed = _names(columns.values())
    found = rows.all(table, needed).select(**columns)
    if kind != "entity":
        return found
    names = rows.all(ALIASES, ("entity", "name")).group_by("entity").agg(others=pl.col("name").unique())
    return found.join(names, left_on="name", right_on="entity", how="left", maintain_order="left")


def _named(rows: LineageRows, step: LineageStep, most: int | None) -> LineageStep:
    names = names_step(rows, step.facts["name"], most)
    return step if names is None else replace(step, steps=(names, *step.steps))


def _placed(rows: LineageRows, step: LineageStep, most: int | None) -> LineageStep:
    steps, left_out = resembled_steps(rows, step.id, most)
    return replace(step, steps=(*step.steps, *steps), left_out=step.left_out + left_out)


def _names(expressions: Iterable[pl.Expr]) -> list[Any]:
    return sorted({name for expression in expressions for name in expression.meta.root_names()})


_CITED_INSTANCES = 2
_KINDS = ("entity", "relationship", "claim", "report", "text_unit")
_CONTEXT = ("report_id", "tokens", "complete", "entities", "relationships", "claims", "reports")


class Reports:
    """Looks up reports with what lies below them.

    Args:
        rows: the tables.
        most: most rows of one sort below a row; None for all.
    """

    def __init__(self, rows: LineageRows, most: int | None) -> None:
        self._rows = rows
        self._most = most
        self._instances = Instances(rows, None if most is None else min(most, _CITED_INSTANCES))

    def report(self, report_id: str) -> LineageStep:
        """Return a report with its context and with what it cites, down to the words."""
        (found,) = self._rows.of("reports.community_reports", "report_id", [report_id]).iter_rows(named=True)
        contexts = self._rows.of("reports.report_contexts", "report_id", [report_id], _CONTEXT)
        context = [self._context(row) for row in contexts.iter_rows(named=True)]
        facts = ("human_readable_id", "level", "rating", "tokens", "engine", "problem")
        return LineageStep(
            "report",
            report_id,
            found["title"],
            facts={name: found[name] for name in facts if found[name] is not None},
            steps=(*context, *self._parts([report_id], self._most)[report_id]),
        )

    def cited(self, ids: Iterable[str]) -> dict[str, LineageStep]:
        """Return reports that something cites, each with the words that it quotes."""
        found = self._rows.of("reports.community_reports", "report_id", ids)
        least = None if self._most is None else min(self._most, _CITED_INSTANCES)
        parts = self._parts(found["report_id"].to_list(), least)
        return {
            identity: LineageStep("report", identity, title, facts={"level": level}, steps=parts[identity])
            for identity, title, level in found.select("report_id", "title", "level").iter_rows()
        }

    def _context(self, row: Mapping[str, Any]) -> LineageStep:
        shown = self._rows.of("reports.report_context_rows", "report_id", [row["report_id"]]).sort("position")
        kept = pl.concat([self._cut(shown.filter(pl.col("kind") == kind)) for kind in _KINDS])
        titles = titles_of(self._rows, kept.select("kind", id="record_id"))
        outside = outsiders(self._rows, row["report_id"], shown)
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
                for kind, identity, number in kept.select("kind", "record_id", "number").iter_rows()
            ),
            left_out=len(shown) - len(kept),
        )

    def _cut(self, shown: pl.DataFrame) -> pl.DataFrame:
        return shown if self._most is None else shown.head(self._most)

    def _parts(self, ids: Sequence[str], most: int | None) -> dict[str, tuple[LineageStep, ...]]:
        """The summary and the findings of reports, each with what it cites."""
        references = self._rows.of("reports.report_references", "report_id", ids).sort(
            "report_id", "finding", "position"
        )
        kept = references
        if most is not None:
            kept = references.group_by("report_id", "finding", "kind", maintain_order=True).head(most)
        below = self._cited_steps(kept)
        counted = references.group_by("report_id", "finding").len().rows()
        totals = {(report, finding): number for report, finding, number in counted}
        written = self._written(ids)
        made: dict[str, tuple[LineageStep, ...]] = {}
        for report_id in ids:
            made[report_id] = tuple(
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
        return made

    def _written(self, ids: Sequence[str]) -> dict[str, list[tuple[int, str, str]]]:
        summaries = self._rows.of("reports.community_reports", "report_id", ids, ("report_id", "summary"))
        findings = self._rows.of("reports.report_findings", "report_id", ids).sort("report_id", "position")
        made = {report: [(-1, "summary", text)] for report, text in summaries.iter_rows()}
        for report, position, title, text in findings.select(
            "report_id", "position", "summary", "explanation"
        ).iter_rows():
            made[report].append((position, title, text))
        return made

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
        made: dict[tuple[str, int], list[LineageStep]] = {}
        for row in references.iter_rows(named=True):
            kind, identity = row["kind"], row["record_id"]
            step = None
            if row["valid"] and kind == "text_unit":
                step = quoted(units, identity, row["start_char"], row["end_char"])
            elif row["valid"]:
                step = records[kind].get(identity)
            made.setdefault((row["report_id"], row["finding"]), []).append(
                step or LineageStep(kind, identity or "", row["cited_as"], facts={"valid": False})
            )
        return made

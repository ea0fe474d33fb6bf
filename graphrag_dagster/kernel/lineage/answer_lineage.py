"""Lineage of an answer: the citations of its statements, and their evidence."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from graphrag_dagster.kernel.lineage.instance_lineage import quotation_step
from graphrag_dagster.kernel.lineage.lineage_steps import LineageRows, LineageStep, titles_of, units_of
from graphrag_dagster.kernel.text.evidence import Passage, Row, Triple, triple_of

_MARKS = re.compile(r"(?:\s*\[\d+(?:,\s*\d+)*\])+")
_HEADING = re.compile(r"(?:#{1,6}\s.*|\*\*[^*]*\*\*:?)\Z")
_NUMBER = re.compile(r"\d+")


def answer_step(rows: LineageRows, answer_id: str, most: int | None) -> LineageStep:
    """Return an answer with its statements, their citations and the words of the documents.

    Args:
        rows: the tables.
        answer_id: the answer.
        most: most context rows; None for all.
    """
    (answer,) = rows.of("answers.answers", "answer_id", [answer_id]).iter_rows(named=True)
    citations = rows.of("answers.answer_citations", "answer_id", [answer_id]).sort("number")
    cited = _CitationSteps(rows, citations)
    facts = (
        "question",
        "method",
        "answered_by",
        "level",
        "engine",
        "refused",
        "snapshot",
        "partly_supported",
        "unsupported",
    )
    statements = [
        LineageStep(
            "statement", f"{answer_id}:{position}", text, facts={"cites": numbers}, steps=cited.steps(numbers)
        )
        for position, (text, numbers) in enumerate(passages(answer["text"]))
    ]
    return LineageStep(
        "answer",
        answer_id,
        answer["question"],
        answer["text"],
        {name: answer[name] for name in facts if answer[name] is not None},
        steps=(_context(rows, answer_id, most), *statements),
    )


def passages(text: str) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the statements of an answer with their citation numbers; uncited statements have none.

    A citation mark applies to the text since the previous mark, within a paragraph.
    """
    end = 0
    for mark in _MARKS.finditer(text):
        before, _, last = text[end : mark.start()].rpartition("\n\n")
        if _states(before):
            yield _fold(before), ()
        if _states(last):
            yield _fold(last), tuple(sorted(set(map(int, _NUMBER.findall(mark[0])))))
        end = mark.end()
    if _states(text[end:]):
        yield _fold(text[end:]), ()


def _context(rows: LineageRows, answer_id: str, most: int | None) -> LineageStep:
    shown = rows.of("answers.answer_contexts", "answer_id", [answer_id]).sort(~pl.col("used"), "position")
    first = shown if most is None else shown.head(most)
    return LineageStep(
        "context",
        answer_id,
        "what was shown to the answerer",
        facts={"rows": len(shown)},
        steps=tuple(
            LineageStep(row["kind"], row["record_id"], row["title"], facts={"used": row["used"]})
            for row in first.iter_rows(named=True)
        ),
        left_out=len(shown) - len(first),
    )


class _CitationSteps:
    """The citations of an answer, by number."""

    def __init__(self, rows: LineageRows, citations: pl.DataFrame) -> None:
        self._rows = {row["number"]: row for row in citations.iter_rows(named=True)}
        titled = pl.concat(
            [
                citations.select("kind", id="record_id"),
                citations.select(kind="via_kind", id="via_id").drop_nulls(),
            ]
        )
        self._titles = titles_of(rows, titled)
        self._units = units_of(rows, citations["text_unit_id"].drop_nulls().unique())
        self._triples = _triples(rows, citations.filter(pl.col("text_unit_id").is_null()))

    def steps(self, numbers: tuple[int, ...]) -> tuple[LineageStep, ...]:
        return tuple(self._step(self._rows[number]) for number in numbers if number in self._rows)

    def _step(self, row: Mapping[str, Any]) -> LineageStep:
        below = _quotation(row, self._units)
        if below and row["via_kind"] and row["via_id"] != row["record_id"]:
            title = self._titles.get(row["via_id"], "")
            below = LineageStep(row["via_kind"], row["via_id"], title, steps=(below,))
        if below and row["finding"] is not None:
            kind = "summary" if row["finding"] < 0 else "finding"
            title = kind if row["finding"] < 0 else f"finding {row['finding'] + 1}"
            below = LineageStep(kind, f"{row['record_id']}:{row['finding']}", title, steps=(below,))
        facts = {"number": row["number"]}
        if row["similarity"] is not None:
            facts["similarity"] = row["similarity"]
        unit = self._units.get(row["record_id"])
        title = unit.path if unit else self._titles.get(row["record_id"], "")
        bare = None if below else self._triples.get(row["record_id"]) or _row_of(row)
        return LineageStep(
            row["kind"],
            row["record_id"],
            title,
            facts=facts,
            evidence=(bare,) if bare else (),
            steps=(below,) if below else (),
        )


def _triples(rows: LineageRows, wordless: pl.DataFrame) -> dict[str, Triple]:
    """Return by id the relationships that are cited without words."""
    cited = wordless.filter(pl.col("kind") == "relationship")["record_id"].unique()
    relationships = rows.of("graph.relationships", "relationship_id", cited)
    ends = pl.concat([relationships["source_id"], relationships["target_id"]]).unique()
    titles = dict(rows.of("graph.entities", "entity_id", ends, ("entity_id", "title")).iter_rows())
    units = units_of(rows, relationships["text_unit_ids"].explode().drop_nulls().unique())
    triples = (triple_of(row, titles, units) for row in relationships.iter_rows(named=True))
    return {triple.relationship_id: triple for triple in triples if triple}


def _row_of(cited: Mapping[str, Any]) -> Row | None:
    """Return the cited row of a table or query result, as it was when the answer was written."""
    row = json.loads(cited.get("row") or "null")
    return Row(row["table"], row["key"], row["title"], row["values"]) if row else None


def _quotation(row: Mapping[str, Any], units: Mapping[str, Passage]) -> LineageStep | None:
    unit = units.get(row["text_unit_id"] or "")
    if unit is None:
        return None
    return quotation_step(
        units, unit.text_unit_id, row["start_char"] - unit.start_char, row["end_char"] - unit.start_char
    )


def _states(text: str) -> bool:
    paragraphs = [part for part in text.split("\n\n") if not _HEADING.match(part.strip())]
    return any(character.isalnum() for paragraph in paragraphs for character in paragraph)


def _fold(text: str) -> str:
    # A mark may precede the full stop of its sentence.
    return " ".join(text.split()).lstrip(".,;:!? ")

"""Lineage of an answer: the citations of its statements, and their evidence."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from graphrag_dagster.kernel.lineage.lineage_steps import (
    KINDS,
    LineageRows,
    LineageStep,
    facts_of,
    titles_of,
    unit_step,
    units_of,
)
from graphrag_dagster.kernel.text.evidence import Passage, Row, Triple, triple_of

_MARKS = re.compile(r"(?:\s*\[\d+(?:,\s*\d+)*\])+")
_HEADING = re.compile(r"(?:#{1,6}\s.*|\*\*[^*]*\*\*:?)\Z")
_NUMBER = re.compile(r"\d+")
_FACTS = (
    *("question", "method", "answered_by", "level", "engine", "refused"),
    *("snapshot", "partly_supported", "unsupported"),
)


def answer_step(rows: LineageRows, answer_id: str, most: int | None) -> LineageStep:
    """Return an answer with its statements, their citations and the words of the documents.

    Args:
        rows: the tables.
        answer_id: the answer.
        most: most context rows; None for all.
    """
    (answer,) = rows.of("answers.answers", "answer_id", [answer_id]).iter_rows(named=True)
    cited = _citation_steps(rows, rows.of("answers.answer_citations", "answer_id", [answer_id]))
    statements = [
        LineageStep(
            "statement",
            f"{answer_id}:{position}",
            text,
            facts={"cites": numbers},
            steps=tuple(cited[number] for number in numbers if number in cited),
        )
        for position, (text, numbers) in enumerate(passages(answer["text"]))
    ]
    steps = (_context(rows, answer_id, most), *statements)
    facts = facts_of(answer, _FACTS)
    return LineageStep("answer", answer_id, answer["question"], answer["text"], facts, steps=steps)


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
    first = shown[:most]
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


def _citation_steps(rows: LineageRows, citations: pl.DataFrame) -> dict[int, LineageStep]:
    """Return the citations of an answer by number."""
    vias = citations.select(kind="via_kind", id="via_id").drop_nulls()
    titles = titles_of(rows, pl.concat([citations.select("kind", id="record_id"), vias]))
    units = units_of(rows, citations["text_unit_id"].drop_nulls().unique())
    triples = _triples(rows, citations.filter(pl.col("text_unit_id").is_null()))
    return {
        row["number"]: _citation_step(row, titles, units, triples) for row in citations.iter_rows(named=True)
    }


def _citation_step(
    row: Mapping[str, Any],
    titles: Mapping[str, str],
    units: Mapping[str, Passage],
    triples: Mapping[str, Triple],
) -> LineageStep:
    below = _quotation(row, units)
    if below and row["via_kind"] and row["via_id"] != row["record_id"]:
        title = titles.get(row["via_id"], "")
        below = LineageStep(row["via_kind"], row["via_id"], title, steps=(below,))
    if below and row["finding"] is not None:
        kind = "summary" if row["finding"] < 0 else "finding"
        title = kind if row["finding"] < 0 else f"finding {row['finding'] + 1}"
        below = LineageStep(kind, f"{row['record_id']}:{row['finding']}", title, steps=(below,))
    unit = units.get(row["record_id"])
    bare = None if below else triples.get(row["record_id"]) or _row_of(row)
    return LineageStep(
        row["kind"],
        row["record_id"],
        unit.path if unit else titles.get(row["record_id"], ""),
        facts=facts_of(row, ("number", "similarity")),
        evidence=(bare,) if bare else (),
        steps=(below,) if below else (),
    )


def _triples(rows: LineageRows, wordless: pl.DataFrame) -> dict[str, Triple]:
    """Return by id the relationships that are cited without words."""
    cited = wordless.filter(pl.col("kind") == "relationship")["record_id"].unique()
    relationships = rows.of("graph.relationships", "relationship_id", cited)
    ends = pl.concat([relationships["source_id"], relationships["target_id"]]).unique()
    titles = KINDS["entity"].titles(rows, ends)
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
    words = unit.words(row["start_char"] - unit.start_char, row["end_char"] - unit.start_char)
    return unit_step(unit, (words,))


def _states(text: str) -> bool:
    paragraphs = [part for part in text.split("\n\n") if not _HEADING.match(part.strip())]
    return any(character.isalnum() for paragraph in paragraphs for character in paragraph)


def _fold(text: str) -> str:
    # A mark may precede the full stop of its sentence.
    return " ".join(text.split()).lstrip(".,;:!? ")

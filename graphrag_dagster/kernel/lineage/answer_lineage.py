"""From an answer to what its statements cite, and to the evidence of that."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from graphrag_dagster.kernel.lineage.instance_lineage import quoted
from graphrag_dagster.kernel.lineage.lineage_steps import LineageRows, LineageStep, titles_of, units_of
from graphrag_dagster.kernel.text.evidence import Passage, Row, Triple, triple_of

_MARKS = re.compile(r"(?:\s*\[\d+(?:,\s*\d+)*\])+")
_HEADING = re.compile(r"(?:#{1,6}\s.*|\*\*[^*]*\*\*:?)\Z")
_NUMBER = re.compile(r"\d+")


def answer_step(rows: LineageRows, answer_id: str, most: int | None) -> LineageStep:
    """Return an answer with its statements, what each cites, and the words of the documents.

    Args:
        rows: the tables.
        answer_id: the answer.
        most: most rows shown of its context; None for all.
    """
    (found,) = rows.of("answers.answers", "answer_id", [answer_id]).iter_rows(named=True)
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
            "statement", f"{answer_id}:{place}", text, facts={"cites": numbers}, steps=cited.steps(numbers)
        )
        for place, (text, numbers) in enumerate(passages(found["text"]))
    ]
    return LineageStep(
        "answer",
        answer_id,
        found["question"],
        found["text"],
        {name: found[name] for name in facts if found[name] is not None},
        steps=(_context(rows, answer_id, most), *statements),
    )


def passages(text: str) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield what an answer says with the numbers of the marks that hold for it; none for what cites nothing.

    A mark holds for what stands between it and the mark before, inside a paragraph.
    """
    end = 0
    for found in _MARKS.finditer(text):
        before, _, last = text[end : found.start()].rpartition("\n\n")
        if _says(before):
            yield _folded(before), ()
        if _says(last):
            yield _folded(last), tuple(sorted(set(map(int, _NUMBER.findall(found[0])))))
        end = found.end()
    if _says(text[end:]):
        yield _folded(text[end:]), ()


def _context(rows: LineageRows, answer_id: str, most: int | None) -> LineageStep:
    shown = rows.of("answers.answer_contexts", "answer_id", [answer_id]).sort(~pl.col("used"), "position")
    kept = shown if most is None else shown.head(most)
    return LineageStep(
        "context",
        answer_id,
        "what was shown to the answerer",
        facts={"rows": len(shown)},
        steps=tuple(
            LineageStep(row["kind"], row["record_id"], row["title"], facts={"used": row["used"]})
            for row in kept.iter_rows(named=True)
        ),
        left_out=len(shown) - len(kept),
    )


class _CitationSteps:
    """The citations of an answer, by number."""

    def __init__(self, rows: LineageRows, citations: pl.DataFrame) -> None:
        self._rows = {row["number"]: row for row in citations.iter_rows(named=True)}
        named = pl.concat(
            [
                citations.select("kind", id="record_id"),
                citations.select(kind="via_kind", id="via_id").drop_nulls(),
            ]
        )
        self._titles = titles_of(rows, named)
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
    """The relationships that are cited without words, by id."""
    cited = wordless.filter(pl.col("kind") == "relationship")["record_id"].unique()
    found = rows.of("graph.relationships", "relationship_id", cited)
    ends = pl.concat([found["source_id"], found["target_id"]]).unique()
    titles = dict(rows.of("graph.entities", "entity_id", ends, ("entity_id", "title")).iter_rows())
    units = units_of(rows, found["text_unit_ids"].explode().drop_nulls().unique())
    made = (triple_of(row, titles, units) for row in found.iter_rows(named=True))
    return {triple.relationship_id: triple for triple in made if triple}


def _row_of(cited: Mapping[str, Any]) -> Row | None:
    """The row of a table or a result that is cited, as the answer had it."""
    told = json.loads(cited.get("row") or "null")
    return Row(told["table"], told["key"], told["title"], told["values"]) if told else None


def _quotation(row: Mapping[str, Any], units: Mapping[str, Passage]) -> LineageStep | None:
    unit = units.get(row["text_unit_id"] or "")
    if unit is None:
        return None
    return quoted(
        units, unit.text_unit_id, row["start_char"] - unit.start_char, row["end_char"] - unit.start_char
    )


def _says(text: str) -> bool:
    said = [one for one in text.split("\n\n") if not _HEADING.match(one.strip())]
    return any(character.isalnum() for one in said for character in one)


def _folded(text: str) -> str:
    # A mark may stand before the stop of its sentence.
    return " ".join(text.split()).lstrip(".,;:!? ")

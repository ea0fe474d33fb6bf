"""Lineage of entities, relationships, claims and triples: extracted or imported records, and their words."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from graphrag_dagster.kernel.lineage.entity_lineage import instances_of, resolved_instances
from graphrag_dagster.kernel.lineage.lineage_steps import (
    KINDS,
    Below,
    LineageRows,
    LineageStep,
    facts_of,
    in_corpus_order,
    steps_below,
    unit_step,
    units_of,
)
from graphrag_dagster.kernel.text.evidence import Passage, Words, imported_row

ENTITIES, RELATIONS, CLAIMS = "imports.entities", "imports.relations", "imports.claims"
_IN_THE_GRAPH = ("read", "dangling")
_FACTS_OF_ROW = ("label", "type", "weight", "outcome")


class ImportedRows:
    """Looks up rows of imported graphs.

    Args:
        rows: the tables.
        most: most rows below one entity, relationship or triple; None for all.
    """

    def __init__(self, rows: LineageRows, most: int | None) -> None:
        self._rows = rows
        self._most = most

    def entities(self, found: pl.DataFrame) -> Below:
        """Return by name the rows that declare entities, or else those of their relations."""
        declared = self._rows.of(ENTITIES, "name", found["name"]).with_columns(owner="name")
        undeclared = sorted(set(found["name"]) - set(declared["owner"]))
        ends = (self._rows.of(RELATIONS, end, undeclared).with_columns(owner=end) for end in ("head", "tail"))
        related = pl.concat(ends).unique(["path", "row", "owner"])
        return {**self._below(ENTITIES, declared), **self._below(RELATIONS, related)}

    def relationships(self, found: pl.DataFrame) -> Below:
        """Return by id the rows that state relationships, given rows of ``graph.relationships``."""
        ends = pl.concat([found["source"], found["target"]]).unique()
        stated = self._stated(ends).with_columns(
            source=pl.min_horizontal("head", "tail"), target=pl.max_horizontal("head", "tail")
        )
        owners = found.select("source", "target", owner="relationship_id")
        return self._below(RELATIONS, stated.join(owners, on=["source", "target"]))

    def triples(self, found: pl.DataFrame) -> Below:
        """Return by id the rows that state triples, given rows of ``graph.triples``."""
        owners = found.select("head", "relation", "tail", owner="triple_id")
        stated = self._stated(found["head"].unique())
        return self._below(RELATIONS, stated.join(owners, on=["head", "relation", "tail"]))

    def claims(self, found: pl.DataFrame) -> Below:
        """Return by id the rows that make claims, given rows of ``graph.claims``."""
        about = ["subject", "object", "type"]
        stated = self._rows.of(CLAIMS, "subject", found["subject"].unique())
        owners = found.select(*about, owner="claim_id")
        keyed = stated.with_columns(text_unit_keys=pl.concat_list("text_unit_key"))
        return self._below(CLAIMS, keyed.join(owners, on=about, nulls_equal=True))

    def _stated(self, heads: Iterable[str]) -> pl.DataFrame:
        relations = self._rows.of(RELATIONS, "head", heads)
        return relations.filter(pl.col("outcome").is_in(_IN_THE_GRAPH))

    def _below(self, table: str, rows: pl.DataFrame) -> Below:
        def steps(shown: pl.DataFrame) -> Iterator[LineageStep]:
            return self._steps(table, shown)

        return steps_below(rows.sort("owner", "path", "row"), self._most, steps)

    def _steps(self, table: str, shown: pl.DataFrame) -> Iterator[LineageStep]:
        """Yield rows with the text units that they refer to by ``text_unit_keys``."""
        keys = shown["text_unit_keys"].explode().drop_nulls().unique()
        imported = self._rows.of("imports.text_units", "key", keys, ("graph", "key", "text_unit_id"))
        ids = {(graph, key): unit for graph, key, unit in imported.iter_rows()}
        units = units_of(self._rows, imported["text_unit_id"].drop_nulls().unique())
        for row in shown.iter_rows(named=True):
            keys_of_row = (row["text_unit_keys"] or ())[: self._most]
            named = [ids.get((row["graph"], key)) or "" for key in keys_of_row]
            texts = [unit_step(units[one], (units[one].whole(),)) for one in named if one in units]
            text = row.get("said") or row.get("description") or ""
            location = f"{row['path']}:{row['row']}"
            facts = {name: row[name] for name in _FACTS_OF_ROW if row.get(name)}
            evidence = () if texts else (imported_row(table, row),)
            yield LineageStep("row", location, location, text, facts, evidence, steps=tuple(texts))


_MENTIONS = "extraction.gleaned_entities"
_STATEMENTS = "extraction.gleaned_relationships"
_CLAIMS = "extraction.claims"
_ABOUT = pl.concat_str("subject", "object", separator=" – ", ignore_nulls=True)
_TIMES = ("status", "start_date", "end_date")
_FACTS = {
    "entity": ("human_readable_id", "name", "type", "description_engine", "frequency", "instances", "degree"),
    "relationship": ("human_readable_id", "weight", "instances", "description_engine"),
    "claim": ("human_readable_id", "type", *_TIMES, "instances", "description_engine"),
    "instance": ("type", *_TIMES, "basis", "strength", "engine", "round"),
}
_Ends = Mapping[tuple[str, str], list[tuple[int, int]]]


class Instances:
    """Looks up records and what they are based on; each call reads everything its records need at once.

    Args:
        rows: the tables.
        most: most records below one entity or relationship; None for all.
    """

    def __init__(self, rows: LineageRows, most: int | None) -> None:
        self._rows = rows
        self._imported = ImportedRows(rows, most)
        self._most = most

    def of(self, kind: str, ids: Iterable[str]) -> dict[str, LineageStep]:
        """Return entities, relationships or claims by id, each with its instances in corpus order."""
        merged = {"entity": self._entities, "relationship": self._relationships, "claim": self._claims}
        declared = KINDS[kind]
        found, below = merged[kind](self._rows.of(declared.table, declared.key, ids))
        return {
            row[declared.key]: _step(kind, row[declared.key], row, *below.get(row["owner"], ((), 0)))
            for row in found.iter_rows(named=True)
        }

    def _entities(self, found: pl.DataFrame) -> tuple[pl.DataFrame, Below]:
        records = instances_of(self._rows, _MENTIONS, ["name"], found["name"]).with_columns(
            owner="name", title="surface"
        )
        below = {**self._imported.entities(found), **self._below(records)}
        return found.with_columns(owner="name"), below

    def _relationships(self, found: pl.DataFrame) -> tuple[pl.DataFrame, Below]:
        label, ends = KINDS["relationship"].label, ["source", "target"]
        owners = found.select(*ends, owner="relationship_id")
        names = pl.concat([found[end] for end in ends]).unique()
        records = (
            instances_of(self._rows, _STATEMENTS, ends, names)
            .with_columns(
                title=label,
                source=pl.min_horizontal(ends),
                target=pl.max_horizontal(ends),
            )
            .join(owners, on=ends)
        )
        below = {**self._imported.relationships(found), **self._below(records)}
        return found.with_columns(owner="relationship_id", title=label), below

    def _claims(self, found: pl.DataFrame) -> tuple[pl.DataFrame, Below]:
        about = ["subject", "object", "type"]
        owners = found.select(*about, owner="claim_id")
        records = (
            instances_of(self._rows, _CLAIMS, ["subject", "object"], found["subject"])
            .join(owners, on=about, nulls_equal=True)
            .with_columns(title=_ABOUT, instance_id="claim_id")
        )
        below = {**self._imported.claims(found), **self._below(records)}
        return found.with_columns(owner="claim_id", title=_ABOUT), below

    def _below(self, records: pl.DataFrame) -> Below:
        return steps_below(in_corpus_order(self._rows, records), self._most, self._steps)

    def _steps(self, shown: pl.DataFrame) -> Iterator[LineageStep]:
        units = units_of(self._rows, shown["text_unit_id"].unique())
        ends = self._ends(shown) if "target" in shown.columns else {}
        for row in shown.iter_rows(named=True):
            unit = units[row["text_unit_id"]]
            yield _step("instance", row["instance_id"], row, (unit_step(unit, _words(unit, row, ends)),))

    def _ends(self, records: pl.DataFrame) -> _Ends:
        """Return the spans of the ends of relation records without their own spans, by unit and name."""
        spanless = records.filter(pl.col("spans").list.len() == 0)
        names = set(spanless["source"]) | set(spanless["target"])
        units, columns = spanless["text_unit_id"].unique(), ("text_unit_id", "name", "spans")
        found = self._rows.of(_MENTIONS, "text_unit_id", units, columns)
        mentions = resolved_instances(self._rows, found, ["name"]).filter(pl.col("name").is_in(list(names)))
        ends: dict[tuple[str, str], list[tuple[int, int]]] = {}
        for unit, name, spans in mentions.iter_rows():
            ends.setdefault((unit, name), []).extend((span["start"], span["end"]) for span in spans)
        return ends


def _step(
    kind: str, identity: str, row: Mapping[str, Any], steps: tuple[LineageStep, ...], left_out: int = 0
) -> LineageStep:
    facts = facts_of(row, _FACTS[kind])
    return LineageStep(
        kind, identity, row["title"], row["description"], facts, steps=steps, left_out=left_out
    )


def _words(unit: Passage, row: Mapping[str, Any], ends: _Ends) -> tuple[Words, ...]:
    spans = sorted({(span["start"], span["end"]) for span in row["spans"]})
    if spans:
        return tuple(unit.words(start, end) for start, end in spans)
    source, target = (ends.get((unit.text_unit_id, row.get(end, "")), []) for end in ("source", "target"))
    return tuple(_words_naming_both_ends(unit, source, target)) or (unit.whole(),)


def _words_naming_both_ends(
    unit: Passage, source: Sequence[tuple[int, int]], target: Sequence[tuple[int, int]]
) -> Iterator[Words]:
    for sentence in unit.sentences:
        inside = [
            any(sentence.start <= start and end <= sentence.end for start, end in spans)
            for spans in (source, target)
        ]
        if all(inside):
            yield unit.words(sentence.start, sentence.end, exact=False)


def triple_steps(rows: LineageRows, ids: Iterable[str], most: int | None = 5) -> list[LineageStep]:
    """Return triples with their sources (words, or rows of a graph), in the order of their ids.

    Args:
        rows: the tables.
        ids: ids of the triples.
        most: most rows of a graph per triple; None for all.
    """
    declared = KINDS["triple"]
    triples = rows.of(declared.table, declared.key, ids).with_columns(title=declared.label)
    units = units_of(rows, triples["evidence_unit_id"].drop_nulls().unique())
    imported = ImportedRows(rows, most).triples(triples)
    return [
        _triple_step(row, units, *imported.get(row["triple_id"], ((), 0)))
        for row in triples.iter_rows(named=True)
    ]


def _triple_step(
    row: Mapping[str, Any], units: Mapping[str, Passage], steps: tuple[LineageStep, ...], left_out: int
) -> LineageStep:
    facts = {
        "instances": row["instances"],
        "strength": row["strength"],
        "text_units": len(row["text_unit_ids"]),
    }
    if not steps:
        unit = units[row["evidence_unit_id"]]
        start, end = row["start_char"], row["end_char"]
        words = unit.words(0, len(unit.text)) if start is None else unit.words(start, end)
        steps = (unit_step(unit, (words,)),)
    return LineageStep("triple", row["triple_id"], row["title"], facts=facts, steps=steps, left_out=left_out)

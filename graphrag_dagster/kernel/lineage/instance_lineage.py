"""Lineage of entities, relationships, claims and triples: extracted or imported records, and their words."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from graphrag_dagster.kernel.lineage.entity_lineage import ResolvedRows
from graphrag_dagster.kernel.lineage.lineage_steps import (
    LineageRows,
    LineageStep,
    in_corpus_order,
    unit_step,
    units_of,
)
from graphrag_dagster.kernel.text.evidence import Passage, Words, imported_row

ENTITIES, RELATIONS, CLAIMS = "imports.entities", "imports.relations", "imports.claims"
_IN_THE_GRAPH = ("read", "dangling")
Below = Mapping[str, tuple[tuple[LineageStep, ...], int]]


class ImportedRows:
    """Looks up rows of imported graphs.

    Args:
        rows: the tables.
        most: most rows below one entity, relationship or triple; None for all.
    """

    def __init__(self, rows: LineageRows, most: int | None) -> None:
        self._rows = rows
        self._most = most

    def entities(self, names: Iterable[str]) -> Below:
        """Return by name the rows that declare entities, or else those of their relations."""
        sorted_names = sorted(set(names))
        declared = self._rows.of(ENTITIES, "name", sorted_names).with_columns(owner="name")
        undeclared = sorted(set(sorted_names) - set(declared["owner"]))
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
        return self._below(CLAIMS, stated.join(owners, on=about, nulls_equal=True))

    def _stated(self, heads: Iterable[str]) -> pl.DataFrame:
        relations = self._rows.of(RELATIONS, "head", heads)
        return relations.filter(pl.col("outcome").is_in(_IN_THE_GRAPH))

    def _below(self, table: str, rows: pl.DataFrame) -> dict[str, tuple[tuple[LineageStep, ...], int]]:
        """Return the first rows of each owner as steps, and the number of omitted ones."""
        ordered = rows.sort("owner", "path", "row")
        shown = ordered
        if self._most is not None:
            shown = ordered.group_by("owner", maintain_order=True).head(self._most)
        total = dict(ordered.group_by("owner").len().iter_rows())
        texts = self._texts(shown)
        steps: dict[str, list[LineageStep]] = {}
        for row in shown.iter_rows(named=True):
            steps.setdefault(row["owner"], []).append(_row_step(table, row, texts(row)))
        return {owner: (tuple(owned), total[owner] - len(owned)) for owner, owned in steps.items()}

    def _texts(self, rows: pl.DataFrame) -> "_Texts":
        key_columns = [name for name in ("text_unit_keys", "text_unit_key") if name in rows.columns]
        keys = set(rows[key_columns[0]].explode().drop_nulls()) if key_columns else set()
        return _Texts(self._rows, keys, self._most)


class _Texts:
    """The text units that imported rows refer to."""

    def __init__(self, rows: LineageRows, keys: set[str], most: int | None) -> None:
        imported = rows.of("imports.text_units", "key", sorted(keys), ("graph", "key", "text_unit_id"))
        self._ids = {(graph, key): unit for graph, key, unit in imported.rows()}
        self._units = units_of(rows, sorted(set(self._ids.values())))
        self._most = most

    def __call__(self, row: Mapping[str, Any]) -> Sequence[LineageStep]:
        keys = row.get("text_unit_keys") or [row.get("text_unit_key")]
        ids = [self._ids.get((row["graph"], key), "") for key in keys[: self._most]]
        units = [self._units[unit_id] for unit_id in ids if unit_id in self._units]
        return [unit_step(unit, (unit.whole(),)) for unit in units]


def _row_step(table: str, row: Mapping[str, Any], texts: Sequence[LineageStep]) -> LineageStep:
    facts = {name: row[name] for name in ("label", "type", "weight", "outcome") if row.get(name)}
    text = row.get("said") or row.get("description") or ""
    evidence = () if texts else (imported_row(table, row),)
    location = f"{row['path']}:{row['row']}"
    return LineageStep("row", location, location, text, facts, evidence, steps=tuple(texts))


_MENTIONS = "extraction.gleaned_entities"
_STATEMENTS = "extraction.gleaned_relationships"
_CLAIMS = "extraction.claims"
_ABOUT = pl.concat_str("subject", "object", separator=" – ", ignore_nulls=True)
_Ends = Mapping[tuple[str, str], list[tuple[int, int]]]


class Instances:
    """Looks up records and what they are based on; each call reads everything its records need at once.

    Args:
        rows: the tables.
        most: most records below one entity or relationship; None for all.
    """

    def __init__(self, rows: LineageRows, most: int | None) -> None:
        self._rows = rows
        self._resolved = ResolvedRows(rows)
        self._imported = ImportedRows(rows, most)
        self._most = most

    def entities(self, ids: Iterable[str]) -> dict[str, LineageStep]:
        """Return entities by id, each with its instances in corpus order."""
        entities = self._rows.of("graph.entities", "entity_id", ids)
        records = self._resolved.of_entities(_MENTIONS, ["name"], entities["name"]).select(
            "instance_id",
            "text_unit_id",
            "round",
            "position",
            "type",
            "description",
            "spans",
            "engine",
            owner="name",
            title="surface",
        )
        below = {**self._imported.entities(entities["name"]), **self._below(records)}
        return {
            row["entity_id"]: _step(
                "entity",
                row["entity_id"],
                row["title"],
                row,
                (
                    "human_readable_id",
                    "name",
                    "type",
                    "description_engine",
                    "frequency",
                    "instances",
                    "degree",
                ),
                below.get(row["name"], ((), 0)),
            )
            for row in entities.iter_rows(named=True)
        }

    def relationships(self, ids: Iterable[str]) -> dict[str, LineageStep]:
        """Return relationships by id, each with its instances in both directions."""
        relationships = self._rows.of("graph.relationships", "relationship_id", ids)
        ends = pl.concat([relationships["source"], relationships["target"]]).unique()
        records = (
            self._resolved.of_entities(_STATEMENTS, ["source", "target"], ends)
            .select(
                "instance_id",
                "text_unit_id",
                "round",
                "position",
                "description",
                "spans",
                "engine",
                "basis",
                "strength",
                source=pl.min_horizontal("source", "target"),
                target=pl.max_horizontal("source", "target"),
                title=pl.format("{} – {}", "source", "target"),
            )
            .join(relationships.select("source", "target", owner="relationship_id"), on=["source", "target"])
        )
        below = {**self._imported.relationships(relationships), **self._below(records)}
        return {
            row["relationship_id"]: _step(
                "relationship",
                row["relationship_id"],
                f"{row['source']} – {row['target']}",
                row,
                ("human_readable_id", "weight", "instances", "description_engine"),
                below.get(row["relationship_id"], ((), 0)),
            )
            for row in relationships.iter_rows(named=True)
        }

    def claims(self, ids: Iterable[str]) -> dict[str, LineageStep]:
        """Return claims by id, each with its instances in corpus order."""
        claims = self._rows.of("graph.claims", "claim_id", ids)
        records = (
            self._resolved.of_entities(_CLAIMS, ["subject", "object"], claims["subject"])
            .join(
                claims.select("subject", "object", "type", owner="claim_id"),
                on=["subject", "object", "type"],
                nulls_equal=True,
            )
            .with_columns(title=_ABOUT)
            .rename({"claim_id": "instance_id"})
        )
        below = {**self._imported.claims(claims), **self._below(records.drop("subject", "object"))}
        return {
            row["claim_id"]: _step(
                "claim",
                row["claim_id"],
                row["title"],
                row,
                (
                    "human_readable_id",
                    "type",
                    "status",
                    "start_date",
                    "end_date",
                    "instances",
                    "description_engine",
                ),
                below.get(row["claim_id"], ((), 0)),
            )
            for row in claims.with_columns(title=_ABOUT).iter_rows(named=True)
        }

    def _below(self, records: pl.DataFrame) -> dict[str, tuple[tuple[LineageStep, ...], int]]:
        """Return the first records of each owner as steps, and the number of omitted ones."""
        ordered = in_corpus_order(self._rows, records)
        shown = ordered
        if self._most is not None:
            shown = ordered.group_by("owner", maintain_order=True).head(self._most)
        units = units_of(self._rows, shown["text_unit_id"].unique())
        ends = self._ends(shown) if "target" in shown.columns else {}
        total = dict(ordered.group_by("owner").len().iter_rows())
        steps: dict[str, list[LineageStep]] = {}
        for row in shown.iter_rows(named=True):
            unit = units[row["text_unit_id"]]
            words = _words(unit, row, ends)
            facts = ("type", "status", "start_date", "end_date", "basis", "strength", "engine", "round")
            instance = _step(
                "instance", row["instance_id"], row["title"], row, facts, ((unit_step(unit, words),), 0)
            )
            steps.setdefault(row["owner"], []).append(instance)
        return {owner: (tuple(owned), total[owner] - len(owned)) for owner, owned in steps.items()}

    def _ends(self, records: pl.DataFrame) -> _Ends:
        """Return the spans of the ends of relation records without their own spans, by unit and name."""
        spanless = records.filter(pl.col("spans").list.len() == 0)
        names = set(spanless["source"]) | set(spanless["target"])
        mentions = self._resolved.in_units(
            _MENTIONS, ["name"], spanless["text_unit_id"].unique(), ("text_unit_id", "name", "spans")
        ).filter(pl.col("name").is_in(list(names)))
        ends: dict[tuple[str, str], list[tuple[int, int]]] = {}
        for unit, name, spans in mentions.iter_rows():
            ends.setdefault((unit, name), []).extend((span["start"], span["end"]) for span in spans)
        return ends


def quotation_step(units: Mapping[str, Passage], unit_id: str, start: int, end: int) -> LineageStep | None:
    """Return a text unit with a quote; None if there is no such unit."""
    unit = units.get(unit_id)
    return unit_step(unit, (unit.words(start, end),)) if unit else None


def _step(
    kind: str,
    identity: str,
    title: str,
    row: Mapping[str, Any],
    facts: Sequence[str],
    below: tuple[tuple[LineageStep, ...], int],
) -> LineageStep:
    present = {name: row[name] for name in facts if row.get(name) is not None}
    return LineageStep(kind, identity, title, row["description"], present, steps=below[0], left_out=below[1])


def _words(unit: Passage, row: Mapping[str, Any], ends: _Ends | None = None) -> tuple[Words, ...]:
    spans = sorted({(span["start"], span["end"]) for span in row["spans"]})
    if spans:
        return tuple(unit.words(start, end) for start, end in spans)
    if ends:
        source, target = (ends.get((unit.text_unit_id, row[end]), []) for end in ("source", "target"))
        if words := tuple(_words_naming_both_ends(unit, source, target)):
            return words
    return (unit.whole(),)


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


_TRIPLES = "graph.triples"
_SAID = pl.format("{} {} {}", "head", "relation", "tail")


def triple_steps(rows: LineageRows, ids: Iterable[str], most: int | None = 5) -> list[LineageStep]:
    """Return triples with their sources (words, or rows of a graph), in the order of their ids.

    Args:
        rows: the tables.
        ids: ids of the triples.
        most: most rows of a graph per triple; None for all.
    """
    triples = rows.of(_TRIPLES, "triple_id", ids).with_columns(title=_SAID)
    units = units_of(rows, triples["evidence_unit_id"].drop_nulls().unique())
    imported = ImportedRows(rows, most).triples(triples)
    return [
        _triple_step(row, units, *imported.get(row["triple_id"], ((), 0)))
        for row in triples.iter_rows(named=True)
    ]


def _triple_step(
    row: Mapping[str, Any], units: Mapping[str, Passage], imported: tuple[LineageStep, ...], left_out: int
) -> LineageStep:
    facts = {
        "instances": row["instances"],
        "strength": row["strength"],
        "text_units": len(row["text_unit_ids"]),
    }
    if imported:
        return LineageStep(
            "triple", row["triple_id"], row["title"], facts=facts, steps=imported, left_out=left_out
        )
    unit = units[row["evidence_unit_id"]]
    start, end = row["start_char"], row["end_char"]
    below = quotation_step(
        units, unit.text_unit_id, *((0, len(unit.text)) if start is None else (start, end))
    )
    return LineageStep("triple", row["triple_id"], row["title"], facts=facts, steps=(below,) if below else ())

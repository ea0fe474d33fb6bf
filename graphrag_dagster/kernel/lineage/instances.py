"""From entities, relationships and claims to the records they were made from, and to the words of these."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from graphrag_dagster.kernel.lineage.imported import ImportedRows
from graphrag_dagster.kernel.lineage.resolved import ResolvedRows
from graphrag_dagster.kernel.lineage.rows import Rows
from graphrag_dagster.kernel.lineage.steps import Step, in_corpus_order, unit_step, units_of
from graphrag_dagster.kernel.text.evidence import Words
from graphrag_dagster.kernel.text.passages import Passage

_MENTIONS = "extraction.gleaned_entities"
_STATEMENTS = "extraction.gleaned_relationships"
_CLAIMS = "extraction.claims"
_ABOUT = pl.concat_str("subject", "object", separator=" – ", ignore_nulls=True)
_Ends = Mapping[tuple[str, str], list[tuple[int, int]]]


class Instances:
    """Looks up records with what lies below them; each call reads what all of its records need at once.

    Args:
        rows: the tables.
        most: most records below one entity or relationship; None for all.
    """

    def __init__(self, rows: Rows, most: int | None) -> None:
        self._rows = rows
        self._resolved = ResolvedRows(rows)
        self._imported = ImportedRows(rows, most)
        self._most = most

    def entities(self, ids: Iterable[str]) -> dict[str, Step]:
        """Return entities by id, each with its instances in the order of the corpus."""
        found = self._rows.of("graph.entities", "entity_id", ids)
        records = self._resolved.of_entities(_MENTIONS, ["name"], found["name"]).select(
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
        below = {**self._imported.entities(found["name"]), **self._below(records)}
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
            for row in found.iter_rows(named=True)
        }

    def relationships(self, ids: Iterable[str]) -> dict[str, Step]:
        """Return relationships by id, each with its instances of both directions."""
        found = self._rows.of("graph.relationships", "relationship_id", ids)
        ends = pl.concat([found["source"], found["target"]]).unique()
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
            .join(found.select("source", "target", owner="relationship_id"), on=["source", "target"])
        )
        below = {**self._imported.relationships(found), **self._below(records)}
        return {
            row["relationship_id"]: _step(
                "relationship",
                row["relationship_id"],
                f"{row['source']} – {row['target']}",
                row,
                ("human_readable_id", "weight", "instances", "description_engine"),
                below.get(row["relationship_id"], ((), 0)),
            )
            for row in found.iter_rows(named=True)
        }

    def claims(self, ids: Iterable[str]) -> dict[str, Step]:
        """Return claims by id, each with its instances in the order of the corpus."""
        found = self._rows.of("graph.claims", "claim_id", ids)
        records = (
            self._resolved.of_entities(_CLAIMS, ["subject", "object"], found["subject"])
            .join(
                found.select("subject", "object", "type", owner="claim_id"),
                on=["subject", "object", "type"],
                nulls_equal=True,
            )
            .with_columns(title=_ABOUT)
            .rename({"claim_id": "instance_id"})
        )
        below = {**self._imported.claims(found), **self._below(records.drop("subject", "object"))}
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
            for row in found.with_columns(title=_ABOUT).iter_rows(named=True)
        }

    def _below(self, records: pl.DataFrame) -> dict[str, tuple[tuple[Step, ...], int]]:
        """The first records of each owner as steps, and how many more it has."""
        ordered = in_corpus_order(self._rows, records)
        kept = ordered
        if self._most is not None:
            kept = ordered.group_by("owner", maintain_order=True).head(self._most)
        units = units_of(self._rows, kept["text_unit_id"].unique())
        ends = self._ends(kept) if "target" in kept.columns else {}
        total = dict(ordered.group_by("owner").len().iter_rows())
        steps: dict[str, list[Step]] = {}
        for row in kept.iter_rows(named=True):
            unit = units[row["text_unit_id"]]
            words = _words(unit, row, ends)
            facts = ("type", "status", "start_date", "end_date", "basis", "strength", "engine", "round")
            instance = _step(
                "instance", row["instance_id"], row["title"], row, facts, ((unit_step(unit, words),), 0)
            )
            steps.setdefault(row["owner"], []).append(instance)
        return {owner: (tuple(made), total[owner] - len(made)) for owner, made in steps.items()}

    def _ends(self, records: pl.DataFrame) -> _Ends:
        """Where the ends of relation records that have no words of their own stand, by unit and name."""
        bare = records.filter(pl.col("spans").list.len() == 0)
        names = set(bare["source"]) | set(bare["target"])
        mentions = self._resolved.in_units(
            _MENTIONS, ["name"], bare["text_unit_id"].unique(), ("text_unit_id", "name", "spans")
        ).filter(pl.col("name").is_in(list(names)))
        found: dict[tuple[str, str], list[tuple[int, int]]] = {}
        for unit, name, spans in mentions.iter_rows():
            found.setdefault((unit, name), []).extend((span["start"], span["end"]) for span in spans)
        return found


def quoted(units: Mapping[str, Passage], unit_id: str, start: int, end: int) -> Step | None:
    """Return a text unit with words of it; None where there is no such unit."""
    unit = units.get(unit_id)
    return unit_step(unit, (unit.words(start, end),)) if unit else None


def _step(
    kind: str,
    identity: str,
    title: str,
    row: Mapping[str, Any],
    facts: Sequence[str],
    below: tuple[tuple[Step, ...], int],
) -> Step:
    told = {name: row[name] for name in facts if row.get(name) is not None}
    return Step(kind, identity, title, row["description"], told, steps=below[0], left_out=below[1])


def _words(unit: Passage, row: Mapping[str, Any], ends: _Ends | None = None) -> tuple[Words, ...]:
    spans = sorted({(span["start"], span["end"]) for span in row["spans"]})
    if spans:
        return tuple(unit.words(start, end) for start, end in spans)
    if ends:
        one, other = (ends.get((unit.text_unit_id, row[end]), []) for end in ("source", "target"))
        if found := tuple(_naming_both(unit, one, other)):
            return found
    return (unit.whole(),)


def _naming_both(
    unit: Passage, one: Sequence[tuple[int, int]], other: Sequence[tuple[int, int]]
) -> Iterator[Words]:
    for sentence in unit.sentences:
        inside = [
            any(sentence.start <= start and end <= sentence.end for start, end in spans)
            for spans in (one, other)
        ]
        if all(inside):
            yield unit.words(sentence.start, sentence.end, exact=False)

"""From entities, relationships and triples to rows of the graphs they came from, and to texts these name."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from graphrag_dagster.kernel.lineage.rows import Rows
from graphrag_dagster.kernel.lineage.steps import Step, unit_step, units_of
from graphrag_dagster.kernel.text.evidence import imported_row

ENTITIES, RELATIONS, CLAIMS = "imports.entities", "imports.relations", "imports.claims"
_IN_THE_GRAPH = ("read", "dangling")
Below = Mapping[str, tuple[tuple[Step, ...], int]]


class ImportedRows:
    """Looks up rows of graphs that came from elsewhere.

    Args:
        rows: the tables.
        most: most rows below one entity, relationship or triple; None for all.
    """

    def __init__(self, rows: Rows, most: int | None) -> None:
        self._rows = rows
        self._most = most

    def entities(self, names: Iterable[str]) -> Below:
        """Return by name the rows that declare entities; where none does, those of their relations."""
        wanted = sorted(set(names))
        declared = self._rows.of(ENTITIES, "name", wanted).with_columns(owner="name")
        bare = sorted(set(wanted) - set(declared["owner"]))
        ends = (self._rows.of(RELATIONS, end, bare).with_columns(owner=end) for end in ("head", "tail"))
        related = pl.concat(ends).unique(["path", "row", "owner"])
        return {**self._below(ENTITIES, declared), **self._below(RELATIONS, related)}

    def relationships(self, found: pl.DataFrame) -> Below:
        """Return by id the rows that state relationships, given as rows of ``graph.relationships``."""
        ends = pl.concat([found["source"], found["target"]]).unique()
        stated = self._stated(ends).with_columns(
            source=pl.min_horizontal("head", "tail"), target=pl.max_horizontal("head", "tail")
        )
        owners = found.select("source", "target", owner="relationship_id")
        return self._below(RELATIONS, stated.join(owners, on=["source", "target"]))

    def triples(self, found: pl.DataFrame) -> Below:
        """Return by id the rows that state triples, given as rows of ``graph.triples``."""
        owners = found.select("head", "relation", "tail", owner="triple_id")
        stated = self._stated(found["head"].unique())
        return self._below(RELATIONS, stated.join(owners, on=["head", "relation", "tail"]))

    def claims(self, found: pl.DataFrame) -> Below:
        """Return by id the rows that make claims, given as rows of ``graph.claims``."""
        about = ["subject", "object", "type"]
        made = self._rows.of(CLAIMS, "subject", found["subject"].unique())
        owners = found.select(*about, owner="claim_id")
        return self._below(CLAIMS, made.join(owners, on=about, nulls_equal=True))

    def _stated(self, heads: Iterable[str]) -> pl.DataFrame:
        found = self._rows.of(RELATIONS, "head", heads)
        return found.filter(pl.col("outcome").is_in(_IN_THE_GRAPH))

    def _below(self, table: str, rows: pl.DataFrame) -> dict[str, tuple[tuple[Step, ...], int]]:
        """The first rows of each owner as steps, and how many more it has."""
        ordered = rows.sort("owner", "path", "row")
        kept = ordered
        if self._most is not None:
            kept = ordered.group_by("owner", maintain_order=True).head(self._most)
        total = dict(ordered.group_by("owner").len().iter_rows())
        texts = self._texts(kept)
        steps: dict[str, list[Step]] = {}
        for row in kept.iter_rows(named=True):
            steps.setdefault(row["owner"], []).append(_row_step(table, row, texts(row)))
        return {owner: (tuple(made), total[owner] - len(made)) for owner, made in steps.items()}

    def _texts(self, rows: pl.DataFrame) -> "_Texts":
        named = [name for name in ("text_unit_keys", "text_unit_key") if name in rows.columns]
        keys = set(rows[named[0]].explode().drop_nulls()) if named else set()
        return _Texts(self._rows, keys, self._most)


class _Texts:
    """The text units that rows name."""

    def __init__(self, rows: Rows, keys: set[str], most: int | None) -> None:
        found = rows.of("imports.text_units", "key", sorted(keys), ("graph", "key", "text_unit_id"))
        self._ids = {(graph, key): unit for graph, key, unit in found.rows()}
        self._units = units_of(rows, sorted(set(self._ids.values())))
        self._most = most

    def __call__(self, row: Mapping[str, Any]) -> Sequence[Step]:
        keys = row.get("text_unit_keys") or [row.get("text_unit_key")]
        ids = [self._ids.get((row["graph"], key), "") for key in keys[: self._most]]
        units = [self._units[one] for one in ids if one in self._units]
        return [unit_step(unit, (unit.whole(),)) for unit in units]


def _row_step(table: str, row: Mapping[str, Any], texts: Sequence[Step]) -> Step:
    facts = {name: row[name] for name in ("label", "type", "weight", "outcome") if row.get(name)}
    said = row.get("said") or row.get("description") or ""
    evidence = () if texts else (imported_row(table, row),)
    place = f"{row['path']}:{row['row']}"
    return Step("row", place, place, said, facts, evidence, steps=tuple(texts))

"""Which file of Microsoft GraphRAG holds what, in the versions 0 to 3."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import BinaryIO

import polars as pl

from graphrag_dagster.apps.interchange.graph_rows.cell_values import keys, one_line, texts
from graphrag_dagster.apps.interchange.graph_rows.table_rows import GraphTableRows
from graphrag_dagster.apps.interchange.readers.tabular_files import parquet_rows, parquet_schema
from graphrag_dagster.kernel.documents.file_records import UnreadableError

_FINAL = "create_final_"
#: What files of the versions 0 and 1 hold that are no record of their own: where entities stand.
NODES = "nodes"
#: What the files hold. Of each, the columns without which it is not what its name says; one of several names
#: has a column that was renamed.
RECORDS: Mapping[str, str] = {
    "documents": "documents",
    "text_units": "text_units",
    "entities": "entities",
    "relationships": "relations",
    "covariates": "claims",
    "communities": "communities",
    "community_reports": "reports",
    "nodes": NODES,
}
_NEEDED: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "documents": (("id",), ("text", "raw_content")),
    "text_units": (("id",), ("text",)),
    "entities": (("title", "name"),),
    "relations": (("source",), ("target",)),
    "claims": (("subject_id",), ("description",)),
    "communities": (("community", "id"), ("level",)),
    "reports": (("community",), ("full_content", "summary")),
    NODES: (("title",), ("level",), ("community",)),
}


def record_of(name: str) -> str | None:
    """Return what a file of Microsoft GraphRAG holds by its name without extension, None for others."""
    return RECORDS.get(name.removeprefix(_FINAL))


def is_ignored_file(name: str) -> bool:
    """Whether a file of Microsoft GraphRAG says nothing that others do not: vectors, and steps between."""
    return name.startswith(("embeddings.", "create_base_", "create_summarized_", "join_text_units_", "raw_"))


def missing_column(record: str, there: Iterable[str]) -> str | None:
    """Return a column that the rows of a record need and a file does not have."""
    names = set(there)
    return next((" or ".join(some) for some in _NEEDED[record] if not names & set(some)), None)


#: What older versions of a table have of a place in a graph, which newer ones have in others.
_OF_NODES = ("level", "community", "degree", "size", "x", "y")


@dataclass(slots=True)
class Siblings:
    """What the rows of one file must know of the other files of its graph.

    Args:
        opened: opens the file of the graph that holds a record, None where there is none.
    """

    opened: Callable[[str], BinaryIO | None]
    _ids: dict[str, str] | None = None
    _nodes: pl.DataFrame | None = None

    def ids(self) -> dict[str, str]:
        """Return the id of each title of an entity; of the first where several have it."""
        if self._ids is None:
            titles: tuple[str, ...] = ("title", "name")
            found: dict[str, str] = {}
            for rows in self._read("entities", ("id", *titles)):
                title = next((rows.columns[name] for name in titles if name in rows.columns), None)
                if title is not None and "id" in rows.columns:
                    told = zip(keys(texts(title)[0]), keys(texts(rows.columns["id"])[0]), strict=True)
                    for name, key in told:
                        if name and key:
                            found.setdefault(name, key)
            self._ids = found
        return self._ids

    def nodes(self) -> pl.DataFrame:
        """Return the places of entities in communities: ``entity``, ``place``, ``community``, ``level``.

        ``place`` is all that the file tells of it.
        """
        if self._nodes is None:
            rows: list[tuple[object, ...]] = []
            ids = self.ids()
            for some in self._read("nodes", ("title", *_OF_NODES)):
                names = [name for name in _OF_NODES if name in some.columns]
                cells = [list(some.columns[name]) for name in names]
                titles = keys(texts(some.columns["title"])[0])
                for title, *told in zip(titles, *cells, strict=True):
                    place = {name: cell for name, cell in zip(names, told, strict=True) if cell is not None}
                    level = place.get("level")
                    rows.append((
                        ids.get(title or "", title),
                        place,
                        one_line(place.get("community")),
                        level if isinstance(level, int) else None,
                    ))  # fmt: skip
            schema = {"entity": pl.String, "place": pl.Object, "community": pl.String, "level": pl.Int64}
            self._nodes = pl.DataFrame(rows, schema=schema, orient="row")
        return self._nodes

    def places(self) -> dict[str, list[object]]:
        """Return the places of each entity."""
        found: dict[str, list[object]] = {}
        for entity, place in zip(self.nodes()["entity"], self.nodes()["place"], strict=True):
            if entity is not None:
                found.setdefault(entity, []).append(place)
        return found

    def members(self) -> dict[str, list[str]]:
        """Return the members of each community."""
        found: dict[str, list[str]] = {}
        for entity, community in self.nodes().select("entity", "community").iter_rows():
            if entity is not None and community is not None:
                found.setdefault(community, []).append(entity)
        return found

    def parents(self) -> dict[str, str]:
        """Return the community that each was split from: that of its first member one level above."""
        nodes = self.nodes().select("entity", "community", "level").drop_nulls()
        above = nodes.select("entity", pl.col("level") + 1, parent="community")
        both = nodes.join(above, on=["entity", "level"], maintain_order="left")
        split = both.filter(pl.col("parent") != pl.col("community")).unique("community", keep="first")
        return dict(split.select("community", "parent").iter_rows())

    def above(self) -> dict[str, str | None]:
        """Return the parent of every community as its file tells it, None at the top."""
        found: dict[str, str | None] = {}
        for rows in self._read("communities", ("community", "id", "parent")):
            name = "community" if "community" in rows.columns else "id"
            parents = rows.columns.get("parent", [None] * len(rows.numbers))
            for key, parent in zip(map(one_line, rows.columns[name]), map(one_line, parents), strict=True):
                if key is not None:
                    found.setdefault(key, None if parent in (None, "-1") else parent)
        return found

    def _read(self, record: str, wanted: Iterable[str]) -> Iterator[GraphTableRows]:
        """Yield columns of another file; nothing where it cannot be read, which it says itself."""
        stream = self.opened(record)
        if stream is None:
            return
        with closing(stream):
            try:
                there = parquet_schema(stream)
                stream.seek(0)
                names = [name for name in wanted if name in there]
                if names and not missing_column(record, there):
                    yield from parquet_rows(stream, names)
            except UnreadableError:
                return

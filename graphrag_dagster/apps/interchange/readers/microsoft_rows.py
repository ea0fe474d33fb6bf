"""From rows of Microsoft GraphRAG's Parquet files to rows of imports that can be written back as they were.

All columns that have no column of their own are attributes. So are cells that the imports hold otherwise,
under their names; ``nulls`` lists columns that are null in the file and not in the imports.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import BinaryIO

import polars as pl

from graphrag_dagster.apps.interchange.graph_rows.cell_values import (
    Column,
    attributes,
    keys,
    lists,
    numbers,
    one_line,
    relations_of,
)
from graphrag_dagster.apps.interchange.graph_rows.import_batches import ANY, ImportBatch, ReadAccount
from graphrag_dagster.apps.interchange.graph_rows.table_rows import (
    UNKNOWN_TYPE,
    GraphTableRows,
    record_frame,
    rows_without,
)
from graphrag_dagster.apps.interchange.readers.lightrag_stores import findings_json
from graphrag_dagster.apps.interchange.readers.microsoft_versions import NODES, Siblings, missing_column
from graphrag_dagster.apps.interchange.readers.tabular_files import is_vector, parquet_rows, parquet_schema
from graphrag_dagster.kernel.documents.column_roles import list_columns
from graphrag_dagster.kernel.documents.file_records import REPLACEMENT, UnreadableError

_STATUSES = ("TRUE", "FALSE", "SUSPECTED")
#: What models write where there is nothing.
_NOTHING = "NONE"
_DATE = re.compile(r"\d{4}(-\d\d(-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?)?)?")
_TOP = "-1"
_HIGHEST = 10.0
#: Columns without which a row is malformed; of other records, the key.
_NEEDED = {
    "relations": ("head_key", "tail_key"),
    "claims": ("key", "subject"),
    "reports": ("community_key",),
}

#: Columns of the record, and what the file's columns are held as.
_Converted = tuple[dict[str, pl.Series], Mapping[str, Column]]


class Converter:
    """Converts the rows of one file; remembers which ids there were where they must be unique."""

    def __init__(self, record: str, graph: str, account: ReadAccount, siblings: Siblings) -> None:
        self._record = record
        self._graph = graph
        self._account = account
        self._siblings = siblings
        self._seen: set[str] = set()
        self._places = siblings.places() if record == "entities" else {}
        if record == "communities":
            self._members, self._split_from = siblings.members(), siblings.parents()
            self._above = siblings.above()
            self._circular = _circular_communities(self._above)

    def batches(self, rows: GraphTableRows) -> Iterator[ImportBatch]:
        """Yield the rows of the record; rows without an id, or with that of one before, are malformed."""
        convert = {
            "documents": self._documents,
            "text_units": self._text_units,
            "entities": self._entities,
            "relations": self._relations,
            "claims": self._claims,
            "communities": self._communities,
            "reports": self._reports,
        }[self._record]
        told, stored = convert(rows)
        told["attributes"] = _attributes(rows, stored, told.get("attributes"))
        frame = record_frame(rows, self._record, self._graph, self._account, **told)
        usable = self._usable(rows, frame)
        frame = frame if usable.all() else frame.filter(usable)
        yield from self._account.records(self._record, frame, rows.repaired)

    def _usable(self, rows: GraphTableRows, frame: pl.DataFrame) -> pl.Series:
        wanted: dict[str, tuple[str | None, pl.Series, list[int]]] = {}
        for name in _NEEDED.get(self._record, ("key",)):
            what = "id" if name == "key" else name.removesuffix("_key")
            wanted[what] = (None, frame[name], [])
        whole = rows_without(rows, self._record, wanted, self._account)
        if self._record in ("entities", "relations"):
            return whole
        twice = self._repeated_ids(rows, frame["key"].set(~whole, None))
        return whole.scatter(twice, False) if twice else whole

    def _repeated_ids(self, rows: GraphTableRows, found: pl.Series) -> list[int]:
        """Places of ids that were there before."""
        twice = []
        for place, key in enumerate(found):
            if key is not None and key in self._seen:
                reason = f"its id {key[:60]!r} is that of a row before it"
                self._account.malformed(self._record, rows.numbers[place], reason, rows.raw(place))
                twice.append(place)
            elif key is not None:
                self._seen.add(key)
        return twice

    def _documents(self, rows: GraphTableRows) -> _Converted:
        text = _one_of(rows, "text", "raw_content")
        title = keys(rows.text("title"))
        told = {"key": rows.key("id")[0], "text": _whole(rows.text(text))}
        stored = {"id": told["key"], text: told["text"], "title": title}
        return {**told, "title": title.fill_null(told["key"])}, stored

    def _text_units(self, rows: GraphTableRows) -> _Converted:
        documents = _one_of(rows, "document_ids", "document_id")
        told = {
            "key": rows.key("id")[0],
            "document_keys": lists(rows.cells(documents)),
            "text": _whole(rows.text("text")),
        }
        one = told["document_keys"].list.join(",") if documents == "document_id" else told["document_keys"]
        return told, {"id": told["key"], documents: one, "text": told["text"]}

    def _entities(self, rows: GraphTableRows) -> _Converted:
        name = _one_of(rows, "title", "name")
        key, title = rows.key("id")[0], keys(rows.text(name))
        told = {
            "key": key.fill_null(title),
            "title": title.fill_null(key),
            "type": keys(rows.text("type")).fill_null(UNKNOWN_TYPE),
            "description": _whole(rows.text("description")),
            "text_unit_keys": lists(rows.cells("text_unit_ids")),
        }
        stored = {"id": told["key"], name: told["title"], "type": told["type"]}
        stored |= {"description": told["description"], "text_unit_ids": told["text_unit_keys"]}
        if self._places:
            told["attributes"] = pl.Series([self._places.get(one) for one in told["key"]], dtype=pl.Object)
        return told, stored

    def _relations(self, rows: GraphTableRows) -> _Converted:
        weight, _ = rows.weight("weight")
        ids = self._siblings.ids()
        source, target = (rows.key(name)[0] for name in ("source", "target"))
        label = keys(rows.text("label" if "label" in rows.columns else "type")).fill_null("")
        told = {
            "key": rows.key("id")[0],
            "head_key": pl.Series([ids.get(one, one) for one in source], dtype=pl.String),
            "tail_key": pl.Series([ids.get(one, one) for one in target], dtype=pl.String),
            "label": label,
            "relation": relations_of(label),
            "weight": weight,
            "description": _whole(rows.text("description")),
            "text_unit_keys": lists(rows.cells("text_unit_ids")),
        }
        stored = {"id": told["key"], "source": source, "target": target, "weight": weight}
        return told, stored | {"description": told["description"], "text_unit_ids": told["text_unit_keys"]}

    def _claims(self, rows: GraphTableRows) -> _Converted:
        status = keys(rows.text("status")).str.to_uppercase()
        known = status.is_in(_STATUSES).fill_null(False)
        rows.mend(
            (~known).arg_true().to_list(),
            "its status is none of TRUE, FALSE and SUSPECTED, and taken as the last",
        )
        told = {
            "key": rows.key("id")[0],
            "subject": keys(rows.text("subject_id")),
            "object": _without_placeholder(keys(rows.text("object_id"))),
            "type": keys(rows.text("type")).fill_null(UNKNOWN_TYPE),
            "status": status.set(~known, "SUSPECTED"),
            "description": _whole(rows.text("description")),
            "start_date": _dates(keys(rows.text("start_date"))),
            "end_date": _dates(keys(rows.text("end_date"))),
            "quote": _whole(rows.text("source_text")),
            "text_unit_key": rows.key("text_unit_id")[0],
        }
        names = {"key": "id", "subject": "subject_id", "object": "object_id", "quote": "source_text"}
        names["text_unit_key"] = "text_unit_id"
        return told, {names.get(name, name): series for name, series in told.items()}

    def _communities(self, rows: GraphTableRows) -> _Converted:
        name = _one_of(rows, "community", "id")
        key, level = rows.key(name)[0], self._levels(rows)
        parents = [self._parent(rows, place, one) for place, one in enumerate(key)]
        if "entity_ids" in rows.columns:
            members = lists(rows.cells("entity_ids"))
        else:
            found = [self._members.get(one or "", []) for one in key]
            members = pl.Series(found, dtype=pl.List(pl.String))
        told = {
            "key": key,
            "parent_key": pl.Series(parents, dtype=pl.String),
            "level": level,
            "title": keys(rows.text("title")).fill_null(key),
            "entity_keys": members,
        }
        stored = {name: key, "level": level, "title": told["title"], "entity_ids": members}
        return told, stored | {"parent": told["parent_key"].fill_null(_TOP)}

    def _parent(self, rows: GraphTableRows, place: int, key: str | None) -> str | None:
        if key is None:
            return None
        if "parent" not in rows.columns:
            return self._split_from.get(key)
        parent = one_line(rows.columns["parent"][place])
        if parent in (None, _TOP):
            return None
        if key in self._circular:
            rows.mend([place], "its parents lead back to it; it was put at the top")
            return None
        if parent not in self._above:
            rows.mend([place], f"its parent {parent[:60]!r} is no community; it was put at the top")
            return None
        return parent

    def _levels(self, rows: GraphTableRows) -> pl.Series:
        level, wrong = numbers(rows.cells("level"), 0.0)
        odd = (level < 0) | (level > 1_000) | (level != level.floor())
        rows.mend([*wrong, *odd.arg_true()], "its level is no whole number from 0 on, and was taken as 0")
        return level.set(odd, 0.0).cast(pl.Int32)

    def _reports(self, rows: GraphTableRows) -> _Converted:
        community = rows.key("community")[0]
        explained = _one_of(rows, "rating_explanation", "rank_explanation")
        rating_name = _one_of(rows, "rank", "rating")
        rating, wrong = numbers(rows.cells(rating_name), 0.0)
        rows.mend(wrong, f"{rating_name} is no finite number and was taken as 0")
        beyond = (rating < 0) | (rating > _HIGHEST)
        rows.mend(beyond.arg_true().to_list(), f"{rating_name} is no rating from 0 to 10 and was put there")
        rating = rating.clip(0.0, _HIGHEST)
        findings = [findings_json(_plain(cell)) for cell in rows.cells("findings")]
        rows.mend(
            [n for n, (_, fits) in enumerate(findings) if not fits],
            "some findings are neither text nor object",
        )
        told = {
            "key": rows.key("id")[0].fill_null(community),
            "community_key": community,
            "level": self._levels(rows),
            "title": keys(rows.text("title")).fill_null(community),
            "summary": _whole(rows.text("summary")),
            "content": _whole(rows.text("full_content")),
            "rating": rating,
            "rating_explanation": _whole(rows.text(explained)),
            "findings": pl.Series([text for text, _ in findings], dtype=pl.String),
        }
        names = {"key": "id", "community_key": "community", "content": "full_content", "rating": rating_name}
        names["rating_explanation"] = explained
        stored: dict[str, Column] = {names.get(name, name): series for name, series in told.items()}
        return told, {**stored, "findings": [json.loads(text) for text in told["findings"]]}


def _attributes(rows: GraphTableRows, stored: Mapping[str, Column], places: pl.Series | None) -> pl.Series:
    height = len(rows.numbers)
    found: dict[str, Column] = {name: cells for name, cells in rows.columns.items() if name not in stored}
    nulls: list[list[str]] = [[] for _ in range(height)]
    for name, kept in stored.items():
        if name not in rows.columns:
            continue
        pairs = list(zip(map(_plain, rows.columns[name]), map(_plain, kept), strict=True))
        for place, (cell, other) in enumerate(pairs):
            if cell is None and other is not None:
                nulls[place].append(name)
        differing = [cell is not None and not _same(cell, other) for cell, other in pairs]
        if any(differing):
            told = zip(pairs, differing, strict=True)
            found[name] = [cell if differs else None for (cell, _), differs in told]
    if any(nulls):
        found["nulls"] = [names or None for names in nulls]
    if places is not None:
        found["nodes"] = list(places)
    return attributes(found, height)


def _same(cell: object, kept: object) -> bool:
    return cell == kept or (isinstance(kept, str) and not isinstance(cell, str) and one_line(cell) == kept)


def _plain(cell: object) -> object:
    return cell.to_list() if isinstance(cell, pl.Series) else cell


def _one_of(rows: GraphTableRows, *names: str) -> str:
    return next((name for name in names if name in rows.columns), names[0])


def _whole(series: pl.Series) -> pl.Series:
    """Texts as they stand."""
    return series.fill_null("").str.replace_all("\x00", REPLACEMENT, literal=True)


def _without_placeholder(series: pl.Series) -> pl.Series:
    return series.set((series.str.to_uppercase() == _NOTHING).fill_null(False), None)


def _dates(series: pl.Series) -> pl.Series:
    return series.set(~series.str.contains(f"^(?:{_DATE.pattern})$").fill_null(False), None)


def _circular_communities(above: Mapping[str, str | None]) -> set[str]:
    """Return the communities that are their own ancestors."""
    looked_at: set[str] = set()
    found: set[str] = set()
    for start in above:
        path: dict[str, int] = {}
        at: str | None = start
        while at is not None and at in above and at not in looked_at and at not in path:
            path[at] = len(path)
            at = above[at]
        if at in path:
            found.update(list(path)[path[at] :])
        looked_at.update(path)
    return found


def microsoft_batches(
    stream: BinaryIO, record: str, graph: str, account: ReadAccount, siblings: Siblings
) -> Iterator[ImportBatch]:
    """Yield the rows of one file.

    The key of an entity is its id; relations name entities by titles, which become ids.

    Raises:
        UnreadableError: no Parquet, or a column is missing that its rows need.
    """
    there = parquet_schema(stream)
    stream.seek(0)
    lacking = missing_column(record, there)
    if lacking:
        raise UnreadableError(
            f"no column {lacking}, which {record} of Microsoft GraphRAG have; its columns are "
            f"{list_columns(list(there))}. Put the file of "
            "that name there, or name it otherwise to have it read as a table"
        )
    vectors = [name for name, kind in there.items() if is_vector(kind)]
    if vectors:
        account.note(f"vectors were left out: {list_columns(vectors)}")
    kept = [name for name in there if name not in vectors and not name.startswith("__index_level_")]
    if record == NODES:
        count = sum(len(rows.numbers) for rows in parquet_rows(stream, kept))
        account.count(ANY, "read", count, 1)
        account.note("its rows are the members of communities and the places of entities")
        return
    converter = Converter(record, graph, account, siblings)
    for rows in parquet_rows(stream, kept):
        yield from converter.batches(rows)
        yield from account.pending()

"""Exports of ours in RDF: of all that they tell, the entities and what is stated of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import polars as pl

from graphrag_dagster.apps.interchange.readers.batches import ANY, Account, Batch
from graphrag_dagster.apps.interchange.readers.rdf.rdf import TYPE, local_name
from graphrag_dagster.apps.interchange.readers.rows import Rows, graph_rows
from graphrag_dagster.apps.interchange.readers.tabular.cells import Column, to_json
from graphrag_dagster.apps.interchange.readers.tabular.columns import GraphColumns
from graphrag_dagster.apps.interchange.writers.vocabulary import THINGS, VOCABULARY

#: How such a file begins.
OWN = f"<{THINGS}"
_RDF = TYPE.removesuffix("type")
_ENDS = (f"{_RDF}subject", f"{_RDF}predicate", f"{_RDF}object")
_NAMED = ("head", "predicate", "tail")
_ENTITY = f"{VOCABULARY}Entity"
_KNOWN = ("title", "type", "description", "weight", "label", "declared")
#: What an index made of the graph, which its own attributes are not.
_MADE = ("human_readable_id", "degree", "frequency", "instances", "engine", "description_engine")


@dataclass(frozen=True, slots=True)
class _Thing:
    """What an export says of a thing: the row where that begins, and values by predicate."""

    row: int
    iri: str
    said: Mapping[str, Sequence[str]]

    def one(self, name: str) -> str | None:
        """A value of our vocabulary."""
        return next(iter(self.said.get(f"{VOCABULARY}{name}", ())), None)

    def others(self) -> dict[str, object]:
        """What else is said of it in our vocabulary: one value, or several."""
        found: dict[str, object] = {}
        for predicate, values in self.said.items():
            name = local_name(predicate)
            if predicate.startswith(VOCABULARY) and name not in _KNOWN + _MADE:
                found[name] = values[0] if len(values) == 1 else list(values)
        return found


def own_batches(frames: Iterable[pl.DataFrame], graph: str, account: Account) -> Iterator[Batch]:
    """Yield the entities and relations; all other statements are counted as read, and the file has a note.

    Args:
        frames: of statements, with the columns ``rdf.STATEMENT``.
        graph: name of the graph they are of.
        account: counts them.
    """
    account.note(
        "of an export: what it tells of texts, communities, reports and provenance is left out; the form "
        "microsoft brings it back"
    )
    held = pl.DataFrame()
    for frame in frames:
        whole = pl.concat([held, frame]) if held.height else frame
        # What is said of the last thing may go on.
        last = whole.filter(pl.col("subject") != whole["subject"][-1])["row"].max() if whole.height else None
        held = whole.filter(pl.col("row") > last) if last is not None else whole
        yield from _batches(whole.head(whole.height - held.height), graph, account)
    yield from _batches(held, graph, account)


def _batches(frame: pl.DataFrame, graph: str, account: Account) -> Iterator[Batch]:
    things = list(_things(frame))
    entities = [one for one in things if _ENTITY in one.said.get(TYPE, ()) and one.one("declared") != "false"]
    relations = [one for one in things if all(end in one.said for end in _ENDS)]
    rest = frame.height - len(entities) - len(relations)
    if rest > 0:
        account.count(ANY, "read", rest, frame["row"][0])
    if entities:
        columns: dict[str, Column] = {
            "key": [one.iri for one in entities],
            "title": [one.one("title") or local_name(one.iri) for one in entities],
            **{name: [one.one(name) for one in entities] for name in ("type", "description")},
        }
        names = GraphColumns(key="key", title="title", type="type", description="description")
        yield from graph_rows(_rows(entities, columns), names, graph, account)
    if relations:
        columns = {
            **{
                name: [one.said[end][0] for one in relations] for name, end in zip(_NAMED, _ENDS, strict=True)
            },
            "label": [one.one("label") or local_name(one.said[_ENDS[1]][0]) for one in relations],
            **{name: [one.one(name) for one in relations] for name in ("weight", "description")},
        }
        names = GraphColumns("head", "label", "tail", weight="weight", description="description")
        yield from graph_rows(_rows(relations, columns), names, graph, account)
    yield from account.pending()


def _rows(things: Sequence[_Thing], columns: dict[str, Column]) -> Rows:
    others = [one.others() for one in things]
    for name in dict.fromkeys(name for one in others for name in one):
        columns.setdefault(name, [one.get(name) for one in others])
    numbers = pl.Series([one.row for one in things], dtype=pl.Int64)
    return Rows(numbers, columns, lambda place: to_json({"iri": things[place].iri, **things[place].said}))


def _things(frame: pl.DataFrame) -> Iterator[_Thing]:
    rows = frame.select("row", "subject", "predicate", "object", "value").iter_rows()
    for subject, some in groupby(rows, key=lambda row: row[1]):
        said: dict[str, list[str]] = {}
        first = 0
        for row, _, predicate, iri, value in some:
            first = first or row
            said.setdefault(predicate, []).append(iri if value is None else value)
        yield _Thing(first, subject, said)

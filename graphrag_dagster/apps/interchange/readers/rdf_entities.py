"""From RDF statements to entities and relations; of our own exports, only what is the graph.

A statement whose object is an IRI or a blank node is a relation; types and literals declare their subject.
All that is declared of a subject is kept in its attributes as well, by predicate, so that the same statements
can be written again: ``{"value", "language", "datatype"}`` for a literal, ``{"iri"}`` for a type. A relation
keeps its predicate as ``predicate``.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from urllib.parse import unquote

import polars as pl

from graphrag_dagster.apps.interchange.exporting.ntriples_writer import THINGS, VOCABULARY
from graphrag_dagster.apps.interchange.graph_rows.cell_values import (
    Column,
    bodies,
    keys,
    relation_of,
    to_json,
)
from graphrag_dagster.apps.interchange.graph_rows.graph_columns import GraphColumns
from graphrag_dagster.apps.interchange.graph_rows.import_batches import (
    ANY,
    ImportBatch,
    ReadAccount,
    cap_texts,
    types_of,
)
from graphrag_dagster.apps.interchange.graph_rows.table_rows import UNKNOWN_TYPE, GraphTableRows, graph_rows
from graphrag_dagster.kernel.documents.file_records import clean

TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_SKOS = "http://www.w3.org/2004/02/skos/core#"
_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
#: Predicates that give a title, the better ones first; then those that describe.
_SCHEMAS = ("http://schema.org/", "https://schema.org/")
_FOAF = "http://xmlns.com/foaf/0.1/"
_DC = ("http://purl.org/dc/terms/", "http://purl.org/dc/elements/1.1/")
TITLES = (
    *(f"{_RDFS}label", f"{_SKOS}prefLabel", *(f"{one}name" for one in _SCHEMAS), f"{_FOAF}name"),
    *(*(f"{one}title" for one in _DC), "http://www.w3.org/2006/vcard/ns#fn", f"{_FOAF}title"),
    *(*(f"{one}headline" for one in _SCHEMAS), f"{_FOAF}nick", f"{_SKOS}altLabel"),
)
_DESCRIPTIONS = (
    f"{_RDFS}comment",
    *(f"{one}description" for one in _SCHEMAS),
    *(f"{one}description" for one in _DC),
    f"{_SKOS}definition",
    # The definitions of biological ontologies.
    "http://purl.obolibrary.org/obo/IAO_0000115",
    *(f"{one}abstract" for one in _DC),
    "http://dbpedia.org/ontology/abstract",
    f"{_SKOS}scopeNote",
    f"{_SKOS}note",
)
#: Types that say no more than that there is something.
_OWL = "http://www.w3.org/2002/07/owl#"
_ANYTHING = frozenset({
    *(f"{_OWL}NamedIndividual", f"{_OWL}Thing", f"{_RDFS}Resource", f"{_SCHEMAS[0]}Thing"),
    *(f"{_SCHEMAS[1]}Thing", "http://wikiba.se/ontology#Item", "http://www.wikidata.org/ontology#Item"),
})  # fmt: skip
_WIKIDATA = "http://www.wikidata.org/"
INSTANCE_OF = f"{_WIKIDATA}prop/direct/P31"
#: The columns of statements: the object is ``object``, or else a literal.
STATEMENT = {
    "row": pl.Int64,
    "subject": pl.String,
    "predicate": pl.String,
    "object": pl.String,
    "value": pl.String,
    "language": pl.String,
    "datatype": pl.String,
}
_JSON = json.JSONEncoder(ensure_ascii=False)
_LOCAL_NAME = re.compile(r"[^/#:]+(?=[/#:]*$)")


def local_name(iri: str) -> str:
    """Return the last part of an IRI, decoded; a blank node's id is its name.

    >>> local_name("http://example.org/wiki/S%C3%A3o_Paulo")
    'São_Paulo'
    """
    found = None if iri.startswith("_:") else _LOCAL_NAME.search(iri)
    return unquote(found.group()).strip() or iri if found else iri


def property_of(predicate: str) -> str:
    """Return the IRI that has the labels of a predicate: of Wikidata's the property, else itself.

    >>> property_of("http://www.wikidata.org/prop/direct/P31")
    'http://www.wikidata.org/entity/P31'
    """
    if not predicate.startswith(f"{_WIKIDATA}prop/"):
        return predicate
    return f"{_WIKIDATA}entity/{local_name(predicate)}"


def statement_batches(
    statements: pl.DataFrame,
    repaired: Mapping[int, str],
    graph: str,
    account: ReadAccount,
    names: Mapping[str, str] | None = None,
) -> Iterator[ImportBatch]:
    """Yield the relations and the entities of statements.

    The title of an entity is blank where its label is not among the statements. Of several types that counts
    which says most: not that something is an individual, or a thing.

    Args:
        statements: with the columns :data:`STATEMENT`.
        repaired: why rows were mended, by number.
        graph: name of the graph they are of.
        account: counts them.
        names: labels of predicates and types; others are called by their local names.
    """
    called = names or {}
    declares = (pl.col("predicate") == TYPE) | pl.col("object").is_null()
    links = statements.filter(~declares)
    if links.height:
        yield from account.records("relations", _relations(links, graph, account, called), repaired)
    declared = statements.filter(declares)
    kinds: dict[str, str] = {}
    for subject, kind in (
        links.filter(pl.col("predicate") == INSTANCE_OF).select("subject", "object").iter_rows()
    ):
        kinds.setdefault(subject, kind)
    if declared.height:
        frame, cut = cap_texts(_entities(declared, kinds, graph, account, called))
        account.tally("entities", declared["row"], {**cut, **repaired})
        yield ImportBatch("entities", frame)


def _label(iri: str, names: Mapping[str, str]) -> str:
    return names.get(iri) or names.get(property_of(iri)) or local_name(iri)


def _relations(
    links: pl.DataFrame, graph: str, account: ReadAccount, called: Mapping[str, str]
) -> pl.DataFrame:
    predicates = links["predicate"].unique()
    names = {iri: _label(iri, called) for iri in predicates}
    said = {iri: to_json({"predicate": iri}) for iri in predicates}
    relations = {iri: relation_of(name) for iri, name in names.items()}
    predicate = pl.col("predicate")
    found = links.select(
        path=pl.lit(account.path),
        row="row",
        graph=pl.lit(graph),
        key=pl.lit(None, dtype=pl.String),
        head_key="subject",
        tail_key="object",
        label=predicate.replace_strict(names, return_dtype=pl.String),
        relation=predicate.replace_strict(relations, return_dtype=pl.String),
        weight=pl.lit(1.0),
        description=pl.lit(""),
        text_unit_keys=pl.lit([], dtype=pl.List(pl.String)),
        attributes=predicate.replace_strict(said, return_dtype=pl.String),
    )
    return found.with_columns(keys(found[name]) for name in ("head_key", "tail_key", "label"))


class _Subject:
    """What some statements declare of a subject."""

    def __init__(self, row: int) -> None:
        self.row = row
        self.types: list[str] = []
        self.attributes: dict[str, list[dict[str, str]]] = {}

    def add(self, predicate: str, obj: str | None, literal: dict[str, str]) -> None:
        """Add a statement."""
        if obj is None:
            self.attributes.setdefault(predicate, []).append(literal)
            return
        self.types.append(obj)
        self.attributes.setdefault(predicate, []).append({"iri": obj})

    def kind(self) -> str | None:
        """The type that says most."""
        return next((one for one in self.types if one not in _ANYTHING and not one.startswith("_:")), None)

    def best_label(self, predicates: tuple[str, ...]) -> str:
        """The literal of the first predicate that has any; one in English or no language if there is."""
        for predicate in predicates:
            literals = [one for one in self.attributes.get(predicate, ()) if one.get("value", "").strip()]
            plain = [one for one in literals if one.get("language", "en").lower().startswith("en")]
            if literals:
                return clean((plain or literals)[0]["value"])
        return ""


def _entities(
    declared: pl.DataFrame,
    kinds: Mapping[str, str],
    graph: str,
    account: ReadAccount,
    called: Mapping[str, str],
) -> pl.DataFrame:
    subjects: dict[str, _Subject] = {}
    for row, subject, predicate, obj, value, language, datatype in declared.iter_rows():
        literal = {"value": value, "language": language, "datatype": datatype}
        told = {name: part for name, part in literal.items() if part is not None}
        subjects.setdefault(subject, _Subject(row)).add(predicate, obj, told)
    found = subjects.values()
    columns = {
        "path": account.path,
        "row": [one.row for one in found],
        "graph": graph,
        "key": keys(pl.Series(list(subjects), dtype=pl.String)),
        "title": keys(pl.Series([one.best_label(TITLES) for one in found], dtype=pl.String)).fill_null(""),
        "type": [
            _label(kind, called) if (kind := one.kind() or kinds.get(subject)) else UNKNOWN_TYPE
            for subject, one in subjects.items()
        ],
        "description": bodies(pl.Series([one.best_label(_DESCRIPTIONS) for one in found], dtype=pl.String)),
        "text_unit_keys": [[]] * len(found),
        "attributes": [_JSON.encode(one.attributes) for one in found],
    }
    return pl.DataFrame(columns, schema=types_of("entities"))


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


def own_export_batches(
    frames: Iterable[pl.DataFrame], graph: str, account: ReadAccount
) -> Iterator[ImportBatch]:
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


def _batches(frame: pl.DataFrame, graph: str, account: ReadAccount) -> Iterator[ImportBatch]:
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


def _rows(things: Sequence[_Thing], columns: dict[str, Column]) -> GraphTableRows:
    others = [one.others() for one in things]
    for name in dict.fromkeys(name for one in others for name in one):
        columns.setdefault(name, [one.get(name) for one in others])
    numbers = pl.Series([one.row for one in things], dtype=pl.Int64)
    return GraphTableRows(
        numbers, columns, lambda place: to_json({"iri": things[place].iri, **things[place].said})
    )


def _things(frame: pl.DataFrame) -> Iterator[_Thing]:
    rows = frame.select("row", "subject", "predicate", "object", "value").iter_rows()
    for subject, some in groupby(rows, key=lambda row: row[1]):
        said: dict[str, list[str]] = {}
        first = 0
        for row, _, predicate, iri, value in some:
            first = first or row
            said.setdefault(predicate, []).append(iri if value is None else value)
        yield _Thing(first, subject, said)

"""From RDF statements to entities and relations.

A statement whose object is an IRI or a blank node is a relation; types and literals declare their subject.
All that is declared of a subject is kept in its attributes as well, by predicate, so that the same statements
can be written again: ``{"value", "language", "datatype"}`` for a literal, ``{"iri"}`` for a type. A relation
keeps its predicate as ``predicate``.
"""

import json
import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote

import polars as pl

from graphrag_dagster.core.corpus.graphs.batches import Account, Batch, types_of
from graphrag_dagster.core.corpus.graphs.cells import bodies, keys, relation_of, to_json
from graphrag_dagster.core.corpus.graphs.rows import UNKNOWN_TYPE
from graphrag_dagster.core.files.records import clean

TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_SKOS = "http://www.w3.org/2004/02/skos/core#"
_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
#: Predicates that give a title, the better ones first; then those that describe.
_TITLES = (f"{_RDFS}label", f"{_SKOS}prefLabel", "http://schema.org/name", "https://schema.org/name")
_DESCRIPTIONS = (
    f"{_RDFS}comment",
    "http://schema.org/description",
    "https://schema.org/description",
    "http://purl.org/dc/terms/description",
    f"{_SKOS}definition",
)
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


def statement_batches(
    statements: pl.DataFrame, repaired: Mapping[int, str], graph: str, account: Account
) -> Iterator[Batch]:
    """Yield the relations and the entities of statements, which have the columns :data:`STATEMENT`.

    The title of an entity is blank where its label is not among the statements.
    """
    declares = (pl.col("predicate") == TYPE) | pl.col("object").is_null()
    links = statements.filter(~declares)
    if links.height:
        yield from account.records("relations", _relations(links, graph, account), repaired)
    declared = statements.filter(declares)
    if declared.height:
        account.tally("entities", declared["row"], repaired)
        yield Batch("entities", _entities(declared, graph, account))


def _relations(links: pl.DataFrame, graph: str, account: Account) -> pl.DataFrame:
    predicates = links["predicate"].unique()
    names = {iri: local_name(iri) for iri in predicates}
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

    def best(self, predicates: tuple[str, ...]) -> str:
        """The literal of the first predicate that has any; one in English or no language if there is."""
        for predicate in predicates:
            literals = [one for one in self.attributes.get(predicate, ()) if one.get("value", "").strip()]
            plain = [one for one in literals if one.get("language", "en").lower().startswith("en")]
            if literals:
                return clean((plain or literals)[0]["value"])
        return ""


def _entities(declared: pl.DataFrame, graph: str, account: Account) -> pl.DataFrame:
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
        "title": keys(pl.Series([one.best(_TITLES) for one in found], dtype=pl.String)).fill_null(""),
        "type": [local_name(one.types[0]) if one.types else UNKNOWN_TYPE for one in found],
        "description": bodies(pl.Series([one.best(_DESCRIPTIONS) for one in found], dtype=pl.String)),
        "text_unit_keys": [[]] * len(found),
        "attributes": [_JSON.encode(one.attributes) for one in found],
    }
    return pl.DataFrame(columns, schema=types_of("entities"))

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

from graphrag_dagster.apps.interchange.readers.batches import Account, Batch, capped, types_of
from graphrag_dagster.apps.interchange.readers.rows import UNKNOWN_TYPE
from graphrag_dagster.apps.interchange.readers.tabular.cells import bodies, keys, relation_of, to_json
from graphrag_dagster.kernel.documents.files.records import clean

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
    account: Account,
    names: Mapping[str, str] | None = None,
) -> Iterator[Batch]:
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
        frame, cut = capped(_entities(declared, kinds, graph, account, called))
        account.tally("entities", declared["row"], {**cut, **repaired})
        yield Batch("entities", frame)


def _called(iri: str, names: Mapping[str, str]) -> str:
    return names.get(iri) or names.get(property_of(iri)) or local_name(iri)


def _relations(links: pl.DataFrame, graph: str, account: Account, called: Mapping[str, str]) -> pl.DataFrame:
    predicates = links["predicate"].unique()
    names = {iri: _called(iri, called) for iri in predicates}
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

    def best(self, predicates: tuple[str, ...]) -> str:
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
    account: Account,
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
        "title": keys(pl.Series([one.best(TITLES) for one in found], dtype=pl.String)).fill_null(""),
        "type": [
            _called(kind, called) if (kind := one.kind() or kinds.get(subject)) else UNKNOWN_TYPE
            for subject, one in subjects.items()
        ],
        "description": bodies(pl.Series([one.best(_DESCRIPTIONS) for one in found], dtype=pl.String)),
        "text_unit_keys": [[]] * len(found),
        "attributes": [_JSON.encode(one.attributes) for one in found],
    }
    return pl.DataFrame(columns, schema=types_of("entities"))

"""Which columns of a table hold which part of a graph."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

from graphrag_dagster.kernel.documents.column_roles import list_columns
from graphrag_dagster.kernel.documents.file_records import UnreadableError

#: Usual names of both ends of a relation.
_ENDS = (
    ("head", "tail"),
    ("subject", "object"),
    ("source", "target"),
    ("from", "to"),
    ("start", "end"),
    ("src", "dst"),
    ("source", "destination"),
    ("src", "dest"),
    ("src", "tgt"),
    ("head_id", "tail_id"),
    ("subject_id", "object_id"),
    ("source_id", "target_id"),
    ("from_id", "to_id"),
    ("start_id", "end_id"),
    ("src_id", "dst_id"),
    ("src_id", "tgt_id"),
    ("head_entity", "tail_entity"),
    ("source_entity", "target_entity"),
    ("source_name", "target_name"),
    ("head_name", "tail_name"),
    ("subject_name", "object_name"),
    ("from_name", "to_name"),
    ("src_entity", "tgt_entity"),
    ("from_entity", "to_entity"),
    ("start_entity", "end_entity"),
    ("source_node", "target_node"),
    ("from_node", "to_node"),
    ("start_node", "end_node"),
    ("head_node", "tail_node"),
    ("source_node_id", "target_node_id"),
    ("from_node_id", "to_node_id"),
    ("start_node_id", "end_node_id"),
    ("source_label", "target_label"),
    ("origin", "destination"),
    ("entity1", "entity2"),
    ("entity_1", "entity_2"),
    ("entity_a", "entity_b"),
    ("node1", "node2"),
    ("node_1", "node_2"),
    ("node_a", "node_b"),
    ("vertex1", "vertex2"),
    ("vertex_1", "vertex_2"),
    ("id1", "id2"),
    ("id_1", "id_2"),
    ("subj", "obj"),
    ("sub", "obj"),
    ("s", "o"),
    ("h", "t"),
    ("u", "v"),
)
#: Of the label of a relation; the first of those that are there is taken.
RELATION_NAMES = (
    *("relation", "predicate", "rel", "relationship", "edge_label", "interaction", "shared_interaction"),
    *("label", "edge_type", "relation_type", "relationship_type", "rel_type", "link_type", "type"),
    *("label_e",),
    *("relation_name", "relationship_name", "relation_label", "relationship_label", "predicate_label"),
    *("edge_name", "edge", "property", "verb", "keywords", "kind", "name", "p", "r"),
)
_WEIGHT = ("weight", "score", "strength")
_DESCRIPTION = ("description", "desc", "fact", "definition", "summary")
_UNITS = ("text_unit_ids", "text_units", "text_unit_keys", "chunk_ids", "chunks", "source_ids")
_EDGE_KEY = ("id", "key", "edge_id", "relation_id", "relationship_id", "rel_id", "uuid", "suid")
_NODE_KEY = (
    *("id", "key", "node_id", "entity_id", "node", "uuid", "identifier", "iri", "uri", "qid", "suid"),
    # The index of a data frame.
    *("index", "unnamed:_0", "column_1"),
)
NODE_TITLE = (
    *("title", "name", "label", "entity", "entity_name", "node_name", "preferred_label", "pref_label"),
    *("node_label", "display_name", "full_name", "caption", "shared_name"),
)
_NODE_TYPE = ("type", "entity_type", "node_type", "category", "kind", "class", "labels", "label_v", "label")
#: With these endings any column may be the title of an entity, where none has a usual name.
_TITLE_ENDINGS, _KEY_ENDINGS = ("_name", "_title", "_label"), ("_id", "_key", "_iri", "_uri")
_TYPE_OF, _PROPERTY_OF = re.compile(r"type\(\w+\)", re.I), re.compile(r"\w+\.\w+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
#: Types that columns of some stores name: ``name:String``.
_TYPED = re.compile(r":(?:string|int|integer|long|float|double|bool|boolean|date|datetime)(?:\[\])?$", re.I)

SETTING = "imports.columns"


@dataclass(frozen=True, slots=True)
class GraphColumns:
    """Columns of a file by what they hold; None means: found by their usual names, or none.

    Args:
        head: end that a relation begins at; its key.
        relation: label of the relation.
        tail: end that a relation leads to; its key.
        weight: weight of the relation.
        description: description of the relation or entity.
        key: id of the relation or entity.
        title: title of an entity.
        type: type of an entity.
        text_units: keys of the text units that state it.
    """

    head: str | None = None
    relation: str | None = None
    tail: str | None = None
    weight: str | None = None
    description: str | None = None
    key: str | None = None
    title: str | None = None
    type: str | None = None
    text_units: str | None = None

    @property
    def record(self) -> str | None:
        """What the rows are: ``relations``, ``entities``, or None where too few columns are known."""
        if self.head and self.tail:
            return "relations"
        return "entities" if (self.key or self.title) and not (self.head or self.tail) else None

    def as_mapping(self) -> dict[str, str]:
        """Return the columns that are known, as settings write them."""
        named = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {role: name for role, name in named if name is not None}


GUESSED = GraphColumns()


def propose_columns(available: Sequence[str], given: GraphColumns = GUESSED) -> GraphColumns:
    """Return the columns as given, and where nothing is given, those of usual names (case-insensitive)."""
    if not (given.head or given.tail):
        named = _columns_by_folded_name(available, given)
        pair = next((pair for pair in _ENDS if pair[0] in named and pair[1] in named), None)
        if pair:
            given = replace(given, head=named[pair[0]], tail=named[pair[1]])
        elif returned := _columns_of_query(available):
            given = replace(given, **returned)
    ends = given.head and given.tail
    return relation_columns(available, given) if ends else entity_columns(available, given)


def _columns_of_query(available: Sequence[str]) -> dict[str, str] | None:
    """Ends and relation of what a query returned under its own words: ``a.name,type(r),b.name``."""
    kinds = [name for name in available if _TYPE_OF.fullmatch(name.strip())]
    ends = [name for name in available if _PROPERTY_OF.fullmatch(name.strip())]
    if len(kinds) != 1 or len(ends) != 2 or len({end.partition(".")[0] for end in ends}) != 2:
        return None
    return {"head": ends[0], "relation": kinds[0], "tail": ends[1]}


def relation_columns(available: Sequence[str], given: GraphColumns) -> GraphColumns:
    """Return the columns of relations whose ends are known."""
    usual = {"relation": RELATION_NAMES, "weight": _WEIGHT, "description": _DESCRIPTION, "key": _EDGE_KEY}
    return _with_usual(available, given, {**usual, "text_units": _UNITS})


def entity_columns(available: Sequence[str], given: GraphColumns) -> GraphColumns:
    """Return the columns of entities."""
    # As Gremlin's stores have it, where other tools have titles under that name.
    if given.type is None and "~label" in available:
        given = replace(given, type="~label")
    usual = {"key": _NODE_KEY, "title": NODE_TITLE, "type": _NODE_TYPE, "description": _DESCRIPTION}
    found = _with_usual(available, given, {**usual, "text_units": _UNITS})
    return found if found.title else _with_suffixed(available, found)


def _with_suffixed(available: Sequence[str], found: GraphColumns) -> GraphColumns:
    """As ``gene_id`` and ``gene_name``, or ``id`` and ``gene_name``, are key and title."""
    named = _columns_by_folded_name(available, replace(found, key=None))
    ended = {fold: name for fold, name in named.items() if fold.endswith(_TITLE_ENDINGS)}
    for fold, name in named.items():
        stem, _, ending = fold.rpartition("_")
        title = next((ended[stem + one] for one in _TITLE_ENDINGS if stem + one in ended), None)
        if title and f"_{ending}" in _KEY_ENDINGS and found.key in (None, name):
            return replace(found, key=name, title=title)
    if found.key and fold_name(found.key) in ("id", "key") and len(ended) == 1:
        return replace(found, title=next(iter(ended.values())))
    return found


def _with_usual(
    available: Sequence[str], given: GraphColumns, usual: Mapping[str, Sequence[str]]
) -> GraphColumns:
    named = _columns_by_folded_name(available, given)
    for role, names in usual.items():
        if getattr(given, role) is None:
            found = next((named.pop(name) for name in names if name in named), None)
            given = replace(given, **{role: found})
    return given


def _columns_by_folded_name(available: Sequence[str], given: GraphColumns) -> dict[str, str]:
    """Return the columns that are not given, by the form in which names are compared."""
    free = [name for name in available if name not in given.as_mapping().values()]
    return {fold_name(name): name for name in reversed(free)}


def fold_name(name: str) -> str:
    """Return the form in which names of columns are compared.

    >>> [fold_name(name) for name in ("Edge Label", "startNode", "_labels", "~from", "name:String")]
    ['edge_label', 'start_node', 'labels', 'from', 'name']
    """
    bare = _TYPED.sub("", name.strip()).lstrip("_~@").rstrip("_")
    return re.sub(r"[\s\-.]+", "_", _CAMEL.sub("_", bare)).casefold()


def is_mixed(available: Sequence[str], columns: GraphColumns) -> bool:
    """Whether the rows of a table are nodes and relations, as APOC writes both into one.

    They have an id and labels, or the ends and the type of a relation.
    """
    labels = any(fold_name(name) == "labels" for name in available)
    return labels and columns.record == "relations" and columns.key is not None


def choose_columns(available: Sequence[str], given: GraphColumns, path: str) -> GraphColumns:
    """Return the columns of a file, all of which exist.

    Raises:
        UnreadableError: one that was given does not exist, or what the rows hold cannot be told.
    """
    missing = [name for name in given.as_mapping().values() if name not in available]
    if missing:
        raise UnreadableError(
            f"no column {missing[0]!r}, which {SETTING} in corpus.yaml names; the columns are "
            f"{list_columns(available)}"
        )
    found = propose_columns(available, given)
    if found.record != "relations" and any(fold_name(name) == "shared_interaction" for name in available):
        raise UnreadableError(
            "Cytoscape's table of edges, which has no columns with their ends; export the network there as "
            "cyjs, GraphML or SIF"
        )
    if found.record is None:
        raise UnreadableError(
            f"which columns are the ends of relations, or the id of entities, is not known; the columns are "
            f"{list_columns(available)}; name them in corpus.yaml, e.g. {example(path, available)}"
        )
    return found


def example(path: str, available: Sequence[str]) -> str:
    """Return what settings may look like."""
    names = [*available, "…", "…", "…"][:3] if len(available) != 2 else [available[0], "…", available[1]]
    head, relation, tail = names
    return f"imports: {{columns: {{'{path}': {{head: {head}, relation: {relation}, tail: {tail}}}}}}}"


def columns_without_header(width: int) -> Mapping[str, str]:
    """Return the columns of a table of two or three columns without names, in their order."""
    names = numbered_columns(width)
    if width == 3:
        return dict(zip(("head", "relation", "tail"), names, strict=True))
    return dict(zip(("head", "tail"), names, strict=True)) if width == 2 else {}


def numbered_columns(width: int) -> list[str]:
    """Return names for columns that have none."""
    return [f"column_{place}" for place in range(1, width + 1)]

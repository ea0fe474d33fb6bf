"""Which columns of a table hold which part of a graph."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

from graphrag_dagster.core.files.columns import listed
from graphrag_dagster.core.files.records import UnreadableError

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
    ("entity1", "entity2"),
    ("entity_1", "entity_2"),
    ("node1", "node2"),
    ("node_1", "node_2"),
    ("subj", "obj"),
    ("sub", "obj"),
    ("s", "o"),
    ("h", "t"),
    ("u", "v"),
)
#: Of the label of a relation; the first of those that are there is taken.
RELATION_NAMES = (
    *("relation", "predicate", "rel", "relationship", "label", "type", "edge", "edge_type", "relation_type"),
    *("relationship_type", "rel_type", "relation_name", "property", "verb", "keywords", "p", "r"),
)
_WEIGHT = ("weight", "score", "strength")
_DESCRIPTION = ("description", "desc", "fact", "definition", "summary")
_UNITS = ("text_unit_ids", "text_units", "text_unit_keys", "chunk_ids", "chunks", "source_ids")
_EDGE_KEY = ("id", "key", "edge_id", "relation_id", "relationship_id", "rel_id", "uuid")
_NODE_KEY = ("id", "key", "node_id", "entity_id", "node", "uuid", "identifier", "iri", "uri", "qid")
NODE_TITLE = ("title", "name", "label", "entity", "entity_name", "node_name", "preferred_label")
_NODE_TYPE = ("type", "entity_type", "node_type", "category", "kind", "class", "labels", "label")

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


def proposal(available: Sequence[str], given: GraphColumns = GUESSED) -> GraphColumns:
    """Return the columns as given, and where nothing is given, those of usual names (case-insensitive)."""
    if not (given.head or given.tail):
        folded = _folded(available, given)
        pair = next((pair for pair in _ENDS if pair[0] in folded and pair[1] in folded), None)
        if pair:
            given = replace(given, head=folded[pair[0]], tail=folded[pair[1]])
    ends = given.head and given.tail
    return relation_columns(available, given) if ends else entity_columns(available, given)


def relation_columns(available: Sequence[str], given: GraphColumns) -> GraphColumns:
    """Return the columns of relations whose ends are known."""
    usual = {"relation": RELATION_NAMES, "weight": _WEIGHT, "description": _DESCRIPTION, "key": _EDGE_KEY}
    return _with_usual(available, given, {**usual, "text_units": _UNITS})


def entity_columns(available: Sequence[str], given: GraphColumns) -> GraphColumns:
    """Return the columns of entities."""
    usual = {"key": _NODE_KEY, "title": NODE_TITLE, "type": _NODE_TYPE, "description": _DESCRIPTION}
    return _with_usual(available, given, {**usual, "text_units": _UNITS})


def _with_usual(
    available: Sequence[str], given: GraphColumns, usual: Mapping[str, Sequence[str]]
) -> GraphColumns:
    folded = _folded(available, given)
    for role, names in usual.items():
        if getattr(given, role) is None:
            found = next((folded.pop(name) for name in names if name in folded), None)
            given = replace(given, **{role: found})
    return given


def _folded(available: Sequence[str], given: GraphColumns) -> dict[str, str]:
    """Return the columns that are not given, by the form in which names are compared."""
    free = [name for name in available if name not in given.as_mapping().values()]
    return {name.strip().casefold().replace(" ", "_").replace("-", "_"): name for name in reversed(free)}


def chosen(available: Sequence[str], given: GraphColumns, path: str) -> GraphColumns:
    """Return the columns of a file, all of which exist.

    Raises:
        UnreadableError: one that was given does not exist, or what the rows hold cannot be told.
    """
    missing = [name for name in given.as_mapping().values() if name not in available]
    if missing:
        raise UnreadableError(
            f"no column {missing[0]!r}, which {SETTING} in corpus.yaml names; the columns are "
            f"{listed(available)}"
        )
    found = proposal(available, given)
    if found.record is None:
        raise UnreadableError(
            f"which columns are the ends of relations, or the id of entities, is not known; the columns are "
            f"{listed(available)}; name them in corpus.yaml, e.g. {example(path, available)}"
        )
    return found


def example(path: str, available: Sequence[str]) -> str:
    """Return what settings may look like."""
    names = [*available, "…", "…", "…"][:3] if len(available) != 2 else [available[0], "…", available[1]]
    head, relation, tail = names
    return f"imports: {{columns: {{'{path}': {{head: {head}, relation: {relation}, tail: {tail}}}}}}}"


def headerless(width: int) -> Mapping[str, str]:
    """Return the columns of a table of two or three columns without names, in their order."""
    names = numbered(width)
    if width == 3:
        return dict(zip(("head", "relation", "tail"), names, strict=True))
    return dict(zip(("head", "tail"), names, strict=True)) if width == 2 else {}


def numbered(width: int) -> list[str]:
    """Return names for columns that have none."""
    return [f"column_{place}" for place in range(1, width + 1)]

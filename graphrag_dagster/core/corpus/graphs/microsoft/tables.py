"""Which file of Microsoft GraphRAG holds what, in the versions 0 to 3."""

from collections.abc import Iterable, Mapping

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


def is_left_out(name: str) -> bool:
    """Whether a file of Microsoft GraphRAG says nothing that others do not: vectors, and steps between."""
    return name.startswith(("embeddings.", "create_base_", "create_summarized_", "join_text_units_", "raw_"))


def missing(record: str, there: Iterable[str]) -> str | None:
    """Return a column that the rows of a record need and a file does not have."""
    names = set(there)
    return next((" or ".join(some) for some in _NEEDED[record] if not names & set(some)), None)

"""Small graphs of triples, as the tables of an index have them."""

from collections.abc import Sequence

import polars as pl

from graphrag_dagster.kernel.graph.adjacency_arrays import PathStore, store_of

Triple = tuple[str, str, str]


def graph_of(triples: Sequence[Triple], alone: Sequence[str] = ()) -> PathStore:
    """Return triples of labels as arrays; the id of a node is its label, as its name; some are ``alone``."""
    names = sorted({end for head, _, tail in triples for end in (head, tail)} | set(alone))
    entities = pl.DataFrame({"entity_id": names, "name": names, "title": names}, schema_overrides=_TEXT)
    rows = pl.DataFrame(
        list(triples),
        schema={"head_id": pl.String, "relation": pl.String, "tail_id": pl.String},
        orient="row",
    )
    return store_of(entities, rows)


def node(store: PathStore, label: str) -> int:
    """Return the node of a label."""
    return next(place for place in range(store.nodes) if store.label(place) == label)


_TEXT = {"entity_id": pl.String, "name": pl.String, "title": pl.String}

"""Which nodes a question begins from."""

from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from graphrag_dagster.kernel.graph.adjacency_arrays import PathStore, store_of
from graphrag_dagster.kernel.models.embedders import CorpusEmbedder
from graphrag_dagster.systems.lego.search.seed_linking import Linked, SeedLinker
from support.path_graphs import graph_of

FILMS = graph_of(
    [
        ("Black Snake Moan", "directed_by", "Craig Brewer"),
        ("Snake", "directed_by", "Craig Brewer"),
        ("The Ring", "directed_by", "Gore Verbinski"),
        ("the ring!", "has_genre", "Horror"),
        ("the ring!", "has_tags", "ring"),
        ("$", "directed_by", "Richard Brooks"),
        ("a -> b", "has_tags", "who"),
    ]
)


def labels(store: PathStore, found: Linked) -> list[str]:
    return [store.label(seed) for seed in found.seeds]


@pytest.mark.parametrize(
    ("question", "entities", "wanted", "by", "unknown"),
    [
        ("whatever", ["The Ring"], ["The Ring"], "label", ()),
        ("whatever", ["$", "a -> b"], ["$", "a -> b"], "label", ()),
        ("whatever", ["CRAIG  brewer"], ["Craig Brewer"], "normalised", ()),
        ("whatever", ["THE RING"], ["the ring!"], "normalised", ()),
        ("whatever", ["Craig Brewer", "Nobody"], ["Craig Brewer"], "label", ("Nobody",)),
        ("who directed black snake moan?", [], ["Black Snake Moan"], "words", ()),
        ("Who directed The Ring, not Snake?", ["Nobody"], ["the ring!", "Snake"], "words", ("Nobody",)),
        ("who was it?", [], [], "none", ()),
        ("", [], [], "none", ()),
    ],
)
def test_seeds(
    question: str, entities: list[str], wanted: list[str], by: str, unknown: tuple[str, ...]
) -> None:
    found = SeedLinker(FILMS).link(question, entities)
    assert (labels(FILMS, found), found.by, found.unknown) == (wanted, by, unknown)


def test_namesakes_are_all_seeds_the_better_linked_first() -> None:
    entities = pl.DataFrame(
        {"entity_id": ["1", "2", "3"], "name": ["P A", "P B", "F"], "title": ["Paris", "Paris", "F"]}
    )
    rows = pl.DataFrame({"head_id": ["2", "2"], "relation": ["in", "of"], "tail_id": ["3", "3"]})
    store = store_of(entities, rows)
    found = SeedLinker(store).link("whatever", ["Paris"])
    assert [store.entity_ids[seed] for seed in found.seeds] == ["2", "1"]


class _ByFirstWord:
    """Texts are alike where their first word is."""

    name = "first word"
    at_once = 10

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        words = ["horror", "craig", "snake", "who"]
        rows = [
            [float(text.lower().split()[0] == word) if text.split() else 0.0 for word in words]
            for text in texts
        ]
        return np.array(rows, dtype=np.float32).reshape(len(texts), len(words))


def test_vectors_count_where_no_name_stands_in_the_question() -> None:
    linker = SeedLinker(FILMS, CorpusEmbedder(_ByFirstWord()))
    assert labels(FILMS, linker.link("Craig's films, of Craig")) == []
    found = linker.link("craig made what?")
    assert (labels(FILMS, found), found.by) == (["Craig Brewer"], "vectors")
    assert linker.link("nothing alike").by == "none"


def test_an_empty_graph_has_no_seeds() -> None:
    assert SeedLinker(graph_of([]), CorpusEmbedder(_ByFirstWord())).link("Craig?", ["Craig"]).by == "none"

"""Subgraphs around what is nearest by vectors."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.errors import GraphragError, WarehouseError
from graphrag_dagster.kernel.common.stable_values import cosines, unit_rows
from graphrag_dagster.kernel.graph.adjacency_arrays import PathStore
from graphrag_dagster.kernel.models.embedders import CorpusEmbedder
from graphrag_dagster.systems.lego.search.instance_definitions import PathOptions
from graphrag_dagster.systems.lego.search.reasoning_paths import PathQuery, Subgraph
from graphrag_dagster.systems.lego.settings import CustomInstance
from graphrag_dagster.systems.lego.subgraphs.ranked_subgraphs import (
    ExtractedSubgraph,
    label_vectors,
    triple_vectors,
)
from graphrag_dagster.systems.lego.subgraphs.subgraph_extraction import extractor_of
from graphrag_dagster.systems.lego.subgraphs.text_vectors import TextVectors
from support.letters import Letters
from support.path_graphs import graph_of, node
from support.path_judges import WrittenScores

EMBEDDER = CorpusEmbedder(Letters())
STORE = graph_of([("a", "p", "bb"), ("bb", "p", "cc"), ("cc", "q", "dd"), ("x", "p", "a"), ("e", "p", "f")])


def extracted(
    question: str, store: PathStore = STORE, scorer: WrittenScores | None = None, **options: Any
) -> ExtractedSubgraph:
    extractor = extractor_of(PathOptions(**options), store, embedder=EMBEDDER, scorer=scorer)
    return extractor.extract(PathQuery(question, (node(store, "x"),)))


def triples(found: Subgraph) -> list[str]:
    return sorted(found.triples().texts)


def test_the_edges_of_the_nearest_nodes_are_taken_in_both_directions() -> None:
    one = extracted("b", extraction="node_vectors", nearest=1).subgraph
    assert triples(one) == ["a -> p -> bb", "bb -> p -> cc"]
    assert node(STORE, "x") in one.nodes
    assert one.components == 2
    two = extracted("b", extraction="node_vectors", nearest=1, vector_hops=2).subgraph
    assert triples(two) == ["a -> p -> bb", "bb -> p -> cc", "cc -> q -> dd", "x -> p -> a"]


def test_of_a_node_with_many_edges_the_best_are_taken() -> None:
    store = graph_of([("a", "p", f"leaf{place:04}") for place in range(300)], alone="x")
    first = extracted("a", store, extraction="node_vectors", nearest=1, edges_of_node=2)
    assert triples(first.subgraph) == ["a -> p -> leaf0000", "a -> p -> leaf0001"]
    assert first.use.scored == 0
    scorer = WrittenScores({"a -> p -> leaf0250": 1})
    best = extracted("a", store, scorer, extraction="node_vectors", nearest=1, edges_of_node=2)
    assert triples(best.subgraph) == ["a -> p -> leaf0000", "a -> p -> leaf0250"]
    assert (best.use.scored, best.use.scored_tokens) == (300, 300)


def test_the_nearest_triples_are_taken() -> None:
    found = extracted("dc", extraction="triple_vectors", max_triples=2).subgraph
    assert triples(found) == ["bb -> p -> cc", "cc -> q -> dd"]
    assert node(STORE, "x") in found.nodes


@given(
    st.lists(st.lists(st.integers(-3, 3), min_size=4, max_size=4), max_size=12),
    st.integers(0, 13),
    st.sampled_from(["float32", "float16"]),
)
def test_the_nearest_are_those_of_exact_cosines(rows: list[list[int]], most: int, precision: Any) -> None:
    vectors = unit_rows(np.array(rows, dtype=np.float32).reshape(-1, 4)).astype(precision)
    question = unit_rows(np.array([[1, 2, -1, 0]], dtype=np.float32))[0]
    exact = cosines(vectors, question)
    wanted = sorted(range(len(rows)), key=lambda one: (-exact[one], one))[:most]
    assert TextVectors(vectors, "?").nearest(question, most).tolist() == wanted


def test_vectors_are_made_in_batches_and_read_as_they_were_written(tmp_path: Path) -> None:
    letters = Letters(at_once=4)
    made = triple_vectors(STORE, CorpusEmbedder(letters), "float16")
    assert letters.batches == [4, 1]
    made.write(tmp_path, "triples")
    opened = TextVectors.open(tmp_path, "triples", "letters", STORE.edges)
    assert isinstance(opened.vectors, np.memmap)
    assert opened.vectors.tolist() == made.vectors.tolist()
    for embedder, count in (("letters", 2), ("others", STORE.edges)):
        with pytest.raises(WarehouseError, match="make them again"):
            TextVectors.open(tmp_path, "triples", embedder, count)
    with pytest.raises(WarehouseError, match="labels cannot be read"):
        TextVectors.open(tmp_path, "labels", "letters", 1)


def test_vectors_that_do_not_fit_are_refused_with_their_size() -> None:
    def texts(start: int, end: int) -> list[str]:
        return ["a"] * (end - start)

    with pytest.raises(GraphragError, match="1000000 texts, 8 numbers each in float16, have 16000000 bytes"):
        TextVectors.of(10**6, texts, EMBEDDER, "float16", most_bytes=10**6)


def test_a_graph_without_anything_has_nothing_near() -> None:
    empty = graph_of([])
    for extraction in ("node_vectors", "triple_vectors"):
        extractor = extractor_of(PathOptions(extraction=extraction), empty, embedder=EMBEDDER)
        assert not len(extractor.extract(PathQuery("a", ())).subgraph.nodes)


def test_what_is_missing_or_of_another_graph_is_told() -> None:
    with pytest.raises(GraphragError, match="'node_vectors' needs an embedder"):
        extractor_of(PathOptions(extraction="node_vectors"), STORE)
    labels = label_vectors(graph_of([("a", "p", "b")]), EMBEDDER)
    for extraction, count in (("node_vectors", 7), ("triple_vectors", 5)):
        with pytest.raises(GraphragError, match=f"2 vectors of a graph with {count} texts"):
            extractor_of(PathOptions(extraction=extraction), STORE, embedder=EMBEDDER, vectors=labels)


@pytest.mark.parametrize(("name", "told"), [("topppr", "not offered: TopPPR"), ("pp", "there are ppr, push")])
def test_an_extraction_that_there_is_not_is_refused(name: Any, told: str) -> None:
    with pytest.raises(GraphragError, match=told):
        extractor_of(PathOptions(extraction=name), STORE)


def test_the_settings_say_why_an_extraction_is_refused() -> None:
    with pytest.raises(ValueError, match="topppr is not available: TopPPR refines"):
        CustomInstance.model_validate({"name": "mine", "extraction": "topppr"})
    assert CustomInstance.model_validate({"name": "mine", "extraction": "rbs"}).extraction == "rbs"

"""Paths that a selector has a say in."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.graph.adjacency_arrays import PathStore
from graphrag_dagster.systems.lego.retrieval.path_enumeration import RetrievedPaths
from graphrag_dagster.systems.lego.retrieval.path_retrievers import retriever_of
from graphrag_dagster.systems.lego.search.instance_definitions import PathOptions, Switches
from graphrag_dagster.systems.lego.search.reasoning_paths import PathQuery, Subgraph
from support.path_graphs import graph_of, node
from support.path_judges import WrittenScores, WrittenSelector

STAR = [("s", "p", f"n{place:02}") for place in range(40)]
#: n39 is best.
RISING = WrittenScores({f"s -> p -> n{place:02}": float(place) for place in range(40)})


def asked(store: PathStore, options: PathOptions, selector: WrittenSelector, scorer=RISING) -> RetrievedPaths:
    import numpy as np

    seeds = (node(store, "s"),)
    query, subgraph = PathQuery("who?", seeds), Subgraph.of_edges(store, np.arange(store.edges), seeds)
    return retriever_of(options, store, scorer=scorer, selector=selector).retrieve(query, subgraph)


def ends(got: RetrievedPaths) -> list[str]:
    return [text.rsplit(" -> ", 1)[1] for text in got.paths.verbalised.texts]


OSAR = PathOptions(retrieval="osar", judged="llm", direction="out")
ISAR = PathOptions(retrieval="isar", judged="llm", direction="out")


def test_a_selector_chooses_among_the_best_in_its_order() -> None:
    selector = WrittenSelector(lambda level, texts: [5, 0, 31])
    got = asked(graph_of(STAR), OSAR, selector)
    ((level, shown, most),) = selector.asked
    assert (level, len(shown), most) == ("path", 32, 32)
    assert shown[0] == "s -> p -> n39"
    assert ends(got) == ["n34", "n39", "n08"]
    assert got.use.usage.calls == 1
    assert got.use.scored == 40


def test_what_is_missing_is_supplemented() -> None:
    options = replace(OSAR, top_k=8, switches=Switches(supplement=True))
    got = asked(graph_of(STAR), options, WrittenSelector(lambda level, texts: [9, 2, 30]))
    assert ends(got) == ["n30", "n37", "n09", "n39", "n38", "n36", "n35", "n34"]


def test_what_is_selected_can_be_scored_again() -> None:
    options = replace(OSAR, switches=Switches(rerank=True))
    got = asked(graph_of(STAR), options, WrittenSelector(lambda level, texts: [9, 2, 30]))
    assert ends(got) == ["n37", "n30", "n09"]


def test_an_empty_selection_is_counted_and_not_filled() -> None:
    got = asked(graph_of(STAR), OSAR, WrittenSelector(lambda level, texts: []))
    assert len(got.paths) == 0
    assert (got.use.empty, got.use.problems) == (1, ("nothing named",))


@pytest.mark.parametrize(("window", "calls"), [(16, 4), (40, 2), (64, 2), (1, 41)])
def test_windows_are_selected_from_without_a_scorer(window: int, calls: int) -> None:
    selector = WrittenSelector(lambda level, texts: [0, 1][: len(texts)])
    got = asked(graph_of(STAR), replace(OSAR, switches=Switches(window=window)), selector, scorer=None)
    assert len(selector.asked) == calls == got.use.usage.calls
    assert [level for level, *_ in selector.asked] == ["path"] * (calls - 1) + ["refinement"]
    assert ends(got) == ["n00", "n01"]
    assert got.use.scored == 0


def test_a_beam_follows_the_first_that_are_selected() -> None:
    store = graph_of([("s", "p", "a"), ("s", "p", "b"), ("s", "p", "c"), ("b", "q", "d"), ("a", "q", "e")])
    selector = WrittenSelector(lambda level, texts: range(len(texts))[::-1])
    got = asked(store, replace(ISAR, beam=2), selector, WrittenScores({"s -> p -> c": 1.0}))
    assert [level for level, *_ in selector.asked] == ["subgraph", "subgraph"]
    assert selector.asked[0][1] == ["s -> p -> c", "s -> p -> a", "s -> p -> b"]
    assert sorted(ends(got)) == ["a", "b", "d", "e"]
    assert got.use.usage.calls == 2


def test_what_a_selector_lets_grow_is_ordered_by_it_or_by_the_scorer() -> None:
    store = graph_of([("s", "p", "a"), ("s", "p", "b"), ("b", "q", "d"), ("a", "q", "e")])
    scorer = WrittenScores({"s -> p -> a": 1.0, "s -> p -> b -> q -> d": 0.5})

    def picked(level: object, texts: Sequence[str]) -> list[int]:
        return sorted(range(len(texts)), key=lambda place: texts[place], reverse=True)

    scored = asked(store, replace(ISAR, beam=2), WrittenSelector(picked), scorer)
    selected = asked(store, replace(ISAR, beam=2, isar_order="selection"), WrittenSelector(picked), scorer)
    assert ends(scored)[:2] == ["a", "d"]
    assert ends(selected) == ["b", "d", "a", "e"]
    assert selected.paths.scores.tolist() == [0.0, 0.5, 1.0, 0.0]


def test_an_empty_selection_ends_the_search_of_its_seed() -> None:
    store = graph_of([("s", "p", "a"), ("a", "q", "b"), ("b", "q", "c")])
    selector = WrittenSelector(lambda level, texts: [] if texts[0].endswith("b") else [0])
    got = asked(store, ISAR, selector)
    assert ends(got) == ["a"]
    assert (len(selector.asked), got.use.empty) == (2, 1)
    filled = asked(store, replace(ISAR, switches=Switches(supplement=True)), selector)
    assert sorted(ends(filled)) == ["a", "b", "c"]


def test_a_selector_is_shown_the_best_alone() -> None:
    selector = WrittenSelector(lambda level, texts: [0])
    asked(graph_of(STAR), replace(ISAR, switches=Switches(prefilter=3)), selector)
    assert selector.asked[0][1] == ["s -> p -> n39", "s -> p -> n38", "s -> p -> n37"]


def test_a_search_ends_where_its_paths_are_enough() -> None:
    store = graph_of([("s", "p", "a"), ("a", "q", "b"), ("b", "q", "c")])
    options = replace(ISAR, judged="eem", switches=Switches(early_stop=True))
    selector = WrittenSelector(lambda level, texts: [], suffices=lambda texts: texts[0].endswith("b"))
    got = asked(store, options, selector)
    assert sorted(ends(got)) == ["a", "b"]
    assert got.use.usage.calls == 2


def test_what_a_search_found_can_be_selected_from() -> None:
    options = replace(ISAR, judged="eem", beam=40, switches=Switches(refine=True))
    selector = WrittenSelector(lambda level, texts: [3, 1])
    got = asked(graph_of(STAR), options, selector)
    ((level, shown, _),) = selector.asked
    assert (level, len(shown)) == ("refinement", 32)
    assert ends(got) == ["n36", "n38"]


@pytest.mark.parametrize(
    ("retrieval", "judged", "switches", "message"),
    [
        ("osar", "eem", Switches(triple_level=True), "triple_level is for ISAR-EEMs, not for OSAR-EEMs"),
        ("isar", "llm", Switches(dynamic_prune=True), "dynamic_prune is for ISAR-EEMs, not for ISAR-LLMs"),
        ("spr", "none", Switches(combine=True), "combine is for ISAR-EEMs, not for SBR-SPR"),
        ("epr", "none", Switches(refine=True), "refine is for ISAR-EEMs, not for SBR-EPR"),
        ("osar", "llm", Switches(early_stop=True), "early_stop is for ISAR-EEMs"),
        ("isar", "eem", Switches(prefilter=8), "prefilter is for ISAR-LLMs"),
        ("isar", "eem", Switches(supplement=True), "supplement is for ISAR-LLMs or OSAR-LLMs"),
        ("isar", "llm", Switches(rerank=True), "rerank is for OSAR-LLMs"),
        ("isar", "llm", Switches(window=4), "window is for OSAR-LLMs"),
        ("osar", "eem", Switches(llm_embeddings=True), "llm_embeddings is for OSAR-LLMs"),
        ("osar", "llm", Switches(window=4, rerank=True), "do not go together: it needs no scorer"),
        ("osar", "llm", Switches(llm_embeddings=True, window=4), "do not go together: it ranks"),
        ("isar", "eem", Switches(combine=True, triple_level=True), "do not go together: it chooses"),
        ("isar", "eem", Switches(percentile=50.0), "percentile needs"),
        ("osar", "none", Switches(), "needs someone who judges"),
        ("osar", "llm", Switches(llm_embeddings=True), "none is named"),
        ("osar", "llm", Switches(), "there is nobody who does"),
        ("isar", "eem", Switches(refine=True), "there is nobody who does"),
    ],
)
def test_what_means_nothing_is_refused(retrieval, judged, switches: Switches, message: str) -> None:
    options = PathOptions(retrieval=retrieval, judged=judged, switches=switches)
    with pytest.raises(EngineError, match=message):
        retriever_of(options, graph_of(STAR), scorer=RISING)


def test_no_scorer_is_an_error() -> None:
    with pytest.raises(EngineError, match=r"paths\.scorer"):
        retriever_of(PathOptions(), graph_of(STAR))

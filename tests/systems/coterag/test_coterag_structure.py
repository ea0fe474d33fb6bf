"""The main graph and the preserved store, communities, descriptions."""

import itertools

import networkx as nx
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.text.tokenization import get_tokenizer
from graphrag_dagster.systems.coterag.index.entity_descriptions import descriptions
from graphrag_dagster.systems.coterag.index.summary_requests import summary_requests
from graphrag_dagster.systems.coterag.index.triple_communities import (
    communities_at,
    entity_chunks,
    leiden_communities,
    stores,
    triple_graph,
)
from graphrag_dagster.systems.coterag.search.term_coverage import community_terms
from support.coterag_graphs import chain, entity_rows, graph_of, triple_rows

TOKENS = get_tokenizer("cl100k_base")
NO_CHUNKS = pl.DataFrame(schema={"text_unit_id": pl.String, "text": pl.String})
rows = st.lists(
    st.tuples(st.integers(0, 25), st.sampled_from(["r", "s"]), st.integers(0, 25)), max_size=50
).map(lambda found: [(f"n{a:02}", r, f"n{b:02}") for a, r, b in found])


def in_store(frame: pl.DataFrame, store: str) -> set[str]:
    return set(frame.filter(pl.col("store") == store)["entity_id"])


def cliques(*sizes: int) -> list[tuple[str, str, str]]:
    """Complete groups, each linked to the next once."""
    groups = [[f"{chr(97 + n)}{i}" for i in range(size)] for n, size in enumerate(sizes)]
    inner = [(one, "to", other) for group in groups for one in group for other in group if one < other]
    return [*inner, *((one[0], "to", other[0]) for one, other in itertools.pairwise(groups))]


def test_components_of_five_four_and_one() -> None:
    graph = graph_of(*chain(*"abcde"), *chain(*"pqrs"), alone=["z"])
    found = stores(graph)
    assert in_store(found, "main") == {f"e-{one}" for one in "abcde"}
    assert in_store(found, "preserved") == {f"e-{one}" for one in "pqrsz"}
    assert found["entity_id"].to_list() == graph.entities["entity_id"].to_list()
    assert found.sort("entity_id")["component"].to_list() == [0] * 5 + [1] * 4 + [2]
    assert found.sort("entity_id")["component_size"].to_list() == [5] * 5 + [4] * 4 + [1]


@given(rows, st.integers(1, 6))
def test_stores_part_the_entities_as_the_components_do(found: list[tuple[str, str, str]], least: int) -> None:
    graph = graph_of(*found, alone=["alone"])
    parted = stores(graph, least)
    main, preserved = in_store(parted, "main"), in_store(parted, "preserved")
    assert not main & preserved
    assert main | preserved == set(graph.entities["entity_id"])
    whole = nx.Graph([(f"e-{a}", f"e-{b}") for a, _, b in found])
    whole.add_node("e-alone")
    expected = {node for part in nx.connected_components(whole) if len(part) >= least for node in part}
    assert main == expected


def test_every_text_unit_of_an_entity_is_reached() -> None:
    entities = entity_rows(["a", "b"], {"a": ["u1"], "b": ["u2", "u3"]})
    found = entity_chunks(triple_graph(entities, triple_rows([("a", "r", "b")], "u9")))
    assert found.rows() == [
        ("e-a", "u1"),
        ("e-a", "u9"),
        ("e-b", "u2"),
        ("e-b", "u3"),
        ("e-b", "u9"),
    ]


def test_triples_without_entities_and_loops_are_left_out() -> None:
    told = triple_rows([("a", "r", "b"), ("a", "r", "a"), ("a", "r", "nobody"), ("a", "r", "b")])
    graph = triple_graph(entity_rows(["b", "a"]), told)
    assert graph.triples.select("head", "relation", "tail").rows() == [("a", "r", "b")]


def test_two_entities_of_one_name_are_refused() -> None:
    with pytest.raises(GraphragError, match="two entities are named 'a'"):
        triple_graph(entity_rows(["a", "a"]), triple_rows([]))


def test_communities_are_flat_and_do_not_depend_on_rows_directions_or_repeats() -> None:
    told = cliques(6, 6, 5)
    found = leiden_communities(graph_of(*told), stores(graph_of(*told)))
    assert found.communities["size"].to_list() == [6, 6, 5]
    assert found.communities["triples"].to_list() == [15, 15, 10]
    turned = graph_of(*[(tail, "back", head) for head, _, tail in told[::-1]], *told)
    again = leiden_communities(turned, stores(turned))
    assert again.members.equals(found.members)
    assert again.communities["triples"].to_list() == [30, 30, 20]
    inner = found.members.filter(pl.col("entity_id") == "e-a0")
    assert inner["internal_degree"].item() == 5


def test_small_communities_of_a_large_component_are_flagged() -> None:
    pair = graph_of(*chain(*"abcde"))
    found = leiden_communities(pair, stores(pair))
    assert dict(found.communities.select("size", "tiny").iter_rows()) == {3: False, 2: True}


@given(rows)
def test_communities_part_the_main_graph(found: list[tuple[str, str, str]]) -> None:
    graph = graph_of(*found, alone=["alone"])
    parted = stores(graph)
    made = leiden_communities(graph, parted)
    assert sorted(made.members["entity_id"]) == sorted(in_store(parted, "main"))
    assert made.communities["size"].sum() == len(made.members)
    inside = made.triples_inside(graph)
    assert (inside >= 0).sum() == made.communities["triples"].sum()
    assert leiden_communities(graph, parted).members.equals(made.members)


def test_communities_of_a_level_are_taken_within_the_main_graph() -> None:
    graph = graph_of(*chain(*"abcde"), *chain(*"pq"))
    levels = pl.DataFrame(
        [(1, f"e-{one}", "left" if one in "ab" else "right") for one in "abcdepq"],
        schema={"level": pl.Int32, "entity_id": pl.String, "community_id": pl.String},
        orient="row",
    )
    found = communities_at(graph, stores(graph), levels, 1)
    assert dict(found.communities.select("community_id", "size").iter_rows()) == {"right": 3, "left": 2}
    with pytest.raises(GraphragError, match="C3, but communities end at C1"):
        communities_at(graph, stores(graph), levels, 3)


def told(graph: object, **options: object) -> dict[str, str]:
    frame = descriptions(graph, TOKENS, **options)  # type: ignore[arg-type]
    return {
        key.removeprefix("e-"): text for key, text in frame.select("entity_id", "description").iter_rows()
    }


def test_descriptions_give_what_goes_out_first() -> None:
    graph = graph_of(("b", "treats", "c"), ("b", "causes", "d"), ("a", "is", "b"), alone=["z"])
    assert told(graph)["b"] == "b causes d. b treats c. a is b."
    assert told(graph)["c"] == "c is a thing mentioned in the Knowledge Graph."
    assert told(graph, tail_template="isolated")["c"] == "b treats c."
    assert told(graph)["z"] == told(graph, tail_template="isolated")["z"]
    assert descriptions(graph, TOKENS)["templated"].mean() == 3 / 5
    assert descriptions(graph, TOKENS, tail_template="isolated")["templated"].mean() == 1 / 5


def test_descriptions_keep_to_their_budget() -> None:
    graph = graph_of(*[("hub", "leads to", f"place {number:03}") for number in range(200)])
    found = descriptions(graph, TOKENS, most_tokens=50).filter(pl.col("entity_id") == "e-hub")
    text = found["description"].item()
    assert text.startswith("hub leads to place 000. hub leads to place 001.")
    assert text.endswith(".")
    assert TOKENS.count(text) <= 50
    assert found["left_out"].item() == 200 - text.count(".")
    assert TOKENS.count(told(graph, most_tokens=3)["hub"]) <= 3


@pytest.mark.parametrize("told", [[], chain(*"ab"), chain(*"abcd")])
def test_graphs_without_a_main_part(told: list[tuple[str, str, str]]) -> None:
    graph = graph_of(*told)
    parted = stores(graph)
    made = leiden_communities(graph, parted)
    assert (len(made.communities), len(made.members)) == (0, 0)
    assert set(parted["store"]) <= {"preserved"}
    assert len(descriptions(graph, TOKENS)) == len(graph.entities)
    summaries = pl.DataFrame(schema=dict.fromkeys(("community_id", "title", "text"), pl.String))
    assert not list(summary_requests(graph, made, NO_CHUNKS))
    assert len(community_terms(graph, made, summaries)) == 0


def test_one_component_leaves_the_store_empty() -> None:
    graph = graph_of(*cliques(5))
    assert in_store(stores(graph), "preserved") == set()
    assert leiden_communities(graph, stores(graph)).communities["size"].to_list() == [5]

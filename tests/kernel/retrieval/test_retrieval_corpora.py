import json

import numpy as np
import polars as pl
import pytest

from graphrag_dagster.kernel.retrieval.retriever import Retriever
from graphrag_dagster.kernel.tables.core_tables import (
    ENTITIES,
    ENTITY_EMBEDDINGS,
    RELATIONSHIPS,
    TEXT_CHUNKS,
    TEXT_UNIT_EMBEDDINGS,
)

PASSAGES = {
    "Blood Street": "Blood Street is a 1988 film directed by Leo Fong.",
    "Leo Fong": "Leo Fong (born in Canton) is an actor and boxer.",
    "Naked Tango": "Naked Tango is a film about a woman in Buenos Aires.",
    "Jackie Kong": "Jackie Kong makes films. Her nationality is American.",
    "Nationality": "The nationality of film directors is a matter of law.",
}
ENTITY_UNITS = {
    "Blood Street": [0],
    "Leo Fong": [0, 1],
    "Canton": [1],
    "Naked Tango": [2],
    "Jackie Kong": [3],
}
QUESTION = "What is the nationality of the director of Blood Street?"

EAST = np.array([1, 0], dtype=np.float32)
NUMBERS = ("INTEGER", "BIGINT", "DOUBLE")


def frame(table, rows):
    filled = [
        {
            c.name: row.get(c.name, [] if c.type == "VARCHAR[]" else 0 if c.type in NUMBERS else "")
            for c in table.columns
        }
        for row in rows
    ]
    return table.frame(filled)


UNITS = frame(
    TEXT_CHUNKS,
    [
        {"text_unit_id": f"u{9 - i}", "human_readable_id": i, "document_id": f"d{i}", "text": t}
        for i, t in enumerate(PASSAGES.values())
    ],
)
GRAPH = frame(
    ENTITIES,
    [
        {
            "entity_id": f"e-{name}",
            "human_readable_id": i,
            "title": name,
            "text_unit_ids": [f"u{9 - u}" for u in units],
        }
        for i, (name, units) in enumerate(ENTITY_UNITS.items())
    ],
)
EDGES = frame(
    RELATIONSHIPS,
    [{"relationship_id": "r", "source_id": "e-Blood Street", "target_id": "e-Leo Fong", "weight": 1.0}],
)
TITLES = {f"u{9 - i}": title for i, title in enumerate(PASSAGES)}
TITLED = UNITS.with_columns(title=pl.col("text_unit_id").replace_strict(TITLES))


def vectors(table, ids):
    rows = [{table.key[0]: i, "text_hash": "", "embedder": "", "vector": [1.0, 0.0]} for i in ids]
    return table.frame(rows).with_columns(pl.col("vector").cast(pl.Array(pl.Float32, 2)))


def test_local_follows_the_named_film_to_its_director():
    retriever = Retriever(TITLED, GRAPH, EDGES)
    found = retriever.local(QUESTION)
    assert found.units.ids[:2] == ("u9", "u8")
    assert retriever.units(QUESTION).ids.index("u8") > 1
    assert found.entities.ids[:2] == ("e-Blood Street", "e-Leo Fong")
    assert found.linked == retriever.linked_names(QUESTION)
    (name,) = found.linked
    assert (name.text, name.title, name.entity_id) == ("Blood Street", "Blood Street", "e-Blood Street")
    assert (name.how, name.sure, name.named) == ("exact", 1.0, True)


def test_every_row_is_ranked_once_in_descending_order():
    found = Retriever(UNITS, GRAPH, EDGES).local(QUESTION)
    for ranking, table, key in ((found.units, UNITS, "text_unit_id"), (found.entities, GRAPH, "entity_id")):
        assert sorted(ranking.ids) == sorted(table[key])
        assert list(ranking.scores) == sorted(ranking.scores, reverse=True)


def test_so_many_are_the_first_of_all():
    retriever = Retriever(UNITS, GRAPH, EDGES)
    whole, first = retriever.local(QUESTION), retriever.local(QUESTION, most=2)
    assert (first.units.ids, first.units.scores) == (whole.units.ids[:2], whole.units.scores[:2])
    assert first.entities.ids == whole.entities.ids[:2]
    assert retriever.units(QUESTION, most=0).ids == ()


def test_the_order_of_the_rows_does_not_matter():
    one = Retriever(TITLED, GRAPH, EDGES)
    other = Retriever(TITLED.reverse(), GRAPH.reverse(), EDGES.reverse())
    assert one.local(QUESTION) == other.local(QUESTION)
    assert one.units(QUESTION) == other.units(QUESTION)


def test_equal_scores_come_in_the_order_of_the_corpus():
    assert Retriever(UNITS, GRAPH, EDGES).units("zebra").ids == ("u9", "u8", "u7", "u6", "u5")


@pytest.mark.parametrize("entities", [GRAPH.clear(), pl.DataFrame()])
def test_without_entities_local_is_basic(entities):
    retriever = Retriever(TITLED, entities, EDGES.clear())
    found = retriever.local(QUESTION)
    assert found.units == retriever.units(QUESTION)
    assert found.entities.ids == ()


def test_nothing_at_all():
    found = Retriever(UNITS.clear(), GRAPH.clear(), EDGES.clear()).local(QUESTION, EAST)
    assert found.units.ids == found.entities.ids == ()
    assert Retriever(UNITS.clear(), GRAPH, EDGES).local(QUESTION, EAST).units.ids == ()


@pytest.mark.parametrize("mode", ["hybrid", "vector", "lexical"])
def test_vectors_may_miss_rows(mode):
    some = vectors(TEXT_UNIT_EMBEDDINGS, ["u6"]), vectors(ENTITY_EMBEDDINGS, ["e-Canton", "e-gone"])
    retriever = Retriever(UNITS, GRAPH, EDGES, *some)
    found = retriever.local("zebra", EAST, mode)
    assert (found.units.ids[0] == "u6") == (mode != "lexical")
    assert (dict(zip(found.entities.ids, found.entities.scores, strict=True))["e-Canton"] > 0) == (
        mode != "lexical"
    )
    assert retriever.local(QUESTION, None, mode) == Retriever(UNITS, GRAPH, EDGES).local(QUESTION)


@pytest.mark.parametrize("question", ["", "???", "什么是血街?", "the of", "Wer ist Leo Fongs Vater?"])
def test_any_question_gets_a_ranking(question):
    found = Retriever(TITLED, GRAPH, EDGES).local(question)
    assert len(found.units.ids) == len(PASSAGES)
    assert np.isfinite(found.units.scores).all()


def test_the_title_is_searched_with_the_text():
    units = TITLED.with_columns(text=pl.lit("Nothing to be seen here."))
    assert Retriever(units, GRAPH, EDGES).units("naked tango").ids[0] == "u7"


def test_one_unit_alone():
    found = Retriever(TITLED.head(1), GRAPH, EDGES).local(QUESTION)
    assert len(found.units.ids) == 1


def test_real_two_hop_questions_over_titles_alone(shared_data):
    folder = shared_data / "hipporag"
    rows = json.loads((folder / "hotpotqa_train_corpus.json").read_text(encoding="utf-8"))
    titles = list(rows)
    units = frame(
        TEXT_CHUNKS,
        [
            {"text_unit_id": t, "human_readable_id": i, "text": f"{t}\n{''.join(rows[t])}"}
            for i, t in enumerate(titles)
        ],
    )
    # The titles alone are a graph: what links the passages is found in their texts.
    entities = frame(
        ENTITIES,
        [
            {"entity_id": t, "human_readable_id": i, "title": t.split(" (")[0], "text_unit_ids": [t]}
            for i, t in enumerate(titles)
        ],
    )
    retriever = Retriever(units.with_columns(title="text_unit_id"), entities, RELATIONSHIPS.empty())
    basic = local = wanted = 0
    for row in json.loads((folder / "hotpotqa_train.json").read_text(encoding="utf-8")):
        gold = {title for title, _ in row["supporting_facts"]}
        wanted += len(gold)
        basic += len(gold & set(retriever.units(row["question"]).ids[:8]))
        local += len(gold & set(retriever.local(row["question"]).units.ids[:8]))
    assert basic / wanted > 0.8
    assert local / wanted > basic / wanted + 0.05

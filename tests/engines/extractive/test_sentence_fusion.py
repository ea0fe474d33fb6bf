from collections.abc import Sequence

import numpy as np

from graphrag_dagster.engines.extractive.extractive_answerer import ExtractiveAnswerer
from graphrag_dagster.engines.extractive.sentence_fusion import fuse_values
from graphrag_dagster.engines.extractive.sentence_selection import sentences_of
from graphrag_dagster.kernel.models.local_embedders import StaticEmbedder
from graphrag_dagster.kernel.models.packaged_cross_encoder import packaged_cross_encoder
from graphrag_dagster.kernel.tasks.task_ports import ContextUnit
from graphrag_dagster.kernel.text.citations import ContextKind

QUESTION = "Who dredged the harbour?"
SENTENCES = [
    "The harbour of Vessay was dredged twice before the war began.",
    "The harbour is closed to ships in the winter months.",
    "Selma Dray cleared the basin of mud with two boats.",
    "Bread is baked at night in the house beside the mole.",
    "The council of the town met every week in that year.",
]


def rows(kind: ContextKind = "source") -> list[ContextUnit]:
    return [
        ContextUnit(number, "Minutes", sentence, ((sentence, None),), kind)
        for number, sentence in enumerate(SENTENCES, 1)
    ]


def fused(value: Sequence[float], kind: ContextKind = "source", question: str = QUESTION) -> list[float]:
    sentences = sentences_of([rows(kind)])
    return fuse_values(question, sentences, np.array(value), packaged_cross_encoder()).tolist()


def test_the_first_of_the_rules_stays_and_then_the_two_orders_take_turns(packaged: None) -> None:
    encoder = packaged_cross_encoder()
    texts = [f"Minutes. {sentence}" for sentence in SENTENCES]
    # A row is one sentence here, so its score changes nothing.
    best, second, *_ = np.argsort(-encoder.scores(QUESTION, texts)).tolist()
    by_rules = next(place for place in range(len(SENTENCES)) if place not in (best, second))
    value = np.full(len(SENTENCES), 0.1)
    value[by_rules], value[second] = 0.9, 0.5
    made = fused(value.tolist())
    assert sorted(made) == sorted(value.tolist())
    assert (made[by_rules], made[best]) == (0.9, 0.5)
    assert made[second] == max(one for place, one in enumerate(made) if place not in (best, by_rules))


def test_as_many_sentences_answer_as_by_rules(packaged: None) -> None:
    assert fused([0.0] * 5) == [0.0] * 5
    assert sorted(fused([0.0, 0.8, 0.0, 0.5, 0.0])) == [0.0, 0.0, 0.0, 0.5, 0.8]


def test_sentences_that_are_no_text_units_are_left_to_the_rules(packaged: None) -> None:
    value = [0.2, 0.8, 0.0, 0.5, 0.0]
    assert fused(value, "report") == value


def test_what_asks_the_same_does_not_answer(packaged: None) -> None:
    again = ContextUnit(6, "Chat", QUESTION, ((QUESTION, None),), "source")
    sentences = sentences_of([[*rows(), again]])
    value = np.array([0.5, 0.4, 0.3, 0.2, 0.1, 0.0])
    assert fuse_values(QUESTION, sentences, value, packaged_cross_encoder())[-1] == 0


def test_an_answer_has_what_the_model_finds_among_its_first(packaged: None) -> None:
    embedder, context = StaticEmbedder(), rows()
    plain = ExtractiveAnswerer(embedder).answer(QUESTION, context, "x" * 9000)
    made = ExtractiveAnswerer(embedder, None, packaged_cross_encoder()).answer(QUESTION, context, "x" * 9000)
    texts = [f"Minutes. {sentence}" for sentence in SENTENCES]
    best = int(packaged_cross_encoder().scores(QUESTION, texts).argmax())
    assert made.quotes[0][1] == plain.quotes[0][1]
    assert best + 1 in {row for _, row, _ in made.quotes[:2]}
    assert ExtractiveAnswerer(embedder, None, packaged_cross_encoder()).answer(
        "What is the price of a railway ticket to the moon?", context, "x" * 9000
    ) == ExtractiveAnswerer(embedder).answer(
        "What is the price of a railway ticket to the moon?", context, "x" * 9000
    )

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.engines.extractive.extractive_answerer import ExtractiveAnswerer
from graphrag_dagster.kernel.models.local_embedders import StaticEmbedder
from graphrag_dagster.kernel.retrieval.sentence_relevance import asks_for_overview, relevance
from graphrag_dagster.kernel.tasks.task_ports import ContextUnit, FinalAnswer, PartialAnswer, Quote
from graphrag_dagster.kernel.text.markup_spans import Span
from graphrag_dagster.kernel.text.quotable_sentences import SentenceLine
from graphrag_dagster.kernel.text.text_similarity import diverse

HARBOUR = [
    "The Harbour Authority leased the north quay to Vell & Daughters for thirty years.",
    "Ingrid Vell signed the lease of the north quay in March 1998.",
    "The Harbour Authority dredged the channel beside the north quay in May.",
    "The Harbour Authority dredged the channel beside the north quay in June.",
]
MUSEUM = [
    "The Ropewalk Museum restored a steam drifter with money from a lottery.",
    "Dr Beatrix Holm wrote the catalogue of the photographs in the museum.",
    "Visitors to the museum doubled after the drifter was opened.",
]
OTHER = [
    "Choirs from eleven villages sang in the church on the last Sunday of Lent.",
    "Potatoes failed on the upper farms because of the wet summer.",
]
EMBEDDER = StaticEmbedder()


def unit(number: int, title: str, sentences: list[str]) -> ContextUnit:
    quoted = tuple((text, Quote(f"u{number}", Span(n, n + 9))) for n, text in enumerate(sentences))
    return ContextUnit(number, title, " ".join(sentences), quoted)


CHUNKS = [
    [unit(1, "Harbour Authority and the north quay", HARBOUR)],
    [unit(2, "Ropewalk Museum", MUSEUM)],
    [unit(3, "Choirs", OTHER)],
]


def partials(question: str, chunks: list[list[ContextUnit]] = CHUNKS) -> list[PartialAnswer]:
    rendered = ["x" * 4000 for _ in chunks]
    return ExtractiveAnswerer(EMBEDDER).map(question, chunks, rendered)


def answer(question: str) -> FinalAnswer:
    kept = sorted((one for one in partials(question) if one.score), key=lambda one: -one.score)
    return ExtractiveAnswerer(EMBEDDER).reduce(question, kept)


def test_only_the_chunk_that_has_to_do_with_the_question_scores() -> None:
    scores = [one.score for one in partials("Who leased the north quay?")]
    assert scores[0] >= 50
    assert scores[1:] == [0, 0]
    assert partials("What did the museum restore?")[1].score >= 50


@pytest.mark.parametrize(
    "question",
    [
        "How do I bake sourdough bread?",
        "What is the capital of Mongolia?",
        "Who is Elon Musk?",
        "What are the main themes in quantum physics?",
    ],
)
def test_a_question_about_something_else_scores_nowhere(question: str) -> None:
    assert [one.score for one in partials(question)] == [0, 0, 0]


def test_the_answer_quotes_and_cites_whole_sentences_under_the_title_of_their_report() -> None:
    final = answer("Who leased the north quay?")
    heading, paragraph = final.text.split("\n\n")
    assert heading == "**Harbour Authority and the north quay**"
    assert re.sub(r" \[Data: Reports \(1\)\]", "", paragraph) == " ".join(text for text, _, _ in final.quotes)
    for text, number, quote in final.quotes:
        assert (text, quote) in CHUNKS[number - 1][0].sentences
        assert f"{text} [Data: Reports ({number})]" in paragraph


def test_what_nearly_repeats_is_said_once() -> None:
    said = [text for text, _, _ in answer("When was the channel beside the north quay dredged?").quotes]
    assert sum("dredged" in text for text in said) == 1


@pytest.mark.parametrize("question", ["What are the main themes?", "Summarise these reports.", "Who are the key people and how are they related?"])  # fmt: skip
def test_an_overview_speaks_of_every_report(question: str) -> None:
    (whole,) = partials(question, [[one for chunk in CHUNKS for one in chunk]])
    final = ExtractiveAnswerer(EMBEDDER).reduce(question, [whole])
    assert {number for _, number, _ in final.quotes} == {1, 2, 3}
    assert final.text.count("**") == 6


def test_a_name_in_the_question_decides() -> None:
    (first, *_) = answer("What did Beatrix Holm write?").quotes
    assert first[0] == MUSEUM[1]


@pytest.mark.parametrize(
    "question",
    [
        "Did Tomas Weill open the archive?",
        "When did Tomas Weill open the archive of the museum?",
        "Who opened the archive of the museum?",
    ],
)
def test_the_question_of_a_chat_is_not_quoted_as_its_answer(question: str) -> None:
    chat = [
        "Hanna Brode (19:05): Did Tomas Weill open the archive of the museum?",
        "Marta Lindqvist (19:06): Yes, Tomas Weill opened it in Port Sennen.",
    ]
    (partial,) = partials(question, [[unit(1, "A chat", chat)]])
    final = ExtractiveAnswerer(EMBEDDER).reduce(question, [partial])
    assert [text for text, _, _ in final.quotes] == chat[1:]


def test_the_order_of_chunks_changes_no_sentence_and_a_partial_answer_is_half_its_chunk_at_most() -> None:
    forward, backward = partials("Who leased the quay?"), partials("Who leased the quay?", CHUNKS[::-1])
    assert forward == backward[::-1]
    (short,) = ExtractiveAnswerer(EMBEDDER).map("What happened?", [[unit(1, "T", HARBOUR)]], ["x" * 350])
    assert len(short.quotes) == 2


def test_nothing_to_answer_from_gives_nothing() -> None:
    assert ExtractiveAnswerer(EMBEDDER).map("Why?", [], []) == []
    (empty,) = ExtractiveAnswerer(EMBEDDER).map("Who leased the quay?", [[ContextUnit(1, "T", "x")]], ["x"])
    assert (empty.score, empty.text, empty.quotes) == (0, "", ())
    assert ExtractiveAnswerer(EMBEDDER).reduce("Why?", []).text == ""


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.integers(1, 8), st.floats(0, 1))
def test_marginal_relevance_chooses_the_best_by_hand(values: list[float], most: int, balance: float) -> None:
    vectors = np.eye(8, dtype=np.float32)[[n % 3 for n in range(len(values))]]
    relevance = np.array(values)
    chosen = diverse(relevance, vectors, most, balance, lambda place, others: True)
    assert len(set(chosen)) == len(chosen) == min(most, len(values))
    for step, place in enumerate(chosen):

        def worth(one: int, before: list[int] = chosen[:step]) -> float:
            alike = max((float(vectors[one] @ vectors[other]) for other in before), default=0.0)
            return balance * values[one] - (1 - balance) * alike

        rest = [one for one in range(len(values)) if one not in chosen[:step]]
        assert worth(place) == pytest.approx(max(map(worth, rest)))


def test_one_common_word_among_words_for_an_overview_still_asks_for_one() -> None:
    assert asks_for_overview("Who are the most important actors in the harbour, and how are they connected?")
    assert not asks_for_overview("Who are the most important people in Kelderwick?")
    assert not asks_for_overview("Who dredged the harbour?")


def test_a_sentence_that_holds_most_words_of_a_question_is_related_however_far_its_vector() -> None:
    sentences = [
        "Yewande Rusk asked Joost Brakel to have the Atlas Nine towed to the Old Basin.",
        "Bread is baked.",
    ]
    lines = [SentenceLine(text, 0, 1, row) for row, text in enumerate(sentences)]
    found = relevance("Why was the tow of the Atlas Nine refused?", lines, StaticEmbedder())
    assert found.related.tolist() == [True, False]

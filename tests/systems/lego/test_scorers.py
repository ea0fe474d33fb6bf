"""Scorers of texts made of pieces."""

import math
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.catalogue.engines import Prefixes
from graphrag_dagster.kernel.graph.graph_labels import NO_PIECE, VerbalizedRows, Vocabulary
from graphrag_dagster.kernel.models.embedders import CorpusEmbedder
from graphrag_dagster.kernel.models.local_embedders import StaticEmbedder
from graphrag_dagster.kernel.text.text_similarity import words
from graphrag_dagster.systems.lego.retrieval.path_scorers import EPSILON, K1, B, Bm25Scorer, StaticScorer
from graphrag_dagster.systems.lego.retrieval.scorer_registry import EmbeddedScorer, scorer_of
from graphrag_dagster.systems.lego.search.instance_definitions import ScorerName
from graphrag_dagster.systems.lego.search.reasoning_paths import Subgraph
from support.path_graphs import graph_of

QUESTION = "which films did the director of Øre Sund make?"

any_label = st.text(max_size=12) | st.sampled_from(
    [
        "Tom Hanks",
        "$",
        " a",
        "a ",
        "a  b",
        "x\n",
        "->",
        "> ->",
        "-",
        "1999",
        "<s>",
        "a</s>b",
        "é\u0301",
        "▁",
        "~p",
    ]
)


def texts_of(vocabulary: Vocabulary, rows: Sequence[Sequence[int]]) -> VerbalizedRows:
    width = max(map(len, rows), default=1)
    filled = [[*row, *[NO_PIECE] * (width - len(row))] for row in rows]
    return VerbalizedRows(vocabulary, np.array(filled, dtype=np.int32).reshape(len(rows), width))


@st.composite
def verbalised(draw: st.DrawFn, label: st.SearchStrategy[str] = any_label) -> VerbalizedRows:
    labels = draw(st.lists(label, min_size=1, max_size=6, unique=True))
    relations = draw(st.lists(label, min_size=1, max_size=3, unique=True))
    vocabulary = Vocabulary(labels, tuple(relations))
    place = st.integers(0, len(vocabulary) - 1)
    rows = draw(st.lists(st.lists(place, min_size=1, max_size=9), max_size=12))
    return texts_of(vocabulary, rows)


@given(verbalised())
def test_composed_scores_are_those_of_the_texts(candidates: VerbalizedRows) -> None:
    embedder = StaticEmbedder()
    (asked,) = embedder.embed([QUESTION]).astype(np.float64)
    whole = embedder.embed(candidates.texts).astype(np.float64) @ asked
    assert StaticScorer().scores(QUESTION, candidates) == pytest.approx(whole, abs=1e-6)


def test_composed_scores_need_no_text() -> None:
    vocabulary = Vocabulary(
        ["Tom Hanks", "Øre Sund", "1999", "$", "a -> b", "Zoë"], ("directed_by", "p.q.r_s")
    )
    candidates = texts_of(vocabulary, [[0, 6, 1, 9, 3], [4, 7, 2], [5], [3, 8, 5, 6, 4, 7, 0]])
    scorer = StaticScorer()
    scorer.scores(QUESTION, candidates)
    tokens = scorer.tokens(candidates)
    assert "texts" not in vars(candidates)
    tokenizer, _ = StaticEmbedder().model
    read = [len(one.ids) for one in tokenizer.encode_batch(candidates.texts, add_special_tokens=False)]
    assert tokens == sum(read)


@pytest.mark.parametrize("name", ["static", "bm25"])
def test_a_scorer_knows_nothing_of_what_it_scored_before(name: ScorerName) -> None:
    graphs = [
        texts_of(Vocabulary([f"{label} {place}" for place in range(20)], ("led_by",)), [[3, 20, 7], [5]])
        for label in ("Øre Sund", "harbour")
    ]
    scorer = scorer_of(name, relation_words=True)
    fresh = [list(scorer_of(name, relation_words=True).scores(QUESTION, one)) for one in graphs]
    with ThreadPoolExecutor(16) as pool:
        found = pool.map(lambda place: list(scorer.scores(QUESTION, graphs[place % 2])), range(200))
    assert list(found) == fresh * 100


def okapi(question: str, texts: Sequence[str]) -> list[float]:
    """BM25 word by word, as it is defined."""
    documents = [Counter(words(text)) for text in texts]
    lengths = [sum(one.values()) for one in documents]
    if not sum(lengths):
        return [0.0] * len(texts)
    mean = sum(lengths) / len(lengths)
    within = Counter(word for one in documents for word in one)
    rarity = {word: math.log(len(texts) - n + 0.5) - math.log(n + 0.5) for word, n in within.items()}
    common = EPSILON * max(sum(rarity.values()) / len(rarity), 0.0)
    scores = []
    for one, length in zip(documents, lengths, strict=True):
        total = 0.0
        for word in words(question):
            if word in rarity:
                weight = rarity[word] if rarity[word] >= 0 else common
                total += weight * one[word] * (K1 + 1) / (one[word] + K1 * (1 - B + B * length / mean))
        scores.append(total)
    return scores


@given(verbalised(st.text("abc _.", max_size=9)), st.text("abc ", max_size=12))
def test_bm25_is_that_of_the_texts(candidates: VerbalizedRows, question: str) -> None:
    assert Bm25Scorer().scores(question, candidates) == pytest.approx(
        okapi(question, candidates.texts), abs=1e-9
    )


def test_bm25_reads_relations_as_words() -> None:
    vocabulary = Vocabulary(["F", "A", "B", "C"], ("directed_by", "people.person.children"))
    candidates = texts_of(vocabulary, [[0, 4, 1], [0, 5, 2], [0, 3], [1, 2]])
    scores = Bm25Scorer().scores("directed by whom?", candidates)
    assert scores.argmax() == 0
    assert scores[1] == 0
    assert Bm25Scorer().scores("the children", candidates).argmax() == 1


NAMES: list[ScorerName] = ["static", "bm25", "random"]


@given(verbalised(), st.randoms(use_true_random=False), st.sampled_from(NAMES))
def test_scores_do_not_depend_on_the_order(candidates: VerbalizedRows, drawn, name: ScorerName) -> None:
    places = list(range(len(candidates)))
    drawn.shuffle(places)
    scores = scorer_of(name).scores(QUESTION, candidates)
    assert list(scorer_of(name).scores(QUESTION, candidates.at(places))) == [
        scores[place] for place in places
    ]


def test_chance_depends_on_seed_question_and_text() -> None:
    candidates = texts_of(
        Vocabulary([f"n{place}" for place in range(50)], ("p",)), [[place] for place in range(50)]
    )
    drawn = [
        list(scorer_of("random", seed=seed).scores(question, candidates))
        for seed, question in ((0, "a"), (1, "a"), (0, "b"))
    ]
    assert len({tuple(one) for one in drawn}) == 3
    assert all(0 <= one < 1 for one in drawn[0])
    assert 0.3 < sum(drawn[0]) / 50 < 0.7
    assert list(scorer_of("random").scores("a", candidates.at([7]))) == [drawn[0][7]]


def test_an_embedder_is_given_questions_as_such_and_each_text_once() -> None:
    seen: list[str] = []

    class Listening:
        name, at_once = "listening", 8

        def embed(self, texts: Sequence[str]):
            seen.extend(texts)
            return StaticEmbedder().embed(texts)

    candidates = texts_of(Vocabulary(["a", "b"], ("p",)), [[0, 2, 1], [1, 3, 0], [0, 2, 1]])
    scorer = EmbeddedScorer(CorpusEmbedder(Listening(), Prefixes(query="q: ")))
    first, second = scorer.scores("who?", candidates), scorer.scores("who?", candidates.at([1, 0, 0]))
    assert list(second) == [first[1], first[0], first[0]]
    assert seen == ["q: who?", "a -> p -> b", "b -> ~p -> a", "q: who?"]
    assert scorer.name.startswith("listening")
    assert scorer.tokens(candidates) > 0
    assert scorer.scores("who?", candidates.at([])).shape == (0,)


def test_no_embedder_is_an_error() -> None:
    with pytest.raises(EngineError, match="paths.scorer"):
        scorer_of("embedder")


def test_relations_are_read_as_words_where_wanted() -> None:
    store = graph_of([("a", "directed_by", "b"), ("a", "film.film.releaseYear", "c")])
    spoken = graph_of([("a", "directed by", "b"), ("a", "film film release Year", "c")])
    every = [Subgraph.of_edges(one, np.arange(2), ()).triples() for one in (store, spoken)]
    for name in ("static", "bm25"):
        worded = scorer_of(name, relation_words=True)
        plain = scorer_of(name)
        assert list(worded.scores(QUESTION, every[0])) == list(plain.scores(QUESTION, every[1]))
        assert worded.tokens(every[0]) == plain.tokens(every[1])
    assert worded.name != plain.name

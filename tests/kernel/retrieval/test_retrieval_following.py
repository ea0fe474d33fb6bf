import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.retrieval.lexical_index import LexicalIndex, WordRarity
from graphrag_dagster.kernel.retrieval.multihop.multihop_retrieval import SHIPPED, Following
from graphrag_dagster.kernel.retrieval.multihop.name_graph import (
    LeadIndex,
    NameGraph,
    leading_words,
    name_graph,
)
from graphrag_dagster.kernel.retrieval.multihop.question_parsing import NameReach
from graphrag_dagster.kernel.retrieval.retriever import Retriever
from graphrag_dagster.kernel.retrieval.search_words import Clauses, TermFinder, sentence_words, sentences
from graphrag_dagster.kernel.text.folding import fold

FILMS = [
    "Blood Street is a 1988 film directed by Leo Fong.",
    "Leo Fong (born in Canton) is an actor and boxer.",
    "Naked Tango is a film about a woman in Buenos Aires.",
    "Jackie Kong makes films. Her nationality is American.",
    "The nationality of film directors is a matter of law.",
]
PROSE = [
    "That winter nobody came. It was Orrin Vask who had hired the diver of the Tallow.",
    "The harbour froze, and the diver of another ship went home to his wife.",
    "When the ice broke, Orrin Vask moved to Canton.",
    "The mayor had moved to the hill years before, with a cook and two dogs.",
    "A man who hired boats stood at the quay.",
]


def frames(
    texts: list[str], entities: dict[str, list[int]], related: tuple[tuple[str, str], ...] = ()
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    units = pl.DataFrame(
        {
            "text_unit_id": [f"u{at}" for at in range(len(texts))],
            "human_readable_id": range(len(texts)),
            "text": texts,
            "document_id": [f"d{place}" for place in range(len(texts))],
            "position": [0] * len(texts),
        }
    )
    rows = pl.DataFrame(
        {
            "entity_id": [f"e-{name}" for name in entities],
            "human_readable_id": range(len(entities)),
            "title": list(entities),
            "names": [[name] for name in entities],
            "description": [""] * len(entities),
            "text_unit_ids": [[f"u{at}" for at in places] for places in entities.values()],
        },
        schema_overrides={"text_unit_ids": pl.List(pl.String)},
    )
    edges = pl.DataFrame(
        [(f"e-{one}", f"e-{other}", 1.0) for one, other in related],
        schema={"source_id": pl.String, "target_id": pl.String, "weight": pl.Float64},
        orient="row",
    )
    return units, rows, edges


def found(texts: list[str], entities: dict[str, list[int]], question: str, most: int = 2) -> list[int]:
    ranking = Retriever(*frames(texts, entities)).local(question, most=most)
    return [int(unit[1:]) for unit in ranking.units.ids]


def graph_of(texts: list[str], entities: dict[str, list[int]], titles: dict[str, str]) -> NameGraph:
    units, rows, edges = frames(texts, entities)
    titled = units.with_columns(title=pl.col("text_unit_id").replace_strict(titles, default=""))
    return name_graph(titled, rows, edges, WordRarity.of_texts(texts))


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("The Blue Harbour is a film.", ("Blue Harbour",)),
        ('"How to Eat" is a book.', ("How to Eat",)),
        ("Leo D. Maloney (1888-1929) was an actor.", ("Leo D. Maloney",)),
        ("Ernest Shaw (born 1975), better known as DJ Clue, is a singer.", ("Ernest Shaw", "DJ Clue")),
        ("He was born in Canton.", ()),
        ("In the morning it was cold.", ()),
        ("nobody was there", ()),
        ("Nothing ends this sentence", ()),
        ("", ()),
    ],
)
def test_what_a_text_begins_to_speak_of(text, about):
    assert leading_words(text) == about


@given(st.text(max_size=80))
def test_any_text_may_begin_with_anything(text):
    assert all(lead.strip() for lead in leading_words(text))


def test_a_name_is_found_in_what_a_text_spells_with_more_words():
    index = LeadIndex.of(
        [["Nigella Lucy Lawson"], ["Leong Po-Chih"], ["Alexander B. H. Cox"], ["Lawson Bay"], []]
    )
    assert index.about(["nigella", "lawson"]) == {0: pytest.approx(2 / 3)}
    assert index.about(["po", "chih", "leong"]) == {1: pytest.approx(0.8)}
    assert index.about(["alex", "cox"]) == {2: pytest.approx(0.8 * 2 / 4)}
    assert index.about(["bay", "nigella"]) == {}
    assert set(index.about(["lawson"])) == {0, 3}
    assert index.about([]) == {}


def test_a_unit_is_about_its_title_and_its_first_subject():
    graph = graph_of(FILMS, {"Leo Fong": [0, 1], "Canton": [1]}, {"u0": "Blood Street (film)", "u4": "Law"})
    assert graph.names[:4] == ["Leo Fong", "Canton", "Blood Street", "Naked Tango"]
    assert "Law" in graph.names
    home = dict(zip(graph.names, range(len(graph.names)), strict=True))
    assert graph.home.weights_of(home["Blood Street"]).tolist() == [1.0]
    assert graph.home.weights_of(home["Leo Fong"]).tolist() == [0.8]
    assert graph.mentions.of(home["Leo Fong"]).tolist() == [0, 1]
    assert graph.subjects.of(1).tolist() == [home["Leo Fong"]]


def test_rows_that_lead_nowhere_are_left_out():
    units, rows, edges = frames(["A text."], {"Leo": [0, 7]}, (("Leo", "Gone"),))
    titled = units.with_columns(title=pl.lit(""))
    graph = name_graph(titled, rows, edges, WordRarity.of_texts(["A text."]))
    assert graph.within.of(0).tolist() == [0]
    assert graph.related.of(0).tolist() == []


def test_where_a_name_leads():
    texts = ["Ana met Bo. Bo left.", "Then came Bo.", "Bo is a cook.", "Nothing."]
    reach = NameReach(graph_of(texts, {"Bo": [0, 1, 2]}, {}), texts).of(0)
    assert reach.units.tolist() == [0, 1, 2]
    assert reach.home.tolist() == [0.3, 0.0, 0.8]
    assert reach.stands.tolist() == [1, 1, 1]
    assert reach.spread == 3


def test_a_name_that_stands_everywhere_leads_only_where_it_is_at_home():
    texts = [*["Then came Bo."] * 50, "Bo is a cook."]
    reach = NameReach(graph_of(texts, {"Bo": list(range(51))}, {}), texts).of(0)
    assert reach.units.tolist() == [50]
    assert reach.spread == 51


def test_each_sentence_has_its_share_of_the_question():
    text = "Mr. Vask is happy. The harbours froze!\nNobody hired him."
    assert sentences(text) == ["Mr. ", "Vask is happy. ", "The harbours froze!\n", "Nobody hired him."]
    index, words = LexicalIndex([text]), sentence_words(text)
    stems = index.terms("happiness of a harbour, hiring").stems
    assert stems == ("happi", "harbour", "hire")
    assert TermFinder(stems).find(words).tolist() == [
        [False] * 3, [True, False, False], [False, True, False], [False, False, True],
    ]  # fmt: skip
    assert TermFinder([]).find(words).shape == (4, 0)


WORDS = st.lists(st.sampled_from(["happi", "happy", "happily", "hap", "happinesses", "Hap.", "x\n", "é?"]))


@given(WORDS.map(" ".join), st.lists(st.sampled_from(["happi", "happili", "hap", "x", "e"]), unique=True))
def test_stems_are_found_as_the_words_that_begin_with_them(text, stems):
    def begins(stem: str, word: str) -> bool:
        ends = (stem, f"{stem[:-1]}y") if stem.endswith("i") else (stem,)
        return word.startswith(ends) and len(word) <= len(stem) + 5

    found = TermFinder(stems).find(sentence_words(text))
    for at, sentence in enumerate(sentences(text)):
        words = re.findall(r"\w+", fold(sentence))
        of_words = [max((s for s in stems if begins(s, word)), key=len, default=None) for word in words]
        assert found[at].tolist() == [stem in of_words for stem in stems]
    assert "".join(sentences(text)) == text


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("Who was president when the area became a state?", ("was president", "the area became a state")),
        ("Which is older, Ana Kell or Bo?", ("is older, Ana Kell", "Bo")),
        ("Ana Kell", ("Ana Kell",)),
        ("who or what", ()),
        ("", ()),
    ],
)
def test_a_question_is_taken_apart_at_its_clauses(question, parts):
    assert Clauses().parts(question) == parts


class Whole:
    def parts(self, question: str) -> tuple[str, ...]:
        return (question, "words that the question does not have")


def test_another_may_take_questions_apart():
    retriever = Retriever(*frames(FILMS, {"Leo Fong": [0, 1]}), decomposer=Whole())
    assert len(retriever.local("Who directed Blood Street?").units.ids) == len(FILMS)


def test_words_of_a_question_with_the_texts_that_have_them():
    index = LexicalIndex(["red fox", "red hen", "wolf"])
    terms = index.terms("Red hens, red zebra")
    assert terms.stems == ("red", "hen", "zebra")
    assert terms.present().tolist() == [[True, True, False], [False, True, False], [False] * 3]
    assert terms.sums(np.array([True, True, True])) == pytest.approx(index.scores("red hens zebra"))
    assert LexicalIndex([]).terms("red").present().shape == (1, 0)


def test_a_film_leads_to_its_director_without_titles_or_relationships():
    entities = {"Blood Street": [0], "Leo Fong": [0, 1], "Naked Tango": [2], "Jackie Kong": [3]}
    assert found(FILMS, entities, "What is the nationality of the director of Blood Street?") == [0, 1]


def test_in_prose_a_name_inside_a_passage_leads_to_another_that_it_is_not_about():
    question = "Where did the man who hired the diver of the Tallow go?"
    assert found(PROSE, {"Orrin Vask": [0, 2], "Tallow": [0], "Canton": [2]}, question) == [0, 2]
    # Without the name nothing leads there.
    assert found(PROSE, {"Tallow": [0]}, question)[1] != 2


def test_both_sides_of_a_comparison_get_their_passages():
    texts = [
        "Ana Kell (born 1970) is a painter.",
        "Ana Kell and her older sister opened the older gallery, older than Ana Kell says.",
        "Ana Kell is older than her house, says the older Ana Kell.",
        "Robert Bo Tarn is a cook.",
        "Tarn is a small lake.",
    ]
    entities = {"Ana Kell": [0, 1, 2], "Bo Tarn": [3], "Tarn": [4]}
    assert 3 in found(texts, entities, "Who is older, Ana Kell or Bo Tarn?")


def test_nothing_asked_takes_nothing():
    units, rows, edges = frames(FILMS, {"Leo Fong": [0, 1]})
    following = Retriever(units, rows, edges).following("zebra")
    order, scores = following.ranked(8)
    assert following.taken == []
    assert order.tolist() == [0, 1, 2, 3, 4]
    assert np.isfinite(scores).all()


@given(
    st.lists(st.sampled_from(["Ana", "Bo", "Cy met", "Ana Kell", "film", "of"]), max_size=8),
    st.integers(0, 9),
)
def test_every_unit_is_ranked_once_however_many_are_taken(question, steps):
    units, rows, edges = frames(FILMS, {"Leo Fong": [0, 1], "Ana": [2], "Bo": [2, 3]}, (("Ana", "Bo"),))
    following = Retriever(units, rows, edges).following(" ".join(question))
    order, scores = following.ranked(steps)
    assert sorted(order.tolist()) == [0, 1, 2, 3, 4]
    assert (np.diff(scores) <= 0).all()
    assert len(following.taken) <= steps


@pytest.mark.parametrize("field", ["words", "meaning", "partly"])
def test_all_that_speaks_for_a_unit_adds_to_what_it_begins_with(field):
    units, rows, edges = frames(FILMS, {"Leo Fong": [0, 1], "Blood Street": [0]})
    begun = Retriever(units, rows, edges).following("Who directed Blood Street?")
    asked = begun._q
    more = Following(replace(asked, **{field: getattr(asked, field) + 1}), begun._passages, SHIPPED)
    assert (more.base > begun.base).all()


def test_a_unit_that_is_about_what_is_named_begins_before_those_that_name_it():
    texts = ["Ana Kell is a painter.", "Then came Ana Kell, a painter.", "Then came a painter."]
    units, rows, edges = frames(texts, {"Ana Kell": [0, 1]})
    base = Retriever(units, rows, edges).following("Ana Kell").base
    assert base[0] > base[1] > base[2]

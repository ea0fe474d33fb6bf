import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.core.search.retrieval.linking import NameLinker
from graphrag_dagster.core.search.retrieval.words import WordRarity, fold, words, words_with_case

TEXTS = [f"The film of {name} was made" for name in ("Ana", "Bo", "Cy", "Di", "Ed", "Flo", "Gus", "Hal")]
RARITY = WordRarity(TEXTS)


def linked(names: list[str], question: str) -> list[tuple[str, bool]]:
    return [(names[link.place], link.whole) for link in NameLinker(names, RARITY).link(question)]


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Lothair II's mother", ["lothair", "ii", "mother"]),
        ("Henry I of Ziębice’s", ["henry", "i", "of", "ziebice"]),
        ("BRÅK, Møller & Łódź", ["brak", "moller", "lodz"]),
        ("Strasse Straße", ["strasse", "strasse"]),
        ("snake_case don't", ["snake", "case", "don", "t"]),
        ("", []),
    ],
)
def test_words_are_compared_without_case_accents_and_punctuation(text, folded):
    assert words(text) == folded


def test_possessives_go():
    assert fold("Ana's") == "ana "


@given(st.text(alphabet="aB éŁ'’s-_1ß. ", max_size=30))
def test_words_with_case_are_the_same_words(text):
    found = words_with_case(text)
    assert list(found.folded) == words(text)
    assert len(found.written) == len(found.folded)


def test_rarity_is_between_nought_and_one():
    assert RARITY.of("film") == 0
    assert 0 < RARITY.of("ana") < RARITY.of("unheard") == 1
    assert WordRarity([]).of("film") == 1


def test_the_longest_name_wins_at_word_boundaries():
    names = ["Maurice", "Maurice, Prince of Orange", "Prince", "Orange", "Mau"]
    assert linked(names, "Where did maurice prince of orange die?") == [("Maurice, Prince of Orange", True)]


def test_all_names_spelled_alike_are_linked():
    names = ["AC/DC", "Ana", "ac dc"]
    assert linked(names, "Did AC/DC play?") == [("AC/DC", True), ("ac dc", True)]


def test_a_name_of_common_words_weighs_nothing_and_lower_case_less():
    assert linked(["The Film", "Film"], "Who made the film?") == []
    linker = NameLinker(["Orchard"], RARITY)
    upper, lower = linker.link("Did Ana sell Orchard"), linker.link("Did Ana sell the orchard")
    assert upper[0].weight > lower[0].weight > 0


def test_part_of_a_name_links_it_with_less_weight_when_it_is_rare():
    names = ["Gianfranco Lucchini", "Ana Film", "Ana"]
    assert linked(names, "Who is Lucchini?") == [("Gianfranco Lucchini", False)]
    whole = NameLinker(names, RARITY).link("Who is Gianfranco Lucchini?")[0]
    assert whole.whole
    assert whole.weight > NameLinker(names, RARITY).link("Who is Lucchini?")[0].weight
    assert linked(["Ana Film"], "Which Film?") == []


def test_a_word_of_very_many_names_links_none_of_them():
    assert linked([f"Smith Number{i}" for i in range(40)], "Who is Smith?") == []


def test_no_names_no_words():
    assert NameLinker([], RARITY).link("Who is Ana?") == []
    assert NameLinker(["", "!?", "Ana"], RARITY).link("") == []
    assert NameLinker(["", "!?"], RARITY).link("!?") == []


WORD = st.sampled_from(["ana", "bo", "cy", "di"])


@given(st.lists(st.lists(WORD, min_size=1, max_size=3), max_size=8), st.lists(WORD, max_size=12))
def test_mentions_are_those_of_a_search_for_every_name_at_every_word(names, text):
    linker = NameLinker([" ".join(name) for name in names], RARITY)
    expected, start = [], 0
    while start < len(text):
        fitting = [name for name in names if text[start : start + len(name)] == name]
        if fitting:
            longest = max(fitting, key=len)
            places = tuple(place for place, name in enumerate(names) if name == longest)
            expected.append((start, start + len(longest), places))
            start += len(longest)
        else:
            start += 1
    assert [(m.start, m.end, m.places) for m in linker.mentions(text)] == expected


def test_names_are_found_among_a_hundred_thousand():
    names = [f"Person{i % 997} Family{i}" for i in range(100_000)]
    linker = NameLinker(names, RARITY)
    question = "Did Person3 Family1000 know Family77 or Person5?"
    found = linker.link(question)
    assert {names[link.place] for link in found if link.whole} == {"Person3 Family1000"}
    assert {names[link.place] for link in found if not link.whole} == {"Person77 Family77"}

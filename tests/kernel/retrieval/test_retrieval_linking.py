import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.retrieval.entity_linking import NameLinker
from graphrag_dagster.kernel.retrieval.lexical_index import WordRarity
from graphrag_dagster.kernel.retrieval.name_index import NameIndex
from graphrag_dagster.kernel.retrieval.search_words import (
    fold_name,
    sentence_words,
    stems_of,
    words,
    words_with_case,
)
from graphrag_dagster.kernel.text.text_similarity import words as similar_words

TEXTS = [f"The film of {name} was made" for name in ("Ana", "Bo", "Cy", "Di", "Ed", "Flo", "Gus", "Hal")]
RARITY = WordRarity.of_texts(TEXTS)


def linked(names: list[str], question: str) -> list[tuple[str, str]]:
    return [
        (names[link.place], link.how) for link in NameLinker(NameIndex.of(names), RARITY).link(question).found
    ]


def named(names: list[str], question: str, frequency: list[int] | None = None) -> list[str]:
    links = NameLinker(NameIndex.of(names, None if frequency is None else np.array(frequency)), RARITY).link(
        question
    )
    return [names[link.place] for link in links.found if link.named]


def unlinked(names: list[str], question: str) -> list[str]:
    links = NameLinker(NameIndex.of(names), RARITY).link(question)
    return [links.words.text(one.start, one.end) for one in links.unlinked]


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


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("İLKER IŞIK", "ilker ışık"),
        ("İlker Işık", "ilker isik"),
        ("STRASSE", "Straße"),
        ("ΟΔΟΣ ΤΗΣ ΑΘΗΝΑΣ", "οδος της αθήνας"),
        ("ﬁne oﬃce", "fine office"),
        ("ＡＢＣ１２", "abc12"),
        ("Müller", "Mu\u0308ller"),
        ("한국", "\u1112\u1161\u11ab\u1100\u116e\u11a8"),
        ("שָׁלוֹם", "שלום"),
        ("مُحَمَّد", "محمد"),
        ("Sei\u00adte", "Seite"),
        ("Łódź", "lodz"),
    ],
)
def test_one_folding_of_every_script(written: str, asked: str) -> None:
    assert words(written) == words(asked)
    assert stems_of([written]) == stems_of([asked])
    assert similar_words(written) == similar_words(asked)
    assert sentence_words(written).words == sentence_words(asked).words
    # Of a folded word it is known where it stands.
    found = words_with_case(f"(so) {written}: yes")
    assert " ".join(found.written[1:-1]) == written
    assert all(
        f"(so) {written}: yes"[start:end] == text
        for text, (start, end) in zip(found.written, found.spans, strict=True)
    )


def test_marks_that_make_other_letters_stay() -> None:
    assert words("が") != words("か")
    assert words("I said: izmir's") == ["i", "said", "izmir"]


def test_possessives_go():
    assert fold_name("Ana's") == "ana  "


@given(st.text(alphabet="aB éŁ'’s-_1ß. ", max_size=30))
def test_words_with_case_are_the_same_words(text):
    found = words_with_case(text)
    assert list(found.folded) == words(text)
    assert len(found.written) == len(found.folded)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Où est l'E\u0301cole Ste\u0301phane?", ["Où", "est", "l", "E\u0301cole", "Ste\u0301phane"]),
        ("it's-me, Osk", ["it", "me", "Osk"]),
        ("हिन्दी Osk", ["हिन्दी", "Osk"]),
        ("Straßen-ﬁsch", ["Straßen", "ﬁsch"]),
    ],
)
def test_words_stand_where_they_are_written_whatever_folding_drops(text: str, written: list[str]) -> None:
    assert list(words_with_case(text).written) == written


def test_rarity_is_between_nought_and_one():
    assert RARITY.of("film") == 0
    assert 0 < RARITY.of("ana") < RARITY.of("unheard") == 1
    assert WordRarity.of_texts([]).of("film") == 1


def test_the_longest_name_wins_at_word_boundaries():
    names = ["Maurice", "Maurice, Prince of Orange", "Prince", "Orange", "Mau"]
    assert linked(names, "Where did maurice prince of orange die?") == [
        ("Maurice, Prince of Orange", "exact")
    ]


def test_all_names_spelled_alike_are_linked():
    names = ["AC/DC", "Ana", "ac dc"]
    assert linked(names, "Did AC/DC play?") == [("AC/DC", "exact"), ("ac dc", "exact")]


def test_a_name_that_stands_in_every_text_is_named_and_spreads_little():
    rarity = WordRarity.of_texts([f"Ana Kell met {name}" for name in ("Bo", "Cy", "Di", "Ed", "Flo", "Gus")])
    (link,) = NameLinker(NameIndex.of(["Ana Kell"]), rarity).link("What did Ana Kell do?").found
    assert link.named
    assert link.sure == 1
    assert 0 < link.weight < 0.1


def test_words_of_the_corpus_are_no_names_and_lower_case_is_less_sure():
    assert linked(["The Film", "Film"], "Who made the film?") == []
    linker = NameLinker(NameIndex.of(["Orchard"]), RARITY)
    upper = linker.link("Did Ana sell Orchard").found[0]
    lower = linker.link("Did Ana sell the orchard").found[0]
    assert upper.named
    assert not lower.named
    assert upper.weight > lower.weight > 0


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("Will it rain in May?", ["May"]),
        ("May one hope that Hope will come?", ["Hope"]),
        ("Hope that may help: what is it?", []),
        ("What did Will and Hope say?", ["Will", "Hope"]),
        ("what may will hope for?", []),
        ("Did May say so? Will Will come?", ["May", "Will"]),
    ],
)
def test_words_of_every_day_are_names_where_a_capital_says_so(question, found):
    assert sorted(named(["Will", "May", "Hope"], question)) == sorted(found)


def test_a_word_of_every_day_at_the_beginning_is_told():
    assert unlinked(["Will", "Ana"], "Will Ana come?") == ["Will"]


def test_names_in_a_question_without_capitals_are_linked():
    assert named(["Ana Kell", "Tallow"], "what did ana kell do in tallow?") == ["Ana Kell", "Tallow"]
    assert named(["supply chain"], "How is the supply chain described by Ana?") == ["supply chain"]


@pytest.mark.parametrize(
    ("name", "question"),
    [
        ("Brand (play)", "Who wrote Brand?"),
        ("Royal Air Force", "What did the RAF do?"),
        ("Tallow Marine Ltd.", "Who owns Tallow Marine?"),
        ("Dr. Orrin Vask", "Who met Orrin Vask?"),
    ],
)
def test_other_spellings_that_mean_the_same_are_aliases(name, question):
    assert linked(["Bo", name], question) == [(name, "alias")]
    assert named(["Bo", name], question) == [name]


def test_initials_in_lower_case_are_a_word():
    assert linked(["Army Reserve Tank"], "What is art?") == []


@pytest.mark.parametrize(
    ("name", "question"),
    [
        ("Selma Dray", "Who is Selma Drey?"),
        ("Selma Dray", "who is slema dray?"),
        ("Jean-Luc Vanden", "Who is Jeanluc Vanden?"),
        ("Jeanluc", "Who is Jean-Luc?"),
        ("Carter Vask", "Who is Carter Vasks?"),
        ("Ziębice", "Where is Ziebcie?"),
        ("Gianfranco", "Who is Gianfrnaco?"),
    ],
)
def test_slips_are_near_spellings(name, question):
    assert linked(["Bo", name], question) == [(name, "near spelling")]
    assert named(["Bo", name], question) == [name]


@pytest.mark.parametrize(
    ("name", "question"),
    [
        ("Henry III", "Who was Henry II?"),
        ("SR-2023-053", "What is SR-2023-052?"),
        ("Model 41", "What is Model 47?"),
        ("Bob", "Who is Rob?"),
        ("Selma Dray", "Who is Thelma Grey?"),
    ],
)
def test_a_number_or_a_short_word_is_no_slip(name, question):
    assert "near spelling" not in [how for _, how in linked([name], question)]
    assert named([name], question) == []


def test_a_word_that_the_texts_use_is_no_slip():
    assert linked(["Filma"], "What is a Film?") == []


def test_equally_near_names_are_less_sure():
    links = NameLinker(NameIndex.of(["Marta Kell", "Marti Kell"]), RARITY).link("Who is Marto Kell?").found
    assert len(links) == 2
    assert links[0].sure == links[1].sure < 0.7
    assert links[0].reason == "one of 2 names"


def test_part_of_a_name_links_it_with_less_weight():
    names = ["Gianfranco Lucchini", "Ana Film", "Ana"]
    assert linked(names, "Who is Lucchini?") == [("Gianfranco Lucchini", "part")]
    whole = NameLinker(NameIndex.of(names), RARITY).link("Who is Gianfranco Lucchini?").found[0]
    assert whole.how == "exact"
    assert whole.weight > NameLinker(NameIndex.of(names), RARITY).link("Who is Lucchini?").found[0].weight
    assert linked(names, "Who is Luchini?") == [("Gianfranco Lucchini", "part")]


def test_of_names_with_a_part_the_frequent_one_is_meant():
    names = ["Ebenezer Scroog", "Scroog Ltd Holding"]
    assert named(names, "Who is Scroog?", [400, 2]) == ["Ebenezer Scroog"]
    assert named(["Ann Scroog", "Bob Scroog"], "Who is Scroog?", [3, 3]) == []


def test_a_word_of_very_many_names_links_none_of_them_and_that_is_told():
    names = [f"Smith Number{i}" for i in range(40)]
    assert linked(names, "Who is Smith?") == []
    (told,) = NameLinker(NameIndex.of(names), RARITY).link("Who is Smith?").unlinked
    assert told.reason == "40 names have “smith”"


def test_what_looks_like_a_name_and_is_none_is_told():
    assert unlinked(["Ana"], "Did Ana meet Orrin Vask near Tallow?") == ["Orrin Vask", "Tallow"]
    assert unlinked(["Ana"], "What did they sell?") == []


def test_fifty_names_in_one_question():
    names = [f"Person{i} Family{i}" for i in range(200)]
    question = "What connects " + ", ".join(names[:50]) + "?"
    assert named(names, question) == names[:50]


def test_no_names_no_words():
    assert linked([], "Who is Ana?") == []
    assert linked(["", "!?", "Ana"], "") == []
    assert linked(["", "!?"], "!?") == []


WORD = st.sampled_from(["ana", "bo", "cy", "di"])


@given(st.lists(st.lists(WORD, min_size=1, max_size=3), max_size=8), st.lists(WORD, max_size=12))
def test_mentions_are_those_of_a_search_for_every_name_at_every_word(names, text):
    linker = NameLinker(NameIndex.of([" ".join(name) for name in names]), RARITY)
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
    linker = NameLinker(NameIndex.of(names), RARITY)
    question = "Did Person3 Family1000 know Family77 or Person5?"
    found = linker.link(question).found
    assert {names[link.place] for link in found if link.how == "exact"} == {"Person3 Family1000"}
    assert {names[link.place] for link in found if link.how == "part"} == {"Person77 Family77"}

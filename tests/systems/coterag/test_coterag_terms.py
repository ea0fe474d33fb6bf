"""Terms of questions and how much of them a text covers."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.systems.coterag.search.term_coverage import coverage, coverages, question_terms, terms

LISTED = "remdesivir, respiratory symptoms, COVID-19"
A = "In patients with COVID-19, remdesivir shortened the time to recovery from symptoms of the respiratory tract."
B = "Remdesivir is a nucleotide analogue."
texts = st.lists(st.sampled_from([*A.split(), *B.split(), "Ärzte", "東京大学", "हिन्दी"]), max_size=20)


def test_coverage_by_words_and_by_phrases() -> None:
    words, phrases = question_terms(LISTED), question_terms(LISTED, "phrases")
    assert words.stems == {"remdesivir", "respiratori", "symptom", "covid-19"}
    assert phrases.units == tuple(
        sorted(({"remdesivir"}, {"respiratori", "symptom"}, {"covid-19"}), key=sorted)
    )
    assert coverage(words, terms(A)) == coverage(phrases, terms(A)) == 1.0
    assert coverage(words, terms(B)) == 0.25
    assert coverage(phrases, terms(B)) == pytest.approx(1 / 3)
    assert coverage(phrases, terms("respiratory remdesivir")) == pytest.approx(1 / 3)


def test_one_of_two_is_too_little_and_two_of_three_is_enough() -> None:
    assert coverage(question_terms("remdesivir dosage"), terms(B)) == 0.5
    assert coverage(question_terms("remdesivir nucleotide dosage"), terms(B)) == pytest.approx(2 / 3)


def test_forms_of_a_word_are_one_term() -> None:
    assert terms("Treatments treating the treatment") == {"treat"}
    assert terms("covid- COVID-19 covid-19") == {"covid", "covid-19"}


def test_no_terms_cover_nothing() -> None:
    for question in ("", "What is it, and why?", "?!"):
        assert question_terms(question).units == ()
        assert coverage(question_terms(question), terms(A)) == 0.0
        assert question_terms(question, "phrases").units == ()


@given(texts, texts, st.randoms())
def test_coverage_forgets_order_case_and_repeats_and_grows_with_the_text(
    asked: list[str], text: list[str], chance: random.Random
) -> None:
    question, held = question_terms(" ".join(asked)), terms(" ".join(text))
    shuffled = asked + asked[: len(asked) // 2]
    chance.shuffle(shuffled)
    again = question_terms(" ".join(shuffled).upper())
    assert again == question
    assert 0 <= coverage(question, held) <= coverage(question, held | terms(A)) <= 1
    assert coverage(question, terms(" ".join(asked))) == (1.0 if question.units else 0.0)


@pytest.mark.parametrize(
    ("asked", "text", "covered"),
    [
        ("東京大学", "私は東京大学で学ぶ。", 1.0),
        ("大学", "東京大学", 1.0),
        ("大阪", "東京大学", 0.0),
        ("โรค", "การรักษาโรคปอด", 1.0),
        ("Straße in München", "STRASSE nach Munchen", 1.0),
        ("हिन्दी भाषा", "यह हिन्दी है", 0.5),
        ("β-catenin", "the β-Catenin pathway", 1.0),
        ("Привет мир", "ПРИВЕТ", 0.5),
        ("ＣＯＶＩＤ-19", "covid-19", 1.0),
    ],
)
def test_other_scripts(asked: str, text: str, covered: float) -> None:
    assert coverage(question_terms(asked), terms(text)) == pytest.approx(covered)


def test_rare_terms_count_more_by_idf() -> None:
    held = {stem: list(ids) for word, ids in (("virus", "abc"), ("remdesivir", "c")) for stem in terms(word)}
    asked = question_terms("remdesivir virus")
    assert coverages(asked, held, ["a", "b", "c", "d"]).tolist() == [0.5, 0.5, 1.0, 0.0]
    weighed = coverages(asked, held, ["a", "b", "c", "d"], "idf")
    assert weighed[2:].tolist() == [1.0, 0.0]
    assert 0 < weighed[0] < 0.5

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.catalogue.engines import VERDICTS
from graphrag_dagster.kernel.models.local_embedders import shared_static
from graphrag_dagster.kernel.questions.context.index_background import Support
from graphrag_dagster.kernel.tasks.answering_ports import Cited, SupportOf
from graphrag_dagster.kernel.tasks.support_by_words import PARTLY, SUPPORTED, WEIGHTS
from support.altered import altered, sentences_of, told_otherwise

SAMPLE = Path(__file__).parents[3] / "graphrag_dagster" / "sample" / "harbour"
WORDS = "About five thousand people watched from Coal Quay on 9 September 2023."


def judged(statement: str, *words: str, about: str = "") -> SupportOf:
    [found] = Support(shared_static()).judged([Cited(statement, words, about)]).items
    assert found.verdict in VERDICTS
    assert found.score is not None
    assert 0 <= found.score <= 1
    assert bool(found.reason) == (found.verdict != "supported")
    return found


@pytest.mark.parametrize(
    ("statement", "verdict", "reason"),
    [
        (WORDS, "supported", ""),
        ("five   THOUSAND people watched!", "supported", ""),
        ("Some 5,000 people watched from Coal Quay.", "supported", ""),
        ("Some five thousand spectators stood on Coal Quay in September 2023.", "supported", ""),
        ("About six thousand people watched from Coal Quay.", "not", "the number six thousand does not"),
        ("About five thousand people watched from Fish Quay.", "partly", "the name Fish Quay does not"),
        ("About five thousand people watched from Kelderwick.", "not", "the name Kelderwick does not stand"),
        ("About five thousand people watched in October 2023.", "not", "the date October does not"),
        ("About five thousand people did not watch from Coal Quay.", "not", "“watch” is negated in only one"),
        ("The ferry was delayed by ice.", "not", "none of its words stand in the cited words"),
        ("The.", "not", "it says nothing that words could support"),
        ("Quay", "supported", ""),
        ("Harbourmaster", "not", "the name Harbourmaster"),
    ],
)
def test_a_statement_beside_the_words_it_cites(statement: str, verdict: str, reason: str) -> None:
    found = judged(statement, WORDS)
    assert (found.verdict, found.reason.startswith(reason)) == (verdict, True), found
    assert bool(found.reason) == bool(reason)


@pytest.mark.parametrize(
    ("statement", "words", "reason"),
    [
        (
            "Prices rose in the town.",
            "Prices fell in the town.",
            "it says “rose” where the cited words say “fell”",
        ),
        ("Copper is more reactive than iron.", "Iron is more reactive than copper.", "the other way round"),
        ("Hanna Quill sued Piers Lowrie.", "Piers Lowrie sued Hanna Quill.", "the other way round"),
        ("Hanna Quill was sued by Piers Lowrie.", "Hanna Quill sued Piers Lowrie.", "the other way round"),
        ("The board approved the plan.", "The board never approved the plan.", "“approved” is negated"),
    ],
)
def test_words_that_say_the_contrary_do_not_support(statement: str, words: str, reason: str) -> None:
    found = judged(statement, words)
    assert found.verdict == "not"
    assert reason in found.reason


def test_the_same_in_the_passive_is_supported() -> None:
    assert (
        judged("Piers Lowrie was sued by Hanna Quill.", "Hanna Quill sued Piers Lowrie.").verdict
        == "supported"
    )


def test_what_is_only_possible_is_supported_in_part() -> None:
    found = judged("The dredger broke the licence.", "The dredger allegedly broke the licence in March.")
    assert (found.verdict, found.reason) == ("partly", "the cited words say it as a possibility only")


def test_a_pronoun_stands_for_what_the_words_are_about() -> None:
    words = "She led the dockers of the town through the long strike."
    statement = "Hanna Quill led the dockers of the town through the strike."
    assert judged(statement, words, about="Hanna Quill").verdict == "supported"
    assert judged(statement, words).verdict != "supported"
    assert judged(statement, words.replace("She", "Orrin Vask"), about="Hanna Quill").verdict != "supported"


@pytest.mark.parametrize(
    ("said", "words"),
    [("WHO and Italian doctors met.", "The World Health Organization met doctors from Italy."),
     ("The U.S. senate met.", "The senate of the United States met."),
     ("Zoe Muller spoke.", "Zoë Müller spoke at length."),
     ("William O. Douglas served as a judge.", "Justice Douglas served as a judge of the court.")],
)  # fmt: skip
def test_a_name_is_known_in_its_other_forms(said: str, words: str) -> None:
    assert "name" not in judged(said, words).reason


def test_statements_of_other_scripts_are_compared_by_what_they_share() -> None:
    assert judged("五千人が見た。", "港では五千人が見た。").verdict == "supported"
    assert judged("港の人は橋を渡った。", "五千人が見た。").verdict == "not"
    assert (
        judged("Пять тысяч человек смотрели.", "Пять тысяч человек смотрели с набережной.").verdict
        == "supported"
    )
    assert judged("Сорок человек смотрели.", WORDS).verdict == "not"


def test_what_cites_no_words_has_no_support_and_blank_texts_are_no_quotations() -> None:
    assert judged("A statement.").reason == "no words of the documents were found for what it cites"
    assert judged("", WORDS).verdict == judged("…", WORDS).verdict == judged("A quay.", "").verdict == "not"


def test_several_quotations_count_together() -> None:
    halves = ("Mira Holt paid for the quay of Velm.", "The quay of Velm was built in 1998.")
    both = "Mira Holt paid for the quay of Velm, which was built in 1998."
    assert judged(both, *halves).verdict == "supported"
    assert judged(both, halves[0]).reason == "the number 1998 does not stand in the cited words"


@given(st.text(max_size=80), st.text(max_size=200))
def test_any_texts_have_a_verdict_and_the_same_one_again(statement: str, words: str) -> None:
    once = Support().judged([Cited(statement, (words,))])
    assert once == Support().judged([Cited(statement, (words,))])
    assert once.items[0].verdict in VERDICTS


def test_no_measure_takes_away_and_the_thresholds_are_in_order() -> None:
    assert all(weight > 0 for weight in WEIGHTS.values())
    assert 0 < PARTLY < SUPPORTED < 1


def test_sentences_made_untrue_are_caught_and_sentences_said_otherwise_are_not() -> None:
    documents = sentences_of(SAMPLE)
    made = list(altered(documents))
    caught = Counter(one.how for one in made if judged(one.untrue, one.true).verdict != "supported")
    for how, count in Counter(one.how for one in made).items():
        assert count >= 50
        assert caught[how] >= 0.9 * count, how
    otherwise = list(told_otherwise(documents))
    kept = sum(judged(one.said, one.true).verdict == "supported" for one in otherwise)
    assert kept >= 0.9 * len(otherwise)

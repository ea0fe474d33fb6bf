import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.retrieval.rerankers import unit_features
from graphrag_dagster.kernel.retrieval.sentence_relevance import FEATURES, AskedWords, asks_for_statements
from graphrag_dagster.kernel.retrieval.sentence_weights import ANSWER_WEIGHTS, UNIT_WEIGHTS
from graphrag_dagster.kernel.text.quotable_sentences import ContextLines, SentenceLine, turns

QUESTION = "When did Ada Rusk weld the hull?"
SAID = [
    "BO LIND: When did you weld the hull?",
    "ADA RUSK: I did that in 1908.",
    "It took a year.",
    "Nobody came.",
    "Bread is baked at night.",
]
LINES = [SentenceLine(text, place, len(SAID), 7, "Hulls") for place, text in enumerate(SAID)]
LINES.append(SentenceLine("The hull was welded again.", 0, 1, 8))


def column(name: str) -> list[float]:
    return unit_features(QUESTION, LINES, turns(LINES))[:, FEATURES.index(name)].tolist()


def test_what_stands_around_a_sentence_counts_the_less_the_farther_it_is() -> None:
    # Sentences with ada, rusk: none; weld, hull: two of six.
    weight = {
        "ada": math.log1p(6 / 1),
        "rusk": math.log1p(6 / 1),
        "weld": math.log1p(6 / 3),
        "hull": math.log1p(6 / 3),
    }
    whole = math.fsum(weight.values())
    both, name = weight["weld"] + weight["hull"], weight["ada"] + weight["rusk"]
    # The question; its answer right behind it, by Ada Rusk; one behind that; farther; the title has the hull.
    expected = [
        both,
        name + 0.3 * weight["weld"] + 0.7 * weight["hull"],
        name + 0.4 * weight["weld"] + 0.7 * weight["hull"],
        name + 0.3 * weight["weld"] + 0.7 * weight["hull"],
        name + 0.3 * weight["weld"] + 0.7 * weight["hull"],
        both,
    ]
    assert column("around") == pytest.approx([one / whole for one in expected])
    near = [both, name + both, name + both, name + 0.7 * weight["hull"], name + 0.7 * weight["hull"], both]
    assert column("cover") == pytest.approx([one / whole for one in near])
    row = [1 / 2.5 * both / whole] * 6
    assert column("row") == pytest.approx(row)


def test_the_rest_of_what_speaks_for_a_sentence() -> None:
    assert column("several") == pytest.approx([math.log(3), 0, 0, 0, 0, math.log(3)])
    # Of ada rusk, rusk weld, weld hull the last stand near each other.
    assert column("pairs") == pytest.approx([1 / 3, 0, 0, 0, 0, 1 / 3])
    assert column("length") == pytest.approx([math.log1p(len(turn.said.split())) for turn in turns(LINES)])
    assert column("self") == [0, 1, 0, 0, 0, 0]
    share = 2 * math.log1p(2) / (2 * math.log1p(2) + 2 * math.log1p(6))
    assert column("reply") == pytest.approx([0, share, share / 2, share / 3, 0, 0])


def test_weights_are_those_of_the_features() -> None:
    assert tuple(UNIT_WEIGHTS) == FEATURES
    assert tuple(ANSWER_WEIGHTS) == (*FEATURES, "cosine", "row_cosine", "fits", "reads")


def test_words_are_found_by_their_stems_and_once() -> None:
    asked = AskedWords(["welded", "hull", "welds"], {"hull"})
    held, near = asked.found_in([["weld", "hull"], [], ["a", "hull"]])
    assert held.tolist() == [[True, True, True], [False] * 3, [False, True, False]]
    assert near.tolist() == [1, 0, 0]
    assert asked.names == [1]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12), st.integers(-3, 3).filter(bool))
def test_neighbours_are_of_the_same_row(rows: list[int], distance: int) -> None:
    rows = sorted(rows)
    lines = [
        SentenceLine("", rows[:place].count(row), rows.count(row), row) for place, row in enumerate(rows)
    ]
    held = np.arange(1.0, len(rows) + 1)[:, None]
    shifted = ContextLines(lines).shifted(held, distance)[:, 0].tolist()
    for place, row in enumerate(rows):
        other = place - distance
        inside = 0 <= other < len(rows) and rows[other] == row
        assert shifted[place] == (other + 1 if inside else 0)
        own = [number + 1 for number, one in enumerate(rows) if one == row]
        assert ContextLines(lines).best(held)[place, 0] == max(own)
        assert ContextLines(lines).sums(held)[place, 0] == sum(own)


def test_what_was_said_is_asked_for_by_words_of_saying_and_thinking() -> None:
    assert asks_for_statements("Summarise the discussion of fees.")
    assert asks_for_statements("Why did she disagree?")
    assert not asks_for_statements("When did the strike end?")


def test_words_that_tell_in_which_document_to_look_count_for_titles_and_speakers_alone() -> None:
    lines = [
        SentenceLine("Ada Rusk came in.", 0, 2, 1, "Interview with Ada Rusk"),
        SentenceLine("She welded it.", 1, 2, 1, "Interview with Ada Rusk"),
        SentenceLine("Ada Rusk left.", 0, 1, 2, "News"),
    ]
    plain, scoped = (
        unit_features(question, lines, turns(lines))[:, FEATURES.index("several")].tolist()
        for question in ("What did Ada Rusk weld?", "In the interview with Ada Rusk, what was welded?")
    )
    assert plain == pytest.approx([math.log(3), math.log(2), math.log(3)])
    assert scoped == pytest.approx([0, math.log(2), 0])
    around = unit_features("In the interview with Ada Rusk, what was welded?", lines, turns(lines))[:, 0]
    assert around[1] > around[0] > around[2] == 0

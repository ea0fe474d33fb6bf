"""Claims of answers without a model: which sentences are kept, and how they are cut into clauses."""

import re
from collections.abc import Callable, Sequence

import pytest

from graphrag_dagster.apps.evaluation.extractive import ExtractiveClaimDecomposer
from graphrag_dagster.apps.evaluation.tasks import AnswerText, SentenceClaims
from graphrag_dagster.engines.extractive.parsing.sentence_clauses import refused_words, without_frame
from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.tasks.task_ports import Usage

Decompose = Callable[..., list[tuple[SentenceClaims, ...]]]


@pytest.fixture(scope="module")
def decompose() -> Decompose:
    decomposer = ExtractiveClaimDecomposer()
    return lambda *texts: list(decomposer.decompose([AnswerText("What happened?", text) for text in texts]))


def one(decompose: Decompose, text: str) -> SentenceClaims:
    [[found]] = decompose(text)
    return found


SPLIT = [
    (
        "Ann Lee founded Morvane Tidal in 2011 and sold the firm to Nexora in 2015.",
        ["Ann Lee founded Morvane Tidal in 2011.", "Ann Lee sold the firm to Nexora in 2015."],
    ),
    (
        "The harbour froze in 1963, and the council closed the market.",
        ["The harbour froze in 1963.", "The council closed the market."],
    ),
    (
        "Morvane Tidal was founded in 2011 and renamed in 2015.",
        ["Morvane Tidal was founded in 2011.", "Morvane Tidal was renamed in 2015."],
    ),
    (
        "Oslo has 700,000 inhabitants, while Bergen has 290,000 inhabitants.",
        ["Oslo has 700,000 inhabitants.", "Bergen has 290,000 inhabitants."],
    ),
    (
        "The inquiry was led by Ann Lee, who had studied in Oslo.",
        ["The inquiry was led by Ann Lee.", "Ann Lee had studied in Oslo."],
    ),
    (
        "The Nile, which is 6,650 kilometres long, flows through Egypt.",
        ["The Nile flows through Egypt.", "The Nile is 6,650 kilometres long."],
    ),
    (
        "However, Dogs can see blue, but they cannot see red.",
        ["Dogs can see blue.", "They cannot see red."],
    ),
]


@pytest.mark.parametrize(("text", "claims"), SPLIT)
def test_clauses_become_claims(decompose: Decompose, text: str, claims: list[str]) -> None:
    found = one(decompose, text)
    assert (found.state, found.reason, found.usage) == ("kept", None, Usage())
    assert sorted(found.claims) == sorted(claims)


@pytest.mark.parametrize(
    "text",
    [
        "Ann Lee designed and built the quay in 1998.",
        "Ann Lee sold the ship in 1998 or leased the ship to Nexora.",
        "Nobody saw the fire in 2017 and lived in Oslo.",
        "Ann Lee said that the quay burnt and that the ship sank in 2017.",
        "Bread, butter and cheese cost 12 crowns in 1998.",
        "The quay burnt in 2017, which led to an inquiry.",
        "Vega carried coal that was sold in Oslo.",
        'Ann Lee said "The quay burnt in 2017 and the ship sank."',
    ],
)
def test_what_a_cut_could_change_stays_whole(decompose: Decompose, text: str) -> None:
    found = one(decompose, text)
    assert found.state == "kept"
    assert len(found.claims) == 1
    assert found.claims[0].startswith(text.rstrip('."'))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("# The fire of 2017", "a heading"),
        ("What happened in 2017?", "a question"),
        ("Here are the main events of 2017:", "an announcement of what follows"),
        ("The following events took place.", "an announcement of what follows"),
        ("The reports do not mention who lit the fire in 2017.", "says what is not known or not given"),
        ("There is no information about Ann Lee.", "says what is not known or not given"),
        ("The cause is not specified in the provided data.", "says what is not known or not given"),
        ("It remains unclear who sold the ship.", "says what is not known or not given"),
        ("As an AI language model, I have no data on 2017.", "speaks of its author"),
        ("There is no clear evidence in the reports about Ann Lee.", "says what is not known or not given"),
        ("Not enough data is available on Ann Lee.", "says what is not known or not given"),
        ("I think that Ann Lee sold it.", "speaks of its author"),
        ("You need to read the report of 2017.", "advice"),
        ("It is important to read the report of 2017.", "advice"),
        ("Nexora should sell the ship.", "advice"),
        ("Read the report of 2017 first.", "advice"),
        ("Overall, the events had many sides.", "a conclusion without name or number"),
        ("Such fires could happen again.", "a guess without name or number"),
        ("These events play a crucial role for the community.", "a judgement without name or number"),
        ("A look at the harbour", "no statement"),
    ],
)
def test_what_states_nothing_is_left_out(decompose: Decompose, text: str, reason: str) -> None:
    found = one(decompose, text)
    assert (found.state, found.claims, found.reason) == ("not_verifiable", (), reason)


@pytest.mark.parametrize(
    "text",
    [
        "The ship sank.",
        "The quay burnt in 2017.",
        "The court found no evidence of fraud.",
        "Ann Lee worked as an assistant, then as an engineer.",
        "The following year, the company moved to Oslo.",
        "A licence is necessary to fish in Norway.",
        "He gave the thousand, and the firm grew.",
        "It burnt in 2017.",
        "Veins carry blood to the heart.",
        "Nexora may sell the ship in 2019.",
        "Overall, Nexora lost 3 ships.",
        "The New Party advocated for rules on trade.",
        "Ann Lee asked: “What should we do?”, and left Oslo in 1998.",
    ],
)
def test_statements_are_kept(decompose: Decompose, text: str) -> None:
    assert one(decompose, text).state == "kept"


def test_an_opening_that_states_nothing_is_taken_off(decompose: Decompose) -> None:
    found = one(decompose, "However, it is important to note that the quay burnt in 2017.")
    assert (found.state, found.claims) == ("rewritten", ("The quay burnt in 2017.",))
    assert found.sentence == "However, it is important to note that the quay burnt in 2017."
    assert without_frame("Note that 3 ships sank.") == "3 ships sank."
    assert without_frame("It is important to note the date.") == "It is important to note the date."


LONG = """## Fires [1]
Ann Lee founded Morvane Tidal in 2011 and sold it in 2015 [Data: Reports (1, 2)]. What came next?

- **Losses:** the firm lost 3.5 million [3].
- You should read on."""


def test_every_sentence_is_there_once_in_order(decompose: Decompose) -> None:
    empty, found, again = decompose("", LONG, "[1]")
    assert (empty, again) == ((), ())
    assert [(each.sentence, each.state) for each in found] == [
        ("Fires", "not_verifiable"),
        ("Ann Lee founded Morvane Tidal in 2011 and sold it in 2015.", "kept"),
        ("What came next?", "not_verifiable"),
        ("Losses: the firm lost 3.5 million.", "kept"),
        ("You should read on.", "not_verifiable"),
    ]
    assert all(bool(each.claims) == (each.state == "kept") for each in found)


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


def test_claims_hold_no_word_that_is_not_the_sentences(decompose: Decompose) -> None:
    texts: Sequence[str] = [text for text, _ in SPLIT]
    for [found] in decompose(*texts):
        assert all(words(claim) <= words(found.sentence) for claim in found.claims)
        assert words(found.sentence) - set().union(*map(words, found.claims)) <= {
            "and", "but", "while", "who", "which", "however",
        }  # fmt: skip


def test_an_answer_is_read_alike_whatever_stands_beside_it(decompose: Decompose) -> None:
    texts = [LONG, *(text for text, _ in SPLIT)]
    together = decompose(*texts)
    assert together == [decompose(text)[0] for text in texts]
    assert together[::-1] == decompose(*texts[::-1])


def test_a_sentence_too_long_to_be_read_has_failed(decompose: Decompose) -> None:
    found = one(decompose, "The quay burnt" + ", and the quay burnt" * 500)
    assert (found.state, found.claims) == ("failed", ())
    assert "longer than 5000 characters" in (found.reason or "")


def test_odd_texts_do_no_harm(decompose: Decompose) -> None:
    odd = [
        "🙂🙂 1 🙂",
        "((((",
        "a" * 4000,
        "，。1。",
        "1 2 3 4",
        "\u200b x \u00a0 y.",
        "( ) and , ; was is , and which",
    ]
    for found in decompose(*odd):
        assert all(each.claims or each.reason for each in found)


def test_time_is_linear_in_hostile_text() -> None:
    for piece in (
        "no little data ",
        "it is ",
        "the data that is ",
        "However, ",
        "“a ",
        "it is also important ",
    ):
        refused_words(piece * 2_000)
        without_frame(piece * 2_000)


def test_an_unknown_pipeline_is_named() -> None:
    with pytest.raises(EngineError, match="no_such_pipeline"):
        list(ExtractiveClaimDecomposer("no_such_pipeline").decompose([AnswerText("", "A ship sank.")]))

"""What questions want, what in a sentence gives it, and how answers by rule are laid out."""

import datetime
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.engines.extractive.answer_types import answer_type_of, defines, things_of_type
from graphrag_dagster.engines.extractive.extractive_answerer import ExtractiveAnswerer
from graphrag_dagster.engines.extractive.sentence_selection import Marking, answering_words
from graphrag_dagster.kernel.models.local_embedders import StaticEmbedder
from graphrag_dagster.kernel.retrieval.sentence_relevance import relevance
from graphrag_dagster.kernel.tasks.task_ports import ContextUnit, FinalAnswer, Quote
from graphrag_dagster.kernel.text.answer_form import AnswerForm
from graphrag_dagster.kernel.text.distinctive_phrases import Phrase, phrases, shared_phrases
from graphrag_dagster.kernel.text.marked_words import in_bold
from graphrag_dagster.kernel.text.markup_spans import Span
from graphrag_dagster.kernel.text.quotable_sentences import SentenceLine, speaker_before
from graphrag_dagster.kernel.text.text_similarity import stem

EMBEDDER = StaticEmbedder()
TALK = [
    "ANNA RUIZ: Welcome back to the show, and thanks for having me.",
    "BEN OKORO: Anna, where did you learn to build boats?",
    "ANNA RUIZ: Oh, my uncle had a yard in Port Vessay, and I spent every summer there.",
    "It always smelled of tar and of new rope.",
    "BEN OKORO: And who paid for the first hull?",
    "ANNA RUIZ: Nobody did, I sold my grandmother's piano for nine hundred crowns.",
    "BEN OKORO: So the piano was gone.",
]
FACTS = [
    "The Harbour Authority leased the north quay to Vell & Daughters in March 1998.",
    "The rent of the north quay was 4,200 crowns a year, because the cranes were old.",
    "Orrin Vask, the auditor of the Harbour Authority, never saw the lease.",
    "He wrote two letters about it.",
    "The north quay is a wall of granite between the fish market and the mole.",
    "The fish market pays no rent, since it was there before the quay.",
]


class Known:
    """Documents and names as tables would tell them."""

    def document(self, unit_id: str) -> str:
        return unit_id.partition("-")[0]

    def day(self, _: str) -> datetime.date | None:
        return None

    def told(self) -> bool:
        return False

    def words(self, _: Quote) -> str:
        return ""

    def cut(self, _: Quote) -> bool:
        return False

    def code(self, _: Quote) -> bool:
        return False

    def names(self, _: str) -> Sequence[tuple[str, str]]:
        return [
            ("Anna Ruiz", "PERSON"),
            ("Orrin Vask", "PERSON"),
            ("Harbour Authority", "ORGANIZATION"),
            ("Vell & Daughters", "ORGANIZATION"),
        ]

    def phrases(self) -> Sequence[Phrase]:
        return [Phrase("north quay", ("north", "quay"), 2), Phrase("nowhere at all", ("nowher",), 2), Phrase("rent", ("rent",), 2), Phrase("Orrin Vask", ("orrin", "vask"), 1), Phrase("fish market", ("fish", "market"), 1)]  # fmt: skip


def row(number: int, title: str, sentences: list[str]) -> ContextUnit:
    quoted = tuple((text, Quote(f"d{number}-{place}", Span(0, 9))) for place, text in enumerate(sentences))
    return ContextUnit(number, title, " ".join(sentences), quoted, "source", Known())


ROWS = [row(1, "Talk", TALK), row(2, "The lease", FACTS), row(3, "Rents", [FACTS[5]])]


def answer(question: str, rows: Sequence[ContextUnit] = ROWS, form: AnswerForm | None = None) -> FinalAnswer:
    return ExtractiveAnswerer(EMBEDDER, form).answer(question, rows, "x" * 9000)


@pytest.mark.parametrize(
    ("question", "kind", "noun"),
    [
        ("When did the strike end?", "time", ""),
        ("In the show of March 15, which year is named?", "time", ""),
        ("How many people watched from the quay?", "number", "people"),
        ("How old was she when she left?", "number", ""),
        ("How much did the hull cost?", "money", ""),
        ("What was the price of the hull?", "money", ""),
        ("Where was the barge when it sank?", "place", ""),
        ("Why did he refuse?", "reason", ""),
        ("What caused the fire?", "reason", ""),
        ("Whom did he thank?", "person", ""),
        ("Who is Orrin Vask?", "definition", ""),
        ("What is Lyra Bank?", "definition", ""),
        ("What is profit?", "definition", ""),
        ("What is a profit margin?", "definition", ""),
        ("What was revenue?", "money", ""),
        ("What was the gross margin?", "number", ""),
        ("What is the growth rate?", "number", ""),
        ("What job had she when the yard closed?", "other", ""),
        ("Did the union accept?", "other", ""),
    ],
)
def test_the_first_question_word_says_what_is_wanted(question: str, kind: str, noun: str) -> None:
    assert (answer_type_of(question).shape, answer_type_of(question).kind, answer_type_of(question).noun) == (
        "sentence",
        kind,
        noun,
    )


@pytest.mark.parametrize(
    ("question", "shape", "type_", "sides"),
    [
        ("Which companies are mentioned?", "list", "ORGANIZATION", ()),
        ("Who were the witnesses at the inquiry?", "list", "PERSON", ()),
        ("Who appeared as guests?", "list", "PERSON", ()),
        ("List the ships.", "list", "VESSEL", ()),
        ("What is the difference between tar and pitch?", "sides", "", ("tar", "pitch")),
        ("Which is cheaper, tar or pitch?", "sides", "", ("tar", "pitch")),
        ("How does tar differ from pitch?", "sides", "", ("tar", "pitch")),
        ("What are the main themes?", "overview", "", ()),
        ("Summarise these documents.", "overview", "", ()),
    ],
)
def test_lists_comparisons_and_overviews_are_told_apart(
    question: str, shape: str, type_: str, sides: tuple[str, ...]
) -> None:
    found = answer_type_of(question)
    assert (found.shape, found.type, found.sides) == (shape, type_, sides)


@pytest.mark.parametrize(
    ("kind", "sentence", "noun", "first"),
    [
        ("time", "It began on Friday 28 February 2020 at noon.", "", "Friday 28 February 2020"),
        ("time", "She left in the 1980s.", "", "the 1980s"),
        ("money", "It cost 3.4 million crowns in 1998.", "", "3.4 million crowns"),
        ("number", "In 1998 two boats took sixty-three people off.", "people", "sixty-three"),
        ("number", "About 40% of them left.", "", "40%"),
        ("number", "Seven people drowned.", "people", "Seven"),
        ("number", "Twenty-two boats came, and 3 stayed.", "", "Twenty-two"),
        ("place", "She went to Vessay with Peter Holm.", "", "Vessay"),
        ("place", "They met in the hall at Port Vessay.", "", "Port Vessay"),
        ("person", "The yard was founded by Philippa Auchter.", "", "Philippa Auchter"),
        ("reason", "It broke because the chain was old.", "", "because"),
    ],
)
def test_things_that_can_answer_are_found_in_sentences(
    kind: str, sentence: str, noun: str, first: str
) -> None:
    span = things_of_type(kind, sentence, noun, {"Vessay": "GEO"})[0]  # type: ignore[arg-type]
    assert sentence[span.start : span.end] == first


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [("time", "It was late."), ("number", "In 1998 it ended."), ("person", "It was Licence TL-7."), ("place", "Boats sail."), ("place", "He sold the yard to Lundqvist."), ("place", "She trusted in Peter Holm."), ("place", "The yard was built by Vell."), ("money", "They spent 80% of it."), ("number", "One of them left."), ("other", "Anna left Oslo in 1998.")],
)  # fmt: skip
def test_nothing_is_found_where_nothing_is_named(kind: str, sentence: str) -> None:
    assert things_of_type(kind, sentence) == []  # type: ignore[arg-type]


def test_a_definition_says_what_something_is_near_its_beginning() -> None:
    what = {stem("north"), stem("quay")}
    assert defines(FACTS[4], what)
    assert defines("The north quay, a wall of granite, is old.", what)
    assert not defines(FACTS[1], what)
    assert not defines("Those who lost the north quay were suspended.", what)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("When was the north quay leased?", "in **March 1998**."),
        ("What was the rent of the north quay?", FACTS[1]),
        ("What is the north quay?", FACTS[4]),
        ("Where did Anna Ruiz learn to build boats?", "**Port Vessay**"),
        ("What did Anna Ruiz sell?", TALK[5]),
    ],
)
def test_the_sentence_that_answers_comes_first(question: str, said: str) -> None:
    found = answer(question)
    assert said in in_bold(found.text, found.layout.marks).partition(" [Data:")[0]
    assert found.quotes[0][0] in (*FACTS, *TALK)


@pytest.mark.parametrize(
    ("question", "said", "marked"),
    [
        ("When are the tanks of the lamp emptied?", "The tanks of the lamp are emptied in May, see [the log of 1924](https://example.org/d/1924/May).", ["in May"]),
        ("Who empties the tanks of the lamp?", "The tanks of the lamp are emptied by [Ada Rusk](https://example.org/d/Ada).", []),
        ("How many litres do the tanks hold?", "The tanks hold litres as `12 litres` or https://example.org/12/litres say.", []),
        ("How many litres do the tanks hold?", "The tanks hold litres of oil, **12 litres** in all.", ["12"]),
        ("Who empties the tanks of the lamp?", "The tanks of the lamp are emptied for Ada.Rusk@example.org by Ada Rusk.", ["Ada Rusk"]),
        ("Who empties the tanks of the lamp?", "Ada Rusk's crew empties the tanks of the lamp.", ["Ada Rusk's"]),
    ],
)  # fmt: skip
def test_what_answers_is_marked_beside_the_text_and_never_in_links_code_or_words(
    question: str, said: str, marked: list[str]
) -> None:
    quote = (said, Quote("u", Span(0, len(said))))
    found = ExtractiveAnswerer(EMBEDDER).answer(
        question, [ContextUnit(1, "https://example.org/lamp", said, (quote,), "source")], "x" * 4000
    )
    assert found.text == f"### https://example.org/lamp\n\n{said} [Data: Sources (1)]"
    assert [found.text[mark.start : mark.end] for mark in found.layout.marks] == marked


def test_courtesies_and_the_questions_of_who_asks_do_not_answer() -> None:
    (first, *_) = answer("Who paid for the first hull of Anna Ruiz?").quotes
    assert not first[0].endswith("?")
    assert "Welcome" not in first[0]


def test_a_sentence_that_points_back_has_the_one_before_it() -> None:
    found = answer("How many letters were written?")
    assert [text for text, _, _ in found.quotes][:2] == FACTS[2:4]
    assert FACTS[3].replace("two", "**two**") in in_bold(found.text, found.layout.marks)


def test_a_list_counts_documents_and_mentions() -> None:
    found = answer("Which organisations are named?")
    assert "**Harbour Authority: 1 document, 2 mentions**" in found.text
    assert found.text.index("Harbour Authority:") < found.text.index("Vell & Daughters:")


@pytest.mark.parametrize(
    ("question", "sides", "topic"),
    [
        ("How do rents differ between Port Vessay and the mole?", ("Port Vessay", "the mole"), "rents"),
        ("Compare the rents of the quay and the mole in 1998.", ("the quay", "the mole"), "rents 1998"),
        ("Compare mooring at the quay with the mole.", ("the quay", "the mole"), "mooring"),
        ("How did rents in Vessay and Oban compare?", ("Vessay", "Oban"), "rents"),
        ("What is the difference between soft and hard tar?", ("soft", "hard tar"), "tar"),
        ("How do HTTP/1.1 and HTTP/2 differ?", ("HTTP/1.1", "HTTP/2"), ""),
    ],
)
def test_what_is_compared_and_in_what(question: str, sides: tuple[str, ...], topic: str) -> None:
    found = answer_type_of(question)
    assert (found.shape, found.sides, found.topic) == ("sides", sides, topic)


def test_both_sides_of_a_comparison_keep_its_topic() -> None:
    found = answer("How do rents differ between the north quay and the fish market?").text
    assert "4,200 crowns" in found
    assert "pays no rent" in found
    assert "granite" not in found


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("How did rents of the quay develop over the years?", ["2006", "2007", "2008"]),
        ("What was the rent of the quay each quarter?", ["2006 Q1", "2007 Q2", "2008 Q3"]),
        ("How did the rent of the quay change from 2007 to 2009?", ["2007", "2008"]),
    ],
)
def test_the_course_over_time_has_a_statement_of_each_period_in_order(
    question: str, told: Sequence[str]
) -> None:
    class Dated(Known):
        def day(self, unit_id: str) -> datetime.date:
            year = int(unit_id)
            return datetime.date(year, 3 * (year - 2006) + 1, 1)

    def of(number: int, year: int, share: int) -> ContextUnit:
        said = (f"The rent of the quay was {share} crowns.", f"The quay had {share} cranes.")
        sentences = tuple((one, Quote(f"{year}", Span(0, len(one)))) for one in said)
        return ContextUnit(number, f"Report {number}", " ".join(said), sentences, "source", Dated())

    found = answer(question, [of(1, 2008, 830), of(2, 2006, 610), of(3, 2007, 720)])
    headings = [line.strip("*") for line in found.text.split("\n\n") if line.endswith("**")]
    assert headings == told
    assert [int(text.split()[6]) for text, _, _ in found.quotes] == sorted([610, 720, 830])[-len(told) :]


def test_a_comparison_speaks_of_both_sides() -> None:
    found = answer("What is the difference between the north quay and the fish market?")
    assert found.quotes[0][0] == FACTS[4]
    headings = [line for line in found.text.split("\n\n") if line.startswith("**") and line.endswith("**")]
    assert headings == ["**The north quay and the fish market**", "**The north quay**", "**The fish market**"]


def test_a_comparison_of_documents_that_are_named_has_a_statement_of_each_in_order() -> None:
    def of(number: int, title: str, share: int) -> ContextUnit:
        unit = row(
            number, title, [f"The rent of the quay was {share} crowns.", "Many came to the fish market."]
        )
        return replace(unit, selected=True)

    rows = [of(7, "FY24Q1", 5), of(8, "FY23Q1", 4), of(9, "FY23Q2", 4)]
    said = answer("How did the rent of the quay change?", rows).quotes
    assert [quote[1] for quote in said] == [8, 9, 7]
    named = [replace(one, selected=False) for one in rows]
    assert [quote[1] for quote in answer("How did the rent of the quay change?", named).quotes] != [8, 9, 7]
    assert [quote[1] for quote in answer("What was the rent of the quay?", rows).quotes] != [8, 9, 7]


def test_an_overview_gives_phrases_with_documents_and_a_sentence_that_holds_each() -> None:
    found = answer("What are the main themes?")
    blocks = found.text.split("\n\n")
    assert blocks[::2] == ["**North quay, in 2 documents**", "**Rent, in 2 documents**", "**Orrin Vask, in 1 document**", "**Fish market, in 1 document**"]  # fmt: skip
    assert "north quay" in blocks[1]
    assert "Orrin Vask" in blocks[5]


def test_no_more_is_quoted_than_the_form_allows() -> None:
    for question in (
        "What is the rent of the quay?",
        "What are the main themes?",
        "Which organisations are named?",
    ):
        assert len(answer(question, form=AnswerForm("single sentence")).quotes) == 1


@pytest.mark.parametrize("question", ["How do I sharpen a kitchen knife?", "What is the currency of Brazil?", "Who composed the Four Seasons?", "Why is the sky blue?"])  # fmt: skip
def test_what_has_nothing_to_do_with_the_rows_is_refused(question: str) -> None:
    assert answer(question).text == ""


@pytest.mark.parametrize(
    "question",
    [
        "What did he write about penguins?",
        "Was the lease for Netflix?",
        "Who leased the north quay in 2015?",
        "What was in version 3.13 of the lease of the north quay?",
        "How much did the letters about the lease cost?",
    ],
)
def test_what_a_question_is_about_has_to_stand_somewhere(question: str) -> None:
    assert answer(question).text == ""


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Who leased the north quay in 1998?", "Vell & Daughters"),
        ("What did Orrin Vask write about penguins and the lease?", "lease"),
        ("How much did the north quay cost a year?", "4,200 crowns"),
        ("What caused the rent of the quay to be 4,200 crowns?", "cranes"),
    ],
)
def test_what_stands_there_in_other_words_is_answered(question: str, said: str) -> None:
    assert said in answer(question).text


def test_a_name_or_a_number_stands_for_itself_alone() -> None:
    lines = [
        SentenceLine(text, 0, 1, place)
        for place, text in enumerate(["Kevin left in 2019.", "Brian left in 2018."])
    ]
    found = relevance("Did Brian leave in 2018?", lines, EMBEDDER)
    assert found.value[1] > found.value[0]
    assert not relevance("Did Martin leave?", lines, EMBEDDER).related.any()


def test_a_speaker_stands_for_the_name_in_all_that_is_said_until_the_next_label() -> None:
    lines = [SentenceLine(text, place, len(TALK), 0) for place, text in enumerate(TALK)]
    found = relevance("What smelled of tar, according to Anna Ruiz?", lines, EMBEDDER)
    assert found.value.argmax() == 3


@pytest.mark.parametrize(
    ("sentence", "speaker"),
    [
        ("ANNA RUIZ (VOICEOVER): The quay.", "ANNA RUIZ"),
        ("Mr. Bill Blair (Minister of Safety): We act.", "Mr. Bill Blair"),
        ("Lynne Neagle AM: Thank you.", "Lynne Neagle AM"),
        ("He said this: no.", ""),
        ("Note: The quay is closed.", ""),
    ],
)
def test_labels_name_speakers(sentence: str, speaker: str) -> None:
    assert speaker_before(sentence)[0] == speaker


def test_phrases_tell_documents_apart() -> None:
    texts = [
        "The steam ferry left.",
        "A steam ferry sank.",
        "The steam ferry is lost.",
        "Bread is made of flour.",
    ]
    found = phrases(texts, ["a", "b", "c", "d"], 5)
    assert [(one.form, one.documents) for one in found] == [("steam ferry", 3)]
    assert phrases([], [], 5) == []


@given(st.lists(st.tuples(st.text("ab ", max_size=20), st.sampled_from("xyz")), max_size=8))
def test_no_word_is_in_two_phrases_and_no_phrase_in_more_documents_than_there_are(
    pairs: list[tuple[str, str]],
) -> None:
    found = phrases([text for text, _ in pairs], [document for _, document in pairs], 10)
    stems = [one for phrase in found for one in phrase.stems]
    assert len(stems) == len(set(stems))
    assert all(phrase.documents <= len({document for _, document in pairs}) for phrase in found)


def test_a_shared_phrase_is_held_by_several_sentences() -> None:
    said = ["The mooring plan was late.", "He signed a mooring plan.", "She read the harbour rules."]
    assert shared_phrases(said) == ["mooring plan"]
    assert shared_phrases(said[1:]) == []


@pytest.mark.parametrize(
    ("question", "sentence", "marked"),
    [
        ("Who sold the yard?", "Anna Ruiz sold the yard to Orrin Vask.", "**Anna Ruiz** sold the yard to Orrin Vask."),
        ("Who sold the yard to Anna Ruiz?", "Anna Ruiz sold the yard to Orrin Vask.", None),
        ("Who bought the yard?", "Anna Ruiz sold the yard to Orrin Vask.", None),
        ("Who sold the yard?", "The yard was sold by Anna Ruiz to Orrin Vask.", "The yard was sold by **Anna Ruiz** to Orrin Vask."),
        ("Who sold the yard?", "The yard was sold to Orrin Vask.", None),
        ("Who sold the yard?", "Selma Dray said that Anna Ruiz sold the yard.", "Selma Dray said that **Anna Ruiz** sold the yard."),
        ("Who repaired the yard?", "Anna Ruiz did not repair the yard.", None),
        ("Who repaired the yard?", "Anna Ruiz never repaired the yard, but Orrin Vask repaired it.", "Anna Ruiz never repaired the yard, but **Orrin Vask** repaired it."),
        ("Whom did she meet?", "Anna Ruiz met Orrin Vask.", "Anna Ruiz met **Orrin Vask**."),
        ("Whom did she marry?", "Anna Ruiz married Orrin Vask.", "Anna Ruiz married **Orrin Vask**."),
        ("Whom did Lena Holm marry?", "Anna Ruiz married Orrin Vask.", None),
        ("Who did Anna Ruiz thank?", "Selma Dray was thanked by Anna Ruiz.", "**Selma Dray** was thanked by Anna Ruiz."),
        ("Who is the CFO of Ostrel?", "The CFO of Ostrel spoke to Anna Ruiz of margins.", None),
        ("Where is the yard?", "Anna Ruiz sold the yard to Orrin Vask.", None),
        ("Where is the yard?", "Anna Ruiz had the yard at Vessay.", "Anna Ruiz had the yard at **Vessay**."),
    ],
)  # fmt: skip
def test_whoever_did_it_is_marked_and_nobody_else(question: str, sentence: str, marked: str | None) -> None:
    found = answering_words(sentence, Marking.of(question, answer_type_of(question)))
    assert in_bold(sentence, [found] if found else []) == (marked or sentence)


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("How much did the quay cost?", "money"),
        ("How much money did they spend?", "money"),
        ("How much of their time did they spend at sea?", "number"),
        ("How much oil was sold?", "number"),
    ],
)
def test_how_much_of_a_thing_wants_no_money(question: str, kind: str) -> None:
    assert answer_type_of(question).kind == kind


def test_the_place_of_a_thing_comes_before_what_else_is_said_of_it() -> None:
    said = [
        "Anna Ruiz sold the rope yard to Orrin Vask in 1998.",
        "The rope yard burned down on 4 May 2001.",
        "Selma Dray owned the rope yard at Port Vessay.",
    ]
    found = answer("Where is the rope yard?", [row(1, "Yards", said)])
    assert found.quotes[0][0] == said[2]
    assert [found.text[mark.start : mark.end] for mark in found.layout.marks] == ["Port Vessay"]


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Who bought the rope yard?", "Anna Ruiz sold the rope yard to Orrin Vask in 1998."),
        ("What did Selma Dray grind?", "Selma Dray ground corn and lenses."),
        ("Who wedded Orrin Vask?", "Lena Holm married Orrin Vask in 1990."),
    ],
)
def test_other_forms_and_near_meanings_are_found_beside_all_else_that_is_asked(
    question: str, said: str
) -> None:
    assert said in answer(question, [row(1, "Yards", [said, *FACTS])]).text


@pytest.mark.parametrize(
    ("question", "answered"),
    [
        ("What burned down in 2001?", True),
        ("What burned down on 4 May 2001?", True),
        ("What burned down on May 4th, 2001?", True),
        ("What burned down on 4 May 1998?", False),
        ("What burned down on 5 May 2001?", False),
        ("What burned down in June 2001?", False),
    ],
)
def test_what_happened_at_another_time_does_not_answer(question: str, answered: bool) -> None:
    said = [
        "The rope yard burned down on 4 May 2001.",
        "The quay was built in June 1998.",
        "On 5 July it rained.",
        "Nobody was hurt in the fire.",
    ]
    assert bool(answer(question, [row(1, "Yards", said)]).text) == answered


@pytest.mark.parametrize(
    "question", ["Who insured the rope yard?", "Why is the stone dear?", "What did the pilot paint?"]
)
def test_what_nothing_resembles_is_refused(question: str) -> None:
    said = ["Anna Ruiz sold the rope yard to Orrin Vask.", "At most one yard is dear.", "The pilot sang."]
    assert answer(question, [row(1, "Yards", said)]).text == ""


@pytest.mark.parametrize(
    "amount",
    ["$4.5 million", "fifteen shillings", "five-and-sixpence", "twelve guineas", "USD 300", "300 EUR", "4,200 crowns"],
)  # fmt: skip
def test_an_amount_of_money_is_known_in_any_coin(amount: str) -> None:
    sentence = f"The keeper had {amount} a week."
    assert [sentence[one.start : one.end] for one in things_of_type("money", sentence)] == [amount]


def test_a_number_of_something_else_is_not_marked() -> None:
    said = ["The yard of Ostrel had 12 cranes and many workers.", "Ostrel employed 340 workers at the yard."]
    found = answer("How many workers had the yard of Ostrel?", [row(1, "Yards", said)])
    assert [quote[0] for quote in found.quotes] == said[::-1]
    assert [found.text[mark.start : mark.end] for mark in found.layout.marks] == ["340"]

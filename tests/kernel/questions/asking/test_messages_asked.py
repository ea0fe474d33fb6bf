"""What people write, asked without a model: several questions, courtesies, misspelt words, and what no text has."""

from collections.abc import Callable, Sequence
from time import monotonic

import pytest

from graphrag_dagster.kernel.models.cache.llm_cache import LLMCache
from graphrag_dagster.kernel.questions.context.answer import Answer
from graphrag_dagster.kernel.questions.corpus_index import session_of
from graphrag_dagster.kernel.questions.question import Question
from graphrag_dagster.kernel.questions.searcher import Searcher
from graphrag_dagster.kernel.questions.several_questions import MOST_QUESTIONS, questions_in
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.text.prompt_templates import Turn
from support.index_frames import index_of_texts

TEXTS = {
    "brewery.txt": (
        "Rosamund Tebbit founded the Skerry Brewery in 1887. Edwin Marlock built the malthouse at Oxwater in 1891. "
        "The malthouse burned down on 9 June 1911. Rosamund Tebbit married Edwin Marlock in 1894. "
        "The brewery had twelve horses and 14,500 barrels."
    ),
    "inn.txt": (
        "Linnea Garth sold the Copper Inn to Davit Hollin in 1932 for 2,150 pounds. Davit Hollin never repainted the "
        "sign of the inn. Davit Hollin wrote ballads about the sea. Harriet Hollin was the sister of Davit Hollin. Greta Hollis mended nets."
    ),
}  # fmt: skip

Ask = Callable[..., Answer]


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Ask:
    settings = CorpusSettings()
    searcher = Searcher(index_of_texts(TEXTS), settings, len)
    cache = LLMCache(file=str(tmp_path_factory.mktemp("cache") / "replies.sqlite"))

    def asked(text: str, history: Sequence[tuple[str, str]] = ()) -> Answer:
        question = Question(text, "basic", history=tuple(Turn(*turn) for turn in history))
        return searcher.answer(question, session_of("towns", settings, "ask", cache))

    return asked


@pytest.mark.parametrize(
    ("message", "questions"),
    [
        ("Hello! Who built the quay, and when did it burn? Thanks, Tom", ["Who built the quay", "when did it burn?"]),
        ("Dear assistant, who built the quay? Best regards, Tom", ["who built the quay?"]),
        ("Good morning, I have a question: who built the quay?\n\nCheers,\nAnna Holm", ["who built the quay?"]),
        ("thanks! and her sister?", ["and her sister?"]),
        ("Please answer briefly: who built the quay?", ["who built the quay?"]),
        ("In at most two sentences, who built the quay?", ["who built the quay?"]),
        ("Could you please tell me who built the quay? Keep it short.", ["who built the quay?"]),
        ("Could you briefly explain who built the quay? Thank you!", ["who built the quay?"]),
        ("1. Who built the quay?\n2. When did it burn?", ["Who built the quay?", "When did it burn?"]),
        ("What did St. Louis report? And Boston?", ["What did St. Louis report?", "And Boston?"]),
        ("The quay burned in 1911. Who built it?", ["The quay burned in 1911. Who built it?"]),
        ("Who are the main actors, and how are they connected?",) * 2,
        ("When was the quay sold and to whom?",) * 2,
        ("Which table is the best, and who made it?",) * 2,
        ("What is all this about?",) * 2,
        ("Wer baute den Kai?",) * 2,
        ("What is 2+2?", []),
        ("Hello!", []),
        ("Many thanks, Tom", []),
    ],
)  # fmt: skip
def test_the_questions_of_a_message_are_told_from_words_for_whoever_answers(
    message: str, questions: str | list[str]
) -> None:
    assert questions_in(message) == ([questions] if isinstance(questions, str) else questions)


@pytest.mark.parametrize("blank", [" ", "\n", "\t ", ", "])
def test_a_message_of_blanks_is_read_at_once(blank: str) -> None:
    begin = monotonic()
    assert questions_in(f"who {blank * 1_300} built the quay?")
    assert monotonic() - begin < 5


def test_each_question_of_a_message_is_answered_or_named(ask: Ask) -> None:
    answer = ask("Who founded the Skerry Brewery? Who sank the ferry? When did the malthouse burn down?")
    assert not answer.refused
    first, second, third = (part.partition("**\n\n") for part in answer.text_in_bold.split("\n\n**W")[0:3])
    assert "**Rosamund Tebbit** founded the Skerry Brewery in 1887. [1]" in first[2]
    assert second[0] == "ho sank the ferry?"
    assert second[2].startswith("No answer was found.")
    assert "“sank” or “ferry”" in second[2]
    assert third[0] == "hen did the malthouse burn down?"
    assert "The malthouse burned down on **9 June 1911**." in third[2]
    assert [source.number for source in answer.sources] == list(range(1, len(answer.sources) + 1))
    assert all(f"[{source.number}]" in answer.text for source in answer.sources)
    said = {one.text: [answer.sources[number - 1].evidence.quotation for number in one.sources] for one in answer.statements}  # fmt: skip
    assert all(quoted == [text] for text, quoted in said.items())


def test_questions_beyond_the_most_are_named(ask: Ask) -> None:
    answer = ask("Who founded the Skerry Brewery? " * MOST_QUESTIONS + "Who sold the Copper Inn?")
    assert "**Who sold the Copper Inn?**\n\nThis question was not asked" in answer.text


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("Dear assistant, who built the malthouse? Kind regards, Tom", "**Edwin Marlock** built the malthouse"),
        ("In one sentence, who founded the Skerry Brewery?", "**Rosamund Tebbit** founded"),
        ("Who foundd the Skery Brewery?", "**Rosamund Tebbit** founded"),
        ("When did Rosamund Tebit marry?", "in **1894**"),
        ("Who built the malthouse at Oxwatr?", "**Edwin Marlock** built"),
        ("What did Davitt Hollin write?", "wrote ballads"),
        ("Who bought the Copper Inn?", "Linnea Garth sold the Copper Inn to Davit Hollin in 1932"),
        ("Who was the husband of Rosamund Tebbit?", "Rosamund Tebbit married Edwin Marlock"),
        ("Who constructed the malthouse?", "built the malthouse"),
        ("Did the brewery have 14500 barrels?", "14,500 barrels"),
    ],
)  # fmt: skip
def test_what_people_write_is_answered(ask: Ask, message: str, said: str) -> None:
    answer = ask(message)
    assert not answer.refused
    assert said in answer.text_in_bold


def test_a_corrected_word_is_told(ask: Ask) -> None:
    assert "no text has “Skery”, so it was read as “Skerry”" in (
        ask("Who founded the Skery Brewery?").why or ""
    )


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("What burned down on 9 June 2011?", "No text has “2011”."),
        ("What burned down in June 1999?", "No text has “1999”."),
        ("Did Rosamund Tebbit meet Napoleon?", "“Napoleon”"),
        ("Who paid 7800 pounds for the Copper Inn?", "“7800”"),
        ("What is 2+2?", "The question has no word to look for."),
        ("Hello!", "The question has no word to look for."),
        ("How do I bake sourdough bread?", "The method basic searched 2 documents (2 text units)"),
        ("Who insured the Copper Inn?", "No text has “insured”."),
    ],
)  # fmt: skip
def test_what_no_text_has_is_refused_and_named(ask: Ask, question: str, missing: str) -> None:
    answer = ask(question)
    assert (answer.refused, answer.sources) == (True, ())
    assert missing in answer.text


def test_a_word_near_to_several_is_offered_and_not_guessed(ask: Ask) -> None:
    answer = ask("Did the Copper Inn belong to Hollit?")
    assert answer.refused
    assert "Did you mean “Hollin” or “Hollis”?" in answer.text


def test_a_word_that_english_has_is_not_taken_for_a_misspelt_one(ask: Ask) -> None:
    answer = ask("Who built the bathhouse at Oxwater in 1891?")
    assert "was read as" not in (answer.why or "")

"""Languages by function words and letters, and the words of a search in them."""

import pytest

from graphrag_dagster.kernel.retrieval.lexical_index import LexicalIndex
from graphrag_dagster.kernel.retrieval.search_words import stems_of
from graphrag_dagster.kernel.retrieval.sentence_relevance import asked_words
from graphrag_dagster.kernel.text.languages import language_name, language_of, main_language

QUESTIONS = {
    "Who sold the yard?": "en",
    "Wer verkaufte die Werft?": "de",
    "¿Quién vendió el astillero?": "es",
    "Qui a vendu le chantier ?": "fr",
    "Chi ha venduto il cantiere?": "it",
    "Quem vendeu o estaleiro da vila?": "pt",
    "Wie verkocht de werf en waarom?": "nl",
    "Kdo prodal loděnici a proč?": "cs",
    "谁卖掉了造船厂？": "zh",
    "造船所を売ったのは誰ですか": "ja",
    "조선소를 판 사람은 누구입니까?": "ko",
}
GERMAN = [
    "Die Häuser der Werft wurden verkauft.",
    "Das Haus am Deich steht noch.",
    "Otto backt das Brot selbst.",
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_questions_tell_their_language(question: str) -> None:
    assert language_of(question) == QUESTIONS[question]
    assert language_name(QUESTIONS[question])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1901",
        "Ingrid Vell",
        "Rio Grande",
        "Dockers Union strike",
    ],
)
def test_names_tell_none(text: str) -> None:
    assert language_of(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "Who is Carmen de la Torre?",
        "What did the Ministère de la Culture say about Die Werft?",
        "Was he in Die Hard?",
        "The word 桥 means bridge.",
    ],
)
def test_foreign_names_leave_a_text_english(text: str) -> None:
    assert language_of(text) == "en"


def test_texts_have_the_language_of_most() -> None:
    assert main_language(GERMAN) == "de"
    assert main_language([*GERMAN, *["The yard was sold to the harbour."] * 4]) == "en"
    assert main_language(["Ada Rusk", "Café de la Paix", *["Holm"] * 9]) == "en"
    assert main_language([]) == "en"


def test_endings_and_stop_words_are_those_of_the_texts() -> None:
    index = LexicalIndex(GERMAN)
    assert index.stems("Wer verkauft die Häuser?") == ["verkauft", "haus"]
    assert index.scores("Haus")[:2].min() > 0
    assert LexicalIndex(["Los billetes cuestan cuatro euros."]).scores("¿Cuánto cuesta un billete?").max() > 0
    assert stems_of(["the running foxes"]) == [["run", "fox"]]


def test_words_of_a_question_without_meaning_are_not_looked_for() -> None:
    assert asked_words("Wer verkaufte die Werft?") == ["verkaufte", "werft"]
    assert asked_words("¿Quién vendió el astillero?") == ["vendio", "astillero"]
    assert asked_words("Who sold the yard?") == ["sold", "yard"]
    assert asked_words("ilker ışık kimdir?") == ["ilker", "isik"]
    assert asked_words("Кто продал мельницу?") == ["продал", "мельницу"]
    assert asked_words("Ποιος πούλησε τον μύλο;")[:2] == ["πουλησε", "τον"]

"""Words and sentences of Chinese and Japanese, which have no blanks."""

import pytest

from graphrag_dagster.kernel.retrieval.lexical_index import LexicalIndex
from graphrag_dagster.kernel.retrieval.search_words import (
    sentence_words,
    sentences,
    stems_of,
    words_with_case,
)
from graphrag_dagster.kernel.retrieval.search_words import words as folded_words
from graphrag_dagster.kernel.text.east_asian import has_east_asian, in_pairs
from graphrag_dagster.kernel.text.text_similarity import words

BRIDGE = "白鹭桥全长120米。1956年，工程师孙文远主持了修复工作。"


@pytest.mark.parametrize("text", ["", "plain", "Straße", "лиса", "한국어", "café №5"])
def test_other_scripts_are_left_as_they_are(text: str) -> None:
    assert not has_east_asian(text)
    assert in_pairs([text] if text else []) == ([text] if text else [])


def test_words_are_pairs_of_letters_and_whole_numbers() -> None:
    assert words("白鹭桥 120米 GDP増") == ("白鹭", "鹭桥", "120", "米", "gdp", "増")
    assert folded_words("窯元は11軒") == ["窯元", "元は", "11", "軒"]
    assert stems_of(["白鹭桥的 running foxes"]) == [["白鹭", "鹭桥", "桥的", "run", "fox"]]


def test_each_pair_has_its_place() -> None:
    found = words_with_case("谁造了 白鹭桥？ Ann")
    assert list(found.folded) == ["谁造", "造了", "白鹭", "鹭桥", "ann"]
    assert [found.text(place, place + 1) for place in range(5)] == ["谁造", "造了", "白鹭", "鹭桥", "Ann"]
    assert found.text(2, 4) == "白鹭桥"


def test_sentences_end_at_their_own_stops() -> None:
    assert sentences(f"他说：“好。”{BRIDGE}") == [
        "他说：“好。”",
        "白鹭桥全长120米。",
        "1956年，工程师孙文远主持了修复工作。",
    ]
    assert sentence_words(BRIDGE).sentences == 2


def test_a_question_finds_the_text_that_shares_words() -> None:
    index = LexicalIndex(["茶厂由林秀云创办。", BRIDGE, "学校有五位老师。"])
    assert index.scores("谁主持了桥的修复？").argmax() == 1
    assert index.scores("学校有多少老师").argmax() == 2

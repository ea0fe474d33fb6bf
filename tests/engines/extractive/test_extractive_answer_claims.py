"""Claims of answers without a model: each sentence that states something is one."""

from graphrag_dagster.apps.evaluation.extractive import ExtractiveClaimDecomposer
from graphrag_dagster.apps.evaluation.tasks import AnswerText, SentenceClaims
from graphrag_dagster.kernel.models.chat.chat_model import Usage


def decompose(*texts: str) -> list[tuple[SentenceClaims, ...]]:
    return list(ExtractiveClaimDecomposer().decompose([AnswerText("What happened?", text) for text in texts]))


LONG = """## Fires [1]
Ann Lee founded Morvane Tidal in 2011 and sold it in 2015 [Data: Reports (1, 2)]. What came next?

- **Losses:** the firm lost 3.5 million [3].
- “Who paid?”
- Ann Lee asked: “What should we do?”, and left Oslo in 1998."""


def test_every_sentence_is_there_once_in_order() -> None:
    empty, found, again = decompose("", LONG, "[1]")
    assert (empty, again) == ((), ())
    assert [(each.sentence, each.state, each.reason) for each in found] == [
        ("Fires", "not_verifiable", "a heading"),
        ("Ann Lee founded Morvane Tidal in 2011 and sold it in 2015.", "kept", None),
        ("What came next?", "not_verifiable", "a question"),
        ("Losses: the firm lost 3.5 million.", "kept", None),
        ("“Who paid?”", "not_verifiable", "a question"),
        ("Ann Lee asked: “What should we do?”, and left Oslo in 1998.", "kept", None),
    ]
    assert all(each.claims == ((each.sentence,) if each.state == "kept" else ()) for each in found)
    assert all(each.usage == Usage() for each in found)


def test_odd_texts_do_no_harm() -> None:
    odd = ["🙂🙂 1 🙂", "((((", "a" * 40_000, "，。1。", "1 2 3 4", "\u200b x \u00a0 y.", "?" * 40_000 + "a"]
    for found in decompose(*odd):
        assert all(each.claims or each.reason for each in found)

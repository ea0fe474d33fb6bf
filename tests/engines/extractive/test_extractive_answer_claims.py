"""Claims of answers without a model: sentences that claim something."""

from graphrag_dagster.apps.evaluation.extractive import ExtractiveClaimDecomposer
from graphrag_dagster.apps.evaluation.tasks import AnswerText, SentenceClaims

TEXT = """## Fires [1]
Ann Lee founded Morvane Tidal in 2011 and sold it in 2015 [Data: Reports (1, 2)]. What came next?

- **Losses:** the firm lost 3.5 million [3]."""


def test_each_sentence_is_a_claim_but_headings_and_questions() -> None:
    answers = [AnswerText("What happened?", text) for text in ("", TEXT, "[1]")]
    founded = "Ann Lee founded Morvane Tidal in 2011 and sold it in 2015."
    lost = "Losses: the firm lost 3.5 million."
    assert list(ExtractiveClaimDecomposer().decompose(answers)) == [
        (),
        (
            SentenceClaims("Fires", "not_verifiable", reason="a heading"),
            SentenceClaims(founded, "kept", (founded,)),
            SentenceClaims("What came next?", "not_verifiable", reason="a question"),
            SentenceClaims(lost, "kept", (lost,)),
        ),
        (),
    ]

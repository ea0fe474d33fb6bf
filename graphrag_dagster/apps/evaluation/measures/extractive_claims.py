"""Claims of answers without a model: declarative sentences, split into clauses (spec_graphrag §12)."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from graphrag_dagster.apps.evaluation.tasks import AnswerText, SentenceClaims
from graphrag_dagster.engines.extractive.parsing.clauses import split_clauses
from graphrag_dagster.engines.extractive.parsing.pipeline import DEFAULT_PIPELINE, load_pipeline
from graphrag_dagster.engines.extractive.parsing.statements import (
    refused_grammar,
    refused_words,
    without_frame,
)
from graphrag_dagster.kernel.common.progress import track
from graphrag_dagster.kernel.questions.support.answer_sentences import AnswerSentence, answer_sentences
from graphrag_dagster.kernel.tasks.ports import Engine

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

_LONGEST = 5_000


class ExtractiveClaimDecomposer:
    """Keeps sentences that state something and cuts them into clauses; claims are words of the sentence.

    What a pronoun stands for is not resolved: such a sentence is kept as it is. No sentence is ambiguous.

    Args:
        pipeline: an installed spaCy pipeline for English with tagger, parser and entity recogniser.
    """

    engine: Final[Engine] = "extractive"

    def __init__(self, pipeline: str = DEFAULT_PIPELINE) -> None:
        self._pipeline = pipeline

    def decompose(self, answers: Sequence[AnswerText]) -> Iterator[tuple[SentenceClaims, ...]]:
        """Yield the claims of each answer's sentences; the result of an answer depends on it alone.

        Raises:
            EngineError: the pipeline is not installed or unfit.
        """
        nlp = load_pipeline(self._pipeline)
        # Neighbouring levels often give the same answer.
        known: dict[str, tuple[SentenceClaims, ...]] = {}
        for answer in track(answers, "Extracting claims", len(answers)):
            if answer.text not in known:
                known[answer.text] = _claims_of_answer(nlp, answer_sentences(answer.text))
            yield known[answer.text]


def _claims_of_answer(nlp: "Language", sentences: Sequence[AnswerSentence]) -> tuple[SentenceClaims, ...]:
    settled = [_settled(sentence) for sentence in sentences]
    rest = [without_frame(one.text) for one, done in zip(sentences, settled, strict=True) if done is None]
    # Names are told by their tags; recognising entities would take more time than all the rest.
    docs = nlp.pipe([_one_sentence(nlp, text) for text in rest], disable=["ner"])
    return tuple(
        done or _read(sentence.text, next(docs)) for sentence, done in zip(sentences, settled, strict=True)
    )


def _settled(sentence: AnswerSentence) -> SentenceClaims | None:
    """Status of a sentence, if it can be determined without its grammar."""
    if sentence.heading:
        return SentenceClaims(sentence.text, "not_verifiable", reason="a heading")
    if len(sentence.text) > _LONGEST:
        reason = f"it is longer than {_LONGEST} characters and was not read"
        return SentenceClaims(sentence.text, "failed", reason=reason)
    refused = refused_words(without_frame(sentence.text))
    return SentenceClaims(sentence.text, "not_verifiable", reason=refused) if refused else None


def _one_sentence(nlp: "Language", text: str) -> "Doc":
    doc = nlp.make_doc(text)
    for token in doc:
        token.is_sent_start = token.i == 0
    return doc


def _read(sentence: str, doc: "Doc") -> SentenceClaims:
    refused = refused_grammar(doc)
    if refused:
        return SentenceClaims(sentence, "not_verifiable", reason=refused)
    claims = split_clauses(doc)
    if doc.text != sentence:
        return SentenceClaims(sentence, "rewritten", claims, "an opening that states nothing was left out")
    return SentenceClaims(sentence, "kept", claims)

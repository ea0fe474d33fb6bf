"""Questions with reference answers, written from a seeded sample of documents (CoTeRAG-S, 4.1.1).

Unusable drafts are requested again, at most twice: those without a question or an answer, with an invalid
question, or repeated, ignoring case and blanks. A document may end up with fewer questions than requested;
its row says why.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from graphrag_dagster.apps.evaluation.tasks import (
    DocumentRequest,
    ReferenceDraft,
    ReferenceDrafts,
    TestsetWriter,
)
from graphrag_dagster.engines.extractive.text_spans import TextPlaces
from graphrag_dagster.errors import EngineError, QuestionError
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.models.chat.chat_model import Usage
from graphrag_dagster.kernel.questions.question import validate_question
from graphrag_dagster.kernel.tasks.task_ports import Engine

Rows = list[dict[str, Any]]
#: Return a beginning of a text that may be shown.
Cut = Callable[[str], str]

_AGAIN = 2
#: Drafts of no use that are told apart in a document's row.
_TOLD = 3


@dataclass
class _SampledDocument:
    """A document of the sample, and what came of it so far."""

    id: str
    title: str
    text: str
    shown: str
    kept: Rows = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)
    asked: int = 0
    problem: str | None = None
    usage: Usage = field(default_factory=Usage)

    def row(self, position: int, wanted: int, engine: Engine) -> dict[str, Any]:
        reasons = list(dict.fromkeys(self.rejected))
        told = [*([self.problem] if self.problem else []), *reasons[:_TOLD]]
        if len(reasons) > _TOLD:
            told.append("and so on")
        return {
            "document_id": self.id,
            "position": position,
            "title": self.title,
            "characters": len(self.text),
            "shown": len(self.shown),
            "wanted": wanted,
            "written": len(self.kept),
            "repeats": max(self.asked - 1, 0),
            "rejected": len(self.rejected),
            "problem": "; ".join(told) or None,
            "repaired": self.usage.repaired,
            "engine": engine,
        }


@dataclass(frozen=True, slots=True)
class Testset:
    """Rows of ``questions.testset_documents`` and ``questions.testset_questions``."""

    documents: Rows
    questions: Rows


def sample_documents(documents: pl.DataFrame, count: int, seed: int) -> pl.DataFrame:
    """Return a sample of the documents that hold words, drawn by a hash of their ids and the seed.

    The order of the documents has no part in it, and a smaller sample is the beginning of a larger one.

    Args:
        documents: rows of ``corpus.documents``.
        count: documents of the sample; all where there are fewer.
        seed: another one draws another sample.
    """
    there = documents.filter(pl.col("text").str.contains(r"\w"))
    order = sorted(there["document_id"], key=lambda one: (stable_id("testset", seed, one), one))[:count]
    places = pl.DataFrame({"document_id": order}, schema={"document_id": pl.String})
    return places.join(there, on="document_id", how="left", maintain_order="left")


def write_testset(writer: TestsetWriter, documents: pl.DataFrame, per_document: int, cut: Cut) -> Testset:
    """Return questions with reference answers from each document.

    Args:
        writer: writes them.
        documents: ``document_id``, ``title`` and ``text`` of the sample, in its order.
        per_document: questions from each.
        cut: what of a text is shown, from its beginning.

    Raises:
        EngineError: not one question came of all documents.
        EndpointError: the endpoint cannot be used at all.
    """
    open_ = [
        _SampledDocument(key, title, text, cut(text))
        for key, title, text in documents.select("document_id", "title", "text").iter_rows()
    ]
    every, taken = list(open_), set[str]()
    for _ in range(_AGAIN + 1):
        requests = [_request(one, per_document) for one in open_]
        for document, drafts in zip(open_, writer.write(requests) if requests else [], strict=True):
            _take(document, drafts, per_document, taken, writer.engine)
        # Who gave no usable reply was asked again already, and told why.
        open_ = [one for one in open_ if len(one.kept) < per_document and not one.problem]
    if every and not any(one.kept for one in every):
        problem = next((one.problem for one in every if one.problem), None) or "nothing that came was of use"
        raise EngineError(
            f"no question with a reference answer could be written from {len(every):,} documents: {problem}. "
            "Use a model that follows instructions better (model.tasks.testset), or set "
            "questions.testset.enabled: false"
        )
    return Testset(
        [one.row(position, per_document, writer.engine) for position, one in enumerate(every)],
        [row for one in every for row in one.kept],
    )


def _request(document: _SampledDocument, wanted: int) -> DocumentRequest:
    # One more each time: the same prompt would be answered from memory with the same reply.
    count = wanted - len(document.kept) + document.asked
    avoid = tuple(one["question"] for one in document.kept)
    return DocumentRequest(document.title, document.shown, count, avoid)


def _take(
    document: _SampledDocument, drafts: ReferenceDrafts, wanted: int, taken: set[str], engine: Engine
) -> None:
    document.asked += 1
    document.usage += drafts.usage
    document.problem = drafts.problem
    places = TextPlaces(document.shown)
    for draft in drafts.items:
        if len(document.kept) == wanted:
            return
        reason = _unusable_reason(draft, taken)
        if reason:
            document.rejected.append(reason)
            continue
        taken.add(_key(draft.question))
        found = places.quote(draft.evidence)
        at = found[0] if found else None
        document.kept.append(
            {
                "question_id": stable_id("question", draft.question),
                "document_id": document.id,
                "position": len(document.kept),
                "question": draft.question,
                "reference": draft.reference,
                "evidence": document.text[at.start : at.end] if at else None,
                "start_char": at.start if at else None,
                "end_char": at.end if at else None,
                "engine": engine,
            }
        )


def _unusable_reason(draft: ReferenceDraft, taken: Collection[str]) -> str | None:
    """Why a draft is unusable; None where it is."""
    if not draft.question or not draft.reference:
        return f"a draft has no {'reference answer' if draft.question else 'question'}"
    if _key(draft.question) in taken:
        return "a question is there already"
    try:
        validate_question(draft.question)
    except QuestionError as error:
        return f"a question cannot be asked: {error}"
    return None


def _key(question: str) -> str:
    return " ".join(question.casefold().split())

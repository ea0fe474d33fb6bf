"""Answers as rows of the answer tables."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import polars as pl

from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.questions.context.answer import Answer, Source
from graphrag_dagster.kernel.text.evidence import Row, Words


@dataclass(slots=True)
class AnswerRows:
    """Collects answers as rows; ``snapshot`` and ``options`` identify what produced them."""

    snapshot: str
    options: str
    _answers: list[dict[str, Any]] = field(default_factory=list)
    _costs: list[dict[str, Any]] = field(default_factory=list)
    _contexts: list[dict[str, Any]] = field(default_factory=list)
    _citations: list[dict[str, Any]] = field(default_factory=list)
    _statements: list[dict[str, Any]] = field(default_factory=list)

    def add(
        self, position: int, question: str, method: str, answer: Answer, usd: float | None = None
    ) -> None:
        """Add the answer to one question.

        Args:
            position: of the question in the list.
            question: as asked.
            method: the requested search method.
            answer: the answer.
            usd: cost of its model calls in US dollars; None if a price is unknown.
        """
        answer_id = answer_id_of(question, method)
        self._answers.append(
            {
                "answer_id": answer_id,
                "question_id": stable_id("question", question),
                "position": position,
                "question": question,
                "method": method,
                "answered_by": answer.method,
                "level": answer.level,
                "text": answer.text,
                "engine": answer.engine,
                "refused": answer.refused,
                "why": answer.why,
                "statements": len(answer.statements),
                "partly_supported": answer.partly_supported,
                "unsupported": answer.unsupported,
                "calls": answer.calls,
                "dropped": answer.dropped,
                "removed_citations": answer.removed_citations,
                "problems": "; ".join(answer.problems) or None,
                "repaired": answer.usage.repaired,
                "context_rows": len(answer.context),
                "context_tokens": sum(use.tokens for use in answer.context),
                "snapshot": self.snapshot,
                "options": self.options,
                "query": _json(asdict(answer.query)) if answer.query else None,
                "filters": _json(answer.scope.filters) if answer.scope else None,
                "trace": _json([asdict(section) for section in answer.trace]),
            }
        )
        self._costs.append(
            {
                "answer_id": answer_id,
                "calls": answer.usage.calls,
                "input_tokens": answer.usage.input_tokens,
                "output_tokens": answer.usage.output_tokens,
                "usd": usd,
                "seconds": answer.seconds,
            }
        )
        self._contexts += [
            {
                "answer_id": answer_id,
                "position": number,
                "kind": use.kind,
                "record_id": use.record_id,
                "title": use.title,
                "chunk": use.chunk,
                "tokens": use.tokens,
                "used": use.used,
                "text": use.text,
            }
            for number, use in enumerate(answer.context)
        ]
        self._citations += [
            {
                "answer_id": answer_id,
                **{name: getattr(source, name) for name in _CITED},
                **_words(source),
            }
            for source in answer.sources
        ]
        self._statements += [
            {
                "answer_id": answer_id,
                "position": number,
                "text": statement.text,
                "citations": list(statement.sources),
                "similarity": statement.similarity,
                "verdict": statement.verdict,
                "score": statement.score,
                "reason": statement.reason or None,
            }
            for number, statement in enumerate(answer.statements)
        ]

    def rows(self) -> tuple[list[dict[str, Any]], ...]:
        """Return the rows of ``answers``, ``answer_costs``, ``answer_contexts``, ``answer_citations`` and
        ``answer_statements``.
        """
        return self._answers, self._costs, self._contexts, self._citations, self._statements


_CITED = (
    "number",
    "kind",
    "record_id",
    "finding",
    "via_kind",
    "via_id",
    "similarity",
)
_DOCUMENTS = "corpus.documents"
_OF_WORDS = ("text_unit_id", "document_id", "start_char", "end_char", "quotation")


def _words(source: Source) -> dict[str, Any]:
    """Return the columns of a citation's quoted words or row; a triple is found by its cited relationship."""
    words, row = {}, None
    match source.evidence:
        case Words() as evidence:
            words = evidence.to_dict()
        case Row() as evidence:
            words = {"document_id": evidence.key} if evidence.table == _DOCUMENTS else {}
            row = _json(evidence.to_dict())
    return {name: words.get(name) for name in _OF_WORDS} | {"row": row}


def _json(values: Mapping[str, Any] | Sequence[Any]) -> str:
    return json.dumps(values, ensure_ascii=False)


def answer_id_of(question: str, method: str) -> str:
    """Return the id of the answer to a question by a search method."""
    return stable_id("answer", question, method)


def still_valid_ids(
    known: pl.DataFrame | None, wanted: Iterable[str], snapshot: str, options: str
) -> list[str]:
    """Return the ids of known answers that were produced from the same snapshot with the same options.

    An answer with problems, such as unusable replies, is not valid and is produced again.

    Args:
        known: rows of ``answers.answers``; None if the table is missing.
        wanted: ids of the requested answers.
        snapshot: version of the published index.
        options: hash of the settings.
    """
    if known is None:
        return []
    same = known.filter(
        (pl.col("snapshot") == snapshot) & (pl.col("options") == options) & pl.col("problems").is_null()
    )
    return same.filter(pl.col("answer_id").is_in(list(wanted)))["answer_id"].to_list()

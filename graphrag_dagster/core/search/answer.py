"""The one type of answer, whatever the way of answering."""

from dataclasses import asdict, dataclass, field
from typing import Any

from graphrag_dagster.core.language.tasks import Engine, Usage


@dataclass(frozen=True, slots=True)
class Source:
    """What the mark ``[number]`` in an answer stands for.

    ``start_char`` and ``end_char`` are characters of the document's text, ``quotation`` the words there; all
    of the document's fields are None where no words can be found that a cited report rests on.
    """

    number: int
    report_id: str
    report_title: str
    document_id: str | None = None
    document_title: str | None = None
    path: str | None = None
    text_unit_id: str | None = None
    start_char: int | None = None
    end_char: int | None = None
    quotation: str | None = None


@dataclass(frozen=True, slots=True)
class ContextUse:
    """A report or text unit that was shown to the answerer, the chunk it stood in, and its tokens there.

    ``used``: the partial answer of its chunk went into the answer.
    """

    record_id: str
    title: str
    chunk: int
    tokens: int
    used: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, what it rests on, and what it cost.

    ``refused``: nothing in the context was of use. ``scores``: helpfulness 0–100 of each chunk's partial
    answer in the order of the chunks. ``dropped``: partial answers that scored 0 or did not fit.
    ``removed_citations``: ids cited that were not in the context. ``problems``: partial answers that could
    not be used, with reasons. ``calls``: partial answers asked for, and the joining of them; ``usage`` has
    the calls of a model.
    """

    question: str
    method: str
    level: int
    text: str
    engine: Engine
    refused: bool = False
    sources: tuple[Source, ...] = ()
    context: tuple[ContextUse, ...] = ()
    scores: tuple[int, ...] = ()
    dropped: int = 0
    removed_citations: int = 0
    problems: tuple[str, ...] = ()
    calls: int = 0
    usage: Usage = field(default_factory=Usage)

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as values that JSON can hold."""
        return asdict(self)

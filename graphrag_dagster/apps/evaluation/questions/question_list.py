"""The corpus's own list of questions."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from graphrag_dagster.apps.evaluation.settings import EvaluationSettings, QuestionSettings
from graphrag_dagster.errors import QuestionError, SettingsError
from graphrag_dagster.kernel.common.file_discovery import SETTINGS_FILE
from graphrag_dagster.kernel.common.resource import Resource
from graphrag_dagster.kernel.questions.question import validate_question
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.storage.corpus_store import content_of

_MOST_BYTES = 10_000_000
_QUESTIONS = ("question", "question_text")
_REFERENCES = ("reference", "reference_answer", "answer")


@dataclass(frozen=True, slots=True)
class OwnQuestion:
    """A question of ``corpus.yaml`` or of its file; ``reference`` is the right answer where one is given."""

    text: str
    origin: Literal["settings", "file"]
    reference: str | None = None


def asks_personas(settings: QuestionSettings, own: Sequence[OwnQuestion]) -> bool:
    """Return whether questions are written for invented people, beside the corpus's ``own``."""
    if settings.write == "when_none":
        return not own and not settings.testset.enabled
    return settings.write == "always"


def questions_of(folder: Path, settings: QuestionSettings) -> list[OwnQuestion]:
    """Return the questions of ``corpus.yaml`` and those of the file it names, each once, in their order.

    A question that stands in both has the file's reference.

    Args:
        folder: the corpus folder.
        settings: where the questions are.

    Raises:
        SettingsError: the file is not there, lies outside of the folder, cannot be read, or has no column
            ``question``; or a question cannot be asked.
    """
    listed = [OwnQuestion(text.strip(), "settings") for text in settings.ask]
    for number, one in enumerate(listed, start=1):
        _check(one.text, f"{folder / SETTINGS_FILE}: questions.ask, question {number:,}")
    if settings.file:
        listed += _from_file(folder, settings.file)
    references = {one.text: one.reference for one in reversed(listed) if one.reference}
    first = {one.text: one for one in reversed(listed)}
    texts = dict.fromkeys(one.text for one in listed if one.text)
    return [OwnQuestion(text, first[text].origin, references.get(text)) for text in texts]


def _from_file(folder: Path, name: str) -> list[OwnQuestion]:
    where = f"{folder / SETTINGS_FILE}: questions.file {name!r}"
    text = _text(content_of(folder, name, where, _MOST_BYTES), where)
    if Path(name).suffix.lower() != ".csv":
        found = [OwnQuestion(line.strip(), "file") for line in text.splitlines()]
    else:
        found = _from_csv(text, where)
    for number, one in enumerate(found, start=1):
        if one.text:
            _check(one.text, f"{where}, question {number:,}")
    return found


def _text(content: bytes, where: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SettingsError(f"{where} is not UTF-8 text (byte {error.start})") from error


def _from_csv(text: str, where: str) -> list[OwnQuestion]:
    csv.field_size_limit(_MOST_BYTES)
    try:
        header, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    except ValueError:
        raise SettingsError(f"{where} is empty; its first row must name a column {_QUESTIONS[0]!r}") from None
    except csv.Error as error:
        raise SettingsError(f"{where} is not a valid CSV: {error}") from None
    question = next((header.index(name) for name in _QUESTIONS if name in header), None)
    reference = next((header.index(name) for name in _REFERENCES if name in header), None)
    if question is None:
        raise SettingsError(f"{where} has no column {_QUESTIONS[0]!r}; its first row must name it")
    return [OwnQuestion(_cell(row, question), "file", _cell(row, reference) or None) for row in rows]


def _cell(row: list[str], place: int | None) -> str:
    return row[place].strip() if place is not None and place < len(row) else ""


def _check(text: str, where: str) -> None:
    try:
        validate_question(text)
    except QuestionError as error:
        raise SettingsError(f"{where}: {error}") from None


class EvaluationScope(Resource):
    """Limits an evaluation to a sample of its questions; the same questions whenever the size is the same."""

    sample: int | None = Field(
        default=None, ge=1, description="questions that are judged and taken apart; default: the corpus's"
    )

    def sample_of(self, settings: CorpusSettings) -> int | None:
        """Questions of the sample of this run, None for all."""
        return settings.section(EvaluationSettings).sample if self.sample is None else self.sample

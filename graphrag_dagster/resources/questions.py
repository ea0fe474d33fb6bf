"""The corpus's own list of questions."""

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from graphrag_dagster.core.errors import SettingsError
from graphrag_dagster.settings import FILE_NAME
from graphrag_dagster.settings.evaluation import QuestionSettings

_QUESTIONS = ("question", "question_text")
_REFERENCES = ("reference", "reference_answer", "answer")


@dataclass(frozen=True, slots=True)
class OwnQuestion:
    """A question of ``corpus.yaml`` or of its file; ``reference`` is the right answer where one is given."""

    text: str
    origin: Literal["settings", "file"]
    reference: str | None = None


def questions_of(folder: Path, settings: QuestionSettings) -> list[OwnQuestion]:
    """Return the questions of ``corpus.yaml`` and those of the file it names, each once, in their order.

    A question that stands in both has the file's reference.

    Args:
        folder: the corpus folder.
        settings: where the questions are.

    Raises:
        SettingsError: the file is not there, lies outside of the folder, or has no column ``question``.
    """
    listed = [OwnQuestion(text.strip(), "settings") for text in settings.ask]
    if settings.file:
        listed += _from_file(folder, settings.file)
    references = {one.text: one.reference for one in reversed(listed) if one.reference}
    first = {one.text: one for one in reversed(listed)}
    texts = dict.fromkeys(one.text for one in listed if one.text)
    return [OwnQuestion(text, first[text].origin, references.get(text)) for text in texts]


def _from_file(folder: Path, name: str) -> list[OwnQuestion]:
    path = (folder / name).resolve()
    where = f"{folder / FILE_NAME}: questions.file {name!r}"
    if not path.is_relative_to(folder.resolve()):
        raise SettingsError(f"{where} lies outside of the corpus folder; put it inside")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{where} cannot be read as UTF-8 text: {error}") from error
    if path.suffix.lower() != ".csv":
        return [OwnQuestion(line.strip(), "file") for line in text.splitlines()]
    rows = csv.DictReader(io.StringIO(text, newline=""))
    columns = rows.fieldnames or ()
    question = next((name for name in _QUESTIONS if name in columns), None)
    reference = next((name for name in _REFERENCES if name in columns), None)
    if question is None:
        raise SettingsError(f"{where} has no column {_QUESTIONS[0]!r}; its first row must name it")
    return [
        OwnQuestion((row[question] or "").strip(), "file", _given(row[reference]) if reference else None)
        for row in rows
    ]


def _given(value: str | None) -> str | None:
    return (value or "").strip() or None

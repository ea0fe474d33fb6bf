"""The corpus's list of questions."""

import csv
import io
from pathlib import Path

from graphrag_dagster.core.errors import SettingsError
from graphrag_dagster.settings import FILE_NAME, QuestionSettings

_COLUMNS = ("question", "question_text")


def questions_of(folder: Path, settings: QuestionSettings) -> list[str]:
    """Return the questions of ``corpus.yaml`` and those of the file it names, each once, in their order.

    Args:
        folder: the corpus folder.
        settings: where the questions are.

    Raises:
        SettingsError: the file is not there, lies outside of the folder, or has no column ``question``.
    """
    listed = [*settings.ask, *(_from_file(folder, settings.file) if settings.file else [])]
    return list(dict.fromkeys(question.strip() for question in listed if question.strip()))


def _from_file(folder: Path, name: str) -> list[str]:
    path = (folder / name).resolve()
    where = f"{folder / FILE_NAME}: questions.file {name!r}"
    if not path.is_relative_to(folder.resolve()):
        raise SettingsError(f"{where} lies outside of the corpus folder; put it inside")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{where} cannot be read as UTF-8 text: {error}") from error
    if path.suffix.lower() != ".csv":
        return text.splitlines()
    rows = csv.DictReader(io.StringIO(text, newline=""))
    column = next((name for name in _COLUMNS if name in (rows.fieldnames or ())), None)
    if column is None:
        raise SettingsError(f"{where} has no column {_COLUMNS[0]!r}; its first row must name it")
    return [row[column] or "" for row in rows]

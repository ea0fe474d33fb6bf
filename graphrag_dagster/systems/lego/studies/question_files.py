"""Questions with their entities, gold answers and hops, as files have them."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Literal

from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.common.ids import stable_id
from graphrag_dagster.kernel.documents.files.decoding import decode
from graphrag_dagster.kernel.documents.files.records import RefusedError
from graphrag_dagster.systems.lego.studies.metrics.answers import normalised
from graphrag_dagster.systems.lego.studies.question_rows import (
    BrokenRowError,
    FileRow,
    json_rows,
    line_rows,
    tab_rows,
    table_rows,
)

#: What is the matter with a question, the gravest first; without a text it is not asked.
Problem = Literal["no_question", "repeated", "no_bracket", "no_answers", "answers_blank", "hops_unreadable"]

_READERS: Mapping[str, Callable[[str], Iterator[FileRow]]] = MappingProxyType(
    {".jsonl": json_rows, ".csv": table_rows, ".tsv": tab_rows, ".txt": line_rows}
)
_HOPS = re.compile(r"(?<!\d)([1-9]\d?)[-_ ]?hops?(?![a-z])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class GoldQuestion:
    """A question of a file.

    Attributes:
        id: hash of the question and its entities, and of how often they came before.
        file: that it stands in.
        row: line or row there, 1….
        text: without marks of its entities.
        entities: that are given with it, by label.
        answers: that are right, each once; may be none.
        hops: edges to them, where the file tells.
        problem: the gravest thing that is the matter with it.
    """

    id: str
    file: str
    row: int
    text: str
    entities: tuple[str, ...]
    answers: tuple[str, ...]
    hops: int | None
    problem: Problem | None = None

    @property
    def asked(self) -> bool:
        """Whether it can be asked."""
        return self.problem != "no_question"


def questions_in(files: Iterable[tuple[str, bytes]]) -> list[GoldQuestion]:
    """Read files of questions: jsonl, csv and tsv with the columns question, entities, answers and hops, or
    MetaQA's own txt, ``question with [its entity]<tab>answer|answer``, whose name or folder tells the hops.

    Args:
        files: name and content of each, in the order in which they are read.

    Raises:
        SettingsError: a file is of another form, is no text, holds no question, has no column ``question``,
            or a row that cannot be read; names the file and row, and the mend.
    """
    found: list[GoldQuestion] = []
    seen: dict[tuple[str, ...], int] = {}
    for name, content in files:
        own = [_question(name, row) for row in _rows(name, content)]
        if not own:
            raise SettingsError(f"{name} holds no question; fill it, or take it out of paths.questions")
        for one in own:
            told = (one.text, *one.entities)
            times = seen[told] = seen.get(told, 0) + 1
            repeated: Problem | None = (
                "repeated" if times > 1 and one.problem != "no_question" else one.problem
            )
            found.append(replace(one, id=stable_id("path question", *told, times), problem=repeated))
    return found


def _rows(name: str, content: bytes) -> Iterator[FileRow]:
    suffix = PurePosixPath(name).suffix.lower()
    if suffix not in _READERS:
        raise SettingsError(
            f"{name} cannot be read as a file of questions; paths.questions takes {', '.join(_READERS)}"
        )
    try:
        yield from _READERS[suffix](decode(content).text)
    except RefusedError as error:
        raise SettingsError(f"{name}: {error}") from None
    except BrokenRowError as error:
        raise SettingsError(f"{name}, {error}") from None


def _question(name: str, row: FileRow) -> GoldQuestion:
    hops = _number(row.hops) if row.hops is not None else _hops_of(name)
    answers = tuple(dict.fromkeys(one.strip() for one in row.answers if one.strip()))
    problems: Sequence[tuple[Problem, bool]] = (
        ("no_question", not any(map(str.isalnum, row.question))),
        ("no_bracket", row.no_bracket),
        ("no_answers", not answers),
        ("answers_blank", not any(map(normalised, answers))),
        ("hops_unreadable", hops is None and row.hops is not None),
    )
    entities = tuple(dict.fromkeys(one.strip() for one in row.entities if one.strip()))
    problem = next((problem for problem, holds in problems if holds), None)
    return GoldQuestion("", name, row.number, row.question.strip(), entities, answers, hops, problem)


def _number(told: str) -> int | None:
    number = re.fullmatch(r"([1-9]\d?)(?:\.0+)?", told.strip())
    return int(number[1]) if number else None


def _hops_of(name: str) -> int | None:
    told = _HOPS.findall(name)
    return int(told[-1]) if told else None

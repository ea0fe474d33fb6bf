"""Question files: formats and rows, entities, gold answers and hops."""

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Literal

import polars as pl

from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.documents.file_records import RefusedError, lines_of
from graphrag_dagster.kernel.documents.text_decoding import decode
from graphrag_dagster.systems.lego.studies.answer_metrics import normalise_answer
from graphrag_dagster.systems.lego.studies.benchmark_forms import benchmark_row, rows_held

#: Between the parts of a cell that has several.
_BETWEEN = "|"
_NAMES: Mapping[str, tuple[str, ...]] = {
    "question": ("question", "query"),
    "entities": ("entities", "entity", "topic_entities", "topic_entity", "seeds"),
    "answers": ("answers", "answer"),
    "hops": ("hops", "hop"),
}
_LONGEST_CELL = 2**31 - 1


class BrokenRowError(ValueError):
    """A row that cannot be read; says which, why and the mend."""


@dataclass(frozen=True, slots=True)
class FileRow:
    """A row as the file has it.

    Attributes:
        number: line or row, 1….
        question: without marks of entities.
        entities: that are given.
        answers: that are given.
        hops: as they are written; None: nothing is.
        no_bracket: its entity should stand in brackets, and does not.
        domain: of Freebase, where the form tells it.
    """

    number: int
    question: str
    entities: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    hops: str | None = None
    no_bracket: bool = False
    domain: str | None = None


def line_rows(text: str) -> Iterator[FileRow]:
    """Yield the lines of MetaQA's form that are not blank."""
    for number, line in enumerate(lines_of(text), start=1):
        if line.strip():
            asked, _, answers = line.partition("\t")
            question, entities = strip_marks(asked)
            yield FileRow(number, question, entities, tuple(answers.split(_BETWEEN)), None, not entities)


def strip_marks(asked: str) -> tuple[str, tuple[str, ...]]:
    """Return a question without the brackets around its entities, and these; none where a bracket lacks.

    Brackets within the outer ones are of the name.

    >>> strip_marks("who directed [[REC]]")
    ('who directed [REC]', ('[REC]',))
    >>> strip_marks("who directed [REC")
    ('who directed REC', ())
    """
    depth, start = 0, 0
    question: list[str] = []
    entities: list[str] = []
    for place, character in enumerate(asked):
        depth += (character == "[") - (character == "]")
        if depth < 0:
            break
        if character == "[" and depth == 1:
            start = place + 1
        elif character == "]" and depth == 0:
            entities.append(asked[start:place])
            question.append(asked[start:place])
        elif depth == 0:
            question.append(character)
    if depth:
        return asked.replace("[", "").replace("]", ""), ()
    return "".join(question), tuple(entities)


def json_rows(text: str) -> Iterator[FileRow]:
    """Yield the lines of JSON objects.

    Raises:
        BrokenRowError: a line is none, or has no question or lists of anything but texts.
    """
    for number, line in enumerate(lines_of(text), start=1):
        if not line.strip():
            continue
        try:
            content = json.loads(line)
        except (ValueError, RecursionError):
            content = None
        yield _row_of(content, f"line {number:,}", number)


def whole_json_rows(text: str) -> Iterator[FileRow]:
    """Yield the rows of one piece of JSON: a list of objects, or the ``Questions`` of WebQSP.

    Raises:
        BrokenRowError: it is none, or a row is no object, or has no question.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BrokenRowError(f"it is no JSON ({error}); mend it") from None
    for number, one in enumerate(rows_held(content), start=1):
        yield _row_of(one, f"row {number:,}", number)


def parquet_rows(content: bytes) -> Iterator[FileRow]:
    """Yield the rows of a Parquet table; see :func:`json_rows`."""
    try:
        rows = pl.read_parquet(content).iter_rows(named=True)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise BrokenRowError(f"it is no Parquet table ({error}); write it again") from None
    for number, one in enumerate(rows, start=1):
        yield _row_of(one, f"row {number:,}", number)


def _row_of(content: object, where: str, number: int) -> FileRow:
    if not isinstance(content, dict):
        raise BrokenRowError(f"{where} is no JSON object; mend or delete it")
    if found := benchmark_row(content):
        hops = None if found.hops is None else str(found.hops)
        return FileRow(number, found.question, found.entities, found.answers, hops, domain=found.domain)
    by_name = {str(key).strip().casefold(): value for key, value in content.items()}
    told = {
        part: next((by_name[name] for name in names if name in by_name), None)
        for part, names in _NAMES.items()
    }
    if told["question"] is None:
        raise BrokenRowError(f"{where} has no question; give it a key question")
    return FileRow(
        number,
        _text(told["question"], where, "question"),
        _texts(told["entities"], where, "entities"),
        _texts(told["answers"], where, "answers"),
        None if told["hops"] is None else str(told["hops"]),
    )


def _texts(value: object, where: str, what: str) -> tuple[str, ...]:
    if value is None:
        return ()
    listed = value if isinstance(value, list) else [value]
    return tuple(_text(one, where, what) for one in listed)


def _text(value: object, where: str, what: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise BrokenRowError(f"{where}: {what} should be a text or a list of texts, not {value!r}")
    return str(value)


def table_rows(text: str) -> Iterator[FileRow]:
    """Yield the rows of a table with commas; see :func:`_table_rows`."""
    return _table_rows(text, ",")


def tab_rows(text: str) -> Iterator[FileRow]:
    """Yield the rows of a table with tabs; see :func:`_table_rows`."""
    return _table_rows(text, "\t")


def _table_rows(text: str, delimiter: str) -> Iterator[FileRow]:
    """Yield the rows of a table whose first row names the columns; several in a cell have a bar between.

    Raises:
        BrokenRowError: it has no column ``question``, or quoting is broken.
    """
    csv.field_size_limit(_LONGEST_CELL)
    rows = csv.reader((f"{line}\n" for line in lines_of(text)), delimiter=delimiter, strict=True)
    header: dict[str, int] | None = None
    try:
        for number, row in enumerate(rows, start=1):
            if not any(map(str.strip, row)):
                continue
            if header is None:
                header = _header(row, number)
                continue
            told = {part: row[place] if place < len(row) else "" for part, place in header.items()}
            yield FileRow(
                number,
                told["question"],
                _parts(told.get("entities", "")),
                _parts(told.get("answers", "")),
                told.get("hops", "").strip() or None,
            )
    except csv.Error as error:
        raise BrokenRowError(f"line {rows.line_num:,}: its quotes are broken ({error}); mend them") from None


def _header(row: list[str], number: int) -> dict[str, int]:
    names = [name.strip().casefold() for name in row]
    found = {
        part: names.index(next(name for name in known if name in names))
        for part, known in _NAMES.items()
        if set(known) & set(names)
    }
    if "question" not in found:
        raise BrokenRowError(f"row {number:,} should name the columns, of which one is question")
    return found


def _parts(cell: str) -> tuple[str, ...]:
    return tuple(cell.split(_BETWEEN)) if cell.strip() else ()


#: What is the matter with a question, the gravest first; without a text it is not asked.
Problem = Literal["no_question", "repeated", "no_bracket", "no_answers", "answers_blank", "hops_unreadable"]

_READERS: Mapping[str, Callable[[str], Iterator[FileRow]]] = MappingProxyType(
    {
        ".jsonl": json_rows,
        ".json": whole_json_rows,
        ".csv": table_rows,
        ".tsv": tab_rows,
        ".txt": line_rows,
    }
)
_PARQUET = ".parquet"
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
        domain: of Freebase, where the form tells it.
    """

    id: str
    file: str
    row: int
    text: str
    entities: tuple[str, ...]
    answers: tuple[str, ...]
    hops: int | None
    problem: Problem | None = None
    domain: str | None = None

    @property
    def asked(self) -> bool:
        """Whether it can be asked."""
        return self.problem != "no_question"


def questions_in(files: Iterable[tuple[str, bytes]]) -> list[GoldQuestion]:
    """Read files of questions: jsonl, json, parquet, csv and tsv with the columns question, entities, answers
    and hops; MetaQA's own txt, ``question with [its entity]<tab>answer|answer``, whose name or folder tells
    the hops; or json, jsonl and parquet in the forms of :mod:`.benchmark_forms`.

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
    if suffix not in _READERS and suffix != _PARQUET:
        raise SettingsError(
            f"{name} cannot be read as a file of questions; paths.questions takes "
            f"{', '.join([*_READERS, _PARQUET])}"
        )
    try:
        if suffix == _PARQUET:
            yield from parquet_rows(content)
        else:
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
        ("answers_blank", not any(map(normalise_answer, answers))),
        ("hops_unreadable", hops is None and row.hops is not None),
    )
    entities = tuple(dict.fromkeys(one.strip() for one in row.entities if one.strip()))
    problem = next((problem for problem, holds in problems if holds), None)
    text = row.question.strip()
    return GoldQuestion("", name, row.number, text, entities, answers, hops, problem, row.domain)


def _number(told: str) -> int | None:
    number = re.fullmatch(r"([1-9]\d?)(?:\.0+)?", told.strip())
    return int(number[1]) if number else None


def _hops_of(name: str) -> int | None:
    told = _HOPS.findall(name)
    return int(told[-1]) if told else None

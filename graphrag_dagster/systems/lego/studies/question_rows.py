"""The rows of files of questions, form by form."""

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from graphrag_dagster.kernel.documents.files.records import lines_of

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
    """

    number: int
    question: str
    entities: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    hops: str | None = None
    no_bracket: bool = False


def line_rows(text: str) -> Iterator[FileRow]:
    """Yield the lines of MetaQA's form that are not blank."""
    for number, line in enumerate(lines_of(text), start=1):
        if line.strip():
            asked, _, answers = line.partition("\t")
            question, entities = unmarked(asked)
            yield FileRow(number, question, entities, tuple(answers.split(_BETWEEN)), None, not entities)


def unmarked(asked: str) -> tuple[str, tuple[str, ...]]:
    """Return a question without the brackets around its entities, and these; none where a bracket lacks.

    Brackets within the outer ones are of the name.

    >>> unmarked("who directed [[REC]]")
    ('who directed [REC]', ('[REC]',))
    >>> unmarked("who directed [REC")
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
        if not isinstance(content, dict):
            raise BrokenRowError(f"line {number:,} is no JSON object; mend or delete it")
        by_name = {str(key).strip().casefold(): value for key, value in content.items()}
        told = {
            part: next((by_name[name] for name in names if name in by_name), None)
            for part, names in _NAMES.items()
        }
        if told["question"] is None:
            raise BrokenRowError(f"line {number:,} has no question; give it a key question")
        hops = told["hops"]
        yield FileRow(
            number,
            _text(told["question"], number, "question"),
            _texts(told["entities"], number, "entities"),
            _texts(told["answers"], number, "answers"),
            None if hops is None else str(hops),
        )


def _texts(value: object, number: int, what: str) -> tuple[str, ...]:
    if value is None:
        return ()
    listed = value if isinstance(value, list) else [value]
    return tuple(_text(one, number, what) for one in listed)


def _text(value: object, number: int, what: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise BrokenRowError(f"line {number:,}: {what} should be a text or a list of texts, not {value!r}")
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

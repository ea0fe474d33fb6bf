"""Sections of an answer's trace."""

from typing import Any

from graphrag_dagster.kernel.questions.context.answer import Answer, TraceSection


def section_told(answer: Answer, title: str) -> TraceSection:
    """Return the section of a title, which has to be there."""
    found = answer.section(title)
    assert found, [one.title for one in answer.trace]
    return found


def column(answer: Answer, title: str, name: str) -> list[Any]:
    """Return the cells of a column; without the section none."""
    found = answer.section(title)
    return found.column(name) if found else []


def fact(answer: Answer, title: str, name: str) -> Any:
    """Return what a section of one row says; None where it says nothing of that."""
    found = section_told(answer, title)
    (row,) = found.rows
    return dict(zip(found.columns, row, strict=True)).get(name)

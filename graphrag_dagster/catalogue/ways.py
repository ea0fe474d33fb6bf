"""The ways of answering, and the paper's conditions (§4.1.1)."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Way:
    """A way of answering.

    Attributes:
        name: as people ask for it.
        text: what it reads, in a line.
        answer: how it answers, loaded when it is used: ``module:function``, or the callable itself.
        size: what one question asks of a model, told beforehand: as ``answer``.
        tasks: names of the language tasks that it needs.
        tables: that it reads, as ``schema.name``.
        levelled: a community level may be chosen for it.
        level: the community level that it always reads.
        condition: one of those that an evaluation compares unless the settings say otherwise.
        uses_graph: it reads the graph or its reports.
        options: keys of the section ``search`` that it reads.
    """

    name: str
    text: str
    answer: Any
    size: Any
    tasks: tuple[str, ...] = ("answerer",)
    tables: tuple[str, ...] = ()
    levelled: bool = False
    level: int | None = None
    condition: bool = False
    uses_graph: bool = True
    options: tuple[str, ...] = ()


WAYS: tuple[Way, ...] = ()

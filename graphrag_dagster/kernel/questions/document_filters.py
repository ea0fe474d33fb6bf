"""Filters on documents: user-defined conditions on their metadata."""

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, Field, Strict

from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.documents.document_metadata import Value, value_of
from graphrag_dagster.kernel.text.periods import Period, only_period

#: Longest first, so that ``>=`` is not read as ``>``.
OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = MappingProxyType(
    {
        ">=": operator.ge,
        "<=": operator.le,
        "!=": operator.ne,
        "=": operator.eq,
        ">": operator.gt,
        "<": operator.lt,
    }
)
_CONDITION = re.compile(
    rf"\s*(?P<key>[^<>=!]+?)\s*(?P<sign>{'|'.join(OPERATORS)})\s*(?P<value>.*?)\s*", re.DOTALL
)
_MOST = 100

Text = Annotated[str, Strict(), Field(max_length=1_000)]
Texts = Annotated[tuple[Text, ...], Field(max_length=_MOST)]


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on a document's metadata: a key, a comparison and a value."""

    key: str
    sign: str
    value: Value

    def __str__(self) -> str:
        return f"{self.key}{self.sign}{self.value.text}"

    @classmethod
    def read(cls, text: str) -> "Condition":
        """Parse a condition such as ``year>=2020`` or ``speaker=Anna``.

        Raises:
            QuestionError: the text is not a condition, its date is ambiguous, or its value has no order.
        """
        match = _CONDITION.fullmatch(text)
        if not match or not match["value"]:
            raise QuestionError(
                f"{text!r} is not a condition; write a key, one of {' '.join(OPERATORS)}, and a value, "
                "such as year>=2020 or speaker=Anna"
            )
        condition = cls(match["key"], match["sign"], value_of(match["value"]))
        if condition.ordered and condition.value.number is None and condition.value.period is None:
            raise QuestionError(
                f"{text!r} compares by order, but {condition.value.text!r} is neither a number nor a date; "
                "use = or !="
            )
        if (date := only_period(condition.value.text)) and date.ambiguous:
            raise QuestionError(f"in {text!r} the date may be {date.either}; write the year first")
        return condition

    @property
    def ordered(self) -> bool:
        """Whether the comparison is by order."""
        return self.sign not in ("=", "!=")


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Which documents to answer from. All given filters must match.

    Attributes:
        documents: titles, paths, names or ids of documents; any of them.
        folders: folders below the corpus folder; any of them.
        date_from: a day or period; earlier documents are excluded.
        date_to: a day or period; later documents are excluded.
        where: conditions on metadata, such as ``year>=2020``; all of them.
        soft: favour what the question itself names; None: as set for the corpus.
    """

    # A misspelt filter must not be ignored silently.
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid",
        json_schema_extra={"description": "which documents to answer from; all that is given has to hold"},
    )

    documents: Annotated[
        Texts, Field(description="titles, paths, file names or ids of documents; any of them")
    ] = ()
    folders: Annotated[Texts, Field(description="folders below the corpus folder; any of them")] = ()
    date_from: Annotated[
        Text | None,
        Field(description="first day or period, such as 2019-07-01, July 2019 or FY24 Q2", examples=["2019"]),
    ] = None
    date_to: Annotated[Text | None, Field(description="last day or period", examples=["2019-12-31"])] = None
    where: Annotated[
        Texts,
        Field(
            description="conditions on metadata: key, one of = != < <= > >=, value; all of them",
            examples=[["year>=2020", "speaker=Anna"]],
        ),
    ] = ()
    soft: Annotated[
        Annotated[bool, Strict()] | None,
        Field(
            description="favour passages of the documents and periods that the question names; default: as "
            "the settings of the corpus say"
        ),
    ] = None

    @property
    def restricting(self) -> bool:
        """Whether any document may be excluded."""
        return any((self.documents, self.folders, self.date_from, self.date_to, self.where))

    def conditions(self) -> list[Condition]:
        """Return the conditions on metadata.

        Raises:
            QuestionError: one is invalid.
        """
        return [Condition.read(text) for text in self.where]

    def days(self) -> tuple[Period | None, Period | None]:
        """Return the periods of the first and the last day, None if not limited.

        Raises:
            QuestionError: one is no valid day or period or is ambiguous, or the last ends before the first
                begins.
        """
        first, last = _period("from", self.date_from), _period("to", self.date_to)
        if first and last and last.end < first.start:
            raise QuestionError(
                f"the filters contradict each other: from {self.date_from!r} to {self.date_to!r} ends before "
                "it begins"
            )
        return first, last

    def to_dict(self) -> dict[str, Any]:
        """Return the given filters as JSON-compatible values."""
        return {name: value for name, value in asdict(self).items() if value not in ((), None)}


#: No filter: all documents.
ALL = Filters()


def _period(which: str, text: str | None) -> Period | None:
    if text is None:
        return None
    date = only_period(text)
    if date is None:
        raise QuestionError(
            f"the date {which} {text!r} is not a valid day or period; write one such as 2019-07-14, "
            "July 2019, 2019 or FY24 Q2"
        )
    if date.ambiguous:
        raise QuestionError(f"the date {which} {text!r} may be {date.either}; write the year first")
    return date.period


_LEVEL = re.compile(r"[cC]?(-?\d{1,3})")


def level_of(text: str) -> int:
    """Return k of ``Ck``.

    Raises:
        QuestionError: the text is not a community level.
    """
    if found := _LEVEL.fullmatch(text.strip()):
        return int(found[1])
    raise QuestionError(f"{text!r} is not a community level; give C0, C1, C2, C3 …, or C-1 … above C0")

"""Filters on documents: conditions on their metadata, as a person states them."""

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

#: The longest first, so that none hides another.
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
    """What has to hold of a document's metadata: a key, a comparison and a value."""

    key: str
    sign: str
    value: Value

    def __str__(self) -> str:
        return f"{self.key}{self.sign}{self.value.text}"

    @classmethod
    def read(cls, text: str) -> "Condition":
        """Read a condition such as ``year>=2020`` or ``speaker=Anna``.

        Raises:
            QuestionError: it is none, or it compares the order of something that has none.
        """
        found = _CONDITION.fullmatch(text)
        if not found or not found["value"]:
            raise QuestionError(
                f"{text!r} is no condition; write a key, one of {' '.join(OPERATORS)}, and a value, such as "
                "year>=2020 or speaker=Anna"
            )
        made = cls(found["key"], found["sign"], value_of(found["value"]))
        if made.ordered and made.value.number is None and made.value.period is None:
            raise QuestionError(
                f"{text!r} compares an order, which only numbers and dates have; {made.value.text!r} is "
                "neither; use = or !="
            )
        if (named := only_period(made.value.text)) and named.ambiguous:
            raise QuestionError(f"in {text!r} the date may be {named.either}; write the year first")
        return made

    @property
    def ordered(self) -> bool:
        """Whether it compares which is more."""
        return self.sign not in ("=", "!=")


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Which documents an answer is made from; all that is given has to hold.

    Attributes:
        documents: titles, paths, names or ids of documents; any of them.
        folders: folders below the corpus folder; any of them.
        date_from: a day or period; documents of days before its first are left out.
        date_to: a day or period; documents of days after its last are left out.
        where: conditions on metadata, such as ``year>=2020``; all of them.
        soft: whether what the question itself names is favoured; None: as the settings say.
    """

    # A filter that is misspelt must not be dropped in silence.
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
        """Whether any document may be left out."""
        return any((self.documents, self.folders, self.date_from, self.date_to, self.where))

    def conditions(self) -> list[Condition]:
        """Return the conditions on metadata.

        Raises:
            QuestionError: one is none.
        """
        return [Condition.read(text) for text in self.where]

    def days(self) -> tuple[Period | None, Period | None]:
        """Return the period of the first day and that of the last, None where not limited.

        Raises:
            QuestionError: one names no day or period that there is, may mean two, or the last is before the
                first.
        """
        first, last = _period("from", self.date_from), _period("to", self.date_to)
        if first and last and last.end < first.start:
            raise QuestionError(
                f"the filters contradict each other: from {self.date_from!r} to {self.date_to!r} is no time, "
                "since the last day is before the first"
            )
        return first, last

    def to_dict(self) -> dict[str, Any]:
        """Return what is given, as values that JSON can hold."""
        return {name: value for name, value in asdict(self).items() if value not in ((), None)}


#: No filter: every document.
ALL = Filters()


def _period(which: str, text: str | None) -> Period | None:
    if text is None:
        return None
    named = only_period(text)
    if named is None:
        raise QuestionError(
            f"the date {which} {text!r} is no day or period that there is; write one such as 2019-07-14, "
            "July 2019, 2019 or FY24 Q2"
        )
    if named.ambiguous:
        raise QuestionError(f"the date {which} {text!r} may be {named.either}; write the year first")
    return named.period


_LEVEL = re.compile(r"[cC]?(\d{1,3})")


def level_of(text: str) -> int:
    """Return k of ``Ck``.

    Raises:
        QuestionError: the text names no level.
    """
    if found := _LEVEL.fullmatch(text.strip()):
        return int(found[1])
    raise QuestionError(f"{text!r} is no community level; give C0, C1, C2, C3 …")

"""Values as files write them, and what they read as: numbers, true and false, dates."""

import datetime
import math
import re
from dataclasses import dataclass
from typing import Literal

from graphrag_dagster.kernel.text.period import Period
from graphrag_dagster.kernel.text.period_reading import only_period

Type = Literal["text", "number", "boolean", "date"]

#: Zeros in front make a code of figures, not a number.
_NUMBER = re.compile(r"[+-]?(?:0|[1-9]\d*|[1-9]\d{0,2}(?:,\d{3})+)(?:\.\d+)?(?:[eE][+-]?\d{1,3})?")
_BOOLEANS = {"true": True, "yes": True, "false": False, "no": False}
_TIME = re.compile(r"(?<=\d)[ T]\d\d:\d\d.*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Value:
    """A value: the text as written, and beside it whatever else it can be read as.

    ``2019`` is a number, and a year too. ``type`` is the first that holds of number, boolean, date, text.
    """

    text: str
    number: float | None = None
    boolean: bool | None = None
    period: Period | None = None

    @property
    def type(self) -> Type:
        """What the value reads as first of all."""
        if self.number is not None:
            return "number"
        if self.boolean is not None:
            return "boolean"
        return "text" if self.period is None else "date"

    def columns(self) -> dict[str, object]:
        """Return the value as columns of ``corpus.document_metadata``."""
        return {
            "type": self.type,
            "text": self.text,
            "number": self.number,
            "boolean": self.boolean,
            "date_start": self.period.start if self.period else None,
            "date_end": self.period.end if self.period else None,
        }


def value_of(written: object, *, month_first: bool = False) -> Value:
    """Return what a value reads as.

    Args:
        written: a text, number, boolean, date or anything else, which is taken as its text.
        month_first: order of a date such as 03/04/2019.

    >>> value_of("2,500").number, value_of("007").number, value_of("Yes").boolean
    (2500.0, None, True)
    """
    if isinstance(written, bool):
        return Value("true" if written else "false", boolean=written)
    if isinstance(written, datetime.date):
        written = written.isoformat()
    text = " ".join(str(written).split())
    named = only_period(_TIME.sub("", text), month_first=month_first)
    return Value(text, _number(text), _BOOLEANS.get(text.casefold()), named.period if named else None)


def _number(text: str) -> float | None:
    if not _NUMBER.fullmatch(text):
        return None
    number = float(text.replace(",", ""))
    return number if math.isfinite(number) else None

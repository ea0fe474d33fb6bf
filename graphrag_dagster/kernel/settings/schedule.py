"""The sections ``schedule`` and ``publishing``: indexing by the clock, and snapshots to keep."""

import re
from datetime import UTC, datetime
from typing import Annotated
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError
from pydantic import Field, field_validator

from graphrag_dagster.kernel.settings.section import Section

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: tuple[tuple[str, int, int, tuple[str, ...]], ...] = (
    ("minute", 0, 59, ()),
    ("hour", 0, 23, ()),
    ("day of the month", 1, 31, ()),
    ("month", 1, 12, _MONTHS),
    ("day of the week", 0, 7, _DAYS),
)
_PART = re.compile(r"(?P<whole>\*)|(?P<first>\w+)(?:-(?P<last>\w+))?")


class ScheduleSettings(Section):
    """When the sensor ``scheduled_corpora`` indexes the corpus again."""

    cron: str | None = Field(
        None,
        description="minute, hour, day of the month, month and day of the week, in cron syntax, for example "
        "0 3 * * * for every night at three; default: no schedule",
    )
    timezone: str = Field("UTC", description="IANA name of the time zone of cron, for example Europe/Vienna")

    @field_validator("cron")
    @classmethod
    def _cron_is_known(cls, cron: str | None) -> str | None:
        return None if cron is None else _checked(cron)

    @field_validator("timezone")
    @classmethod
    def _timezone_is_known(cls, timezone: str) -> str:
        try:
            ZoneInfo(timezone)
        except (KeyError, ValueError, OSError):
            raise ValueError(f"{timezone!r} is not a time zone; use a name such as Europe/Vienna") from None
        return timezone


def _checked(cron: str) -> str:
    parts = cron.split()
    if len(parts) != len(_FIELDS):
        names = ", ".join(name for name, *_ in _FIELDS)
        raise ValueError(f"cron has {len(parts)} fields; it needs five: {names}, for example '0 3 * * *'")
    for part, (name, least, most, words) in zip(parts, _FIELDS, strict=True):
        for item in part.split(","):
            if not _fits(item, least, most, words):
                raise ValueError(
                    f"cron: {item!r} is not a {name}; allowed are {least} to {most}, *, ranges as "
                    f"{least}-{most}, steps as */2, and lists with commas"
                )
    whole = " ".join(parts)
    try:
        CronSim(whole, datetime.now(UTC))
    except CronSimError:
        raise ValueError(f"cron: {whole!r} never occurs; no such month has a day {parts[2]}") from None
    return whole


def _fits(item: str, least: int, most: int, words: tuple[str, ...]) -> bool:
    span, slash, step = item.partition("/")
    found = _PART.fullmatch(span)
    if found is None or (slash and not (step.isdecimal() and 0 < int(step) <= most)):
        return False
    if found["whole"]:
        return True
    first = _number(found["first"], words, least)
    last = first if found["last"] is None else _number(found["last"], words, least)
    return first is not None and last is not None and least <= first <= last <= most


def _number(text: str, words: tuple[str, ...], least: int) -> int | None:
    if text.lower() in words:
        return words.index(text.lower()) + least
    return int(text) if text.isascii() and text.isdecimal() else None


class PublishingSettings(Section):
    """Published, read-only snapshots of a corpus's tables."""

    keep: Annotated[int, Field(ge=1)] = Field(
        3, description="number of the newest published snapshots to keep; rollback returns to one of them"
    )

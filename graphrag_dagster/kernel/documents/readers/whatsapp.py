"""Chats as WhatsApp exports them: text files whose messages each begin with a day, a time and a name."""

import datetime
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import PurePosixPath

from graphrag_dagster.kernel.documents.file_records import Reading, SourceFile, lines_of, note_of_counts
from graphrag_dagster.kernel.documents.readers.conversations import SpokenMessage, by_day
from graphrag_dagster.kernel.documents.text_decoding import Decoded

_MARKS = "\u200e\u200f\ufeff\u202a\u202b\u202c"
_BLANK = r"[ \t\u00a0\u202f]"
#: The beginning of a message: day and time, in brackets or before a dash.
_STAMP = re.compile(
    rf"[{_MARKS}]*(?P<bracket>\[)?(?P<a>\d{{1,4}})(?P<mark>[./-])(?P<b>\d{{1,2}})(?P=mark)(?P<c>\d{{1,4}})\.?,?{_BLANK}+"
    rf"(?P<hour>\d{{1,2}})[:.](?P<minute>\d\d)(?:[:.]\d\d)?(?:{_BLANK}?(?P<half>[AaPp])\.?{_BLANK}?[Mm]\.?)?{_BLANK}?"
    rf"(?(bracket)\]|[-–—]){_BLANK}"
)
_SPEAKER = re.compile(rf"[{_MARKS}]*~?{_BLANK}?(?P<name>[^:\n]{{1,80}}?):(?:{_BLANK}|\Z)")
#: What stands for a picture or a voice.
_OMITTED = re.compile(
    r"<[^<>\n]{3,60}>\Z|[^\n]{1,200}\(file attached\)|(?:image|video|audio|sticker|GIF|document) omitted\Z"
)
_LONGEST_SHOWN = 60


@dataclass(slots=True)
class _Message:
    stamp: re.Match[str]
    said: list[str] = field(default_factory=list)

    def day(self, month_first: bool) -> datetime.date | None:
        a, b, c = (int(self.stamp[part]) for part in "abc")
        year, month, day = (a, b, c) if len(self.stamp["a"]) == 4 else (c, a, b) if month_first else (c, b, a)
        try:
            return datetime.date(year if year > 99 else 2000 + year, month, day)
        except ValueError:
            return None

    def when(self, month_first: bool) -> datetime.datetime | None:
        day = self.day(month_first)
        hour, minute = int(self.stamp["hour"]), int(self.stamp["minute"])
        if half := self.stamp["half"]:
            hour = hour % 12 + 12 * (half in "Pp")
        if day is None:
            return None
        return datetime.datetime.combine(day, datetime.time(min(hour, 23), min(minute, 59)))


def read_chat_log(decoded: Decoded, source: SourceFile) -> Reading | None:
    """Read a chat, a document for each of its days; None for another text.

    Days are read with the month first or last as the whole file shows: some days can only be read so, time
    does not run backwards, and messages stand close together. Pictures and lines that nobody says are
    counted in a note.
    """
    if not _STAMP.match(decoded.text.lstrip(_MARKS + " \t\n")[:200]):
        return None
    lines = _lines(decoded.text)
    named = sum(1 for line in lines if _SPEAKER.match(line.said[0]))
    if named < min(2, len(lines)) or named * 2 < len(lines):
        return None
    month_first, sure = _month_stands_first(lines)
    left: Counter[str] = Counter()
    records = tuple(by_day(_messages(lines, month_first, left), _title(source.path), source))
    remarks = () if sure else ("whether the day or the month stands first in its dates was guessed",)
    return Reading(records, decoded.encoding, (*decoded.notes, *note_of_counts("left out", left)), remarks)


def _title(path: str) -> str:
    name = PurePosixPath(path).stem.removeprefix("WhatsApp Chat with ").removeprefix("WhatsApp Chat - ")
    folder = PurePosixPath(path).parent.name
    return folder if name.strip("_") in ("chat", "") and folder else name


def _lines(text: str) -> list[_Message]:
    found: list[_Message] = []
    for line in lines_of(text):
        stamp = _STAMP.match(line)
        if stamp:
            found.append(_Message(stamp, [line[stamp.end() :]]))
        elif found:
            found[-1].said.append(line)
    return found


def _messages(lines: Sequence[_Message], month_first: bool, left: Counter[str]) -> Iterable[SpokenMessage]:
    system = [line.said[0].strip(_MARKS + " ") for line in lines if not _SPEAKER.match(line.said[0])]
    if system:
        left[f"lines that nobody says, e.g. {system[0][:_LONGEST_SHOWN]!r}"] = len(system)
    for line in lines:
        named = _SPEAKER.match(line.said[0])
        if not named:
            continue
        said = "\n".join([line.said[0][named.end() :], *line.said[1:]]).strip(_MARKS + " \t\n")
        media, _, caption = said.partition("\n")
        if _OMITTED.match(media):
            left["pictures and other media"] += 1
            said = caption.strip()
        if said:
            yield SpokenMessage(named["name"].strip(_MARKS + " ~"), said, line.when(month_first))


def _month_stands_first(lines: Sequence[_Message]) -> tuple[bool, bool]:
    """Whether the month stands before the day, and whether that is sure."""
    first, last = ([line.day(month_first) for line in lines] for month_first in (True, False))
    if first == last:
        return False, True
    months, days = _implausibility(first), _implausibility(last)
    american = any(line.stamp["half"] for line in lines)
    return months < days or (months == days and american), months[:2] != days[:2]


def _implausibility(days: Sequence[datetime.date | None]) -> tuple[int, int, int]:
    """Days that there are not, steps backwards, and days from the first to the last."""
    known = [day for day in days if day]
    backwards = sum(later < earlier for earlier, later in pairwise(known))
    return len(days) - len(known), backwards, (max(known) - min(known)).days if known else 0

"""Captions (srt, vtt) as running text."""

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from graphrag_dagster.kernel.documents.file_records import (
    FileRecord,
    Reading,
    RecordPlaces,
    SourceFile,
    clean,
    lines_of,
)
from graphrag_dagster.kernel.documents.readers.conversations import SpokenMessage, speech_lines
from graphrag_dagster.kernel.documents.text_decoding import Decoded, decode
from graphrag_dagster.kernel.text.quotable_sentences import speaker_before

_TIME = r"(?:(\d{1,4}):)?(\d{1,2}):(\d{2})(?:[.,](\d{1,3}))?"
_TIMES = re.compile(rf"[ \t]*{_TIME}[ \t]*-->[ \t]*{_TIME}")
_NUMBER = re.compile(r"[ \t]*\d{1,9}[ \t]*")
_VOICE = re.compile(r"<v(?:\.[^\s<>]{0,60})?[ \t]+([^<>\n]{1,120})>")
_TAG = re.compile(r"</?[a-zA-Z][^<>\n]{0,200}>|</?>|<\d[\d:.,]{3,20}>|\{\\[^{}\n]{1,80}\}")
_TURN = re.compile(r"(?:>>+|[-–—])[ \t]*(?=\S)")
_BLOCKS = ("NOTE", "STYLE", "REGION")
_STOP = re.compile(r"[.!?…。！？][\"'”’»)\]]*\Z")
_STOPS = re.compile(r"[.!?…。！？]")
#: Seconds of silence after which a new paragraph begins.
_PAUSE = 4.0
#: Characters of a paragraph after which it ends with the next sentence, or line where none ends.
_ENOUGH = 400
#: Share of cues that repeat the line before, from which on lines roll through the picture.
_ROLLING = 0.25
_AT_ONCE = 0.05


@dataclass(slots=True)
class _Cue:
    start: float
    end: float
    lines: list[str]


def read_captions(data: bytes, _source: SourceFile) -> Reading:
    """Read captions as running text: sentences joined, a paragraph for each speaker; times are left out.

    Lines that roll through the picture, as automatic captions do, are read once.

    Raises:
        RefusedError: not text.
    """
    return read_cues(decode(data))


def read_cues(decoded: Decoded) -> Reading:
    """Read captions that were decoded; see :func:`read_captions`."""
    outside = RecordPlaces()
    cues = list(_cues(decoded.text, outside))
    notes, remarks = list(decoded.notes), []
    if outside:
        notes.append(f"{len(outside)} lines stand in no caption and were left out: lines {outside}")
    if not cues and outside:
        # No captions at all, whatever its name says.
        return Reading(
            (FileRecord(decoded.text),),
            decoded.encoding,
            decoded.notes,
            ("no captions with times in it: read as text",),
        )
    if _is_rolling(cues):
        cues = _unroll(cues)
        remarks.append("lines that roll through the picture were read once")
    text = clean(speech_lines(_turns(cues)))
    metadata = {"captions": len(cues), "seconds": round(max(cue.end for cue in cues))} if cues else {}
    return Reading((FileRecord(text, metadata=metadata),), decoded.encoding, tuple(notes), tuple(remarks))


def _cues(text: str, outside: RecordPlaces) -> Iterator[_Cue]:
    web = text.lstrip().startswith("WEBVTT")
    lines = list(lines_of(text))
    times = [(place, found) for place, line in enumerate(lines) if (found := _TIMES.match(line))]
    begins = [place - _is_cue_name(lines, place, web) for place, _ in times] + [len(lines)]
    head = next((place for place, line in enumerate(lines) if not line.strip()), len(lines)) if web else 0
    for number, _ in _spoken_lines(lines, head, begins[0], web):
        outside.add(number)
    for (place, found), end in zip(times, begins[1:], strict=True):
        parts = found.groups()
        yield _Cue(
            _seconds(parts[:4]),
            _seconds(parts[4:]),
            [line for _, line in _spoken_lines(lines, place + 1, end, web)],
        )


def _is_cue_name(lines: Sequence[str], place: int, web: bool) -> bool:
    """Whether the line before the times of a cue is its number or name."""
    before = lines[place - 1].strip() if place else ""
    alone = place < 2 or not lines[place - 2].strip()
    return bool(_NUMBER.fullmatch(before) or (web and before and alone and not before.startswith("WEBVTT")))


def _spoken_lines(lines: Sequence[str], start: int, end: int, web: bool) -> Iterator[tuple[int, str]]:
    """Numbers and words of lines that are shown."""
    blank, comment = True, False
    for place in range(start, end):
        line = lines[place].strip()
        comment = bool(line) and web and (comment or (blank and line.split()[0] in _BLOCKS))
        if line and not comment:
            yield place + 1, line
        blank = not line


def _seconds(parts: Sequence[str | None]) -> float:
    hours, minutes, seconds, thousandths = (int(part or 0) for part in parts)
    return hours * 3600 + minutes * 60 + seconds + thousandths / 1000


def _is_rolling(cues: Sequence[_Cue]) -> bool:
    # Who says the same twice pauses in between.
    following = [
        (one.lines, other.lines) for one, other in pairwise(cues) if other.start - one.end <= _AT_ONCE
    ]
    return sum(1 for before, now in following if _overlap(before, now)) > _ROLLING * len(cues)


def _overlap(before: Sequence[str], now: Sequence[str]) -> int:
    """How many lines at the beginning of one cue are the last of the cue before."""
    before, now = [_strip_markup(line) for line in before], [_strip_markup(line) for line in now]
    return next(
        (n for n in range(min(len(before), len(now)), 0, -1) if before[-n:] == now[:n] and any(now[:n])), 0
    )


def _unroll(cues: Sequence[_Cue]) -> list[_Cue]:
    found: list[_Cue] = []
    shown: list[str] = []
    for cue in cues:
        fresh = cue.lines[_overlap(shown, cue.lines) :]
        # A line that grows word by word stands for the shorter one.
        if (
            fresh
            and found
            and found[-1].lines
            and _strip_markup(fresh[0]).startswith(_strip_markup(found[-1].lines[-1]) + " ")
        ):
            found[-1].lines.pop()
        shown = cue.lines or shown
        if any(map(_strip_markup, fresh)):
            found.append(_Cue(cue.start, cue.end, fresh))
    return found


def _strip_markup(line: str) -> str:
    return " ".join(_TAG.sub("", _VOICE.sub("", line)).split())


def _turns(cues: Sequence[_Cue]) -> Iterator[SpokenMessage]:
    speaker, said, end = "", "", 0.0
    for voice, fresh, words, cue in _turn_pieces(cues):
        full = len(said) >= _ENOUGH and (_STOP.search(said) or not _STOPS.search(said))
        if said and (fresh or full or voice != speaker or cue.start - end >= _PAUSE):
            yield SpokenMessage(speaker, said)
            said = ""
        speaker, end = voice, cue.end
        said = f"{said} {words}".lstrip()
    if said:
        yield SpokenMessage(speaker, said)


def _turn_pieces(cues: Iterable[_Cue]) -> Iterator[tuple[str, bool, str, _Cue]]:
    """Speaker, whether another turn begins, words and cue of each line that has any."""
    for cue in cues:
        voice = ""
        dashes = sum(1 for line in cue.lines if _TURN.match(_strip_markup(line))) > 1
        for line in cue.lines:
            # Several voices may stand in one line.
            parts = _VOICE.split(line)
            for place in range(0, len(parts), 2):
                voice = " ".join(html.unescape(parts[place - 1]).split()) if place else voice
                said = " ".join(html.unescape(_TAG.sub("", parts[place])).split())
                turn = _TURN.match(said)
                fresh = bool(speaker_before(said)[1]) or bool(turn and (dashes or turn[0].startswith(">>")))
                said = said[turn.end() :] if turn and fresh else said
                if said:
                    yield voice, fresh, said, cue

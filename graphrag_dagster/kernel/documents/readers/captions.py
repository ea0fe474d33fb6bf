"""Captions and subtitles: SubRip (srt) and WebVTT (vtt)."""

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from graphrag_dagster.kernel.documents.files.decoding import Decoded, decode
from graphrag_dagster.kernel.documents.files.records import Places, Reading, Record, Source, clean, lines_of
from graphrag_dagster.kernel.documents.readers.speech import Message, lines_of_speech
from graphrag_dagster.kernel.text.lines import speaker_before

_TIME = r"(?:(\d{1,4}):)?(\d{1,2}):(\d{2})(?:[.,](\d{1,3}))?"
_TIMES = re.compile(rf"[ \t]*{_TIME}[ \t]*-->[ \t]*{_TIME}")
_NUMBER = re.compile(r"[ \t]*\d{1,9}[ \t]*")
_VOICE = re.compile(r"<v(?:\.[^\s<>]{0,60})?[ \t]+([^<>\n]{1,120})>")
_TAG = re.compile(r"</?[a-zA-Z][^<>\n]{0,200}>|</?>|<\d[\d:.,]{3,20}>|\{\\[^{}\n]{1,80}\}")
_TURN = re.compile(r"(?:>>+|[-–—])[ \t]*(?=\S)")
_BLOCKS = ("NOTE", "STYLE", "REGION")
_STOP = re.compile(r"[.!?…。！？][\"'”’»)\]]*\Z")
_STOPS = re.compile(r"[.!?…。！？]")
#: Seconds of silence after which a new paragraph begins, also where nobody says that a sentence ends.
_PAUSE, _SHORT_PAUSE = 4.0, 1.0
#: Characters of a paragraph after which it ends with the next sentence, or cue where none ends.
_ENOUGH, _ENOUGH_WITHOUT_STOPS = 500, 200
#: Share of cues that repeat the line before, from which on lines roll through the picture.
_ROLLING = 0.25
_AT_ONCE = 0.05


@dataclass(slots=True)
class _Cue:
    start: float
    end: float
    lines: list[str]


def read_captions(data: bytes, _source: Source) -> Reading:
    """Read captions as running text: sentences joined, a paragraph for each speaker; times are left out.

    Lines that roll through the picture, as automatic captions do, are read once.

    Raises:
        RefusedError: not text.
    """
    return read_cues(decode(data))


def read_cues(decoded: Decoded) -> Reading:
    """Read captions that were decoded; see :func:`read_captions`."""
    outside = Places()
    cues = list(_cues(decoded.text, outside))
    notes, remarks = list(decoded.notes), []
    if outside:
        notes.append(f"{len(outside)} lines stand in no caption and were left out: lines {outside}")
    if not cues and outside:
        # No captions at all, whatever its name says.
        return Reading(
            (Record(decoded.text),),
            decoded.encoding,
            decoded.notes,
            ("no captions with times in it: read as text",),
        )
    if _rolls(cues):
        cues = _once(cues)
        remarks.append("lines that roll through the picture were read once")
    text = clean(lines_of_speech(_turns(cues)))
    metadata = {"captions": len(cues), "seconds": round(max(cue.end for cue in cues))} if cues else {}
    return Reading((Record(text, metadata=metadata),), decoded.encoding, tuple(notes), tuple(remarks))


def _cues(text: str, outside: Places) -> Iterator[_Cue]:
    web = text.lstrip().startswith("WEBVTT")
    lines = list(lines_of(text))
    times = [(place, found) for place, line in enumerate(lines) if (found := _TIMES.match(line))]
    begins = [place - _named(lines, place, web) for place, _ in times] + [len(lines)]
    head = next((place for place, line in enumerate(lines) if not line.strip()), len(lines)) if web else 0
    for number, _ in _said(lines, head, begins[0], web):
        outside.add(number)
    for (place, found), end in zip(times, begins[1:], strict=True):
        parts = found.groups()
        yield _Cue(
            _seconds(parts[:4]), _seconds(parts[4:]), [line for _, line in _said(lines, place + 1, end, web)]
        )


def _named(lines: Sequence[str], place: int, web: bool) -> bool:
    """Whether the line before the times of a cue is its number or name."""
    before = lines[place - 1].strip() if place else ""
    alone = place < 2 or not lines[place - 2].strip()
    return bool(_NUMBER.fullmatch(before) or (web and before and alone and not before.startswith("WEBVTT")))


def _said(lines: Sequence[str], start: int, end: int, web: bool) -> Iterator[tuple[int, str]]:
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


def _rolls(cues: Sequence[_Cue]) -> bool:
    # Who says the same twice pauses in between.
    following = [
        (one.lines, other.lines) for one, other in pairwise(cues) if other.start - one.end <= _AT_ONCE
    ]
    return sum(1 for before, now in following if _overlap(before, now)) > _ROLLING * len(cues)


def _overlap(before: Sequence[str], now: Sequence[str]) -> int:
    """How many lines at the beginning of one cue are the last of the cue before."""
    before, now = [_bare(line) for line in before], [_bare(line) for line in now]
    return next(
        (n for n in range(min(len(before), len(now)), 0, -1) if before[-n:] == now[:n] and any(now[:n])), 0
    )


def _once(cues: Sequence[_Cue]) -> list[_Cue]:
    found: list[_Cue] = []
    shown: list[str] = []
    for cue in cues:
        fresh = cue.lines[_overlap(shown, cue.lines) :]
        # A line that grows word by word stands for the shorter one.
        if (
            fresh
            and found
            and found[-1].lines
            and _bare(fresh[0]).startswith(_bare(found[-1].lines[-1]) + " ")
        ):
            found[-1].lines.pop()
        shown = cue.lines or shown
        if any(map(_bare, fresh)):
            found.append(_Cue(cue.start, cue.end, fresh))
    return found


def _bare(line: str) -> str:
    return " ".join(_TAG.sub("", _VOICE.sub("", line)).split())


def _turns(cues: Sequence[_Cue]) -> Iterator[Message]:
    pieces = list(_pieces(cues))
    words = " ".join(said for _, _, said, _ in pieces)
    stops = len(_STOPS.findall(words)) * 300 >= len(words)
    speaker, parts, length, end = "", list[str](), 0, 0.0
    for voice, fresh, said, cue in pieces:
        silence = cue.start - end
        ended = bool(parts) and (_STOP.search(parts[-1]) is not None if stops else True)
        far = length >= (_ENOUGH if stops else _ENOUGH_WITHOUT_STOPS)
        if parts and (
            fresh
            or voice != speaker
            or silence >= _PAUSE
            or (ended and (far or (silence >= _SHORT_PAUSE and not stops)))
        ):
            yield Message(speaker, " ".join(parts))
            parts, length = [], 0
        speaker, end = voice, cue.end
        parts.append(said)
        length += len(said)
    if parts:
        yield Message(speaker, " ".join(parts))


def _pieces(cues: Iterable[_Cue]) -> Iterator[tuple[str, bool, str, _Cue]]:
    """Speaker, whether another turn begins, words and cue of each line that has any."""
    for cue in cues:
        voice = ""
        dashes = sum(1 for line in cue.lines if _TURN.match(_bare(line))) > 1
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

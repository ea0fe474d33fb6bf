"""Plain text, chat logs, and captions (srt, vtt)."""

import datetime
import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePosixPath

from graphrag_dagster.kernel.documents.file_records import (
    FileRecord,
    Reading,
    RecordPlaces,
    SourceFile,
    clean,
    lines_of,
    one_line,
)
from graphrag_dagster.kernel.documents.readers.conversations import (
    SpokenMessage,
    by_day,
    left_out_note,
    speech_lines,
)
from graphrag_dagster.kernel.documents.text_decoding import Decoded, decode
from graphrag_dagster.kernel.text.quotable_sentences import speaker_before

_JSON = re.compile(r"\s*+(?:\{|\[\s*+\{)\s*+\"")
#: The title of an Org or AsciiDoc file, or of one in reStructuredText, which has a line of signs below it.
_TITLE = re.compile(
    r"^(?:(?:#\+title:|=+)[ \t]+(?P<marked>[^=\s].*)|[ \t]*(?P<ruled>\w.*)\n([!-/:-@\[-`{-~])\3{2,}[ \t]*$)",
    re.IGNORECASE | re.MULTILINE,
)


def read_text(data: bytes, source: SourceFile) -> Reading:
    """Read a text file as it is: only line ends and a byte order mark are changed.

    An export of a chat, and captions of a film, are told by what they hold and read as what they are.

    Raises:
        RefusedError: not text.
    """
    decoded = decode(data)
    return _read_as_form(decoded, source) or Reading(
        (FileRecord(decoded.text),), decoded.encoding, decoded.notes
    )


def read_markup(data: bytes, _source: SourceFile) -> Reading:
    """Read a file in reStructuredText, Org or AsciiDoc as it is, with its title.

    Raises:
        RefusedError: not text.
    """
    decoded = decode(data)
    title = _TITLE.search(decoded.text)
    record = FileRecord(decoded.text, title=one_line(title["marked"] or title["ruled"]) if title else None)
    return Reading((record,), decoded.encoding, decoded.notes)


def _read_as_form(decoded: Decoded, source: SourceFile) -> Reading | None:
    if decoded.text.startswith("WEBVTT"):
        return read_cues(decoded)
    if _JSON.match(decoded.text):
        from graphrag_dagster.kernel.documents.readers.data.json_documents import read_conversations

        return read_conversations(decoded, source)
    return read_chat_log(decoded, source)


_MARKS = "\u200e\u200f\ufeff\u202a\u202b\u202c"
_BLANK = r"[ \t\u00a0\u202f]"
_HALVES = r"[AaPp]\.?[ \u00a0\u202f]?[Mm]\.?"
#: The beginning of a message: day and time, in brackets or before a dash.
_STAMP = re.compile(
    rf"[{_MARKS}]*(?P<bracket>\[)?(?P<a>\d{{1,4}})(?P<mark>[./-])(?P<b>\d{{1,2}})(?P=mark)(?P<c>\d{{1,4}})\.?,?{_BLANK}+"
    rf"(?:(?:um|at|a las|às|alle|kl\.?){_BLANK}+)?(?P<before>上午|下午|午前|午後|오전|오후)?{_BLANK}?"
    rf"(?P<hour>\d{{1,2}})[:.](?P<minute>\d\d)(?:[:.](?P<second>\d\d))?(?:{_BLANK}?(?P<half>{_HALVES}))?{_BLANK}?(?:Uhr{_BLANK})?"
    rf"(?(bracket)\]|[-–—]){_BLANK}"
)
_SPEAKER = re.compile(
    rf"[{_MARKS}]*(?:<(?P<angled>[^<>:\n]{{1,80}})>{_BLANK}|~?{_BLANK}?(?P<name>[^:\n]{{1,80}}?):(?:{_BLANK}|\Z))"
)
#: What stands for a picture, a voice or a message that is gone, in the languages of the program.
_OMITTED = re.compile(
    r"<[^<>\n]{3,60}>\Z"
    r"|[^\n]{1,200}\((?:file attached|Datei angehängt|archivo adjunto|fichier joint|arquivo anexado"
    r"|file allegato|bestand bijgevoegd)\)"
    r"|(?:(?:image|video|audio|sticker|GIF|document|contact card|view once voice message) omitted"
    r"|(?:Bild|Video|Audio|Sticker|GIF|Dokument|Kontaktkarte) weggelassen"
    r"|(?:imagen|video|audio|sticker|GIF|documento) omitid[oa]"
    r"|(?:image|vidéo|audio|sticker|GIF|document) absente?"
    r"|(?:imagem|vídeo|áudio|figurinha|GIF|documento) ocultad[oa]"
    r"|(?:immagine|video|audio|sticker|GIF|documento) omess[oa]"
    r"|(?:afbeelding|video|audio|sticker|GIF|document) weggelaten)\Z",
    re.IGNORECASE,
)
_DELETED = re.compile(
    r"(?:This message was deleted|You deleted this message"
    r"|Diese Nachricht wurde gelöscht|Du hast diese Nachricht gelöscht"
    r"|Se eliminó este mensaje|Eliminaste este mensaje|Ce message a été supprimé|Mensagem apagada"
    r"|Questo messaggio è stato eliminato|Dit bericht is verwijderd)\.?\Z",
    re.IGNORECASE,
)
_EDITED = re.compile(
    rf"{_BLANK}*[{_MARKS}]*<[^<>\n]{{0,20}}(?:edited|bearbeitet|editado|editó|modifié|modificato|bewerkt)[^<>\n]{{0,20}}>\Z"
)
_AFTERNOON = {"下午", "午後", "오후"}
_LONGEST_SHOWN = 60


@dataclass(slots=True)
class _Line:
    stamp: re.Match[str]
    said: list[str]

    @property
    def form(self) -> tuple[bool, str, bool]:
        """Lines of one form have the figures of their days in one order."""
        return bool(self.stamp["bracket"]), self.stamp["mark"], bool(self.stamp["half"])

    def day(self, month_first: bool) -> datetime.date | None:
        a, b, c = (int(self.stamp[part]) for part in "abc")
        year, month, day = (a, b, c) if len(self.stamp["a"]) == 4 else (c, a, b) if month_first else (c, b, a)
        try:
            return datetime.date(year if year > 99 else 2000 + year, month, day)
        except ValueError:
            return None

    @property
    def time(self) -> datetime.time | None:
        hour = int(self.stamp["hour"])
        half = (self.stamp["half"] or "")[:1].lower()
        if half or self.stamp["before"]:
            hour = hour % 12 + 12 * (half == "p" or self.stamp["before"] in _AFTERNOON)
        try:
            return datetime.time(hour, int(self.stamp["minute"]))
        except ValueError:
            return None


def read_chat_log(decoded: Decoded, source: SourceFile) -> Reading | None:
    """Read a chat whose messages each begin with a day, a time and a name; None for another text.

    Days are read with the month first or last as the whole file shows: some days can only be read so, time
    does not run backwards, and messages stand close together.
    """
    head = decoded.text.lstrip(_MARKS + " \t\n")[:200]
    if not _STAMP.match(head):
        return None
    lines = _lines(decoded.text)
    named = sum(1 for line in lines if _SPEAKER.match(line.said[0]))
    if named < min(2, len(lines)) or named * 2 < len(lines):
        return None
    month_first, unsure = _date_orders(lines)
    left: Counter[str] = Counter()
    system: list[str] = []
    messages = list(_messages(lines, month_first, left, system))
    if system:
        shown = system[0] if len(system[0]) <= _LONGEST_SHOWN else f"{system[0][:_LONGEST_SHOWN]}…"
        left["lines that nobody says, e.g. " + repr(shown)] += len(system)
    records = tuple(by_day(messages, _title(source.path), source))
    remarks = ("whether the day or the month stands first in its dates was guessed",) if unsure else ()
    return Reading(records, decoded.encoding, (*decoded.notes, *left_out_note(left)), remarks)


def _title(path: str) -> str:
    name = PurePosixPath(path).stem
    for before in (
        "WhatsApp Chat with ",
        "WhatsApp Chat - ",
        "WhatsApp-Chat mit ",
        "Chat de WhatsApp con ",
        "Conversa do WhatsApp com ",
    ):
        name = name.removeprefix(before)
    folder = PurePosixPath(path).parent.name
    return folder if name.strip("_") in ("chat", "") and folder else name


def _lines(text: str) -> list[_Line]:
    found: list[_Line] = []
    for line in lines_of(text):
        stamp = _STAMP.match(line)
        if stamp:
            found.append(_Line(stamp, [line[stamp.end() :]]))
        elif found:
            found[-1].said.append(line)
    return found


def _messages(
    lines: Sequence[_Line],
    month_first: dict[tuple[bool, str, bool], bool],
    left: Counter[str],
    system: list[str],
) -> Iterable[SpokenMessage]:
    for line in lines:
        named = _SPEAKER.match(line.said[0])
        if not named:
            system.append(" ".join(line.said[0].strip(_MARKS).split()))
            continue
        said = "\n".join([line.said[0][named.end() :], *line.said[1:]]).strip(_MARKS + " \t\n")
        said = _EDITED.sub("", said)
        if _DELETED.match(said):
            left["deleted messages"] += 1
            continue
        media, _, caption = said.partition("\n")
        if _OMITTED.match(media):
            left["pictures and other media"] += 1
            said = caption.strip()
        if not said:
            continue
        day, time = line.day(month_first[line.form]), line.time
        when = datetime.datetime.combine(day, time or datetime.time()) if day else None
        yield SpokenMessage((named["name"] or named["angled"]).strip(_MARKS + " ~"), said, when)


def _date_orders(lines: Sequence[_Line]) -> tuple[dict[tuple[bool, str, bool], bool], bool]:
    """For each form of lines whether the month stands first, and whether that was guessed for any."""
    found, unsure = {}, False
    for form in dict.fromkeys(line.form for line in lines):
        of_form = [line for line in lines if line.form == form]
        first, last = ([line.day(month_first) for line in of_form] for month_first in (True, False))
        if first == last:
            found[form] = False
            continue
        ranks = [(days.count(None), _count_backward_steps(days), _span(days)) for days in (first, last)]
        found[form] = ranks[0] < ranks[1] or (ranks[0] == ranks[1] and form[2])
        unsure |= ranks[0][:2] == ranks[1][:2]
    return found, unsure


def _count_backward_steps(days: Sequence[datetime.date | None]) -> int:
    known = [day for day in days if day]
    return sum(later < earlier for earlier, later in pairwise(known))


def _span(days: Sequence[datetime.date | None]) -> int:
    known = [day for day in days if day]
    return (max(known) - min(known)).days if known else 0


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
    pieces = list(_turn_pieces(cues))
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
            yield SpokenMessage(speaker, " ".join(parts))
            parts, length = [], 0
        speaker, end = voice, cue.end
        parts.append(said)
        length += len(said)
    if parts:
        yield SpokenMessage(speaker, " ".join(parts))


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

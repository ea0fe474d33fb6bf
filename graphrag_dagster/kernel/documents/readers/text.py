"""Plain text, and its special forms: exports of chats, and captions."""

import datetime
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePosixPath

from graphrag_dagster.kernel.documents.files.decoding import Decoded, decode
from graphrag_dagster.kernel.documents.files.records import Reading, Record, Source, lines_of
from graphrag_dagster.kernel.documents.readers.speech import Message, by_day, left_out

_JSON = re.compile(r"\s*+(?:\{|\[\s*+\{)\s*+\"")


def read_text(data: bytes, source: Source) -> Reading:
    """Read a text file as it is: only line ends and a byte order mark are changed.

    An export of a chat, and captions of a film, are told by what they hold and read as what they are.

    Raises:
        RefusedError: not text.
    """
    decoded = decode(data)
    return _of_a_form(decoded, source) or Reading((Record(decoded.text),), decoded.encoding, decoded.notes)


def _of_a_form(decoded: Decoded, source: Source) -> Reading | None:
    if decoded.text.startswith("WEBVTT"):
        from graphrag_dagster.kernel.documents.readers.captions import read_cues

        return read_cues(decoded)
    if _JSON.match(decoded.text):
        from graphrag_dagster.kernel.documents.readers.data.jsons import read_conversations

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


def read_chat_log(decoded: Decoded, source: Source) -> Reading | None:
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
    month_first, unsure = _orders(lines)
    left: Counter[str] = Counter()
    system: list[str] = []
    messages = list(_messages(lines, month_first, left, system))
    if system:
        shown = system[0] if len(system[0]) <= _LONGEST_SHOWN else f"{system[0][:_LONGEST_SHOWN]}…"
        left["lines that nobody says, e.g. " + repr(shown)] += len(system)
    records = tuple(by_day(messages, _title(source.path), source))
    remarks = ("whether the day or the month stands first in its dates was guessed",) if unsure else ()
    return Reading(records, decoded.encoding, (*decoded.notes, *left_out(left)), remarks)


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
) -> Iterable[Message]:
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
        yield Message((named["name"] or named["angled"]).strip(_MARKS + " ~"), said, when)


def _orders(lines: Sequence[_Line]) -> tuple[dict[tuple[bool, str, bool], bool], bool]:
    """For each form of lines whether the month stands first, and whether that was guessed for any."""
    found, unsure = {}, False
    for form in dict.fromkeys(line.form for line in lines):
        of_form = [line for line in lines if line.form == form]
        first, last = ([line.day(month_first) for line in of_form] for month_first in (True, False))
        if first == last:
            found[form] = False
            continue
        ranks = [(days.count(None), _backwards(days), _span(days)) for days in (first, last)]
        found[form] = ranks[0] < ranks[1] or (ranks[0] == ranks[1] and form[2])
        unsure |= ranks[0][:2] == ranks[1][:2]
    return found, unsure


def _backwards(days: Sequence[datetime.date | None]) -> int:
    known = [day for day in days if day]
    return sum(later < earlier for earlier, later in pairwise(known))


def _span(days: Sequence[datetime.date | None]) -> int:
    known = [day for day in days if day]
    return (max(known) - min(known)).days if known else 0

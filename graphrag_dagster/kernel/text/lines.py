"""Sentences as they stand: their places in the rows of a context, who says them, what is beside them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphrag_dagster.kernel.common.stable_scores import Scores
from graphrag_dagster.kernel.text.english_words import STOP_WORDS
from graphrag_dagster.kernel.text.marks import time_before
from graphrag_dagster.kernel.text.similarity import stem, words

_NAME = r"(?:[A-Z][\w.'’-]*|\([^()]{1,40}\)|\[[^\[\]]{1,40}\]|of|de|van|von)"
_LABEL = re.compile(rf"(?P<speaker>[A-Z][\w.'’-]*(?: {_NAME}){{0,6}}): +(?=\S)")
#: Labels of chats: <anna>, anna:, @anna:, Анна:, and any name before a time, as in "~ anna (19:05):"
_CHAT = re.compile(
    r"(?:<@?(?P<framed>[\w.' -]{1,40})>:?|@?(?P<plain>[^\W\d_A-Z][\w.'’-]{1,30}):"
    r"|(?P<timed>\S[^\n:()]{0,80}) \(\d\d:\d\d\):) +(?=\S)"
)
_REMARK = re.compile(r"\s*[(\[].*?[)\]]")
_ASKS = re.compile(r"\?[\"'”’»)\]*_]*$")
_NO_SPEAKER = re.compile(
    r"(?:Note|Source|Figure|Table|Date|Time|Place|Present|Re|Subject|Question|Answer|Q|A|Example|Warning|Tip|Hint"
    r"|Important|Caution|Todo|Result|Summary|Usage|Default|Optional|Required|Returns?|Type|Name|Title|Author|Status"
    r"|Minutes|Agenda|Motion|Action|Decision|Link|Url|Tags?|Version|Options?|Examples)\Z",
    re.IGNORECASE,
)


def speaker_before(sentence: str) -> tuple[str, int]:
    """Return the speaker whom a label before a sentence names, blank without one, and where it is said.

    A time stamp may stand before the label; names in small letters are labels where they are one word.

    >>> speaker_before("ANNA RUIZ (VOICEOVER): The quay was built in 1908.")
    ('ANNA RUIZ', 23)
    """
    start = time_before(sentence)
    found = _LABEL.match(sentence, start)
    if found:
        speaker = _REMARK.sub("", found["speaker"]).strip()
        return ("", found.end()) if _NO_SPEAKER.match(speaker) else (speaker, found.end())
    chat = _CHAT.match(sentence, start)
    if not chat:
        return "", 0
    speaker = chat["framed"] or chat["plain"] or chat["timed"]
    known = chat["plain"] is not None and (speaker.lower() in STOP_WORDS or _NO_SPEAKER.match(speaker))
    return ("", 0) if known else (speaker, chat.end())


def asks(sentence: str) -> bool:
    """Return whether a sentence is a question."""
    return _ASKS.search(sentence) is not None


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence as it stands: its place in its row 0…, the row's sentences, number and title.

    Lines of one row follow each other.
    """

    text: str
    place: int
    size: int
    row: int
    title: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """Who says a line, blank where nobody is named, and what; the stems of all its words; whether it asks."""

    speaker: str
    said: str
    stems: tuple[str, ...]
    asks: bool


def turns(lines: Sequence[Line]) -> list[Turn]:
    """Return who says each line, as the last label in its row says."""
    found: list[Turn] = []
    speaker, row = "", None
    for line in lines:
        named, start = speaker_before(line.text)
        if start or line.row != row:
            speaker, row = named, line.row
        said = line.text[start:]
        found.append(Turn(speaker, said, tuple(map(stem, words(said))), asks(said)))
    return found


class Rows:
    """The rows that lines stand in.

    Args:
        lines: at least one.
    """

    def __init__(self, lines: Sequence[Line]) -> None:
        self._rows = np.array([line.row for line in lines])
        self._starts = np.flatnonzero(np.concatenate([[True], self._rows[1:] != self._rows[:-1]]))
        self._sizes = np.diff(np.append(self._starts, len(lines)))

    def beside(self, held: Scores, distance: int) -> Scores:
        """Return what the line so many places before (after, if negative) in the same row has, else 0."""
        found = np.zeros_like(held)
        ahead = slice(abs(distance), len(held))
        behind = slice(0, max(len(held) - abs(distance), 0))
        own, other = (ahead, behind) if distance > 0 else (behind, ahead)
        found[own] = held[other] * (self._rows[own] == self._rows[other])[:, None]
        return found

    def best(self, held: Scores) -> Scores:
        """Return for each line the most that any line of its row has."""
        return self._of_all(np.maximum.reduceat(held, self._starts, axis=0))

    def sums(self, held: Scores) -> Scores:
        """Return for each line what the lines of its row have together."""
        return self._of_all(np.add.reduceat(held, self._starts, axis=0))

    def _of_all(self, by_row: Scores) -> Scores:
        repeated: Scores = np.repeat(by_row, self._sizes, axis=0)
        return repeated

"""Rebuilds paragraphs from the lines of printed pages."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

#: Line pitch, as a multiple of the page's usual one, above which a new paragraph begins.
_PARAGRAPH_PITCH = 1.35
_HEIGHT_RATIO = 1.25
_TERMINATORS = ".!?:…。！？"
_CLOSERS = "\"'”’»)]"
_ITEM = re.compile(r"(?:[•‣◦▪●·*–—-]|\(?(?:\d{1,3}|[a-z]|[ivx]{1,4})[.)])\s")
_CJK = re.compile(r"[\u3000-\u9fff\uff00-\uffef]")
_LONGEST_WORD = 60
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


@dataclass(frozen=True, slots=True)
class Line:
    """A printed line: left, right, top, bottom in points, y upwards. ``hyphen``: it ended in a hyphen,
    which ``text`` no longer has.
    """

    text: str
    hyphen: bool
    page: int
    left: float
    right: float
    top: float
    bottom: float

    @property
    def height(self) -> float:
        """Height of the font in points, at least a thousandth."""
        return max(self.top - self.bottom, 0.001)


def furniture(pages: Sequence[Sequence[Line]]) -> set[Line]:
    """Return running headers, footers and page numbers: first or last lines of at least three pages and of
    half of all pages that are alike but for their digits.
    """

    def edges(page: Sequence[Line]) -> set[Line]:
        by_height = sorted(page, key=lambda line: -line.top)
        return {*by_height[:2], *by_height[-2:]} if len(page) > 4 else {*by_height[:1], *by_height[-1:]}

    def shape(line: Line) -> str:
        # Rows of figures are alike without their digits, yet no furniture; a lone page number is.
        alike = re.sub(r"\d+", "#", line.text)
        return alike if re.search(r"[^\W_]", alike) or alike.count("#") == 1 else line.text

    counts = Counter(alike for page in pages for alike in {shape(line) for line in edges(page)})
    needed = max(3, len(pages) / 2)
    repeated = {alike for alike, count in counts.items() if count >= needed}
    return {line for page in pages for line in edges(page) if shape(line) in repeated}


def paragraphs(pages: Sequence[Sequence[Line]]) -> list[str]:
    """Join lines to paragraphs, across columns and pages where a sentence goes on."""
    groups: list[list[Line]] = []
    for page in pages:
        pitch = _usual_pitch(page)
        for place, line in enumerate(page):
            neighbours = page[max(0, place - 4) : place + 4]
            if groups and not _begins(groups[-1][-1], line, neighbours, pitch):
                groups[-1].append(line)
            else:
                groups.append([line])
    words = Counter(word.lower() for page in pages for line in page for word in _WORD.findall(line.text))
    return [_joined(group, words) for group in groups]


def _usual_pitch(page: Sequence[Line]) -> float:
    steps = [above.bottom - below.bottom for above, below in pairwise(page)]
    downward = [step for step in steps if step > 0]
    return median(downward) if downward else 0.0


def _begins(previous: Line, line: Line, neighbours: Sequence[Line], pitch: float) -> bool:
    """Whether ``line`` begins a paragraph after ``previous``."""
    if previous.hyphen:
        return False
    ended = previous.text.rstrip(_CLOSERS)[-1:] in _TERMINATORS
    goes_on = line.text[:1].islower() and not ended
    if previous.page != line.page or line.bottom >= previous.top:
        return not goes_on
    if _ITEM.match(line.text):
        return True
    ratio = line.height / previous.height
    if not 1 / _HEIGHT_RATIO < ratio < _HEIGHT_RATIO and not goes_on:
        return True
    if pitch and previous.bottom - line.bottom > _PARAGRAPH_PITCH * max(pitch, previous.height):
        return True
    indented = line.left - previous.left > 0.8 * line.height
    if indented and not _ITEM.match(previous.text) and not goes_on:
        return True
    return not goes_on and _stopped_short(previous, line, neighbours)


def _stopped_short(previous: Line, line: Line, neighbours: Sequence[Line]) -> bool:
    """The next word would have fitted on the line above, so the line was ended on purpose."""
    reach = 3 * previous.height
    edge = max(near.right for near in (*neighbours, previous) if abs(near.left - previous.left) < reach)
    first_word = line.text.split(" ", 1)[0]
    width = (line.right - line.left) * (len(first_word) + 1) / max(len(line.text), 1)
    return previous.right + width + previous.height < edge


def _joined(group: Sequence[Line], words: Counter[str]) -> str:
    # Parts, not one growing text: a paragraph may have as many lines as the file.
    parts = [group[0].text]
    end = group[0].text
    for previous, line in pairwise(group):
        between = " "
        if previous.hyphen:
            between = "-" if _stays_divided(end, line.text, words) else ""
        elif _CJK.match(end[-1:]) and _CJK.match(line.text):
            between = ""
        parts += [between, line.text]
        end = (end + between + line.text)[-_LONGEST_WORD:]
    return "".join([*parts, "-" if group[-1].hyphen else ""])


def _stays_divided(text: str, following: str, words: Counter[str]) -> bool:
    """Whether the hyphen between two parts of a word stays. Whichever of the two spellings stands elsewhere
    in the document wins; else the hyphen goes, unless a capital or digit follows it.
    """
    head = re.search(r"[^\W\d_]+(?:-[^\W\d_]+)*$", text[-_LONGEST_WORD:])
    tail = _WORD.match(following)
    if not head or not tail or following[0].isupper():
        return True
    solid, hyphened = (head[0] + tail[0]).lower(), f"{head[0]}-{tail[0]}".lower()
    return words[hyphened] > words[solid]

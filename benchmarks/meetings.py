"""Meetings of QMSum as documents, and their questions with the turns that answer them.

30 committee meetings are one corpus, 9 research meetings another. Questions were written for one meeting
each and are asked over all; weights were fitted on those of ``train``.

A title is what the data says of a meeting: the committee as its opening words name it, and the number that
they give the meeting, or else its place in the file of the data set.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from measuring import DATA, Stretch

FILES = {"train": "committee_train", "val": "committee_val", "academic": "academic_val"}
CORPORA = {"committee": ("train", "val"), "academic": ("academic",)}
_COMMITTEE = re.compile(
    r"(?:Special Committee on the [\w-]+ Pandemic|Children, Young People and Education)", re.I
)
_NUMBERED = re.compile(r"(?:the (?P<before>\w+?) ?meeting|meeting number (?P<after>\d+)) of", re.I)
_ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
_OPENING = 3


@dataclass(frozen=True)
class Meeting:
    """A meeting as a document, where each of its turns stands, and its questions with their gold turns."""

    title: str
    text: str
    turns: Sequence[tuple[int, int]]
    questions: Sequence[tuple[str, Sequence[Stretch]]]

    @property
    def file(self) -> str:
        return f"{self.title}.txt"


def meetings(name: str) -> list[Meeting]:
    rows = (DATA / "qmsum" / f"{FILES[name]}.jsonl").read_text(encoding="utf-8").splitlines()
    return [meeting(json.loads(line), FILES[name], place) for place, line in enumerate(rows, start=1)]


def meeting(row: Mapping, source: str, place: int) -> Meeting:
    turns, written = [], ""
    for turn in row["meeting_transcripts"]:
        said = f"{turn['speaker']}: {turn['content']}"
        turns.append((len(written), len(written) + len(said)))
        written += said + "\n\n"
    title = titled(row["meeting_transcripts"], source, place)
    questions = [
        (one["query"], merged(f"{title}.txt", turns, one["relevant_text_span"]))
        for one in row["specific_query_list"]
    ]
    return Meeting(title, written.rstrip() + "\n", turns, questions)


def titled(turns: Sequence[Mapping[str, str]], source: str, place: int) -> str:
    """The committee, and the number of the meeting or its place in the file, as the data gives them."""
    opening = " ".join(turn["content"] for turn in turns[:_OPENING])
    found, numbered = _COMMITTEE.search(opening), _NUMBERED.search(opening)
    if not found:
        return f"{source}, meeting {place}"
    committee = found[0] if found[0].startswith("Special") else f"{found[0]} Committee"
    said = (numbered["before"] or numbered["after"]) if numbered else ""
    digits = re.match(r"\d+", said)
    if digits:
        return f"{committee}, meeting {digits[0]}"
    if said.lower() in _ORDINALS and committee.startswith("Special"):
        return f"{committee}, meeting {_ORDINALS.index(said.lower()) + 1}"
    return f"{committee}, meeting {place} of {source}"


def merged(file: str, turns: Sequence[tuple[int, int]], spans: Sequence[Sequence[str]]) -> list[Stretch]:
    """The characters of the turns, those that overlap or follow one another joined."""
    found: list[Stretch] = []
    for first, last in sorted((int(first), int(last)) for first, last in spans):
        start, end = turns[first][0], turns[min(last, len(turns) - 1)][1]
        if found and start <= found[-1].end + 2:
            start, end = found[-1].start, max(end, found.pop().end)
        found.append(Stretch(file, start, end))
    return found


def named(question: str, title: str) -> str:
    """The question with its meeting in it."""
    return f"In the meeting {title}, {question[0].lower()}{question[1:]}"

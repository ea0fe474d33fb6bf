"""The podcast corpus as whole episodes, and questions about them with where their answers stand.

    python benchmarks/episodes.py [--show]

Checks every reference of ``podcast_questions.yaml`` against the transcripts, and counts the questions;
``--show`` prints each question with its gold sentences.
"""

import argparse
import hashlib
import re
import sys
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

TRANSCRIPTS = Path(__file__).parents[2] / "shared" / "data" / "podcast" / "transcripts.zip"
QUESTIONS = Path(__file__).with_name("podcast_questions.yaml")
_PART = re.compile(r"(?:.*/)?(?P<episode>[^/]*)-part(?P<number>\d+)\.txt")
_LEAST_OVERLAP, _LONGEST_OVERLAP = 30, 1500
_HASHED = 12


@dataclass(frozen=True)
class Gold:
    """A sentence that answers: file, first and one past the last character of the episode's text."""

    file: str
    start: int
    end: int


@dataclass(frozen=True)
class PodcastQuestion:
    """A question, and sentences any of which answers it."""

    id: str
    kind: str
    half: str
    text: str
    gold: tuple[Gold, ...]


@cache
def episodes() -> Mapping[str, str]:
    """Text of every episode by file name, its overlapping parts joined, in the order of their names."""
    parts: dict[str, dict[int, str]] = {}
    with zipfile.ZipFile(TRANSCRIPTS) as archive:
        for member in archive.namelist():
            if found := _PART.fullmatch(member):
                text = archive.read(member).decode("utf-8").replace("\r\n", "\n").replace("\ufeff", "")
                parts.setdefault(found["episode"], {})[int(found["number"])] = text
    return {f"{name}.txt": _joined(name, parts[name]) for name in sorted(parts)}


def _joined(name: str, numbered: Mapping[int, str]) -> str:
    """One text of parts each of which begins with its file's name and with the end of the one before.

    In some episodes the numbers are not in the order of the text, so that the overlaps decide.
    """
    head = re.compile(re.escape(name) + r"\.txt\s*(?:\.\./)?")
    parts = [head.sub("", numbered[number], count=1) for number in sorted(numbered)]
    solid = ["".join(part.split()) for part in parts]
    following = {place: _following(place, solid) for place in range(len(parts))}
    followers = {after for after, _ in following.values()}
    place = next(place for place in range(len(parts)) if place not in followers)
    text, seen = parts[place].rstrip(), {place}
    while (after := following[place])[0] not in {None, *seen}:
        place, overlap = after
        seen.add(place)
        cut = _place_of(parts[place], overlap)
        blank = parts[place][:cut][len(parts[place][:cut].rstrip()) :]
        text += blank + parts[place][cut:].rstrip()
    held = "".join(text.split())
    lost = [one for one in range(len(parts)) if one not in seen and solid[one] not in held]
    if lost:
        sys.exit(f"{name}: parts {lost} overlap with no other")
    return text


def _following(place: int, solid: Sequence[str]) -> tuple[int | None, int]:
    """The part that goes on where this one ends, and their common characters, blanks left out."""
    overlaps = {other: _overlap(solid[place], solid[other]) for other in range(len(solid)) if other != place}
    best = max(overlaps, key=lambda other: (overlaps[other], other == place + 1))
    return (best, overlaps[best]) if overlaps[best] else (None, 0)


def _overlap(first: str, second: str) -> int:
    """How many characters of the end of one are the beginning of the other: the most there are."""
    tail, begin = first[-_LONGEST_OVERLAP:], second[:_LEAST_OVERLAP]
    at = tail.find(begin)
    while at >= 0 and not second.startswith(tail[at:]):
        at = tail.find(begin, at + 1)
    return len(tail) - at if begin and at >= 0 else 0


def _place_of(text: str, solid: int) -> int:
    """The place in a text of its character of that number, blanks not counted."""
    for found in re.finditer(r"\S", text):
        if not solid:
            return found.start()
        solid -= 1
    return len(text)


def hashed(words: str) -> str:
    """The first digits of the SHA-256 of a sentence."""
    return hashlib.sha256(words.encode()).hexdigest()[:_HASHED]


def podcast_questions() -> list[PodcastQuestion]:
    """The questions of the file, their references checked; the first that does not fit ends the program."""
    found = []
    for row in yaml.safe_load(QUESTIONS.read_text(encoding="utf-8")):
        for one in row["gold"]:
            words = episodes()[one["file"]][one["start"] : one["end"]]
            if hashed(words) != one["sha256"]:
                sys.exit(f"{row['id']}: {one['file']} has other words at {one['start']}–{one['end']}")
        gold = tuple(Gold(one["file"], one["start"], one["end"]) for one in row["gold"])
        found.append(PodcastQuestion(row["id"], row["kind"], row["half"], row["question"], gold))
    return found


def main() -> None:
    """Check, count, and show."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--show", action="store_true")
    show = parser.parse_args().show
    questions = podcast_questions()
    for question in questions if show else ():
        print(f"{question.id} {question.kind} {question.half}: {question.text}")
        for gold in question.gold:
            print(f"    {gold.file} {gold.start}: {episodes()[gold.file][gold.start : gold.end]}")
    for (kind, half), count in sorted(Counter((one.kind, one.half) for one in questions).items()):
        print(f"{kind} {half}: {count}")


if __name__ == "__main__":
    main()

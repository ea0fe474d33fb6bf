"""Texts, questions and what is right, of every set that ``left_out.py`` asks.

A question is of one half: what is chosen or fitted is chosen on ``chosen`` and reported on ``reported``. The
halves are those in which a set was drawn before, where it was; otherwise hashes of the questions' ids decide.
"""

import hashlib
import json
import random
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, Protocol

import articles
import meetings
import retrieval
import yaml
from episodes import episodes, podcast_questions
from measuring import DATA, ENOUGH, Stretch, covered

PLAIN = Path(__file__).with_name("plain_questions.yaml")
SAMPLE = Path(__file__).parents[1] / "graphrag_dagster" / "sample" / "harbour"
CHOSEN, REPORTED = "chosen", "reported"
BEIGE_QUESTIONS, SEED = 48, 43


class Piece(NamedTuple):
    """Words of a document: its path, where they begin, and the words."""

    path: str
    start: int
    text: str


class Gold(Protocol):
    """What answers a question."""

    def holds(self, piece: Piece) -> bool:
        """Return whether the words are the gold ones, or hold them."""


@dataclass(frozen=True)
class Characters:
    """Characters of a document; words have them that share half of the characters of the shorter."""

    stretch: Stretch

    def holds(self, piece: Piece) -> bool:
        words = Stretch(piece.path, piece.start, piece.start + len(piece.text))
        shorter = min(len(piece.text), self.stretch.end - self.stretch.start)
        return covered(self.stretch, [words]) >= max(1, ENOUGH * shorter)


@dataclass(frozen=True)
class WholePassage:
    """A passage that is a document of its own."""

    text: str

    def holds(self, piece: Piece) -> bool:
        return piece.text.strip() in self.text


@dataclass(frozen=True)
class Phrase:
    """Words of certain files that match a regular expression, upper and lower case and white space aside."""

    files: tuple[str, ...]
    says: re.Pattern[str]

    def holds(self, piece: Piece) -> bool:
        if not any(fnmatch(piece.path, pattern) for pattern in self.files):
            return False
        return bool(self.says.search(" ".join(piece.text.split())))


@dataclass(frozen=True)
class Question:
    """A question; without gold it cannot be answered from the texts, and a refusal is right."""

    id: str
    text: str
    gold: Sequence[Gold]
    half: str = ""


@dataclass(frozen=True)
class QuestionSet:
    """A corpus and questions about it.

    Attributes:
        corpus: its name; sets of one corpus are asked over the same index.
        write: writes the documents into a folder.
        questions: all of them.
        settings: content of ``corpus.yaml``.
        every: all gold of a question is wanted, not any of it.
    """

    corpus: str
    write: Callable[[Path], None]
    questions: Callable[[], Sequence[Question]]
    settings: str = ""
    every: bool = False


def in_halves(questions: Sequence[Question]) -> list[Question]:
    """Return the questions, the half of them with the lowest hashes of their ids for choosing."""
    drawn = sorted(hashlib.sha256(one.id.encode()).digest() for one in questions)
    most = drawn[len(drawn) // 2 - 1]
    return [
        replace(one, half=CHOSEN if hashlib.sha256(one.id.encode()).digest() <= most else REPORTED)
        for one in questions
    ]


def _write_texts(texts: Callable[[], Mapping[str, str]], folder: Path) -> None:
    for file, text in texts().items():
        (folder / file).write_text(text, encoding="utf-8", newline="")


def _write_folder(source: Path, folder: Path) -> None:
    for file in sorted(source.rglob("*")):
        if file.is_file() and file.name != "corpus.yaml":
            copy = folder / file.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(file.read_bytes())


def _podcast() -> list[Question]:
    halves = {"tune": CHOSEN, "report": REPORTED}
    return [
        Question(
            one.id,
            one.text,
            [Characters(Stretch(gold.file, gold.start, gold.end)) for gold in one.gold],
            halves[one.half],
        )
        for one in podcast_questions()
    ]


def _meetings(name: str, *, named: bool = False) -> list[Question]:
    found = []
    for meeting in meetings.meetings(name):
        for number, (text, gold) in enumerate(meeting.questions):
            asked = meetings.named(text, meeting.title) if named else text
            identity = f"{meeting.title} {number}"
            found.append(Question(identity, asked, [*map(Characters, gold)]))
    return in_halves(found)


def _committee() -> dict[str, str]:
    return {one.file: one.text for part in ("train", "val") for one in meetings.meetings(part)}


def _academic() -> dict[str, str]:
    return {one.file: one.text for one in meetings.meetings("academic")}


def _covid() -> list[Question]:
    asked = [one for one in articles.articles()[1] if one[1]]
    random.Random(articles.SEED).shuffle(asked)
    return [
        Question(
            f"covidqa {place}",
            text,
            [*map(Characters, gold)],
            REPORTED if place < articles.QUESTIONS else CHOSEN,
        )
        for place, (text, gold) in enumerate(asked)
    ]


BEIGE = DATA / "beige_book" / "beige_book.zip"
_MONTHS = {
    "2006-03": "March 2006",
    "2007-07": "July 2007",
    "2008-10": "October 2008",
    "2009-04": "April 2009",
    "2010-06": "June 2010",
}
_DISTRICTS = {
    "at": "Atlanta",
    "bo": "Boston",
    "ch": "Chicago",
    "cl": "Cleveland",
    "da": "Dallas",
    "kc": "Kansas City",
    "mi": "Minneapolis",
    "ny": "New York",
    "ph": "Philadelphia",
    "ri": "Richmond",
    "sf": "San Francisco",
    "sl": "St. Louis",
}
#: Headings as reports have them at the beginning of a section's first line, and what one asks about.
_HEADINGS = {
    "Consumer Spending and Tourism": ("consumer spending", "tourism"),
    "Consumer Spending": ("consumer spending",),
    "Retail": ("retail sales",),
    "Tourism": ("tourism",),
    "Manufacturing and Transportation": ("manufacturing",),
    "Manufacturing and Other Business Activity": ("manufacturing",),
    "Manufacturing and Related Services": ("manufacturing",),
    "Manufacturing": ("manufacturing",),
    "Real Estate and Construction": ("real estate and construction",),
    "Construction and Real Estate": ("real estate and construction",),
    "Residential Real Estate": ("residential real estate",),
    "Commercial Real Estate": ("commercial real estate",),
    "Agriculture and Natural Resources": ("agriculture",),
    "Natural Resources and Agriculture": ("agriculture",),
    "Agriculture": ("agriculture",),
    "Banking and Finance": ("banking",),
    "Banking": ("banking",),
    "Financial Developments": ("banking",),
    "Energy": ("energy",),
    "Employment and Prices": ("employment and prices",),
    "Wages and Prices": ("wages and prices",),
    "Labor Markets": ("labor markets",),
}
_HEADING = re.compile(
    rf"^(?P<heading>{'|'.join(sorted(map(re.escape, _HEADINGS), key=len, reverse=True))}) (?=[A-Z])", re.M
)


def beige_book() -> dict[str, str]:
    """Text of every report by file name."""
    with zipfile.ZipFile(BEIGE) as archive:
        return {Path(name).name: archive.read(name).decode() for name in sorted(archive.namelist())}


class Section(NamedTuple):
    """A section of a report: what one asks about, and where it stands."""

    subject: str
    stretch: Stretch


def sections(file: str, text: str) -> Iterator[Section]:
    """Yield the sections of a report whose headings are known, as many times as they have subjects."""
    found = list(_HEADING.finditer(text))
    starts = [*(one.start() for one in found), len(text)]
    for one, (start, end) in zip(found, pairwise(starts), strict=True):
        for subject in _HEADINGS[one["heading"]]:
            yield Section(subject, Stretch(file, start, end))


def _beige(*, sectioned: bool) -> list[Question]:
    """Questions whose gold is the report, or the section that is asked about."""
    every = []
    for file, text in beige_book().items():
        month, district = file[:7], file[8:10]
        if month in _MONTHS and district in _DISTRICTS:
            asked = f"What did the {_DISTRICTS[district]} district report about {{}} in {_MONTHS[month]}?"
            every += [
                (f"{file} {one.subject}", asked.format(one.subject), one.stretch, len(text))
                for one in sections(file, text)
            ]
    chosen = random.Random(SEED).sample(every, BEIGE_QUESTIONS)
    return in_halves(
        [
            Question(identity, text, [Characters(stretch if sectioned else Stretch(stretch.path, 0, length))])
            for identity, text, stretch, length in chosen
        ]
    )


def _write_passages(name: str, folder: Path, *, titled: bool) -> None:
    rows = [
        ({"title": one.title} if titled else {}) | {"text": retrieval.written(one, titled=titled)}
        for one in retrieval.passages(name)
    ]
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (folder / "passages.jsonl").write_text(lines, encoding="utf-8")


def _multi_hop(name: str, *, titled: bool) -> list[Question]:
    asked = retrieval.questions(name)
    chosen = set(retrieval.halves(len(asked))["tune"])
    return [
        Question(
            f"{name} {place}",
            one.text,
            [
                WholePassage(retrieval.written(passage, titled=titled))
                for passage in sorted(one.gold, key=lambda passage: (passage.title, passage.text))
            ],
            CHOSEN if place in chosen else REPORTED,
        )
        for place, one in enumerate(asked)
    ]


def _passage_set(name: str, called: str, *, titled: bool) -> QuestionSet:
    columns = "{title: title, text: text}" if titled else "{text: text}"
    return QuestionSet(
        called,
        partial(_write_passages, name, titled=titled),
        partial(_multi_hop, name, titled=titled),
        f"tables: {{passages.jsonl: {columns}}}\ntext_units: {{strategy: none}}\n",
        every=True,
    )


def _plain(name: str) -> list[Question]:
    rows = yaml.safe_load(PLAIN.read_text(encoding="utf-8"))[name]
    return in_halves(
        [
            Question(
                f"{name} {place}",
                row["question"],
                [Phrase(tuple(row["files"]), re.compile(row["says"], re.I))] if "says" in row else [],
            )
            for place, row in enumerate(rows, start=1)
        ]
    )


_write_committee = partial(_write_texts, _committee)
_write_academic = partial(_write_texts, _academic)
_write_beige = partial(_write_texts, beige_book)
SETS: Mapping[str, QuestionSet] = {
    "podcast": QuestionSet("podcast", partial(_write_texts, episodes), _podcast),
    "meetings-train": QuestionSet("committee", _write_committee, partial(_meetings, "train")),
    "meetings-val": QuestionSet("committee", _write_committee, partial(_meetings, "val")),
    "meetings-named": QuestionSet("committee", _write_committee, partial(_meetings, "val", named=True)),
    "meetings-academic": QuestionSet("academic", _write_academic, partial(_meetings, "academic")),
    "covidqa": QuestionSet("covidqa", partial(_write_texts, lambda: articles.articles()[0]), _covid),
    "beige": QuestionSet("beige", _write_beige, partial(_beige, sectioned=False)),
    "beige-sections": QuestionSet("beige", _write_beige, partial(_beige, sectioned=True)),
    **{
        f"{called}-{'titled' if titled else 'untitled'}": _passage_set(
            name, f"{called}-{'titled' if titled else 'untitled'}", titled=titled
        )
        for called, name in retrieval.SECTIONS.items()
        for titled in (True, False)
    },
    "plain-sample": QuestionSet(
        "sample",
        partial(_write_folder, SAMPLE),
        partial(_plain, "sample"),
        (SAMPLE / "corpus.yaml").read_text(encoding="utf-8"),
    ),
    "plain-datasette": QuestionSet(
        "datasette", partial(_write_folder, DATA / "docs_datasette"), partial(_plain, "datasette")
    ),
    "plain-httpx": QuestionSet(
        "httpx", partial(_write_folder, DATA / "docs_httpx"), partial(_plain, "httpx")
    ),
    "plain-beige": QuestionSet("beige", _write_beige, partial(_plain, "beige")),
}

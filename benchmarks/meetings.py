"""Do the contexts of questions about meetings hold the turns that answer them?

    python benchmarks/meetings.py [train] [val] [academic] [--home FOLDER] [--ways NAME …] [--variants NAME …]

30 committee meetings of QMSum are one corpus, its 9 research meetings another, each a document, indexed
without a model. Their questions were written for one meeting each and are asked over all: as they stand, and
with the meeting named; and as they stand over their meeting alone, given as filter. train is for tuning, val
and academic are for reporting.

*sent*: share of the gold turns' characters in the context as a model would be sent it, packed for a budget of
tokens and cut after so many characters; *ranked*: the same of the text units of the usual context alone, in
their order. Only characters of text units count. *any of 3*: share of questions of which at least one of the
first three statements cites words that share half of the characters of the shorter with the gold turns;
*share of 3*: how many of the three do.

A title is what the data says of a meeting: the committee as its opening words name it, and the number that
they give the meeting, or else its place in the file of the data set.
"""

import argparse
import json
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from measuring import (
    BASIC,
    DATA,
    Corpus,
    Stretch,
    Way,
    ceiling_row,
    coverage,
    coverage_header,
    coverage_row,
    table,
)

from graphrag_dagster import Filters
from graphrag_dagster.kernel.questions.document_filters import ALL

BUDGETS = (4_000, 12_000)
WAYS = (Way("local", "local", {}), *BASIC, Way("drift", "drift", {}), Way("auto", "auto", {}))
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


#: What is asked, and from which documents.
VARIANTS: Mapping[str, Callable[[str, Meeting], tuple[str, Filters]]] = {
    "as it stands": lambda question, _: (question, ALL),
    "meeting named": lambda question, meeting: (named(question, meeting.title), ALL),
    "filtered": lambda question, meeting: (question, Filters(documents=(meeting.file,))),
}


def measure(corpus: Corpus, name: str, ways: Sequence[Way], variants: Sequence[str]) -> None:
    asked = [(one, question, gold) for one in meetings(name) for question, gold in one.questions]
    for variant in variants:
        print(f"\n{name}, {len(asked)} questions, {variant}")
        rows = []
        for way in ways:
            found = []
            for one, question, gold in asked:
                said, filters = VARIANTS[variant](question, one)
                found.append(coverage(corpus, said, way, gold, BUDGETS, filters))
            rows.append([way.name, *coverage_row(found, BUDGETS)])
        rows.append(ceiling_row([gold for _, _, gold in asked], BUDGETS))
        table(["method", *coverage_header(BUDGETS)], rows)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"{', '.join(FILES)}; default: all")
    parser.add_argument("--home", type=Path)
    parser.add_argument("--ways", nargs="*", metavar="NAME")
    parser.add_argument("--variants", nargs="*", choices=VARIANTS)
    given = parser.parse_args()
    if unknown := set(given.sets) - set(FILES):
        parser.error(f"there is no set {', '.join(sorted(unknown))}; there are {', '.join(FILES)}")
    ways = [way for way in WAYS if not given.ways or way.name in given.ways]
    with tempfile.TemporaryDirectory() as made:
        for name, sets in CORPORA.items():
            if chosen := [one for one in sets if one in (given.sets or FILES)]:
                documents = {one.file: one.text for part in sets for one in meetings(part)}
                corpus = Corpus((given.home or Path(made)) / name, name, documents)
                for one in chosen:
                    measure(corpus, one, ways, given.variants or list(VARIANTS))


if __name__ == "__main__":
    main()

"""How many sentences of documentation and minutes can be quoted, of those that a person would quote?

    python benchmarks/quotable.py [--data FOLDER] [--missed]

200 places of the manuals of Datasette (reStructuredText) and of httpx (Markdown) and of the transcripts of
QMSum were drawn with a fixed seed, each character as likely as another. A person marked the sentence, item or
entry around each, and whether one would quote it: code, rules, anchors, bare headings and scraps of speech
one would not. ``quotable.csv`` holds where they stand and the judgement, no words.

One can be quoted where a sentence that the rules find holds four fifths of its characters, is not more than
twice as long, and is readable. Printed is that of those that one would quote, and beside it how many of the
others are taken for sentences. --missed prints both kinds of mistakes.
"""

import argparse
import csv
from collections import Counter
from functools import cache
from pathlib import Path

from measuring import DATA, table
from meetings import meetings

from graphrag_dagster.kernel.documents.text_decoding import decode
from graphrag_dagster.kernel.text.markup_spans import code_blocks
from graphrag_dagster.kernel.text.quotable_sentences import readability, tidy
from graphrag_dagster.kernel.text.sentence_splitting import sentence_spans

JUDGED = Path(__file__).with_name("quotable.csv")
#: Share of a sentence that has to be held, how often as long what holds it may be, and characters of marks.
HELD, LONGER, MARKS = 0.8, 2, 20


@cache
def texts_of(part: str) -> list[str]:
    """The meetings of a part of QMSum."""
    return [one.text for one in meetings(part)]


@cache
def text_of(data: Path, name: str) -> str:
    source, *rest = name.split("/")
    if source == "qmsum":
        return texts_of(rest[0])[int(rest[1])]
    return decode((data / name).read_bytes()).text


@cache
def quotable_spans(data: Path, name: str) -> list[tuple[int, int]]:
    text = text_of(data, name)
    code = [range(one.start, one.end) for one in code_blocks(text)]
    spans = [(one.start, one.end) for one in sentence_spans(text)]
    spans = [one for one in spans if not any(one[0] in block for block in code)]
    return [(start, end) for start, end in spans if readability(tidy(text[start:end])) > 0]


def is_held(start: int, end: int, spans: list[tuple[int, int]]) -> bool:
    """Whether one of the spans says what stands from start to end, and not much more."""
    return any(
        min(end, last) - max(start, first) >= HELD * (end - start)
        and last - first <= LONGER * (end - start) + MARKS
        for first, last in spans
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--missed", action="store_true")
    given = parser.parse_args()
    counts: Counter[tuple[str, str, bool]] = Counter()
    with JUDGED.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            start, end, name = int(row["start"]), int(row["end"]), row["text"]
            held = is_held(start, end, quotable_spans(given.data, name))
            counts[name.partition("/")[0], row["quotable"], held] += 1
            if given.missed and held != (row["quotable"] == "yes"):
                words = " ".join(text_of(given.data, name)[start:end].split())
                print(f"{'taken' if held else 'missed'}: {name} {start}: {words[:150]}")
    sources = sorted({source for source, _, _ in counts})
    rows = [(source, [source]) for source in sources] + [("all", sources)]
    table(
        ["", "can be quoted of those that one would quote", "taken of the others"],
        ([name, *(told(counts, group, judged) for judged in ("yes", "no"))] for name, group in rows),
    )


def told(counts: Counter[tuple[str, str, bool]], sources: list[str], judged: str) -> str:
    held = sum(counts[source, judged, True] for source in sources)
    every = held + sum(counts[source, judged, False] for source in sources)
    return f"{held} of {every} ({held / every:.1%})" if every else "–"


if __name__ == "__main__":
    main()

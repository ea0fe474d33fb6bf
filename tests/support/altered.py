"""Sentences of documents made untrue: another number, another name, a negation, names exchanged."""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal

from graphrag_dagster.kernel.text.sentence_splitting import sentence_spans

Alteration = Literal["number", "name", "negation", "exchange"]

_NUMBER = re.compile(r"(?<![\w.,-])\d{1,4}(?![\w.,-]|\s?-)")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{3,}(?: [A-Z][a-z]{3,})*(?=[ ,.])")
_AUXILIARY = re.compile(r"\b(is|was|were|are|has|had|will|would|can|could)\b(?! not| never| no)")


@dataclass(frozen=True, slots=True)
class Altered:
    """A sentence as it was, with those around it, and as it was made untrue."""

    how: Alteration
    true: str
    untrue: str
    around: str


def sentences_of(folder: Path) -> list[list[str]]:
    """Return the sentences of each text or Markdown file of a folder, in the order of the paths."""
    found = []
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".txt", ".md"):
            text = path.read_text(encoding="utf-8", errors="replace")
            sentences = [" ".join(text[one.start : one.end].split()) for one in sentence_spans(text)]
            found.append(
                [
                    one
                    for one in sentences
                    if 6 <= len(one.split()) <= 40 and one.endswith(".") and "\ufffd" not in one
                ]
            )
    return found


def altered(documents: Sequence[Sequence[str]], seed: int = 1) -> Iterator[Altered]:
    """Yield each sentence made untrue in each way that it allows."""
    chance = random.Random(seed)
    names = sorted({name for document in documents for one in document for name in _NAME.findall(one)})
    for document in documents:
        for place, sentence in enumerate(document):
            around = " ".join(document[max(place - 1, 0) : place + 2])
            for how, untrue in _ways(sentence, around, names, chance):
                yield Altered(how, sentence, untrue, around)


def _ways(
    sentence: str, around: str, names: Sequence[str], chance: random.Random
) -> Iterator[tuple[Alteration, str]]:
    if numbers := list(_NUMBER.finditer(sentence)):
        one = chance.choice(numbers)
        other = int(one[0]) + chance.randint(1, 9)
        if str(other) not in around:
            yield "number", f"{sentence[: one.start()]}{other}{sentence[one.end() :]}"
    found = list(_NAME.finditer(sentence))
    strange = [name for name in names if not set(name.split()) & set(re.findall(r"\w+", around))]
    if found:
        one = chance.choice(found)
        yield "name", f"{sentence[: one.start()]}{chance.choice(strange)}{sentence[one.end() :]}"
    if auxiliary := _AUXILIARY.search(sentence):
        yield "negation", f"{sentence[: auxiliary.end()]} not{sentence[auxiliary.end() :]}"
    for first, second in pairwise(found):
        between = sentence[first.end() : second.start()]
        if first[0] != second[0] and re.search(r"\b[a-z]{3,}(?:ed|s)\b", between) and "," not in between:
            yield (
                "exchange",
                f"{sentence[: first.start()]}{second[0]}{between}{first[0]}{sentence[second.end() :]}",
            )
            break


@dataclass(frozen=True, slots=True)
class Otherwise:
    """A sentence said in other words that mean the same or less."""

    how: Literal["number in figures", "one part only", "parts turned round", "introduced"]
    true: str
    said: str


def told_otherwise(documents: Sequence[Sequence[str]]) -> Iterator[Otherwise]:
    """Yield each sentence in the other words that it allows."""
    for document in documents:
        for one in document:
            if number := _IN_WORDS.search(one):
                figures = f"{one[: number.start()]}{_FIGURES[number[0]]}{one[number.end() :]}"
                yield Otherwise("number in figures", one, figures)
            first, comma, rest = one.rstrip(".").partition(", ")
            if comma and min(len(first.split()), len(rest.split())) > 4:
                yield Otherwise("one part only", one, f"In the end {first[0].lower()}{first[1:]}.")
                yield Otherwise("parts turned round", one, f"{rest[0].upper()}{rest[1:]}, {first}.")
            yield Otherwise("introduced", one, f"According to the documents, {one.split(maxsplit=1)[1]}")


_FIGURES = {
    word: number
    for number, word in enumerate(
        ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"], start=2
    )
}
_IN_WORDS = re.compile(rf"(?<![\w-])(?:{'|'.join(_FIGURES)})(?![\w-]| hundred| thousand| million)")

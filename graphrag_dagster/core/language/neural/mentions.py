"""Mentions of entities: joined where they touch, and what their labels say of a name together."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from graphrag_dagster.core.text.similarity import normalise
from graphrag_dagster.core.text.spans import Span

#: Most characters between two mentions of one label that are one.
_GAP = 1


@dataclass(frozen=True, slots=True)
class Mention:
    """Words of a text that a model labelled; ``score``: how sure it is, 0 to 1."""

    span: Span
    label: str
    score: float


@dataclass(frozen=True, slots=True)
class Named:
    """A name with its places in a text, in their order, and the label of most of them."""

    name: str
    surface: str
    label: str
    spans: tuple[Span, ...]


def joined(mentions: Iterable[Mention]) -> list[Mention]:
    """Return mentions in the order of the text; those of one label with at most a character between are one.

    One that was made of several is as sure as the surest of them.
    """
    found: list[Mention] = []
    for mention in sorted(mentions, key=lambda one: (one.span, one.label)):
        last = found[-1] if found else None
        if last and last.label == mention.label and mention.span.start - last.span.end <= _GAP:
            span = Span(last.span.start, max(last.span.end, mention.span.end))
            found[-1] = Mention(span, last.label, max(last.score, mention.score))
        else:
            found.append(mention)
    return found


def by_name(text: str, mentions: Sequence[Mention]) -> list[Named]:
    """Return each name once, in the order of their first mentions.

    Its label is that of most mentions; of labels with as many, the one of the surest mention, then the first
    in the alphabet. Words without a letter or digit are no name.
    """
    groups: dict[str, list[Mention]] = defaultdict(list)
    for mention in mentions:
        words = text[mention.span.start : mention.span.end]
        if any(map(str.isalnum, words)):
            groups[normalise(words)].append(mention)
    return [_named(text, name, own) for name, own in groups.items()]


def _named(text: str, name: str, mentions: Sequence[Mention]) -> Named:
    counted = Counter(mention.label for mention in mentions)
    surest: dict[str, float] = {}
    for mention in mentions:
        surest[mention.label] = max(mention.score, surest.get(mention.label, 0.0))
    label = min(counted, key=lambda one: (-counted[one], -surest[one], one))
    spans = tuple(mention.span for mention in mentions)
    return Named(name, text[spans[0].start : spans[0].end], label, spans)

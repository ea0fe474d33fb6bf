"""Which entities a phrase names, and nothing else: each part of it is a name, or is told as unknown."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graphrag_dagster.kernel.retrieval.linking.linking import NameLinker
from graphrag_dagster.kernel.retrieval.words import words as folded_words
from graphrag_dagster.kernel.retrieval.words import words_with_case

_BETWEEN = frozenset({"and", "or", "both", "as", "well"})
_MOST_NEAR = 5
_ARTICLES = frozenset({"the", "a", "an"})


@dataclass(frozen=True, slots=True)
class NamedEntities:
    """The entities that a phrase names, by place, in its order.

    ``guessed`` says which parts were taken for longer names, ``unknown`` which are no names, with names that
    they may be parts of.
    """

    places: tuple[int, ...]
    guessed: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def entities_named(phrase: str, linker: NameLinker, titles: Sequence[str]) -> NamedEntities:
    """Return the entities that a phrase names.

    Args:
        phrase: names, with *and* or commas between them.
        linker: knows the names, those of the entities first.
        titles: of the entities, by place; of several that are spelled alike the first is meant.
    """
    places: dict[int, None] = {}
    guessed, unknown = [], []
    for words, named in _parts(phrase, linker, len(titles)):
        if named:
            places.update(dict.fromkeys(named))
        elif len(longer := _longer(words, titles)) == 1:
            places[longer[0]] = None
            guessed.append(f"{words} is taken for {titles[longer[0]]}")
        else:
            near = ", ".join(titles[place] for place in longer[:_MOST_NEAR])
            unknown.append(f"{words!r}, but {near}" if near else repr(words))
    return NamedEntities(tuple(places), tuple(guessed), tuple(unknown))


def _parts(phrase: str, linker: NameLinker, entities: int) -> Iterator[tuple[str, list[int]]]:
    """What stands between *and*s outside of names, with the entities where it is nothing but names."""
    found = words_with_case(phrase)
    owner: dict[int, int] = {}
    for mention in linker.mentions(found.folded):
        if place := [one for one in mention.places if one < entities][:1]:
            owner |= dict.fromkeys(range(mention.start, mention.end), place[0])
    part: list[int] = []
    for at in [*range(len(found.folded)), None]:
        if at is not None and (at in owner or found.folded[at] not in _BETWEEN):
            part.append(at)
            continue
        told = [one for one in part if one in owner or found.folded[one] not in _ARTICLES]
        whole = all(one in owner for one in told)
        if told:
            words = " ".join(found.written[one] for one in told)
            yield words, list(dict.fromkeys(owner[one] for one in told)) if whole else []
        part = []


def _longer(words: str, titles: Sequence[str]) -> list[int]:
    """The entities whose names have these words among others, one after the other."""
    wanted = f" {' '.join(folded_words(words))} "
    return [place for place, title in enumerate(titles) if wanted in f" {' '.join(folded_words(title))} "]

"""Candidate pairs of names: those that share a block; blocks are bounded."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.systems.graphrag.resolution.pairs.features import (
    UNLIKE,
    Pair,
    Scope,
    countries,
    people_stem,
    sound,
)
from graphrag_dagster.systems.graphrag.resolution.pairs.parsing import Kind, ParsedName, initials, parsed
from graphrag_dagster.systems.graphrag.resolution.pairs.wordlists import KINDS_OF_THINGS, NICKNAMES

#: Names of a block that are compared each with each; in a larger block, with how many next ones by spelling.
WHOLE_BLOCK: Final = 64
NEXT: Final = 8
#: Rules by which names are found that may have next to nothing in common.
SHARING_LITTLE: Final = frozenset({"word", "beginning"})
_BEGINNING: Final = 4
_AT_ONCE: Final = 200_000
#: Initials of names longer than this are nobody's letters.
_MOST_LETTERS: Final = 8
#: What a name shares with others, for each of the rules.
_Values = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Pairs to be compared, in order, each with the first rule that found it, and how many were left out.

    ``left_out`` counts pairs of large blocks, once for every such block they share, though a smaller block
    may have found them.
    """

    pairs: dict[Pair, str]
    left_out: int


#: What names share that are compared, the surest first.
RULES: Final = ("key", "letters", "nickname", "country", "sound", "word", "beginning")


def candidates(scope: Scope) -> Candidates:
    """Return which names of a scope are compared.

    All names of a block with at most 64 are; in a larger block each with the next 8 in the order of their
    spellings, so that the pairs grow with the names and not with their square. Between documents, where no
    short form counts, letters are compared with what a text defines by them, and names that share no
    more than a word or a beginning where they are spelled alike: nothing else could speak for them. What a
    text defines as one is compared in any case.
    """
    names, within_document = scope.names, scope.document is not None
    in_order, values = _in_order(names), [_values(name.name, name.kind) for name in names]
    joined = ["".join(name.words) for name in names]
    lettered = np.array([bool(name.acronym) for name in names], np.bool_)
    found = [np.array([one * len(names) + other for one, other in sorted(scope.definitions)], np.int64)]
    rules = ["definition"]
    left_out = 0
    for at, rule in enumerate(RULES):
        if rule == "letters" and not within_document:
            continue
        blocks = _blocks(values, in_order, at)
        ends, over = _neighbours(blocks), _over(blocks)
        if rule == "letters":
            ends = ends[:, lettered[ends[0]] != lettered[ends[1]]]
        if rule in SHARING_LITTLE and not within_document:
            ends = _alike(joined, ends)
        found.append(np.unique(ends.min(axis=0) * len(names) + ends.max(axis=0)))
        rules.append(rule)
        left_out += over
    by = np.repeat(np.arange(len(found)), list(map(len, found)))
    codes, first = np.unique(np.concatenate(found), return_index=True)
    pairs = {
        (code // len(names), code % len(names)): rules[by[at]]
        for code, at in zip(codes.tolist(), first.tolist(), strict=True)
    }
    return Candidates(pairs, left_out)


def left_out(scope: Scope) -> int:
    """Return how many pairs of large blocks :func:`candidates` leaves out, without looking for the others."""
    in_order = _in_order(scope.names)
    values = [_values(name.name, name.kind) for name in scope.names]
    within_document = scope.document is not None
    return sum(
        _over(_blocks(values, in_order, at))
        for at, rule in enumerate(RULES)
        if rule != "letters" or within_document
    )


def _in_order(names: Sequence[ParsedName]) -> list[int]:
    return sorted(range(len(names)), key=lambda place: (names[place].key, names[place].name, place))


def forget_names() -> None:
    """Forget names taken apart and what they share with others: of use only while names are compared."""
    for remembered in (_values, parsed, sound, people_stem):
        remembered.cache_clear()


# A name is in the scope of each of its documents, and in that of the corpus.
@lru_cache(maxsize=20_000)
def _values(text: str, kind: Kind) -> _Values:
    """Return the values of a name by each rule, in the order of the rules."""
    name = parsed(text, kind)
    letters: Iterable[str] = ()
    if name.acronym:
        letters = (name.acronym,)
    elif 1 < len(name.words) <= _MOST_LETTERS:
        found = (*initials(name.words), *initials(name.whole))
        letters = (some for some in found if len(some) > 1)
    nicknames: Iterable[str] = ()
    if name.given:
        groups = NICKNAMES.get(name.given[0], ())
        shorter = (*groups, f"{name.given[0][0]}.")
        nicknames = (f"{one} {name.words[-1]}" for one in shorter)
    stems = () if kind == "person" else (" ".join(map(people_stem, name.words)),)
    common = frozenset() if kind == "person" else KINDS_OF_THINGS
    words = (word for word in name.meaningful if word not in common and not word[:1].isdigit())
    by_rule: tuple[Iterable[str], ...] = (
        (name.key, "".join(name.words)),
        letters,
        nicknames,
        (*countries(name), *stems),
        (" ".join(sorted(sound(word) or word for word in name.meaningful)),),
        (*words, *name.nicknames),
        (name.key[:_BEGINNING],),
    )
    return tuple(tuple(set(filter(str.strip, values))) for values in by_rule)


def _blocks(values: Sequence[_Values], in_order: Sequence[int], rule: int) -> list[list[int]]:
    """Return the places of names that share a value by a rule, where several do, in order."""
    blocks: dict[str, list[int]] = defaultdict(list)
    for place in in_order:
        for value in values[place][rule]:
            blocks[value].append(place)
    return [block for block in blocks.values() if len(block) > 1]


def _reach(block: Sequence[int]) -> int:
    return len(block) - 1 if len(block) <= WHOLE_BLOCK else NEXT


def _over(blocks: Sequence[Sequence[int]]) -> int:
    """Number of pairs of large blocks that are skipped."""
    apart = [len(block) - _reach(block) for block in blocks]
    return sum(size * (size - 1) // 2 for size in apart)


def _neighbours(blocks: Sequence[list[int]]) -> NDArray[np.int64]:
    """Return both ends of the pairs of each block."""
    one: list[int] = []
    other: list[int] = []
    for block in blocks:
        for by in range(1, _reach(block) + 1):
            one += block[:-by]
            other += block[by:]
    return np.array((one, other), np.int64)


def _alike(joined: Sequence[str], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the pairs whose letters are spelled alike."""
    from rapidfuzz.fuzz import ratio
    from rapidfuzz.process import cpdist

    kept = [np.empty((2, 0), np.int64)]
    for at in range(0, ends.shape[1], _AT_ONCE):
        some = ends[:, at : at + _AT_ONCE]
        one, other = ([joined[place] for place in places] for places in some.tolist())
        likeness = cpdist(one, other, scorer=ratio, score_cutoff=100 * UNLIKE, dtype=np.uint8)
        kept.append(some[:, likeness > 0])
    return np.concatenate(kept, axis=1)

"""Candidate pairs of names, from bounded blocks of names that share something."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.systems.graphrag.resolution.name_features import (
    UNLIKE,
    NameScope,
    countries,
    given_names_agree,
)
from graphrag_dagster.systems.graphrag.resolution.name_parsing import (
    KINDS_OF_THINGS,
    NICKNAMES,
    Kind,
    initials,
    parse_name,
    people_stem,
    sound,
)

#: Names of a block that are compared each with each; in a larger block, with how many next ones by spelling.
WHOLE_BLOCK: Final = 64
NEXT: Final = 8
#: Rules by which names are found that may have next to nothing in common.
SHARING_LITTLE: Final = frozenset({"word", "prefix"})
_PREFIX: Final = 4
_NAMES_AT_ONCE: Final = 50_000
_SPELLINGS_AT_ONCE: Final = 200_000
#: Initials of names longer than this are nobody's letters.
_MOST_LETTERS: Final = 8
#: What a name shares with others, for each of the rules.
_Values = tuple[tuple[str, ...], ...]


#: What names share that are compared, the surest first.
RULES: Final = ("key", "letters", "nickname", "country", "sound", "word", "prefix")
_FOUND_BY: Final = np.array((*RULES, "definition"), np.object_)
_LETTERS: Final = RULES.index("letters")
_LITTLE: Final = [RULES.index(rule) for rule in sorted(SHARING_LITTLE)]
#: More than there are blocks of a rule.
_BLOCKS: Final = 2**40


@dataclass(frozen=True, slots=True)
class CandidatePairs:
    """Pairs to be compared, each with the first rule that found it, and how many were left out.

    Pairs of one block follow each other. ``left_out`` counts pairs of large blocks, once for every such block
    they share, though a smaller block may have found them.
    """

    pairs: NDArray[np.int64]
    rules: NDArray[np.object_]
    left_out: int


def candidates(scope: NameScope) -> CandidatePairs:
    """Return which names of a scope are compared.

    All names of a block with at most 64 are; in a larger block each with the next 8 in the order of their
    spellings, so that the pairs grow with the names and not with their square. Between documents, where no
    short form counts, letters are compared with what a text defines by them, and names that share no
    more than a word or a beginning where they are spelled alike: nothing else could speak for them. What a
    text defines as one is compared in any case.
    """
    count, blocks = len(scope.names), Blocks(scope)
    found = [np.array([one * count + other for one, other in sorted(scope.definitions)], np.int64)]
    rules = [np.full(len(found[0]), len(RULES))]
    for rule, ends in blocks.neighbours():
        kept = (rule != _LETTERS) | (blocks.lettered[ends[0]] != blocks.lettered[ends[1]])
        if scope.document is None:
            little = np.flatnonzero(np.isin(rule, _LITTLE))
            kept[little] = _spelled_alike(blocks.joined, ends[:, little])
        found.append((ends.min(axis=0) * count + ends.max(axis=0))[kept])
        rules.append(rule[kept])
    codes = np.concatenate(found)
    first = np.sort(np.unique(codes, return_index=True)[1])
    pairs = np.stack(np.divmod(codes[first], count), axis=1)
    return CandidatePairs(pairs, _FOUND_BY[np.concatenate(rules)[first]], blocks.left_out)


class Blocks:
    """The names of a scope by what they share, rule by rule; those of a block in the order of spellings.

    ``left_out`` is the number of pairs of large blocks that are not compared, ``joined`` the letters of each
    name, ``lettered`` whether it is an acronym.
    """

    def __init__(self, scope: NameScope) -> None:
        known: list[dict[str, int]] = [{} for _ in RULES]
        places, blocks, spelled = array("q"), array("q"), list[tuple[str, str]]()
        self.joined = list[str]()
        lettered = bytearray()
        for place in range(len(scope.names)):
            name = scope.parsed(place)
            spelled.append((name.key, name.name))
            self.joined.append(name.joined)
            lettered.append(bool(name.acronym))
            for rule, values in enumerate(_values(name.name, name.kind)):
                if rule != _LETTERS or scope.document is not None:
                    for value in values:
                        places.append(place)
                        blocks.append(known[rule].setdefault(value, rule * _BLOCKS + len(known[rule])))
        self.lettered = np.frombuffer(lettered, np.bool_)
        order = np.empty(len(spelled), np.int64)
        order[sorted(range(len(spelled)), key=spelled.__getitem__)] = np.arange(len(spelled))
        of, self._places = np.array(blocks, np.int64), np.array(places, np.int64)
        sort = np.lexsort((order[self._places], of))
        of, self._places = of[sort], self._places[sort]
        first = np.flatnonzero(np.diff(of, prepend=-1))
        sizes = np.diff(first, append=len(of))
        reach = np.where(sizes <= WHOLE_BLOCK, sizes - 1, NEXT)
        self.left_out = int(((sizes - reach) * (sizes - reach - 1) // 2).sum())
        self._rules = of // _BLOCKS
        behind = np.repeat(first + sizes, sizes) - np.arange(len(of)) - 1
        self._following = np.minimum(np.repeat(reach, sizes), behind)

    def neighbours(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Yield the rules by which pairs are found, and both ends of them, some pairs at a time."""
        for begin in range(0, len(self._places), _NAMES_AT_ONCE):
            following = self._following[begin : begin + _NAMES_AT_ONCE]
            one = np.repeat(np.arange(begin, begin + len(following)), following)
            other = one + 1 + np.arange(len(one)) - np.repeat(following.cumsum() - following, following)
            yield self._rules[one], np.stack((self._places[one], self._places[other]))


def _spelled_alike(joined: Sequence[str], ends: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return of which pairs the letters are spelled alike."""
    from rapidfuzz.fuzz import ratio
    from rapidfuzz.process import cpdist

    alike = np.empty(ends.shape[1], np.bool_)
    for at in range(0, ends.shape[1], _SPELLINGS_AT_ONCE):
        some = slice(at, at + _SPELLINGS_AT_ONCE)
        one, other = ([joined[place] for place in places] for places in ends[:, some].tolist())
        alike[some] = cpdist(one, other, scorer=ratio, score_cutoff=100 * UNLIKE, dtype=np.uint8) > 0
    return alike


def forget_names() -> None:
    """Forget names taken apart and what they share with others: of use only while names are compared."""
    for cached in (_values, parse_name, sound, people_stem, given_names_agree):
        cached.cache_clear()


# A name is in the scope of each of its documents, and in that of the corpus.
@lru_cache(maxsize=20_000)
def _values(text: str, kind: Kind) -> _Values:
    """Return the values of a name by each rule, in the order of the rules."""
    name = parse_name(text, kind)
    letters: Iterable[str] = ()
    if name.acronym:
        letters = (name.acronym,)
    elif 1 < len(name.words) <= _MOST_LETTERS:
        found = (*initials(name.words), *initials(name.whole))
        letters = [some for some in found if len(some) > 1]
    nicknames: Iterable[str] = ()
    if name.given:
        groups = NICKNAMES.get(name.given[0], ())
        nicknames = [f"{one} {name.words[-1]}" for one in (*groups, f"{name.given[0][0]}.")]
    stems = () if kind == "person" else (" ".join(name.stems),)
    common = frozenset() if kind == "person" else KINDS_OF_THINGS
    words = [word for word in name.meaningful if word not in common and not word[:1].isdigit()]
    by_rule: tuple[Iterable[str], ...] = (
        (name.key, name.joined),
        letters,
        nicknames,
        (*countries(name), *stems),
        (" ".join(sorted([sound(word) or word for word in name.meaningful])),),
        (*words, *name.nicknames),
        (name.key[:_PREFIX],),
    )
    return tuple([tuple(dict.fromkeys(filter(str.strip, values))) if values else () for values in by_rule])

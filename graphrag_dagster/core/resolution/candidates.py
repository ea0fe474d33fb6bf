"""Which names are compared: those that share a block, each block bounded."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from graphrag_dagster.core.resolution.features import Pair, countries, people_stem, sound
from graphrag_dagster.core.resolution.parsing import ParsedName, initials
from graphrag_dagster.core.resolution.wordlists import KINDS_OF_THINGS, NICKNAMES

#: Names of a block that are compared each with each; in a larger block, with how many next ones by spelling.
WHOLE_BLOCK: Final = 64
NEXT: Final = 8
_BEGINNING: Final = 4
#: Initials of names longer than this are nobody's letters.
_MOST_LETTERS: Final = 8


@dataclass(frozen=True, slots=True)
class Candidates:
    """Pairs to be compared, in order, each with the first rule that found it, and how many were left out.

    ``left_out`` counts pairs of large blocks, once for every such block they share, though a smaller block
    may have found them.
    """

    pairs: dict[Pair, str]
    left_out: int


def _key(name: ParsedName) -> Iterator[str]:
    yield name.key
    yield "".join(name.words)


def _word(name: ParsedName) -> Iterator[str]:
    common = frozenset() if name.kind == "person" else KINDS_OF_THINGS
    yield from (word for word in name.meaningful if word not in common and not word[:1].isdigit())
    yield from name.nicknames


def _letters(name: ParsedName) -> Iterator[str]:
    if name.acronym:
        yield name.acronym
    elif 1 < len(name.words) <= _MOST_LETTERS:
        yield from initials(name.words)
        yield from initials(name.whole)


def _nickname(name: ParsedName) -> Iterator[str]:
    if name.given:
        yield from (f"{group} {name.words[-1]}" for group in NICKNAMES.get(name.given[0], ()))
        yield f"{name.given[0][0]}. {name.words[-1]}"


def _beginning(name: ParsedName) -> Iterator[str]:
    yield name.key[:_BEGINNING]


def _sound(name: ParsedName) -> Iterator[str]:
    yield " ".join(sorted(map(sound, name.meaningful)))


def _country(name: ParsedName) -> Iterator[str]:
    yield from countries(name)
    if name.kind != "person":
        yield " ".join(map(people_stem, name.words))


#: What names share that are compared, the surest first.
RULES: Final = MappingProxyType[str, Callable[[ParsedName], Iterator[str]]](
    {
        "key": _key,
        "letters": _letters,
        "nickname": _nickname,
        "country": _country,
        "sound": _sound,
        "word": _word,
        "beginning": _beginning,
    }
)


def candidates(names: Sequence[ParsedName], defined: Sequence[Pair] = ()) -> Candidates:
    """Return which of the names are compared.

    All names of a block with at most 64 are; in a larger block each with the next 8 in the order of their
    spellings, so that the pairs grow with the names and not with their square.

    Args:
        names: of one scope.
        defined: pairs that a text defines as one, compared in any case.
    """
    pairs: dict[Pair, str] = dict.fromkeys(sorted(defined), "definition")
    left_out = 0
    in_order = sorted(range(len(names)), key=lambda place: (names[place].key, names[place].name, place))
    for rule, values_of in RULES.items():
        for block in _blocks(names, in_order, values_of):
            reach = len(block) if len(block) <= WHOLE_BLOCK else NEXT
            for at, one in enumerate(block):
                near = block[at + 1 : at + 1 + reach]
                left_out += len(block) - at - 1 - len(near)
                for other in near:
                    pairs.setdefault((min(one, other), max(one, other)), rule)
    return Candidates(dict(sorted(pairs.items())), left_out)


def _blocks(
    names: Sequence[ParsedName], in_order: Sequence[int], values_of: Callable[[ParsedName], Iterator[str]]
) -> Iterable[list[int]]:
    blocks: dict[str, list[int]] = defaultdict(list)
    for place in in_order:
        for value in set(values_of(names[place])):
            if value.strip():
                blocks[value].append(place)
    return blocks.values()

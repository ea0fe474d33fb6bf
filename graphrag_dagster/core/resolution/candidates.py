"""Which names are compared: those that share a block, each block bounded."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

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
    order = np.argsort(np.argsort([f"{name.key}\0{name.name}\0{name.kind}" for name in names], kind="stable"))
    for rule, values_of in RULES.items():
        blocks = _blocks(names, order, values_of)
        left_out += _left_out(blocks)
        for pair in _pairs(blocks):
            pairs.setdefault(pair, rule)
    return Candidates(dict(sorted(pairs.items())), left_out)


def _blocks(
    names: Sequence[ParsedName], order: NDArray[np.int64], values_of: Callable[[ParsedName], Iterator[str]]
) -> pl.DataFrame:
    rows = [
        (value, place)
        for place, name in enumerate(names)
        for value in sorted(set(values_of(name)))
        if value.strip()
    ]
    frame = pl.DataFrame(rows, schema={"value": pl.String, "name": pl.Int64}, orient="row")
    ranks = pl.Series("rank", order[frame["name"].to_numpy()], dtype=pl.Int64)
    return (
        frame.with_columns(ranks)
        .sort("value", "rank")
        .with_columns(pl.len().over("value").cast(pl.Int64).alias("size"))
        .filter(pl.col("size") > 1)
    )


def _left_out(blocks: pl.DataFrame) -> int:
    large = blocks.group_by("value").agg(pl.col("size").first()).filter(pl.col("size") > WHOLE_BLOCK)["size"]
    return sum(size * (size - 1) // 2 - (NEXT * size - NEXT * (NEXT + 1) // 2) for size in large)


def _pairs(blocks: pl.DataFrame) -> Iterator[Pair]:
    for distance in range(1, WHOLE_BLOCK):
        near = blocks if distance <= NEXT else blocks.filter(pl.col("size") <= WHOLE_BLOCK)
        near = near.filter(pl.col("size") > distance)
        if near.is_empty():
            return
        found = (
            near.select("value", one="name")
            .with_columns(
                other=pl.col("one").shift(-distance), same=pl.col("value") == pl.col("value").shift(-distance)
            )
            .filter("same")
            .select(pl.min_horizontal("one", "other"), pl.max_horizontal("one", "other").alias("larger"))
            .unique()
        )
        yield from found.iter_rows()

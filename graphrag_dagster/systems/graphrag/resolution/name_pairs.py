"""Candidate pairs of names from bounded blocks, and their comparison.

Between documents a score is that of the two names, whatever else is in the corpus, but for pairs that a text
defines as one. In a document it is that of all its names, so that it stands as long as these do.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.kernel.catalogue.registry import stages
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.pipeline.orchestration.code_versions import why_not_reusable
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import ALIASES, CANDIDATES, RESOLUTION_STATE
from graphrag_dagster.systems.graphrag.resolution.feature_weights import ASK
from graphrag_dagster.systems.graphrag.resolution.match_probability import ScoredPair, score_pairs
from graphrag_dagster.systems.graphrag.resolution.name_features import (
    UNLIKE,
    NameScope,
    Pair,
    countries,
    people_stem,
    short_place,
    sound,
)
from graphrag_dagster.systems.graphrag.resolution.name_parsing import (
    KINDS_OF_THINGS,
    NICKNAMES,
    Kind,
    ParsedName,
    initials,
    parse_name,
)
from graphrag_dagster.systems.graphrag.resolution.name_scopes import ScopeNames
from graphrag_dagster.systems.graphrag.resolution.namesakes import Name

#: Names of a block that are compared each with each; in a larger block, with how many next ones by spelling.
WHOLE_BLOCK: Final = 64
NEXT: Final = 8
#: Rules by which names are found that may have next to nothing in common.
SHARING_LITTLE: Final = frozenset({"word", "prefix"})
_PREFIX: Final = 4
_BLOCKS_AT_ONCE: Final = 200_000
#: Initials of names longer than this are nobody's letters.
_MOST_LETTERS: Final = 8
#: What a name shares with others, for each of the rules.
_Values = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class CandidatePairs:
    """Pairs to be compared, in order, each with the first rule that found it, and how many were left out.

    ``left_out`` counts pairs of large blocks, once for every such block they share, though a smaller block
    may have found them.
    """

    pairs: dict[Pair, str]
    left_out: int


#: What names share that are compared, the surest first.
RULES: Final = ("key", "letters", "nickname", "country", "sound", "word", "prefix")


def candidates(scope: NameScope) -> CandidatePairs:
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
        ends, over = _neighbours(blocks), _skipped_pairs(blocks)
        if rule == "letters":
            ends = ends[:, lettered[ends[0]] != lettered[ends[1]]]
        if rule in SHARING_LITTLE and not within_document:
            ends = _pairs_spelled_alike(joined, ends)
        found.append(np.unique(ends.min(axis=0) * len(names) + ends.max(axis=0)))
        rules.append(rule)
        left_out += over
    by = np.repeat(np.arange(len(found)), list(map(len, found)))
    codes, first = np.unique(np.concatenate(found), return_index=True)
    pairs = {
        (code // len(names), code % len(names)): rules[by[at]]
        for code, at in zip(codes.tolist(), first.tolist(), strict=True)
    }
    return CandidatePairs(pairs, left_out)


def left_out(scope: NameScope) -> int:
    """Return how many pairs of large blocks :func:`candidates` leaves out, without looking for the others."""
    in_order = _in_order(scope.names)
    values = [_values(name.name, name.kind) for name in scope.names]
    within_document = scope.document is not None
    return sum(
        _skipped_pairs(_blocks(values, in_order, at))
        for at, rule in enumerate(RULES)
        if rule != "letters" or within_document
    )


def _in_order(names: Sequence[ParsedName]) -> list[int]:
    return sorted(range(len(names)), key=lambda place: (names[place].key, names[place].name, place))


def forget_names() -> None:
    """Forget names taken apart and what they share with others: of use only while names are compared."""
    for cached in (_values, parse_name, sound, people_stem):
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
        (name.key[:_PREFIX],),
    )
    return tuple(tuple(set(filter(str.strip, values))) for values in by_rule)


def _blocks(values: Sequence[_Values], in_order: Sequence[int], rule: int) -> list[list[int]]:
    """Return the places of names that share a value by a rule, where several do, in order."""
    blocks: dict[str, list[int]] = defaultdict(list)
    for place in in_order:
        for value in values[place][rule]:
            blocks[value].append(place)
    return [block for block in blocks.values() if len(block) > 1]


def _block_reach(block: Sequence[int]) -> int:
    return len(block) - 1 if len(block) <= WHOLE_BLOCK else NEXT


def _skipped_pairs(blocks: Sequence[Sequence[int]]) -> int:
    """Number of pairs of large blocks that are skipped."""
    apart = [len(block) - _block_reach(block) for block in blocks]
    return sum(size * (size - 1) // 2 for size in apart)


def _neighbours(blocks: Sequence[list[int]]) -> NDArray[np.int64]:
    """Return both ends of the pairs of each block."""
    one: list[int] = []
    other: list[int] = []
    for block in blocks:
        for by in range(1, _block_reach(block) + 1):
            one += block[:-by]
            other += block[by:]
    return np.array((one, other), np.int64)


def _pairs_spelled_alike(joined: Sequence[str], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the pairs whose letters are spelled alike."""
    from rapidfuzz.fuzz import ratio
    from rapidfuzz.process import cpdist

    kept = [np.empty((2, 0), np.int64)]
    for at in range(0, ends.shape[1], _BLOCKS_AT_ONCE):
        some = ends[:, at : at + _BLOCKS_AT_ONCE]
        one, other = ([joined[place] for place in places] for places in some.tolist())
        likeness = cpdist(one, other, scorer=ratio, score_cutoff=100 * UNLIKE, dtype=np.uint8)
        kept.append(some[:, likeness > 0])
    return np.concatenate(kept, axis=1)


_AT_ONCE: Final = 2_000
_NAME: Final = ["document_id", "name", "surface", "type", "places"]
_ENDS: Final = ("one_place", "other_place")
#: Features of a pair that a text defines as one.
_DEFINED: Final = ("defined", "bracketed", "bracketed_place", "called")


def pair_columns(document: str | None, one: Name, other: Name) -> dict[str, Any]:
    """Return the columns by which tables tell which two names are meant."""
    return {
        "pair_id": stable_id("pair", document or "", *one, *other),
        "document_id": document,
        "one": one[0],
        "one_type": one[1],
        "other": other[0],
        "other_type": other[1],
    }


@dataclass(frozen=True, slots=True)
class Earlier:
    """Rows of ``resolution.candidates`` and ``resolution.aliases`` that the same code made earlier."""

    candidates: pl.DataFrame
    aliases: pl.DataFrame


class Comparing:
    """Compares the names of scopes, and keeps all pairs as rows of ``resolution.candidates``.

    Args:
        earlier: what was compared before; None for nothing.
        names: of all documents, with ``document_id``, ``name``, ``surface``, ``type`` and ``places``.
    """

    def __init__(self, earlier: Earlier | None = None, names: pl.DataFrame | None = None) -> None:
        known, self._unchanged = CANDIDATES.empty(), frozenset[str]()
        if earlier is not None and names is not None:
            known, self._unchanged = earlier.candidates, _unchanged_documents(earlier.aliases, names)
        inside = known.filter(pl.col("document_id").is_in(list(self._unchanged)))
        self._of_document = inside.partition_by("document_id", as_dict=True)
        # Rows that hold whatever else is in the corpus.
        defined = pl.col("features").str.contains_any([f'"{name}"' for name in _DEFINED])
        self._between = known.filter(pl.col("document_id").is_null() & ~defined)
        self._rows: list[Mapping[str, Any]] = []
        self._frames = [CANDIDATES.empty()]
        self.reused = 0

    def __call__(self, found: ScopeNames) -> tuple[list[ScoredPair], int]:
        """Return the pairs that something speaks for or a veto against, and how many are left out."""
        if found.document in self._unchanged:
            known = self._of_document.get((found.document,), CANDIDATES.empty())
            self.reused += known.height
            small = len(found.names) <= WHOLE_BLOCK
            return self._reuse_rows(found, known), 0 if small else left_out(found.scope)
        if found.document is None:
            return self._between_names(found)
        compared = candidates(found.scope)
        return self._compare_new(found, compared.pairs), compared.left_out

    def _between_names(self, found: ScopeNames) -> tuple[list[ScoredPair], int]:
        compared = candidates(found.scope)
        pairs: Mapping[Pair, str] = compared.pairs
        again: list[ScoredPair] = []
        if not self._between.is_empty():
            known, pairs = _known_pairs(found, pairs, self._between)
            self.reused += known.height
            again += self._reuse_rows(found, known)
        return sorted([*again, *self._compare_new(found, pairs)], key=lambda one: one.pair), compared.left_out

    def _compare_new(self, found: ScopeNames, pairs: Mapping[Pair, str]) -> list[ScoredPair]:
        return score_pairs(found.scope, pairs, note=lambda pair: self._add(found, pair))

    def frame(self) -> pl.DataFrame:
        """Return the rows."""
        self._flush()
        return pl.concat(self._frames)

    def _reuse_rows(self, found: ScopeNames, known: pl.DataFrame) -> list[ScoredPair]:
        """Put rows down as they were, and return their pairs."""
        rows = known.select(column.name for column in CANDIDATES.columns)
        self._frames.append(rows)
        places = {name: place for place, name in enumerate(found.names)}
        pairs = []
        informative = (pl.col("band") != "apart") | (pl.col("score") >= ASK) | pl.col("veto").is_not_null()
        for row in rows.filter(informative).iter_rows(named=True):
            pair = places[row["one"], row["one_type"]], places[row["other"], row["other_type"]]
            veto, values = row["veto"] or "", json.loads(row["features"])
            short = None if veto else short_place(found.scope, pair)
            pairs.append(ScoredPair(pair, row["rule"], values, row["score"], veto, row["band"], short))
        return pairs

    def _add(self, found: ScopeNames, pair: ScoredPair) -> None:
        one, other = (found.names[place] for place in pair.pair)
        self._rows.append(
            {
                **pair_columns(found.document, one, other),
                "rule": pair.rule,
                "features": json.dumps(dict(sorted(pair.features.items()))),
                "score": pair.score,
                "veto": pair.veto or None,
                "band": pair.band,
            }
        )
        if len(self._rows) >= _AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        self._frames.append(CANDIDATES.rows(self._rows))
        self._rows = []


def _known_pairs(
    found: ScopeNames, pairs: Mapping[Pair, str], between: pl.DataFrame
) -> tuple[pl.DataFrame, Mapping[Pair, str]]:
    """Return the rows of the pairs that were compared before, and the other pairs."""
    ends = [list(places) for places in zip(*pairs, strict=True)] or [[], []]
    now = pl.DataFrame(
        {"rule": list(pairs.values()), **dict(zip(_ENDS, ends, strict=True))},
        schema={"rule": pl.String, **dict.fromkeys(_ENDS, pl.Int64)},
    )
    names = pl.DataFrame(found.names, schema={"name": pl.String, "type": pl.String}, orient="row")
    names = names.with_row_index("place").cast({"place": pl.Int64})
    then = between.drop("rule")
    for end in ("one", "other"):
        own = names.rename({"place": f"{end}_place", "name": end, "type": f"{end}_type"})
        then = then.join(own, on=[end, f"{end}_type"])
    defined = [list(places) for places in zip(*found.scope.definitions, strict=True)] or [[], []]
    apart = pl.DataFrame(dict(zip(_ENDS, defined, strict=True)), schema=dict.fromkeys(_ENDS, pl.Int64))
    known = now.join(then, on=_ENDS).join(apart, on=_ENDS, how="anti")
    reused = set(known.select(_ENDS).iter_rows())
    return known, {pair: rule for pair, rule in pairs.items() if pair not in reused}


def _unchanged_documents(aliases: pl.DataFrame, names: pl.DataFrame) -> frozenset[str]:
    """Return the documents that have the names they had, at the same places."""
    same = names.join(aliases, on=_NAME, how="semi").group_by("document_id").len("same")
    now, then = (frame.group_by("document_id").len(of) for frame, of in ((names, "now"), (aliases, "then")))
    found = same.join(now, on="document_id").join(then, on="document_id")
    kept = found.filter((pl.col("same") == pl.col("now")) & (pl.col("now") == pl.col("then")))
    return frozenset(kept["document_id"])


def state_of_resolution(code: str, *, enabled: bool) -> pl.DataFrame:
    """Return all that decides how two names compare: rows of ``resolution.resolution_state``."""
    parts = {
        "code": code,
        "enabled": enabled,
        "columns": stable_id(CANDIDATES.columns, ALIASES.columns),
        **{package: version(package) for package in stages()["resolution"].libraries},
    }
    return RESOLUTION_STATE.frame({"part": name, "value": str(value)} for name, value in parts.items())


def earlier_resolution(warehouse: Warehouse, corpus: str, state: pl.DataFrame) -> tuple[Earlier | None, str]:
    """Return what was compared before where it may be taken over, else None; and why not."""
    if why := why_not_reusable(warehouse, corpus, RESOLUTION_STATE, state):
        return None, why
    with warehouse.reading(corpus) as reader:
        return Earlier(reader.read(CANDIDATES), reader.read(ALIASES)), "nothing was"

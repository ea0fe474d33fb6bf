"""The comparison of candidate pairs of names.

Between documents a score is that of the two names, whatever else is in the corpus, but for pairs that a text
defines as one. In a document it is that of all its names, so that it stands as long as these do.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from sys import intern
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from graphrag_dagster.kernel.catalogue.registry import stages
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.common.worker_processes import map_in_processes, suitable_process_count
from graphrag_dagster.kernel.pipeline.code_versions import why_not_reusable
from graphrag_dagster.kernel.pipeline.garbage_collection import defer_collection
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.systems.graphrag.resolution.candidate_pairs import (
    WHOLE_BLOCK,
    Blocks,
    CandidatePairs,
    candidates,
)
from graphrag_dagster.systems.graphrag.resolution.feature_weights import ASK
from graphrag_dagster.systems.graphrag.resolution.match_probability import ScoredPair, score_pairs
from graphrag_dagster.systems.graphrag.resolution.name_features import NameScope, Pair, short_place
from graphrag_dagster.systems.graphrag.resolution.name_scopes import ScopeNames
from graphrag_dagster.systems.graphrag.resolution.namesakes import Name
from graphrag_dagster.systems.graphrag.resolution.tables import ALIASES, CANDIDATES, RESOLUTION_STATE

#: Keeps each text of a table of pairs once but for ids, since few of them differ.
TEXTS_ONCE: Final = (cs.string() - cs.by_name("pair_id")).cast(pl.Categorical)
#: Pairs of a corpus, or names of documents, that are compared at a time.
_AT_ONCE: Final = 20_000
#: Names of documents, or pairs of a corpus, from which on further processes are worth their start.
_WORTH_PROCESSES: Final = 150_000
_NAME: Final = ["document_id", "name", "surface", "type", "places"]
_NAMES: Final = ("one", "one_type", "other", "other_type")
_SCORED: Final = ("rule", "features", "score", "veto", "band")
_ENDS: Final = ("one_place", "other_place")
_REFUSED: Final = {**dict.fromkeys(_ENDS, pl.Int64), "score": pl.Float64, "veto": pl.Categorical}
_NONE_REFUSED: Final = pl.DataFrame(schema=_REFUSED)
_INFORMATIVE: Final = (pl.col("score") >= ASK) | pl.col("veto").is_not_null()
#: Features of a pair that a text defines as one.
_DEFINED: Final = ("defined", "bracketed", "bracketed_place", "called")


def pair_columns(document: str | None, one: Name, other: Name) -> tuple[str | None, ...]:
    """Return the columns by which tables tell which two names are meant."""
    return stable_id("pair", document or "", *one, *other), document, *one, *other


@dataclass(frozen=True, slots=True)
class Earlier:
    """Rows of ``resolution.candidates``, with :data:`TEXTS_ONCE`, and of ``resolution.aliases`` that the same
    code made earlier.
    """

    candidates: pl.DataFrame
    aliases: pl.DataFrame


class ComparedPairs(NamedTuple):
    """The pairs of a scope.

    Most that something speaks for have a veto between documents, so that these are kept as columns.

    Attributes:
        pairs: those that something speaks for, in order; between documents those of them without a veto.
        vetoed: others with a veto.
        refused: those of the others that something speaks for, with both places, score and veto.
        left_out: how many of large blocks were not compared.
    """

    pairs: list[ScoredPair]
    vetoed: NDArray[np.int64]
    refused: pl.DataFrame
    left_out: int


#: Scopes, each with those of its pairs that are compared; None for all candidates.
_Parts = Sequence[tuple[NameScope, CandidatePairs | None]]


class Comparing:
    """Compares the names of scopes, and keeps all pairs as rows of ``resolution.candidates``.

    Args:
        earlier: what was compared before; None for nothing.
        names: of all documents, with ``document_id``, ``name``, ``surface``, ``type`` and ``places``.
    """

    def __init__(self, earlier: Earlier | None = None, names: pl.DataFrame | None = None) -> None:
        known, self._unchanged = CANDIDATES.empty().with_columns(TEXTS_ONCE), frozenset[str]()
        if earlier is not None and names is not None:
            known, self._unchanged = earlier.candidates, _unchanged_documents(earlier.aliases, names)
        inside = known.filter(pl.col("document_id").is_in(list(self._unchanged)))
        self._of_document: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
        for document, *row in (
            inside.filter(_INFORMATIVE).select("document_id", *_NAMES, *_SCORED).iter_rows()
        ):
            self._of_document[document].append(tuple(row))
        # Rows that hold whatever else is in the corpus.
        defined = pl.col("features").cast(pl.String).str.contains_any([f'"{name}"' for name in _DEFINED])
        self._between = known.filter(pl.col("document_id").is_null() & ~defined)
        self._frames = [inside.select(CANDIDATES.column_names)]
        self.reused = inside.height

    def documents(self, scopes: Sequence[ScopeNames]) -> Iterator[ComparedPairs]:
        """Compare the names of each document, and yield what came of them, in order."""
        anew = [one.scope for one in scopes if one.document not in self._unchanged]
        made = self._compared(_some_documents(anew), sum(len(one.names) for one in anew))
        for one in scopes:
            yield self._as_before(one) if one.document in self._unchanged else next(made)

    def _as_before(self, found: ScopeNames) -> ComparedPairs:
        places = {name: place for place, name in enumerate(found.names)}
        again = (
            (places[one, one_type], places[other, other_type], *scored)
            for one, one_type, other, other_type, *scored in self._of_document.pop(found.document or "", ())
        )
        pairs, vetoed = _taken_over(found.scope, again)
        small = len(found.names) <= WHOLE_BLOCK
        left_out = 0 if small else Blocks(found.scope).left_out
        return ComparedPairs(pairs, _ends(vetoed), _NONE_REFUSED, left_out)

    def between(self, found: ScopeNames) -> ComparedPairs:
        """Compare the names of a corpus."""
        compared = candidates(found.scope)
        chosen, rules = compared.pairs, compared.rules
        pairs, vetoed, refused = list[ScoredPair](), [_ends(())], [_NONE_REFUSED]
        if not self._between.is_empty():
            known, new = _known_pairs(found, compared, self._between)
            self._frames.append(known.select(CANDIDATES.column_names))
            self.reused += known.height
            told = known.filter(_INFORMATIVE)
            against = told.filter(pl.col("veto").is_not_null())
            rows = told.filter(pl.col("veto").is_null()).select(*_ENDS, *_SCORED).iter_rows()
            pairs, _ = _taken_over(found.scope, rows)
            vetoed.append(against.select(_ENDS).to_numpy())
            refused.append(against.filter(pl.col("score") >= ASK).select(list(_REFUSED)))
            chosen, rules = chosen[new], rules[new]
        some = (
            (
                found.scope.part(chosen[at : at + _AT_ONCE]),
                chosen[at : at + _AT_ONCE],
                rules[at : at + _AT_ONCE],
            )
            for at in range(0, len(chosen), _AT_ONCE)
        )
        parts = ([(scope, CandidatePairs(ends, by, 0))] for scope, ends, by in some)
        for one in self._compared(parts, len(chosen)):
            pairs += one.pairs
            vetoed.append(one.vetoed)
            refused.append(one.refused)
        pairs.sort(key=lambda one: one.pair)
        return ComparedPairs(pairs, np.concatenate(vetoed), pl.concat(refused), compared.left_out)

    def _compared(self, parts: Iterable[_Parts], items: int) -> Iterator[ComparedPairs]:
        """Yield what came of each part, and keep the rows."""
        number = suitable_process_count(items, _WORTH_PROCESSES)
        made: Iterator[tuple[pl.DataFrame, list[ComparedPairs]]]
        if number == 1:
            made = map(_compare, parts)
        else:
            made = map_in_processes(
                number,
                _compare,
                ((some,) for some in parts),
                whose="the resolution of names",
                setting="the number of processors of the run (`taskset`)",
                begin=defer_collection,
            )
        for rows, compared in made:
            self._frames.append(rows)
            yield from compared

    def frame(self) -> pl.DataFrame:
        """Return the rows, with :data:`TEXTS_ONCE`."""
        return pl.concat(self._frames)


def _some_documents(scopes: Iterable[NameScope]) -> Iterator[_Parts]:
    """Yield the scopes of documents, so many at a time as have names enough."""
    some, names = list[tuple[NameScope, None]](), 0
    for one in scopes:
        some.append((one, None))
        names += len(one.names)
        if names >= _AT_ONCE:
            yield some
            some, names = [], 0
    if some:
        yield some


def _compare(parts: _Parts) -> tuple[pl.DataFrame, list[ComparedPairs]]:
    """Return the rows of the pairs of scopes, and what came of each scope.

    Which names of a document are the fullest depends on all its pairs.
    """
    rows, made = list[tuple[Any, ...]](), list[ComparedPairs]()
    for scope, chosen in parts:
        some = chosen or candidates(scope)
        pairs, vetoed, refused = list[ScoredPair](), list[Pair](), list[tuple[int, int, float, str]]()
        for one in score_pairs(scope, dict(zip(map(tuple, some.pairs.tolist()), some.rules, strict=True))):
            names = pair_columns(scope.document, scope.names[one.pair[0]], scope.names[one.pair[1]])
            rows.append((*names, one.rule, one.features, one.score, one.veto or None, one.band))
            if one.score >= ASK and not (one.veto and scope.document is None):
                pairs.append(one)
            elif one.veto:
                vetoed.append(one.pair)
                if one.score >= ASK:
                    refused.append((*one.pair, one.score, one.veto))
        pairs.sort(key=lambda one: one.pair)
        told = pl.DataFrame(refused, schema=_REFUSED, orient="row") if refused else _NONE_REFUSED
        made.append(ComparedPairs(pairs, _ends(vetoed), told, some.left_out))
    return CANDIDATES.frame_of(rows).with_columns(TEXTS_ONCE), made


def _ends(pairs: Sequence[Pair]) -> NDArray[np.int64]:
    return np.array(pairs, np.int64).reshape(-1, 2)


def _taken_over(scope: NameScope, rows: Iterable[tuple[Any, ...]]) -> tuple[list[ScoredPair], list[Pair]]:
    """Return the pairs of rows that something speaks for, and those that a veto alone speaks of."""
    pairs, vetoed = list[ScoredPair](), list[Pair]()
    for one, other, rule, features, score, veto, band in rows:
        pair = one, other
        if score < ASK:
            vetoed.append(pair)
        else:
            short = None if veto else short_place(scope, pair)
            pairs.append(ScoredPair(pair, intern(rule), intern(features), score, veto or "", band, short))
    return sorted(pairs, key=lambda one: one.pair), vetoed


def _known_pairs(
    found: ScopeNames, compared: CandidatePairs, between: pl.DataFrame
) -> tuple[pl.DataFrame, NDArray[np.bool_]]:
    """Return the rows of the pairs that were compared before, and which pairs were not."""
    now = pl.DataFrame(
        {"rule": compared.rules, **dict(zip(_ENDS, compared.pairs.T, strict=True))},
        schema={"rule": pl.Categorical, **dict.fromkeys(_ENDS, pl.Int64)},
    ).with_row_index("at")
    names = pl.DataFrame(found.names, schema=dict.fromkeys(("name", "type"), pl.Categorical), orient="row")
    names = names.with_row_index("place").cast({"place": pl.Int64})
    then = between.select(_NAMES).with_row_index("row")
    for end in ("one", "other"):
        own = names.rename({"place": f"{end}_place", "name": end, "type": f"{end}_type"})
        then = then.join(own, on=[end, f"{end}_type"]).drop(end, f"{end}_type")
    defined = [list(places) for places in zip(*found.scope.definitions, strict=True)] or [[], []]
    apart = pl.DataFrame(dict(zip(_ENDS, defined, strict=True)), schema=dict.fromkeys(_ENDS, pl.Int64))
    known = now.join(then, on=_ENDS).join(apart, on=_ENDS, how="anti")
    new = np.ones(now.height, np.bool_)
    new[known["at"]] = False
    return known.hstack(between.drop("rule")[known["row"]]), new


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
        return Earlier(reader.read(CANDIDATES).with_columns(TEXTS_ONCE), reader.read(ALIASES)), "nothing was"

"""Compares names and records every pair as a row; known pairs are not compared again.

Between documents a score is that of the two names, whatever else is in the corpus, but for pairs that a text
defines as one. In a document it is that of all its names, so that it stands as long as these do.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from graphrag_dagster.kernel.common.ids import stable_id
from graphrag_dagster.kernel.tables import CANDIDATES
from graphrag_dagster.systems.graphrag.resolution.namesakes import Name
from graphrag_dagster.systems.graphrag.resolution.pairs.candidates import WHOLE_BLOCK, candidates, left_out
from graphrag_dagster.systems.graphrag.resolution.pairs.features import Pair, short_place
from graphrag_dagster.systems.graphrag.resolution.pairs.scoring import ScoredPair, scored
from graphrag_dagster.systems.graphrag.resolution.pairs.weights import ASK
from graphrag_dagster.systems.graphrag.resolution.scopes import Names

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
            known, self._unchanged = earlier.candidates, _unchanged(earlier.aliases, names)
        inside = known.filter(pl.col("document_id").is_in(list(self._unchanged)))
        self._of_document = inside.partition_by("document_id", as_dict=True)
        # Rows that hold whatever else is in the corpus.
        defined = pl.col("features").str.contains_any([f'"{name}"' for name in _DEFINED])
        self._between = known.filter(pl.col("document_id").is_null() & ~defined)
        self._rows: list[Mapping[str, Any]] = []
        self._frames = [CANDIDATES.empty()]
        self.reused = 0

    def __call__(self, found: Names) -> tuple[list[ScoredPair], int]:
        """Return the pairs that something speaks for or a veto against, and how many are left out."""
        if found.document in self._unchanged:
            known = self._of_document.get((found.document,), CANDIDATES.empty())
            self.reused += known.height
            small = len(found.names) <= WHOLE_BLOCK
            return self._again(found, known), 0 if small else left_out(found.scope)
        if found.document is None:
            return self._between_names(found)
        compared = candidates(found.scope)
        return self._new(found, compared.pairs), compared.left_out

    def _between_names(self, found: Names) -> tuple[list[ScoredPair], int]:
        compared = candidates(found.scope)
        pairs: Mapping[Pair, str] = compared.pairs
        again: list[ScoredPair] = []
        if not self._between.is_empty():
            known, pairs = _known(found, pairs, self._between)
            self.reused += known.height
            again += self._again(found, known)
        return sorted([*again, *self._new(found, pairs)], key=lambda one: one.pair), compared.left_out

    def _new(self, found: Names, pairs: Mapping[Pair, str]) -> list[ScoredPair]:
        return scored(found.scope, pairs, note=lambda pair: self._add(found, pair))

    def frame(self) -> pl.DataFrame:
        """Return the rows."""
        self._put_away()
        return pl.concat(self._frames)

    def _again(self, found: Names, known: pl.DataFrame) -> list[ScoredPair]:
        """Put rows down as they were, and return their pairs."""
        rows = known.select(column.name for column in CANDIDATES.columns)
        self._frames.append(rows)
        places = {name: place for place, name in enumerate(found.names)}
        pairs = []
        telling = (pl.col("band") != "apart") | (pl.col("score") >= ASK) | pl.col("veto").is_not_null()
        for row in rows.filter(telling).iter_rows(named=True):
            pair = places[row["one"], row["one_type"]], places[row["other"], row["other_type"]]
            veto, values = row["veto"] or "", json.loads(row["features"])
            short = None if veto else short_place(found.scope, pair)
            pairs.append(ScoredPair(pair, row["rule"], values, row["score"], veto, row["band"], short))
        return pairs

    def _add(self, found: Names, pair: ScoredPair) -> None:
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
            self._put_away()

    def _put_away(self) -> None:
        self._frames.append(CANDIDATES.rows(self._rows))
        self._rows = []


def _known(
    found: Names, pairs: Mapping[Pair, str], between: pl.DataFrame
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


def _unchanged(aliases: pl.DataFrame, names: pl.DataFrame) -> frozenset[str]:
    """Return the documents that have the names they had, at the same places."""
    same = names.join(aliases, on=_NAME, how="semi").group_by("document_id").len("same")
    now, then = (frame.group_by("document_id").len(of) for frame, of in ((names, "now"), (aliases, "then")))
    found = same.join(now, on="document_id").join(then, on="document_id")
    kept = found.filter((pl.col("same") == pl.col("now")) & (pl.col("now") == pl.col("then")))
    return frozenset(kept["document_id"])

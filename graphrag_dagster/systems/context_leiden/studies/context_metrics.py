"""Measures of context nodes, level by level, with random controls (paper §IV.A).

Both of the paper's measures rise by construction: context nodes are chosen because they resemble what is
outside their community, and memberships only grow. So each is given beside two controls with as many nodes
for each community: any nodes, which shows what growing alone does, and any of those misaligned with it,
against which the order of the choice shows.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.kernel.common.stable_values import round_for_comparison
from graphrag_dagster.systems.context_leiden.index.context_node_selection import partitions
from graphrag_dagster.systems.context_leiden.index.cosine_similarity import (
    Doubles,
    UnitVectors,
    community_means,
    nearest_nodes,
    nearest_to,
)
from graphrag_dagster.systems.context_leiden.index.graph_neighbours import Places
from graphrag_dagster.systems.context_leiden.index.node_embeddings import NodeVectors
from graphrag_dagster.systems.context_leiden.studies.metric_tables import COLUMNS, LevelRows

NONE = -1


@dataclass(frozen=True, slots=True)
class Memberships:
    """The nodes of a level that have a vector.

    Attributes:
        home: of each its community, 0….
        attached: of each the community that it is a context node of, -1 for none.
        resembled: of each the community that it is misaligned with, -1 for none.
    """

    home: Places
    attached: Places
    resembled: Places

    @property
    def context(self) -> Places:
        """The context nodes."""
        return np.flatnonzero(self.attached != NONE)


def shares(home: Places, attached: Places, nodes: Places, near: Places, *, own_set: bool) -> Doubles:
    """Return of each node which share of its neighbours belongs with it.

    Args:
        home: community of every node.
        attached: community that it is a context node of, -1 for none.
        nodes: those to look at.
        near: their neighbours, shape [nodes, k].
        own_set: whether a neighbour belongs where it is in the node's own community or attached to that;
            otherwise where the two have any community in common, of those that they are in or attached to.
    """
    own, other = home[nodes][:, None], attached[nodes][:, None]
    found = (home[near] == own) | (attached[near] == own)
    if not own_set:
        found |= (other != NONE) & ((home[near] == other) | (attached[near] == other))
    means: Doubles = found.mean(axis=1)
    return means


def random_nodes(members: Memberships, draws: int, seed: int) -> Iterator[Places]:
    """Attach as many nodes to each community as there are, drawn from all that are not of it.

    A node that was drawn for its own community changes places with one for which, and in the place of which,
    that is allowed. There always is one: else all nodes of other communities were already attached to this
    one, of which there are too few.
    """
    wanted = members.attached[members.context]
    for draw in range(draws):
        rng = np.random.default_rng([seed, draw])
        order = rng.permutation(len(members.home))
        slots = np.full(len(order), NONE)
        slots[: len(wanted)] = wanted
        for place in np.flatnonzero(members.home[order] == slots).tolist():
            homes = members.home[order]
            if homes[place] == slots[place]:
                other = rng.choice(np.flatnonzero((homes != slots[place]) & (slots != homes[place])))
                order[place], order[other] = order[other], order[place]
        attached = np.full(len(order), NONE)
        attached[order] = slots
        yield attached


def random_misaligned(members: Memberships, draws: int, seed: int) -> Iterator[Places]:
    """Attach as many nodes to each community as there are, drawn from those misaligned with it."""
    nodes = np.flatnonzero(members.resembled != NONE)
    counts = np.bincount(members.attached[members.context], minlength=int(members.home.max(initial=-1)) + 1)
    for draw in range(draws):
        mixed = np.random.default_rng([seed, draw]).permutation(nodes)
        mixed = mixed[np.argsort(members.resembled[mixed], kind="stable")]
        target = members.resembled[mixed]
        rank = np.arange(len(mixed)) - np.searchsorted(target, target)
        taken = rank < counts[target]
        attached = np.full(len(members.home), NONE)
        attached[mixed[taken]] = target[taken]
        yield attached


_EXACT_UP_TO, _SAMPLED = 200_000, 20_000


@dataclass(frozen=True, slots=True)
class LevelNodes:
    """The nodes of a level that have a vector, and the neighbours of those that precision is measured at.

    Attributes:
        ids: of all nodes of the level.
        units: their vectors.
        members: those that have one.
        looked_at: those that precision is measured at, as places among ``members``.
        near: of each of these the most similar others, as such places.
    """

    ids: pl.Series
    units: UnitVectors
    members: Places
    looked_at: Places
    near: Places


def level_nodes(ids: pl.Series, vectors: NodeVectors, neighbours: int, seed: int) -> LevelNodes:
    """Return the nodes of a level; beyond 200,000 precision is measured at 20,000 drawn at random."""
    units = UnitVectors(vectors.of(ids))
    members = np.flatnonzero(units.present)
    looked_at = np.arange(len(members))
    if len(members) > _EXACT_UP_TO:
        looked_at = np.sort(np.random.default_rng(seed).choice(len(members), _SAMPLED, replace=False))
    near = (
        nearest_nodes(units, members, looked_at, neighbours)
        if len(members)
        else np.empty((0, 0), dtype=np.int64)
    )
    return LevelNodes(ids, units, members, looked_at, near)


def memberships(rows: pl.DataFrame, candidates: pl.DataFrame, members: Places) -> Memberships:
    """Return where the members belong.

    Args:
        rows: community of each node of the level.
        candidates: of the level.
        members: the nodes that have a vector.
    """
    chosen = rows[members]
    names = chosen["community_id"].unique().sort()
    targets = chosen.join(
        candidates.select("entity_id", target="community_id", taken=pl.col("outcome") == "taken"),
        on="entity_id",
        how="left",
        maintain_order="left",
    )
    home = names.search_sorted(chosen["community_id"]).to_numpy().astype(np.int64)
    held = targets["target"].is_not_null().to_numpy()
    resembled = np.full(len(members), NONE)
    resembled[held] = names.search_sorted(targets["target"].drop_nulls()).to_numpy()
    taken = targets["taken"].fill_null(value=False).to_numpy()
    return Memberships(home, np.where(taken, resembled, NONE), resembled)


def measure_context(
    candidates: pl.DataFrame,
    community_levels: pl.DataFrame,
    vectors: NodeVectors,
    *,
    k: int = 5,
    draws: int = 30,
    seed: int = 0,
) -> pl.DataFrame:
    """Measure what context nodes add to communities.

    Nodes without a vector are left out. Beyond 200,000 nodes precision is that of 20,000 drawn at random,
    their neighbours exact.

    Args:
        candidates: rows of ``graph.context_candidates``.
        community_levels: rows of ``graph.community_levels`` that they are of.
        vectors: by which they were chosen.
        k: neighbours of precision.
        draws: random choices of each control.
        seed: of these and of the nodes drawn.

    Returns:
        A row per level, ``measure`` and ``reading``: ``value`` (null where undefined, such as similarity to
        other communities where there is one), ``low`` and ``high`` (95 %: over draws for a control, else by
        bootstrap over what the value is a mean of; null where that says nothing), ``nodes`` (how many that
        are), ``communities`` and ``taken`` of the level. Measures:

        ``cross_similarity``: mean cosine of a node with those outside its community; readings ``context``,
        ``leiden`` (all others), ``all``, ``random``, ``random_misaligned``, ``context_minus_leiden`` and
        ``context_minus_random_misaligned``. ``cross_similarity_outside_both``: also outside the community
        that a context node is attached to; reading ``context``.

        ``precision_at_5``, or of another k: share of a node's most similar others that have a community in
        common with it; readings ``plain`` (Leiden's alone), ``context``, ``random``,
        ``random_misaligned``, ``context_minus_plain``, ``random_minus_plain``, ``context_minus_random``,
        ``context_minus_random_misaligned``, and ``size_normalised``: (context − random) / (1 − random).
        ``precision_at_5_own_set``: the same of those in, or attached to, the node's own community.

        ``mean_precision_at_5``: of the nodes nearest to a community's mean vector, the share that is in
        it; readings ``plain``, ``context`` (or attached to it; never less), and ``context_own_mean``: nearest
        to the mean of it and what is attached, which may be less.
    """
    found: list[pl.DataFrame] = [pl.DataFrame(schema=COLUMNS)]
    nodes: LevelNodes | None = None
    before: tuple[pl.DataFrame, pl.DataFrame] | None = None
    for level, rows in partitions(community_levels):
        of_level = candidates.filter(level=level).drop("level").sort("entity_id")
        if before and before[0].equals(rows) and before[1].equals(of_level):
            found.append(found[-1].with_columns(level=pl.lit(level, pl.Int32)))
            continue
        before = rows, of_level
        if nodes is None or not nodes.ids.equals(rows["entity_id"]):
            nodes = level_nodes(rows["entity_id"], vectors, k, seed)
        members = memberships(rows, of_level, nodes.members)
        made = LevelRows(level, rows["community_id"].n_unique(), len(members.context))
        _add_cross(made, nodes, members, draws, seed)
        for measure, own_set in ((f"precision_at_{k}", False), (f"precision_at_{k}_own_set", True)):
            _add_precision(made, measure, nodes, members, draws, seed, own_set=own_set)
        _add_mean_precision(made, nodes, members, k)
        found.append(made.frame())
    return pl.concat(found)


def _add_cross(made: LevelRows, nodes: LevelNodes, members: Memberships, draws: int, seed: int) -> None:
    cross = cross_similarity(nodes.units, nodes.members, members.home)
    chosen = members.attached != NONE
    own = _mean(cross[chosen])
    misaligned = [_mean(cross[drawn != NONE]) for drawn in random_misaligned(members, draws, seed)]
    measure, taken = "cross_similarity", made.taken
    made.mean(measure, "context", cross[chosen])
    made.mean(measure, "leiden", cross[~chosen])
    made.mean(measure, "all", cross)
    anyone = [_mean(cross[drawn != NONE]) for drawn in random_nodes(members, draws, seed)]
    made.add_random_draws(measure, "random", anyone, taken)
    made.add_random_draws(measure, "random_misaligned", misaligned, taken)
    made.mean(measure, "context_minus_leiden", cross[chosen] - _mean(cross[~chosen]))
    made.add_random_draws(
        measure, "context_minus_random_misaligned", [own - value for value in misaligned], taken
    )
    both = cross_similarity(nodes.units, nodes.members, members.home, members.attached)
    made.mean("cross_similarity_outside_both", "context", both[chosen])


def _add_precision(
    made: LevelRows,
    measure: str,
    nodes: LevelNodes,
    members: Memberships,
    draws: int,
    seed: int,
    *,
    own_set: bool,
) -> None:
    def of(attached: Places) -> Doubles:
        if not nodes.near.shape[1]:
            return np.full(len(nodes.looked_at), np.nan)
        return shares(members.home, attached, nodes.looked_at, nodes.near, own_set=own_set)

    plain, context = of(np.full_like(members.attached, NONE)), of(members.attached)
    anyone = np.stack([of(drawn) for drawn in random_nodes(members, draws, seed)])
    misaligned = np.stack([of(drawn) for drawn in random_misaligned(members, draws, seed)])
    made.mean(measure, "plain", plain)
    made.mean(measure, "context", context)
    made.add_random_draws(measure, "random", map(_mean, anyone), len(plain))
    made.add_random_draws(measure, "random_misaligned", map(_mean, misaligned), len(plain))
    made.mean(measure, "context_minus_plain", context - plain)
    made.add_random_draws(measure, "random_minus_plain", map(_mean, anyone - plain), len(plain))
    made.mean(measure, "context_minus_random", _excess_over_draws(context, anyone))
    made.mean(measure, "context_minus_random_misaligned", _excess_over_draws(context, misaligned))
    room = [(_mean(context) - mean) / (1 - mean) for mean in map(_mean, anyone) if mean < 1]
    made.add_random_draws(measure, "size_normalised", room, len(plain))


def _add_mean_precision(made: LevelRows, nodes: LevelNodes, members: Memberships, k: int) -> None:
    measure = f"mean_precision_at_{k}"
    means, sizes = community_means(nodes.units, nodes.members, members.home)
    sums = means * sizes[:, None]
    chosen = members.context
    target = members.attached[chosen]
    np.add.at(sums, target, nodes.units.double(nodes.members[chosen]))
    grown = sums / (sizes + np.bincount(target, minlength=len(sizes)))[:, None]
    communities = np.arange(len(means))[:, None]
    near = nearest_to(nodes.units, nodes.members, means, k)
    inside = members.home[near] == communities
    made.mean(measure, "plain", _shares(inside))
    made.mean(measure, "context", _shares(inside | (members.attached[near] == communities)))
    near = nearest_to(nodes.units, nodes.members, grown, k)
    inside = (members.home[near] == communities) | (members.attached[near] == communities)
    made.mean(measure, "context_own_mean", _shares(inside))


def _excess_over_draws(context: Doubles, drawn: Doubles) -> Doubles:
    """Return how much more each node has than on average over the draws; the same is 0, not nearly so."""
    return round_for_comparison(context - drawn.mean(axis=0)) + 0.0


def _shares(flags: NDArray[np.bool_]) -> Doubles:
    found: Doubles = flags.sum(axis=1) / max(flags.shape[1], 1)
    return found


def _mean(values: Doubles) -> float:
    return float(values.mean()) if len(values) else float("nan")


def cross_similarity(
    units: UnitVectors, members: Places, home: Places, also: Places | None = None
) -> Doubles:
    """Return of each member the mean cosine with those outside its community; not a number without any.

    Args:
        units: vectors of all nodes.
        members: those of the level that have one.
        home: of each of these its community, 0….
        also: of each a second community that is left out, -1 for none.
    """
    means, sizes = community_means(units, members, home)
    sums = means * sizes[:, None]
    whole = sums.sum(axis=0, keepdims=True)
    total = units.dots(members, whole, np.zeros(len(members), dtype=np.int64))
    total -= units.dots(members, sums, home)
    outside = len(members) - sizes[home]
    if also is not None:
        second = np.flatnonzero(also != NONE)
        total[second] -= units.dots(members[second], sums, also[second])
        outside[second] -= sizes[also[second]]
    found = np.full(len(total), np.nan)
    np.divide(total, outside, out=found, where=outside > 0)
    return found

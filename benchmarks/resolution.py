"""Measures entity resolution on Re-DocRED's mentions beside what others do with names.

    python benchmarks/resolution.py [--half fit] [--splink]

Every mention's name, gold type and sentence go in; of the half of the documents by which no weight was
chosen, unless the other is asked for. Scores are precision, recall and F1. Within documents they count pairs
of mentions, mentions (B³), and pairs of spellings (with types), each of a document once. Over all documents
put together they count pairs of mentions; what is one between documents, which the data do not say, is told
by equal names (see ``redocred.across``). Namesakes are spellings that several entities of a document have.

Beside it: equal names, upper and lower case aside; RapidFuzz's WRatio from 80 on and equal types, whatever is
so connected; with --splink (package ``splink``) its comparison of names, weights estimated by it.
"""

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np
from rapidfuzz import process
from rapidfuzz.fuzz import WRatio
from redocred import Document, across, documents, halves, mentions, sentences, within

from graphrag_dagster.kernel.graph.undirected_graph import connected_components
from graphrag_dagster.kernel.text.text_similarity import normalise
from graphrag_dagster.systems.graphrag.resolution.entity_resolution import Spelling, resolve
from graphrag_dagster.systems.graphrag.resolution.name_pairs import Comparing

Clusters = dict[Spelling, object]
ALIKE = 80


def exact(chosen: Sequence[Document]) -> Clusters:
    """One entity a spelling, whatever its type."""
    return {(one.document, one.name, one.type): normalise(one.name) for one in mentions(chosen)}


def ours(chosen: Sequence[Document]) -> Clusters:
    """Entity resolution as it is shipped."""
    comparing = Comparing()
    found = resolve(
        mentions(chosen),
        sentences(chosen),
        titles={one.title: one.title for one in chosen},
        comparing=comparing,
    )
    verdicts = defaultdict(int)
    for one in found.decisions:
        verdicts[one.verdict, "between" if one.document is None else "within"] += 1
    left_out = sum(scope.left_out for scope in found.scopes)
    print(f"    {comparing.frame().height} pairs compared, {left_out} left out")
    print(f"    {len(found.namesakes)} groups of namesakes between documents")
    print(f"    {dict(sorted(verdicts.items()))}")
    return dict(found.entities)


def fuzzy(chosen: Sequence[Document]) -> Clusters:
    """WRatio from 80 on, equal types, connected."""
    by_type = defaultdict(set)
    for one in mentions(chosen):
        by_type[one.type].add(one.name)
    cluster_of: dict[tuple[str, str], object] = {}
    for kind, unordered in by_type.items():
        names = sorted(unordered)
        lowered = [name.lower() for name in names]
        likeness = process.cdist(lowered, lowered, scorer=WRatio, score_cutoff=ALIKE, dtype=np.uint8)
        one, other = (places.astype(np.int64) for places in np.nonzero(likeness))
        roots = connected_components(one, other, len(names))
        cluster_of |= {(name, kind): (kind, int(root)) for name, root in zip(names, roots, strict=True)}
    return {(one.document, one.name, one.type): cluster_of[one.name, one.type] for one in mentions(chosen)}


def splinked(chosen: Sequence[Document]) -> Clusters:
    """Splink over names and types: its name comparison, its own estimates, clusters from .5 on."""
    import logging

    import polars as pl
    import splink.comparison_library as cl
    from splink import DuckDBAPI, Linker, SettingsCreator, block_on

    logging.getLogger("splink").setLevel(logging.ERROR)
    names = sorted({(one.name, one.type) for one in mentions(chosen)})
    rows = [
        {"unique_id": at, "name": name.lower(), "type": kind, "first": name.lower().split()[0],
         "last": name.lower().split()[-1]}
        for at, (name, kind) in enumerate(names)
    ]  # fmt: skip
    settings = SettingsCreator(
        link_type="dedupe_only",
        comparisons=[cl.NameComparison("name"), cl.ExactMatch("type")],
        blocking_rules_to_generate_predictions=[block_on("first"), block_on("last")],
    )
    linker = Linker(DuckDBAPI().register(pl.DataFrame(rows).to_arrow()), settings)
    linker.training.estimate_probability_two_random_records_match([block_on("name", "type")], recall=0.7)
    linker.training.estimate_u_using_random_sampling(max_pairs=1e6, seed=1)
    linker.training.estimate_parameters_using_expectation_maximisation(block_on("last"))
    predicted = linker.inference.predict(threshold_match_probability=0.5)
    clustered = linker.clustering.cluster_pairwise_predictions_at_threshold(predicted, 0.5)
    found = {names[row["unique_id"]]: row["cluster_id"] for row in clustered.as_record_list()}
    return {(one.document, one.name, one.type): found[one.name, one.type] for one in mentions(chosen)}


def namesakes(chosen: Sequence[Document], clusters: Clusters) -> str:
    """Return of how many pairs of entities of one document that share a spelling the entities are apart."""
    apart = pairs = 0
    for one in chosen:
        bearers = defaultdict(set)
        for mention, entity in one.mentions:
            bearers[mention.name].add((entity, clusters[one.title, mention.name, mention.type]))
        for found in bearers.values():
            entities = {entity for entity, _ in found}
            if len(entities) > 1:
                pairs += 1
                apart += len({cluster for _, cluster in found}) == len(entities)
    return f"{apart} of {pairs} namesakes apart"


def main() -> None:
    """Measure each way and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--half", choices=("measured", "fit"), default="measured")
    parser.add_argument("--splink", action="store_true")
    wanted = parser.parse_args()
    chosen = halves(documents())[wanted.half]
    print(f"{len(chosen)} documents, {len(mentions(chosen))} mentions")
    ways: dict[str, Callable[[Sequence[Document]], Clusters]] = {
        "resolution": ours,
        "equal names": exact,
        "WRatio": fuzzy,
    }
    if wanted.splink:
        ways["Splink"] = splinked
    for name, way in ways.items():
        began = time.perf_counter()
        clusters = way(chosen)
        print(f"{name}, {time.perf_counter() - began:.1f} s", flush=True)
        print(f"    within: {within(chosen, clusters)}")
        print(f"    across: {across(chosen, clusters)}; {namesakes(chosen, clusters)}", flush=True)


if __name__ == "__main__":
    main()

"""How much of an index made by GPT the extractive engine finds in the same text units. A report, no target.

Run: python benchmarks/recall_against_gpt.py [folder]

The folder holds ``text_units.parquet``, ``entities.parquet`` and ``relationships.parquet`` as Microsoft's
GraphRAG writes them; by default the index of A Christmas Carol in the shared data beside the repository.
"""

import re
import sys
import time
from collections import Counter
from pathlib import Path

import polars as pl

from graphrag_dagster.engines.extractive.graph_extractor import ExtractiveGraphExtractor
from graphrag_dagster.kernel.tasks.task_ports import TextUnit, UnitExtraction
from graphrag_dagster.kernel.text.text_similarity import normalise

DEFAULT = Path(__file__).parents[1] / "../shared/data/msft_graphrag/verbs_data"
_TITLE = re.compile(r"^(?:THE|A|AN|MR\.?|MRS\.?|MISS|DR\.?) ")


def bare(name: str) -> str:
    """The normalised name without article and title, which the extractive engine leaves off."""
    return _TITLE.sub("", normalise(name))


def extract(folder: Path) -> list[UnitExtraction]:
    units = pl.read_parquet(folder / "text_units.parquet", columns=["id", "text"])
    return list(ExtractiveGraphExtractor().extract([TextUnit(*row) for row in units.iter_rows()]))


def report(folder: Path, extractions: list[UnitExtraction]) -> None:
    theirs = pl.read_parquet(folder / "entities.parquet").sort("degree", "title", descending=[True, False])
    their_edges = len(pl.read_parquet(folder / "relationships.parquet"))
    frequency = Counter(entity.name for unit in extractions for entity in unit.entities)
    edges = {frozenset((r.source, r.target)) for unit in extractions for r in unit.relationships}
    found = {bare(name) for name in frequency}
    print(f"units {len(extractions)}; entities {len(frequency)}, GPT {len(theirs)}")
    print(f"distinct pairs {len(edges)}, GPT {their_edges}")
    for top in (20, 50, 100):
        names = [bare(name) for name in theirs["title"].head(top)]
        hits = sum(name in found for name in names)
        print(
            f"recall of GPT's {top} entities of highest degree: {hits}/{len(names)} = {hits / len(names):.2f}"
        )
    # A name is written with a capital in the text; GPT also lists common nouns, such as the street.
    missed = [name for name in theirs["title"].head(100) if bare(name) not in found]
    print("missed:", "; ".join(missed))
    print("most frequent of ours:", "; ".join(f"{name} {count}" for name, count in frequency.most_common(40)))


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT
    began = time.perf_counter()
    extractions = extract(folder)
    print(f"extraction {time.perf_counter() - began:.1f} s")
    report(folder, extractions)


if __name__ == "__main__":
    main()

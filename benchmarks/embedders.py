"""Which embedder finds the text unit that holds the answer, by its vectors alone?

    python benchmarks/embedders.py [--embedders static minilm …] [--episodes 30] [--size 600] [--overlap 100]

The first episodes, by name, that ``podcast_questions.yaml`` has answers in are cut into units of --size
tokens. Prints for each embedder the share of questions for which a unit with a whole gold sentence is among
the first 1, 3, 5, 10 and 20 by cosine, with a 95 % bootstrap interval for 5, and milliseconds of the
processor per unit.
"""

import argparse
import time

import numpy as np
import polars as pl
from episodes import episodes, podcast_questions
from measuring import interval

from graphrag_dagster.kernel.catalogue.registry import embedders, load_target
from graphrag_dagster.kernel.common.stable_values import cosines
from graphrag_dagster.kernel.documents.text_units import cut_text_units
from graphrag_dagster.kernel.models.embedders import CorpusEmbedder

FIRST = (1, 3, 5, 10, 20)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--embedders", nargs="+", default=["static", "minilm"])
    parser.add_argument("--episodes", type=int, default=30)
    parser.add_argument("--size", type=int, default=600)
    parser.add_argument("--overlap", type=int, default=100)
    given = parser.parse_args()
    with_answers = {gold.file for question in podcast_questions() for gold in question.gold}
    chosen = sorted(with_answers)[: given.episodes]
    documents = pl.DataFrame(
        {
            "document_id": chosen,
            "human_readable_id": range(len(chosen)),
            "text": [episodes()[name] for name in chosen],
        }
    )
    units = cut_text_units(
        documents, strategy="tokens", size=given.size, overlap=given.overlap, encoding="cl100k_base"
    )
    places = list(zip(units["document_id"], units["start_char"], units["end_char"], strict=True))
    asked = {}
    for question in podcast_questions():
        held = {
            number
            for number, (name, start, end) in enumerate(places)
            if any(gold.file == name and start <= gold.start and gold.end <= end for gold in question.gold)
        }
        if held:
            asked[question.text] = held
    print(f"{len(chosen)} episodes, {units.height} units, {len(asked)} questions\n")
    print(f"| embedder | {' | '.join(f'@{first}' for first in FIRST)} | interval of @5 | ms a unit |")
    print("| --- |" + " --- |" * (len(FIRST) + 2))
    for name in given.embedders:
        kind = embedders()[name]
        embedder = CorpusEmbedder(load_target(kind.factory)(None), kind.prefixes)
        embedder.embed(["loaded"])
        begin = time.process_time()
        vectors = embedder.embed(units["text"].to_list())
        took = (time.process_time() - begin) * 1000 / units.height
        ranks = []
        for vector, held in zip(embedder.embed_queries(list(asked)), asked.values(), strict=True):
            order = np.argsort(-cosines(vectors, vector), kind="stable").tolist()
            ranks.append(min(order.index(number) for number in held))
        shares = [f"{np.mean([rank < first for rank in ranks]):.3f}" for first in FIRST]
        print(
            f"| {name} | {' | '.join(shares)} | {interval([rank < 5 for rank in ranks])} | {took:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()

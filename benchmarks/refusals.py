"""How many everyday questions the extractive engine refuses over corpora that have nothing to do with them.

    python benchmarks/refusals.py CORPUS [CORPUS ...] [--method local]

The corpora are indexed ones of the home; the questions are those of ``everyday.yaml``.
"""

import argparse
from pathlib import Path

import yaml

from graphrag_dagster import Index

QUESTIONS = Path(__file__).with_name("everyday.yaml")


def main() -> None:
    """Ask every question of every corpus, and count what is refused."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpora", nargs="+")
    parser.add_argument("--method", default="local")
    given = parser.parse_args()
    halves = yaml.safe_load(QUESTIONS.read_text(encoding="utf-8"))
    print("| corpus | " + " | ".join(f"refused, {half.replace('_', ' ')}" for half in halves) + " |")
    for corpus in given.corpora:
        index = Index.open(corpus)
        refused = [
            sum(index.ask(question, method=given.method).refused for question in questions)
            for questions in halves.values()
        ]
        shown = [
            f"{count} of {len(questions)}" for count, questions in zip(refused, halves.values(), strict=True)
        ]
        print(f"| {corpus} | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    main()

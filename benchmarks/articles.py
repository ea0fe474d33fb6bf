"""Do the contexts of experts' questions about whole articles hold the words that answer them?

    python benchmarks/articles.py [--questions N] [--home FOLDER] [--ways NAME …]

98 articles of COVID-QA, each a document, are indexed without a model; of its 1,380 questions so many, drawn
with a fixed seed, are asked over all articles. The words that answer a question are looked for in its
article, since the offsets that the data set gives do not always fit; questions whose words do not stand
there are left out and counted. *sent*, *ranked* and the rest are those of ``meetings.py``.
"""

import argparse
import json
import random
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from measuring import BASIC, DATA, Corpus, Stretch, Way, coverage, coverage_header, coverage_row, table

BUDGETS = (4_000, 10_000, 20_000)
WAYS = (Way("local", "local", {}), *BASIC)
QUESTIONS, SEED = 300, 98
_LINK = re.compile(r"articles/(PMC\d+)")


def articles() -> tuple[dict[str, str], list[tuple[str, list[Stretch]]]]:
    """Text by file name, and every question with the words that answer it; no words where none are found."""
    rows = json.loads((DATA / "covidqa" / "200423_covidQA.json").read_text(encoding="utf-8"))["data"]
    documents: dict[str, str] = {}
    questions = []
    for paragraph in (paragraph for row in rows for paragraph in row["paragraphs"]):
        text = paragraph["context"]
        link = _LINK.search(text)
        file = f"{link[1] if link else paragraph['document_id']}.txt"
        if documents.setdefault(file, text) != text:
            raise SystemExit(f"two articles would be called {file}")
        questions += [(one["question"], words_of(file, text, one["answers"])) for one in paragraph["qas"]]
    return documents, questions


def words_of(file: str, text: str, answers: Sequence[dict]) -> list[Stretch]:
    """Where the words of an answer stand, blanks aside; of several places the nearest to the offset."""
    found = []
    for answer in answers:
        pattern = r"\s+".join(map(re.escape, answer["text"].split()))
        places = [place.span() for place in re.finditer(pattern, text)] if pattern else []
        if places:
            start, end = min(places, key=lambda place: abs(place[0] - answer["answer_start"]))
            found.append(Stretch(file, start, end))
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--questions", type=int, default=QUESTIONS)
    parser.add_argument("--home", type=Path)
    parser.add_argument("--ways", nargs="*", metavar="NAME")
    given = parser.parse_args()
    documents, questions = articles()
    asked = [one for one in questions if one[1]]
    print(f"{len(documents)} articles, {len(questions)} questions, {len(questions) - len(asked)} left out")
    random.Random(SEED).shuffle(asked)
    with tempfile.TemporaryDirectory() as made:
        corpus = Corpus(given.home or Path(made), "articles", documents)
        rows, asked = [], asked[: given.questions]
        for way in WAYS:
            if not given.ways or way.name in given.ways:
                found = [coverage(corpus, text, way, gold, BUDGETS) for text, gold in asked]
                rows.append([way.name, *coverage_row(found, BUDGETS)])
        table(["method", *coverage_header(BUDGETS)], rows)


if __name__ == "__main__":
    main()

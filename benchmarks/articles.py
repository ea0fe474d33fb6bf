"""98 articles of COVID-QA as documents, and experts' questions with the words that answer them.

The words that answer a question are looked for in its article, since the offsets that the data set gives do
not always fit. Of the questions in the order that ``SEED`` draws, the first ``QUESTIONS`` are for reporting.
"""

import json
import re
from collections.abc import Sequence

from measuring import DATA, Stretch

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

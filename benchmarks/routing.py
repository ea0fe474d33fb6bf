"""Does ``auto`` choose the search method that a person would?

    python benchmarks/routing.py [--fit] [--homes FOLDER]

Questions with the way that suits them: ``routing_questions.yaml`` over the sample corpus and the podcasts,
the paper's questions about the podcasts (global), questions about committee meetings (qmsum: local) and about
articles (covidqa: local). Half of each, drawn by the hash of the question, fits the weights; the other half
is reported. ``--fit`` prints weights for ``graphrag_dagster/systems/graphrag/search/router.py``.

Indexes are made without a model in ``FOLDER/<corpus>`` (default: a folder that is deleted) unless they are
there.
"""

import argparse
import csv
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml
from episodes import episodes

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data"
WRITTEN = Path(__file__).with_name("routing_questions.yaml")
RIDGE = 0.02
_MOST_OF_A_SET = 150
#: What a question in particular counts beside one about the whole: reports seldom hold the passage.
_LOCAL = 2.5


@dataclass(frozen=True)
class Labelled:
    """A question about a corpus; local or global."""

    corpus: str
    text: str
    local: bool

    @property
    def fits(self) -> bool:
        """Whether it is of the half that fits the weights."""
        return hashlib.sha256(f"{self.corpus} {self.text}".encode()).digest()[0] % 2 == 0


def labelled() -> list[Labelled]:
    written = yaml.safe_load(WRITTEN.read_text(encoding="utf-8"))
    found = [
        Labelled(corpus, text, way == "local")
        for corpus, ways in written.items()
        for way, texts in ways.items()
        for text in texts
    ]
    with (DATA / "podcast" / "questions.csv").open(encoding="utf-8-sig", newline="") as lines:
        found += [Labelled("podcast", row["question_text"], False) for row in csv.DictReader(lines)]
    for meeting in meetings():
        found += [Labelled("meetings", one["query"], True) for one in meeting["specific_query_list"]]
    found += [Labelled("articles", one["question"], True) for one in asked_of_articles()]
    kept: dict[tuple[str, bool], dict[str, Labelled]] = {}
    for one in sorted(found, key=lambda one: hashlib.sha256(one.text.encode()).digest()):
        kept.setdefault((one.corpus, one.local), {}).setdefault(one.text, one)
    return [one for named in kept.values() for one in list(named.values())[:_MOST_OF_A_SET]]


def meetings() -> list[dict]:
    lines = (DATA / "qmsum" / "committee_train.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def articles() -> list[dict]:
    return json.loads((DATA / "covidqa" / "200423_covidQA.json").read_text(encoding="utf-8"))["data"]


def asked_of_articles() -> list[dict]:
    return [one for article in articles() for part in article["paragraphs"] for one in part["qas"]]


def texts_of_meetings() -> Mapping[str, str]:
    return {
        f"meeting {number}.txt": "\n\n".join(
            f"{t['speaker']}: {t['content']}" for t in one["meeting_transcripts"]
        )
        for number, one in enumerate(meetings(), 1)
    }


def texts_of_articles() -> Mapping[str, str]:
    return {
        f"article {number}.txt": "\n\n".join(part["context"] for part in one["paragraphs"])
        for number, one in enumerate(articles(), 1)
    }


TEXTS: Mapping[str, Callable[[], Mapping[str, str]]] = {
    "podcast": episodes,
    "meetings": texts_of_meetings,
    "articles": texts_of_articles,
}


def indexed(corpus: str, home: Path) -> None:
    """Make the index of a corpus unless the folder has it."""
    os.environ |= {"GRAPHRAG_DAGSTER_HOME": str(home), "DAGSTER_HOME": str(home / ".dagster_home")}
    if (home / "warehouse" / f"{corpus}.duckdb").exists():
        return
    folder = home / "corpora" / corpus
    if corpus == "harbour":
        shutil.copytree(ROOT / "graphrag_dagster" / "sample" / "harbour", folder)
    else:
        folder.mkdir(parents=True)
        for name, text in TEXTS[corpus]().items():
            (folder / name).write_text(text, encoding="utf-8")
    command = [str(Path(sys.executable).with_name("graphrag-dagster")), "index", corpus]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def cues_of_all(questions: list[Labelled], homes: Path) -> np.ndarray:
    """The cues of every question, a row each."""
    from graphrag_dagster import Index
    from graphrag_dagster.kernel.questions.finding import names_in_question
    from graphrag_dagster.kernel.questions.question import Question, Search
    from graphrag_dagster.kernel.questions.searcher import require_method
    from graphrag_dagster.systems.graphrag.search.router import cues_of

    rows: dict[Labelled, list[float]] = {}
    for corpus in dict.fromkeys(one.corpus for one in questions):
        indexed(corpus, homes / corpus)
        searcher = Index.open(corpus).searcher
        for one in questions:
            if one.corpus == corpus:
                search = Search(
                    method=require_method("auto"),
                    index=searcher.index,
                    count=searcher.count,
                    settings=searcher.settings,
                    question=Question(one.text),
                    engines=None,  # Cues are found by words alone.
                )
                named = [name.text for name in names_in_question(search) if name.named and name.entity_id]
                rows[one] = list(cues_of(search, named).values())
    return np.array([rows[one] for one in questions])


def fitted(cues: np.ndarray, local: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Bias and weights of a logistic regression with a small ridge; each corpus and way counts alike."""
    from scipy.optimize import minimize

    design = np.hstack([np.ones((len(cues), 1)), cues])

    def loss(w: np.ndarray) -> float:
        margin = np.where(local, 1, -1) * (design @ w)
        return float((weights * np.logaddexp(0, -margin)).sum() + RIDGE * (w[1:] ** 2).sum())

    return minimize(loss, np.zeros(design.shape[1]), method="L-BFGS-B").x


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--homes", type=Path)
    options = parser.parse_args()
    from graphrag_dagster.systems.graphrag.search.router import BIAS, WEIGHTS

    questions = labelled()
    with tempfile.TemporaryDirectory() as folder:
        cues = cues_of_all(questions, (options.homes or Path(folder)).resolve())
    local = np.array([one.local for one in questions])
    half = np.array([one.fits for one in questions])
    groups = [(one.corpus, one.local) for one in questions]
    size = {group: sum(g == group for g, h in zip(groups, half, strict=True) if h) for group in groups}
    known = dict(WEIGHTS)
    if options.fit:
        weights = np.array([(_LOCAL if group[1] else 1) / max(size[group], 1) for group in groups])
        bias, *found = fitted(cues[half], local[half], weights[half]).round(2).tolist()
        from graphrag_dagster.systems.graphrag.search.router import cues as named_cues

        known = dict(zip(named_cues("", [], [], float), found, strict=True))
        print(f"BIAS = {bias}\nWEIGHTS = {known}")
    else:
        bias = BIAS
    likely = bias + cues @ np.array(list(known.values()))
    right = (likely >= 0) == local
    print(f"{'':<22}{'fitted on':>12}{'reported':>12}")
    for group in [*dict.fromkeys(groups), None]:
        of = np.array([group in {None, g} for g in groups])
        name = "all" if group is None else f"{group[0]}, {'local' if group[1] else 'global'}"
        shown = "".join(f"{right[of & h].mean():>7.3f} {(of & h).sum():>4}" for h in (half, ~half))
        print(f"{name:<22}{shown}")
    for one, value in zip(questions, likely, strict=True):
        if not one.fits and (value >= 0) != one.local:
            print(
                f"  taken for {'local' if value >= 0 else 'global'} ({value:+.1f}): {one.corpus}: {one.text}"
            )


if __name__ == "__main__":
    main()

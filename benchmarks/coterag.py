"""CoTeRAG-S over whole articles: what its text units hold of the answers, how questions go, what it costs.

    python benchmarks/coterag.py [recall] [profiles] [times] [--home FOLDER] [--half tune|report]
        [--ways NAME …] [--names-only] [--transformer]

``recall``: 98 articles of COVID-QA in text units of 200 characters, 20 of them shared, without a model; 200
of its questions are for tuning and 200 others for reporting, which nothing was fitted on. The words that
answer a question are looked for in its article, as in ``articles.py``. Shares of their characters, and of the
questions that have them all, in the first five text units of each search method and in its first 4,000
characters, for which CoTeRAG-S is given as many more text units; and what communities and terms add, one at a
time, over the same questions. *Only apart*: questions answered, all of
whose cited text units the fallback alone gave. Then the other ways over text units of the default strategy.

``profiles``: the 27 questions of CovidQA, in natural and in keyword form, over the same index: how they are
routed, how the communities that are chosen were matched, and how many contexts are empty, by thresholds.

``times``: the index with and without CoTeRAG-S, each in a process of its own, and answers without a model.

``--names-only`` leaves noun phrases out of the graph; ``--transformer`` has a sentence transformer in place
of the static vectors (an extra).
"""

import argparse
import json
import random
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from articles import QUESTIONS, SEED, articles
from homes import environment
from index import INDEX, run
from measuring import (
    BASIC,
    DATA,
    Corpus,
    SearchMethod,
    Stretch,
    extraction,
    interval,
    session_of,
    share_covered,
    table,
    within,
)

from graphrag_dagster.kernel.catalogue.registry import methods as known_methods
from graphrag_dagster.kernel.common.bootstrap_intervals import mean_interval
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.text.evidence import Words
from graphrag_dagster.systems.coterag.coterag_options import Profile, paper_thresholds
from graphrag_dagster.systems.coterag.search.answer_loop import CoteragAnswer, CoteragEngines, run_answer_loop
from graphrag_dagster.systems.coterag.search.coterag_method import open_coterag
from graphrag_dagster.systems.coterag.tasks import ANSWER_VALIDATOR, EVIDENCE_ANSWERER, EVIDENCE_ROUTER

NAME = "covid"
SMALL = "text_units: {strategy: characters}\n"
MADE = "coterag: {profile: calibrated}\n"
UNITS, BUDGET = 5, 4_000
#: Text units of 200 characters that fill the budget, however short they are.
MANY = 40
ASKED = 200
#: Of each half the place of its first question in the order of ``articles.py``.
HALVES = {"report": 0, "tune": QUESTIONS}
PROFILES: tuple[Profile, ...] = ("calibrated", "paper_raw", "paper_neo4j")
OTHERS = (*BASIC, SearchMethod("local", "local", {}))
OURS = tuple(
    SearchMethod(one.name, one.name, {})
    for one in known_methods().values()
    if "coterag" in {one.name, one.without}
)
#: Two methods that differ in one part: what the first has that the second has not.
PARTS = {
    "communities, beside terms": ("coterag", "coterag-no-matching"),
    "communities, without terms": ("coterag-no-coverage", "coterag-no-communities"),
    "terms, inside of communities": ("coterag", "coterag-no-coverage"),
    "terms, in the whole graph": ("coterag-no-matching", "coterag-no-communities"),
}
#: Share of gold characters from which all are there, but for blanks between text units.
WHOLE = 0.98


@dataclass(frozen=True)
class Held:
    """Shares of a question's gold characters, and whether only what stands apart answered it."""

    units: float
    budget: float
    apart: bool = False


@dataclass(frozen=True)
class Making:
    """How the articles are indexed, and in which folders of the home."""

    home: Path
    noun_phrases: bool
    transformer: bool

    @property
    def units(self) -> Corpus:
        """In text units of 200 characters, with CoTeRAG-S."""
        folder = "units" if self.noun_phrases else "units-names"
        return self._corpus(folder, SMALL + self.vectors + MADE, noun_phrases=self.noun_phrases)

    @property
    def natural(self) -> Corpus:
        """In text units of the default strategy, all else by default too."""
        return self._corpus("natural", self.vectors)

    @property
    def vectors(self) -> str:
        """The settings of the embedder."""
        return "embeddings: {embedder: sentence-transformers}\n" * self.transformer

    def _corpus(self, folder: str, settings: str, *, noun_phrases: bool = False) -> Corpus:
        home = self.home / (folder + "-transformer" * self.transformer)
        return Corpus(home, NAME, articles()[0], settings, noun_phrases=noun_phrases)


def questions(half: str) -> list[tuple[str, list[Stretch]]]:
    asked = [one for one in articles()[1] if one[1]]
    random.Random(SEED).shuffle(asked)
    return asked[HALVES[half] : HALVES[half] + ASKED]


def held(corpus: Corpus, question: str, gold: Sequence[Stretch], way: SearchMethod) -> Held:
    """What the text units of a search method hold."""
    if way in OTHERS:
        units = corpus.units(corpus.unit_ids(corpus.context(question, way)))
        return _held(gold, units, units)
    few, apart = _ours(corpus, question, way)
    own = way.options.get("coterag", corpus.index.searcher.settings.coterag)
    fallback = own.fallback.model_copy(update={"chunks": MANY})
    more = own.model_copy(update={"chunks": MANY, "fallback": fallback})
    return replace(_held(gold, few, _ours(corpus, question, way, coterag=more)[0]), apart=apart)


def _held(gold: Sequence[Stretch], few: Sequence[Stretch], many: Sequence[Stretch]) -> Held:
    return Held(share_covered(gold, few[:UNITS]), share_covered(gold, within(many, BUDGET)))


def _ours(corpus: Corpus, question: str, way: SearchMethod, **options: Any) -> tuple[list[Stretch], bool]:
    answer = corpus.ask(question, way, **options).answer
    found, alone = (answer.section(title) for title in ("Text units", "Found by that alone"))
    if found is None and alone is None:
        return [], False
    first, apart = ([] if one is None else one.ids("text unit") for one in (found, alone))
    cited = {one.evidence.text_unit_id for one in answer.sources if isinstance(one.evidence, Words)}
    only = not answer.refused and bool(cited) and cited <= set(apart)
    return corpus.units([*first, *apart]), only


def recall(making: Making, half: str, names: Sequence[str]) -> None:
    asked = questions(half)
    header = [
        "method",
        "in 5 units",
        "all in 5",
        f"in {BUDGET:,} characters",
        f"all in {BUDGET:,}",
        "only apart",
    ]
    for what, ways in (("units", (*OURS, *OTHERS)), ("natural", OTHERS)):
        chosen = [one for one in ways if not names or one.name in names]
        if chosen:
            corpus: Corpus = getattr(making, what)
            print(f"\n{half}: {len(asked)} questions, {what}")
            found: dict[str, list[Held]] = {}
            table(header, (_row(corpus, way, asked, found) for way in chosen))
            _parts(found)


def _parts(found: Mapping[str, Sequence[Held]]) -> None:
    """Print what single parts add, question by question, with bootstrap intervals of the differences."""
    pairs = {
        part: (found[one], found[other]) for part, (one, other) in PARTS.items() if {one, other} <= {*found}
    }
    if pairs:
        print()
        table(["part", "in 5 units", f"in {BUDGET:,} characters"], (_gains(*each) for each in pairs.items()))


def _gains(part: str, pair: tuple[Sequence[Held], Sequence[Held]]) -> list[str]:
    both = list(zip(*pair, strict=True))
    units = mean_interval([one.units - other.units for one, other in both])
    budget = mean_interval([one.budget - other.budget for one, other in both])
    cells = (
        f"{one.mean:+.3f} ({one.low:+.3f} to {one.high:+.3f})" if one else "–" for one in (units, budget)
    )
    return [part, *cells]


def _row(
    corpus: Corpus,
    way: SearchMethod,
    asked: Sequence[tuple[str, Sequence[Stretch]]],
    kept: dict[str, list[Held]],
) -> list[str]:
    found = kept[way.name] = [held(corpus, question, gold, way) for question, gold in asked]
    shares = [[one.units for one in found], [one.budget for one in found]]
    cells = [interval(each) for share in shares for each in (share, [float(one >= WHOLE) for one in share])]
    return [way.name, *cells, f"{np.mean([one.apart for one in found]):.3f}" if way not in OTHERS else ""]


def profiles(making: Making) -> None:
    corpus = making.units
    session, snapshot = (
        session_of(NAME, CorpusStore().settings(NAME)),
        open_coterag(corpus.index.searcher.index),
    )
    engines = CoteragEngines(
        session.embedder(),
        session.task(EVIDENCE_ROUTER),
        session.task(EVIDENCE_ANSWERER),
        session.task(ANSWER_VALIDATOR),
    )
    print(f"\nCovidQA, {engines.embedder.name}")
    rows = []
    for profile in PROFILES:
        limits = snapshot.thresholds if profile == "calibrated" else paper_thresholds(profile, {})
        index = replace(snapshot, thresholds=limits)
        own = corpus.index.searcher.settings.coterag
        options = own.model_copy(update={"profile": profile, "order": own.ranked_by})
        for form, asked in literature().items():
            made = [run_answer_loop(question, index, engines, options) for question in asked]
            rows.append([profile, form, *_gone(made)])
    classes = ("high confidence", "high similarity", "no community")
    table(["thresholds", "form", "specific", *classes, "empty", "fallback", "insufficient"], rows)


def literature() -> Mapping[str, list[str]]:
    """The questions of CovidQA by their form."""
    data = json.loads((DATA / "covidqa_kaggle" / "kaggle-lit-review-0.2.json").read_text(encoding="utf-8"))
    found = [one for category in data["categories"] for one in category["sub_categories"]]
    return {"natural": [one["nq_name"] for one in found], "keywords": [one["kq_name"] for one in found]}


def _gone(made: Sequence[CoteragAnswer]) -> list[str]:
    retrieved = [one.trace.retrieved for one in made if one.trace.retrieved]
    chosen = [[one.match_class for one in found.communities if one.selected] for found in retrieved]
    return [
        str(len(retrieved)),
        *(str(sum(kind in one for one in chosen)) for kind in ("high_confidence", "high_similarity")),
        str(sum(not one for one in chosen)),
        f"{np.mean([not one.context.rows for one in made]):.3f}",
        str(sum(bool(one.trace.rounds) for one in made)),
        str(sum(one.insufficient for one in made)),
    ]


def times(making: Making) -> None:
    plain = extraction(noun_phrases=making.noun_phrases) + SMALL + making.vectors
    both = {"without": plain, "with": plain + MADE}
    table(["CoTeRAG-S", "job, s", "own step, s", "peak, MB"], (_indexed(*one) for one in both.items()))
    corpus, asked = making.units, [question for question, _ in questions("report")]
    print()
    table(["method", "first, ms", "p50", "p95"], (_timed(corpus, way, asked) for way in OURS))


def _indexed(called: str, settings: str) -> list[str]:
    """Index in a process of its own, in a folder that is thrown away."""
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpora" / "measured"
        corpus.mkdir(parents=True)
        for file, text in articles()[0].items():
            (corpus / file).write_text(text, encoding="utf-8", newline="")
        (corpus / "corpus.yaml").write_text(settings, encoding="utf-8")
        steps, _, peak = run(INDEX, env=environment(Path(folder)))
    own = sum(float(one[2]) for one in map(str.split, steps[1:]) if one[1] == "coterag")
    return [called, f"{float(steps[0].split()[1]):.1f}", f"{own:.1f}", f"{peak / 1e6:,.0f}"]


def _timed(corpus: Corpus, way: SearchMethod, asked: Sequence[str]) -> list[str]:
    spent = []
    for question in asked:
        begin = perf_counter()
        corpus.ask(question, way)
        spent.append((perf_counter() - begin) * 1e3)
    return [way.name, f"{spent[0]:.0f}", *(f"{np.percentile(spent[1:], share):.0f}" for share in (50, 95))]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help="recall, profiles, times; default: all")
    parser.add_argument("--home", type=Path)
    parser.add_argument("--half", choices=HALVES, default="report")
    parser.add_argument("--ways", nargs="*", metavar="NAME", default=())
    parser.add_argument("--names-only", action="store_true")
    parser.add_argument("--transformer", action="store_true")
    given = parser.parse_args()
    if unknown := set(given.parts) - {"recall", "profiles", "times"}:
        parser.error(f"there is no part {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory() as made:
        making = Making((given.home or Path(made)).resolve(), not given.names_only, given.transformer)
        parts = given.parts or ["recall", "profiles", "times"]
        if "recall" in parts:
            recall(making, given.half, given.ways)
        if "profiles" in parts:
            profiles(making)
        if "times" in parts:
            times(making)


if __name__ == "__main__":
    main()

"""Does each search method find and say what answers, on every set of questions? One table for all.

    python benchmarks/left_out.py [--sets NAME …] [--methods NAME …] [--half chosen|reported|all]
        [--questions N] [--setting KEY=VALUE …] [--embedder NAME] [--work FOLDER] [--json FILE]
        [--read FILE] [--against FILE] [--show]

Each set is indexed without a model and asked through ``Index.ask``. What a change chooses or fits is to be
fitted on all sets but one and to hold on the one that is left out; on a set alone, ``--half chosen`` is for
choosing and ``--half reported`` for reporting. A part of a set's name stands for all whose names begin so.

*recall at k*: the gold is among the first k text units of the context; *first*, *first 3*: the first
statement, one of the first three cites it; *context*: it is in the text units that fit whole into the first
so many tokens. Passages of multi-hop questions count by share; of other gold any is enough. Words are gold
that share half of the characters of the shorter with it: a section's, a turn's, a sentence's. ``plain``
sets have a phrase that the words must contain, and questions without an answer, for which a refusal is right.

``--work`` keeps the indexes, which are used again; settings outside ``search`` make an index of their own.
``--questions`` asks so many of each set, always the same. ``--json`` writes a row for each question;
``--read`` takes the rows from such a file instead of asking; ``--against`` puts rows of another beside these,
with 95 % bootstrap intervals of the paired differences. ``--show`` prints the first statements.
"""

import argparse
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean, median
from time import monotonic
from typing import Any

import yaml
from measuring import FIRST, extraction, table
from question_sets import CHOSEN, REPORTED, SETS, Gold, Piece, Question, QuestionSet

from graphrag_dagster import Index
from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.common.bootstrap_intervals import mean_interval
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore

METHODS = ("basic", "local", "auto")
UNITS, TOKENS = (2, 5, 8), (2_000, 4_000, 8_000)
#: Sections whose values matter when a question is asked, so that one index serves all of them.
_ASKED = ("search", "model")
_STATIC = "static"


@dataclass(frozen=True)
class Row:
    """What came of a question.

    Attributes:
        set: its set.
        method: the search method.
        id: of the question.
        half: of the question.
        answerable: whether there is gold.
        refused: nothing was answered.
        statement: which statement is the first to cite gold, from 0; None without one.
        units: the place of each gold among the text units of the context, from 0; None: not there.
        tokens: of the context up to and with that text unit.
        seconds: that the answer took.
    """

    set: str
    method: str
    id: str
    half: str
    answerable: bool
    refused: bool
    statement: int | None
    units: Sequence[int | None]
    tokens: Sequence[int | None]
    seconds: float


Measure = Callable[[Row], float]


def _share(found: Sequence[bool], *, every: bool) -> float:
    return (mean if every else max)(map(float, found))


def _within(places: Sequence[int | None], most: int) -> list[bool]:
    return [place is not None and place <= most for place in places]


def measures(name: str) -> dict[str, Measure]:
    """Return the measures of an answerable question of a set by the names of their columns."""
    every = SETS[name].every
    found: dict[str, Measure] = {}
    for k in UNITS:
        found[f"recall@{k}"] = lambda row, k=k: _share(_within(row.units, k - 1), every=every)
    if not every:
        found["first"] = lambda row: float(row.statement == 0)
        found[f"first {FIRST}"] = lambda row: float(row.statement is not None and row.statement < FIRST)
    for k in TOKENS:
        found[f"context {k:,}"] = lambda row, k=k: _share(_within(row.tokens, k), every=every)
    return found


COLUMNS = [f"recall@{k}" for k in UNITS] + ["first", f"first {FIRST}"] + [f"context {k:,}" for k in TOKENS]


def indexed(home: Path, chosen: QuestionSet, settings: Mapping[str, Any]) -> Index:
    """Return the index of a set, made unless the home has it already.

    Args:
        home: folder of corpora and indexes.
        chosen: the set.
        settings: those that differ from the defaults, by section.
    """
    own = {section: values for section, values in settings.items() if section not in _ASKED}
    told = json.dumps(own, sort_keys=True)
    default = own == {"embeddings": {"embedder": _STATIC}}
    name = chosen.corpus if default else f"{chosen.corpus}-{hashlib.sha256(told.encode()).hexdigest()[:8]}"
    written = yaml.safe_load(
        f"{extraction(noun_phrases=False)}{chosen.settings}coterag: {{profile: calibrated}}\n"
    )
    folder = home / "corpora" / name
    os.environ |= {"GRAPHRAG_DAGSTER_HOME": str(home), "DAGSTER_HOME": str(home / ".dagster_home")}
    if not (home / "warehouse" / "published" / name).is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        chosen.write(folder)
        (folder / "corpus.yaml").write_text(yaml.safe_dump(_merged(written, own)), encoding="utf-8")
        begin = monotonic()
        run_job(name)
        print(f"indexed {name} in {monotonic() - begin:.0f} s", flush=True)
    # The settings of the search are those of this run alone, so that others can ask the same index meanwhile.
    with tempfile.TemporaryDirectory() as root:
        asked = Path(root) / name
        asked.mkdir()
        (asked / "corpus.yaml").write_text(yaml.safe_dump(_merged(written, settings)), encoding="utf-8")
        return Index.open(name, corpora=CorpusStore(root=root))


def _merged(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    both = dict(first)
    for key, value in second.items():
        inside = both.get(key)
        both[key] = _merged(inside, value) if isinstance(inside, dict) and isinstance(value, dict) else value
    return both


def parsed_settings(given: Iterable[str]) -> dict[str, Any]:
    """Return settings by section from ``section.name=value``, values as YAML has them."""
    found: dict[str, Any] = {}
    for one in given:
        key, _, value = one.partition("=")
        told: Any = yaml.safe_load(value)
        for part in reversed(key.split(".")):
            told = {part: told}
        found = _merged(found, told)
    return found


def sample(questions: Sequence[Question], half: str, most: int | None) -> list[Question]:
    """Return the questions of a half, so many of them, always the same, in their order."""
    wanted = [one for one in questions if half in ("all", one.half)]
    drawn = sorted(wanted, key=lambda one: hashlib.sha256(one.id.encode()).digest())[:most]
    kept = {one.id for one in drawn}
    return [one for one in wanted if one.id in kept]


def ask(index: Index, name: str, method: str, question: Question, *, show: bool) -> Row:
    """Ask a question and compare the answer and its context with the gold."""
    try:
        answer = index.ask(question.text, method=method)
    except QuestionError as error:
        print(f"{name}, {method}: {question.text!r}: {error}")
        nowhere = [None] * len(question.gold)
        return Row(
            name, method, question.id, question.half, bool(question.gold), True, None, nowhere, nowhere, 0
        )
    cited = {
        source.number: Piece(source.evidence.path, source.evidence.start_char, source.evidence.quotation)
        for source in answer.sources
        if source.evidence is not None and source.evidence.kind == "words"
    }
    said = [
        any(gold.holds(cited[number]) for number in one.sources if number in cited for gold in question.gold)
        for one in answer.statements
    ]
    seen: set[str] = set()
    read: list[tuple[Piece, int]] = []
    tokens = 0
    for use in answer.context:
        tokens += use.tokens
        if use.kind == "source" and use.record_id not in seen:
            seen.add(use.record_id)
            unit = index.source(use.record_id)
            read.append((Piece(unit.path, unit.start_char, unit.text), tokens))
    places = [_place(gold, read) for gold in question.gold]
    row = Row(
        name,
        method,
        question.id,
        question.half,
        bool(question.gold),
        answer.refused,
        said.index(True) if True in said and not answer.refused else None,
        places,
        [None if place is None else read[place][1] for place in places],
        answer.seconds or 0.0,
    )
    if show:
        print("\n".join(_shown(question, row, answer, cited)), flush=True)
    return row


def _place(gold: Gold, read: Sequence[tuple[Piece, int]]) -> int | None:
    return next((place for place, (piece, _) in enumerate(read) if gold.holds(piece)), None)


def _shown(question: Question, row: Row, answer: Any, cited: Mapping[int, Piece]) -> Iterator[str]:
    right = "refused" if row.refused else f"right statement: {row.statement}"
    yield f"\n{row.set}, {row.method}: {question.text}"
    yield f"  {right}, text unit: {list(row.units)}; {answer.why or ''}"
    for one in answer.statements[:FIRST]:
        where = ", ".join(dict.fromkeys(cited[number].path for number in one.sources if number in cited))
        yield f"  - {' '.join(one.text.split())[:300]} ({where})"


def told(rows: Sequence[Row]) -> Iterator[list[str]]:
    """Yield the cells of the table, a row for each set and method."""
    for (name, method), of in _grouped(rows).items():
        answerable = [row for row in of if row.answerable]
        own = measures(name)
        cells = [f"{mean(own[c](row) for row in answerable):.3f}" if c in own else "–" for c in COLUMNS]
        refused = str(sum(row.refused for row in answerable))
        if len(answerable) < len(of):
            others = [row.refused for row in of if not row.answerable]
            refused += f", rightly {sum(others)} of {len(others)}"
        spent = [row.seconds for row in of]
        late = sorted(spent)[int(0.95 * (len(spent) - 1))]
        times = f"{1000 * median(spent):.0f}, {1000 * late:.0f}"
        yield [name, method, str(len(answerable)), *cells, refused, times]


def compared(before: Sequence[Row], after: Sequence[Row]) -> Iterator[list[str]]:
    """Yield the cells of the table of differences over the questions that both have."""
    old = {(row.set, row.method, row.id): row for row in before}
    for (name, method), of in _grouped(after).items():
        pairs = [
            (old[key], row) for row in of if row.answerable and (key := (row.set, row.method, row.id)) in old
        ]
        if not pairs:
            continue
        own, cells = measures(name), []
        for column in COLUMNS:
            if column not in own:
                cells.append("–")
                continue
            first, second = ([own[column](pair[side]) for pair in pairs] for side in (0, 1))
            cells.append(f"{mean(first):.3f} → {mean(second):.3f} {_difference(first, second)}".rstrip())
        refused = " → ".join(str(sum(pair[side].refused for pair in pairs)) for side in (0, 1))
        times = " → ".join(f"{1000 * median(pair[side].seconds for pair in pairs):.0f}" for side in (0, 1))
        yield [name, method, str(len(pairs)), *cells, refused, times]


def _difference(before: Sequence[float], after: Sequence[float]) -> str:
    found = mean_interval([second - first for first, second in zip(before, after, strict=True)])
    if found is None or found.low is None or found.high is None:
        return ""
    return f"({found.low:+.2f}–{found.high:+.2f})"


def _grouped(rows: Iterable[Row]) -> dict[tuple[str, str], list[Row]]:
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row.set, row.method), []).append(row)
    return found


def read_rows(file: Path) -> list[Row]:
    """Return the rows of a file that ``--json`` wrote."""
    return [Row(**row) for row in json.loads(file.read_text(encoding="utf-8"))["rows"]]


def chosen_sets(given: Sequence[str]) -> list[str]:
    """Return the names of the sets that begin with one of those given, in their order."""
    unknown = [one for one in given if not any(name.startswith(one) for name in SETS)]
    if unknown:
        raise SystemExit(f"there is no set {', '.join(unknown)}; there are {', '.join(SETS)}")
    return [name for name in SETS if not given or any(name.startswith(one) for one in given)]


def measured(given: argparse.Namespace, home: Path) -> list[Row]:
    """Ask all that is wanted, and keep what came of it so far after every method."""
    settings = _merged({"embeddings": {"embedder": given.embedder}}, parsed_settings(given.setting))
    rows: list[Row] = []
    for name in chosen_sets(given.sets):
        index = indexed(home.resolve(), SETS[name], settings)
        questions = sample(SETS[name].questions(), given.half, given.questions)
        for method in given.methods or METHODS:
            # The first answer opens what all others use.
            ask(index, name, method, questions[0], show=False)
            rows += [ask(index, name, method, one, show=given.show) for one in questions]
            if given.json:
                kept = {"settings": settings, "rows": [asdict(row) for row in rows]}
                given.json.write_text(json.dumps(kept), encoding="utf-8")
    return rows


def main() -> None:
    """Measure or read, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--sets", nargs="*", default=[], metavar="NAME", help=f"{', '.join(SETS)}; default: all"
    )
    parser.add_argument(
        "--methods", nargs="*", default=[], metavar="NAME", help=f"default: {' '.join(METHODS)}"
    )
    parser.add_argument("--half", choices=("all", CHOSEN, REPORTED), default="all")
    parser.add_argument("--questions", type=int, metavar="N")
    parser.add_argument("--setting", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--embedder", default=_STATIC)
    parser.add_argument("--work", type=Path, metavar="FOLDER")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--read", type=Path, metavar="FILE")
    parser.add_argument("--against", type=Path, metavar="FILE")
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    os.environ.pop("OPENAI_BASE_URL", None)
    for variable in ("GRAPHRAG_DAGSTER_CORPORA", "GRAPHRAG_DAGSTER_WAREHOUSE"):
        os.environ.pop(variable, None)
    if given.read:
        names = chosen_sets(given.sets)
        rows = [
            row
            for row in read_rows(given.read)
            if row.set in names
            and row.method in (given.methods or [row.method])
            and given.half in ("all", row.half)
        ]
    else:
        with tempfile.TemporaryDirectory() as made:
            rows = measured(given, given.work or Path(made))
    last = ["refused", "ms p50, p95"]
    table(["set", "method", "n", *COLUMNS, *last], told(rows))
    if given.against:
        print()
        before = read_rows(given.against)
        table(["set", "method", "n", *COLUMNS, "refused", "ms p50"], compared(before, rows))


if __name__ == "__main__":
    main()

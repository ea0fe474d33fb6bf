"""Fifteen ways to find a path on MetaQA's development questions: 9,992 / 14,872 / 14,274 of 1, 2 and 3 hops.

    python benchmarks/metaqa.py FOLDER [--instances 1 2 …] [--scorer static] [--questions N] [--seed 0]
        [--processes 2] [--profiles NAME …] [--table] [--verbatim] [--ties] [--recall-sweep] [--switches]

WikiMovies (133,582 triples) is made of ``shared/data/metaqa/kb.txt``, a node for each label; the seed of a
question is its bracketed entity. Nothing asks a model: answers are the ends of paths by their weight
(Hits@1-lex), and an instance whose paper form asks a model is named -lex. Each question's scores are kept in
FOLDER, and what is there is not answered again.

    --questions     so many of each number of hops, the first in an order drawn by --seed; default: all
    --profiles      by profiles of corpus.yaml, each with its own scorer unless --scorer names one
    --table         the order of the instances beside the paper's (Qwen2-72B, mean of its four data sets)
    --verbatim      scorers read relations as they are written, not as words
    --ties          instances 1 and 10 by the three rules for equally long paths, since the cut at 32 decides
    --recall-sweep  instance 12 with subgraphs of 2 to 1,000 nodes: where do Hits@1-lex and path recall end
                    to gain? (paper, Figure 5, on CWQ: at a recall of .6)
    --switches      the orderings of the paper's Tables 7 to 9 by path F1 at 32, with -lex in place of models
    --show          print what is in FOLDER, and answer nothing

Seconds are of batches: PageRank is found beforehand, once for seeds that come again, and its time shared out.
"""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl
from measuring import table
from metaqa_runs import Variant, asked, run, scored
from metaqa_tables import HITS, by_window, difference, means, ranking, told

from graphrag_dagster.kernel.common.bootstrap_intervals import MeanInterval
from graphrag_dagster.kernel.settings.profiles import profiles
from graphrag_dagster.systems.lego.search.instance_definitions import INSTANCES
from graphrag_dagster.systems.lego.studies.answer_metrics import measure_label
from graphrag_dagster.systems.lego.studies.question_files import GoldQuestion

WITHOUT_A_MODEL = [one.name for one in INSTANCES if not one.asks_model]
TIES = ("seed_target", "target", "hub_last")
WINDOWS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1000)
LIST_F1, PATH_F1, PATH_RECALL = "list_f1_lex", "path_f1_at_32", "path_recall_at_32"
#: Instances that differ in nothing else.
ISAR_BESIDE_OSAR = (
    *(("14", "12"), ("6", "2"), ("15-lex", "13-lex")),
    *(("7-lex", "3-lex"), ("8-lex", "4-lex"), ("9-lex", "5-lex")),
)
#: Variant, its base, table of the paper, and what that says of CWQ (several hops) and of WebQSP (mostly one);
#: ``0`` where it differs by .005 or less.
ORDERINGS = (
    (Variant("14", switches=(("triple_level", True),)), Variant("14"), "7", "+", "-"),
    (Variant("14", switches=(("dynamic_prune", True),)), Variant("14"), "7", "-", "+"),
    (Variant("14", switches=(("early_stop", True),)), Variant("14"), "8", "-", "-"),
    (Variant("14", switches=(("refine", True),)), Variant("14"), "8", "+", "+"),
    (Variant("15", switches=(("prefilter", 32),)), Variant("15"), "8", "+", "+"),
    (Variant("15", switches=(("supplement", True),)), Variant("15"), "8", "+", "+"),
    (Variant("13", switches=(("rerank", True),)), Variant("13"), "9", "0", "0"),
    (Variant("13", switches=(("window", 16),)), Variant("13"), "9", "+", "+"),
    (Variant("13", switches=(("supplement", True),)), Variant("13"), "9", "+", "+"),
)
#: Both switches of Table 7, as the number of hops tells; the paper proposes it and measures nothing.
COMBINED = (Variant("14", switches=(("combine", True),)), Variant("14"))


def ties(scores: pl.DataFrame) -> None:
    """Print what the rule for equally long paths does; with one seed two of them are the same."""
    means(scores)
    print()
    rows = []
    for one in ("1", "10"):
        own, other = (_tied(one, rule).name for rule in ("hub_last", "target"))
        for hops in (1, 2, 3):
            found = (difference(scores, own, other, name, hops) for name in (HITS, LIST_F1, PATH_RECALL))
            rows.append([own, other, str(hops), *map(told, found)])
    table(
        (
            "variant",
            "beside",
            "hops",
            *(f"{measure_label(name)}: difference" for name in (HITS, LIST_F1, PATH_RECALL)),
        ),
        rows,
    )


def _tied(instance: str, rule: str) -> Variant:
    return Variant(instance, options=(("ties", rule),))


def switches(scores: pl.DataFrame) -> None:
    """Print which orderings of the paper's Tables 7 to 9 are as they are there."""
    rows = []
    for variant, base, number, several, one in ORDERINGS:
        for hops, theirs in ((1, one), (2, several), (3, several)):
            found = difference(scores, variant.name, base.name, PATH_F1, hops)
            cells = [number, variant.name, base.name, str(hops), theirs, told(found)]
            rows.append([*cells, "yes" if _sign(found) == theirs else f"no: {_sign(found)}"])
    variant, base = COMBINED
    for hops in (1, 2, 3):
        found = difference(scores, variant.name, base.name, PATH_F1, hops)
        rows.append(["–", variant.name, base.name, str(hops), "–", told(found), "–"])
    table(("table", "variant", "beside", "hops", "paper", "path F1 at 32: difference", "confirmed"), rows)


def _sign(found: MeanInterval | None) -> str:
    if found is None or found.low is None or found.high is None:
        return "0"
    return "+" if found.low > 0 else "-" if found.high < 0 else "0"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    known = [one.name for one in INSTANCES if not one.reports]
    parser.add_argument("--instances", nargs="*", choices=known, default=WITHOUT_A_MODEL)
    parser.add_argument("--scorer", choices=("static", "bm25", "minilm", "random"))
    parser.add_argument("--profiles", nargs="+", choices=list(profiles()), metavar="NAME")
    parser.add_argument("--questions", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    for part in ("table", "verbatim", "ties", "recall-sweep", "switches", "show"):
        parser.add_argument(f"--{part}", action="store_true")
    given = parser.parse_args()
    scorer = given.scorer or "static"
    questions = asked(most=given.questions, seed=given.seed)
    parts: list[tuple[Sequence[Variant], Callable[[pl.DataFrame], None]]] = []
    if given.ties:
        parts.append(([_tied(one, rule) for one in ("1", "10") for rule in TIES], ties))
    if given.recall_sweep:
        sizes = [Variant("12", scorer, (("max_ent", size),)) for size in WINDOWS]
        parts.append((sizes, lambda scores: by_window(scores, _window, (HITS, LIST_F1, PATH_RECALL))))
    if given.switches:
        parts.append(
            (sorted({v for row in (*ORDERINGS, COMBINED) for v in row[:2]}, key=lambda v: v.name), switches)
        )
    if not parts or given.table:
        written = (("relation_words", False),) if given.verbatim else ()
        own = [Variant(one, scorer, written) for one in given.instances]
        if given.profiles:
            changed = (("scorer", given.scorer),) if given.scorer else ()
            own = [
                Variant(one, options=(*changed, *written), profile=profile)
                for profile in given.profiles
                for one in given.instances
            ]
        parts.append((own, lambda scores: _instances(scores, with_table=given.table)))
    for variants, shown in parts:
        _measured(given, variants, questions, shown)


def _measured(
    given: argparse.Namespace,
    variants: Sequence[Variant],
    questions: Sequence[GoldQuestion],
    shown: Callable[[pl.DataFrame], None],
) -> None:
    if not given.show:
        run(given.folder, variants, questions, processes=given.processes)
    shown(scored(given.folder, variants, questions))


def _instances(scores: pl.DataFrame, *, with_table: bool) -> None:
    means(scores)
    if with_table:
        ranking(scores, HITS)
        ranking(scores, PATH_F1)
        iterative(scores)


def iterative(scores: pl.DataFrame) -> None:
    """Print what ISAR is worth beside OSAR on the same subgraphs, which it competes with (paper, B.8)."""
    names = {name.split()[0]: name for name in scores["instance"].unique()}
    measures = (HITS, LIST_F1, PATH_F1)
    rows = []
    for isar, osar in ISAR_BESIDE_OSAR:
        if {isar, osar} <= set(names):
            for hops in (None, 1, 2, 3):
                found = (difference(scores, names[isar], names[osar], name, hops) for name in measures)
                rows.append([f"{isar} − {osar}", "all" if hops is None else str(hops), *map(told, found)])
    print()
    table(("ISAR − OSAR", "hops", *map(measure_label, measures)), rows)


def _window(name: str) -> int:
    return int(name.rpartition("=")[2])


if __name__ == "__main__":
    main()

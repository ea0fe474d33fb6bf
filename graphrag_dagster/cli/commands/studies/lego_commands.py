"""``graphrag-dagster paths`` with a question, ``compare``, ``question-graph`` and ``train-paths``."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table as RichTable

from graphrag_dagster.cli.console import ERR, OUT, print_json
from graphrag_dagster.cli.progress_bars import progress_on
from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.common.progress import listening
from graphrag_dagster.kernel.questions.corpus_index import session_of, settings_for_questions
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.systems.lego.search.path_index import InstanceAnswer, PathIndex
from graphrag_dagster.systems.lego.studies.benchmark_forms import write_triples
from graphrag_dagster.systems.lego.training.gold_paths import DrawnQuestions
from graphrag_dagster.systems.lego.training.path_model_training import PathTraining


def ask_paths(
    name: str, question: str, instances: Sequence[str], entities: Sequence[str], *, as_json: bool
) -> None:
    """Print the paths and the answer of an instance, or of several one below the other.

    Raises:
        GraphragError: names the problem and the fix.
    """
    found = _ask_instances(name, question, instances, entities)
    if as_json:
        print_json(asdict(found[0]) if len(found) == 1 else [asdict(one) for one in found])
        return
    for one in found:
        _print_found(one, len(one.paths))


def write_question_graph(files: Sequence[Path], out: Path, *, as_json: bool) -> None:
    """Write the triples of question files, and print how many.

    Raises:
        GraphragError: names the file and the fix.
    """
    triples, rows = write_triples(files, out)
    if as_json:
        print_json({"file": str(out), "triples": triples, "questions": rows})
        return
    OUT.say(f"{escape(str(out))}: {triples:,} triples of {rows:,} questions")


def compare_paths(
    name: str,
    question: str,
    instances: str,
    entities: Sequence[str],
    *,
    paths: int,
    as_json: bool,
) -> None:
    """Print the best paths and the answers of several instances beside each other (paper Figure 9).

    Raises:
        QuestionError: no instance is named.
        GraphragError: names the problem and the fix.
    """
    chosen = list(dict.fromkeys(one.strip() for one in instances.split(",") if one.strip()))
    if not chosen:
        raise QuestionError("name instances to compare, such as --instances 1,2,12")
    found = _ask_instances(name, question, chosen, entities)
    if as_json:
        print_json(
            {"corpus": name, "question": found[0].question, "instances": [asdict(one) for one in found]}
        )
        return
    _print_linked(found[0])
    table = RichTable(title=escape(found[0].question), title_justify="left", show_lines=True)
    table.add_column("instance")
    table.add_column("subgraph", justify="right")
    table.add_column("paths, best first", overflow="fold")
    table.add_column("answer", overflow="fold")
    for one in found:
        best = [f"{path['score']:.3f}  {path['text']}" for path in one.paths[:paths]]
        table.add_row(
            f"{escape(one.instance)}\n{escape(one.modules)}",
            f"{one.nodes:,} nodes\n{one.edges:,} edges",
            escape("\n".join(best) or f"none: {one.reason}"),
            escape(one.answer),
        )
    OUT.print(table)


def _ask_instances(
    name: str, question: str, instances: Sequence[str], entities: Sequence[str]
) -> list[InstanceAnswer]:
    session = session_of(name, settings_for_questions(name), "path_asked")
    return PathIndex(Warehouse(), name, session).ask(question, instances, entities)


def _print_linked(one: InstanceAnswer) -> None:
    if one.seeds:
        labels = ", ".join(seed.label for seed in one.seeds)
        OUT.say(f"begins from: {escape(labels)} (by {one.linked_by})")
    else:
        OUT.warn("the question names no entity of the graph")
    if one.unknown:
        OUT.warn(f"not in the graph: {', '.join(one.unknown)}")


def _print_found(one: InstanceAnswer, most: int) -> None:
    OUT.say(f"[bold]{escape(one.instance)}[/] {escape(one.modules)}")
    _print_linked(one)
    size = f"{one.nodes:,} nodes, {one.edges:,} edges, components: {one.components:,}"
    OUT.say(f"subgraph: {size}")
    OUT.say(f"paths: {one.found:,}{f' ({one.reason})' if one.reason else ''}")
    for path in one.paths[:most]:
        OUT.say(f"{path['rank']:>4}  {path['score']:.3f}  {escape(path['text'])}")
    OUT.print()
    OUT.say(escape(one.answer))
    OUT.warn(*one.problems)
    OUT.print()


def tune_scorer(name: str, folder: Path, most: int, *, epochs: int, device: str, as_json: bool) -> None:
    """Fine-tune the scorer on a corpus's questions with answers, and print what it is worth.

    Raises:
        GraphragError: names the problem and the fix.
    """
    place = folder.absolute()
    with progress_on(ERR) as shown, listening(shown):
        made = _training(name).tune(place, most, epochs=epochs, device=device)
    tuned = made.tuned
    if as_json:
        print_json(
            {
                "corpus": name,
                "folder": str(place),
                "base": made.base,
                **_training_summary(made.questions),
                "questions_without_path": made.without,
                "pairs": tuned.pairs,
                "pairs_left_out": tuned.left_out,
                "steps": tuned.steps,
                "seconds": tuned.seconds,
                "loss": tuned.loss,
                "nearest_before": tuned.before,
                "nearest_after": tuned.after,
            }
        )
        return
    _print_questions(made.questions)
    OUT.print(f"without a path to an answer: {made.without:,}")
    OUT.print(f"pairs of question and path: {tuned.pairs:,}, left out: {tuned.left_out:,}")
    OUT.print(f"steps: {tuned.steps:,}, seconds: {tuned.seconds:,.1f}, loss: {tuned.loss:.4f}")
    if tuned.before is None or tuned.after is None:
        OUT.warn("no question is held out, so that nothing tells what was learnt")
    else:
        told = f"{tuned.before:.3f} before, {tuned.after:.3f} after"
        OUT.say(f"share of those held out whose nearest path is right: {told}")
    OUT.say(f"to use it: paths: {{scorer: {made.scorer}, scorer_model: {escape(str(place))}}}")


def write_selector_file(name: str, file: Path, most: int, *, as_json: bool) -> None:
    """Write the training file of the selector, and print what is in it.

    Raises:
        GraphragError: names the problem and the fix.
    """
    with progress_on(ERR) as shown, listening(shown):
        made = _training(name).write_selector_file(file.absolute(), most)
    if as_json:
        more = {"lines": made.lines, "replies_none": made.none}
        print_json({"corpus": name, "file": str(made.file), **_training_summary(made.questions), **more})
        return
    _print_questions(made.questions)
    OUT.print(f"lines: {made.lines:,}, of which the reply is NONE: {made.none:,}")
    OUT.say(f"chats with the selector are in {escape(str(made.file))}")


def _training(name: str) -> PathTraining:
    store = CorpusStore()
    session = session_of(name, store.settings(name), "paths")
    return PathTraining(Warehouse(), name, store.folder(name), session)


def _training_summary(drawn: DrawnQuestions) -> dict[str, Any]:
    learnt = len(drawn.learnt)
    return {
        "questions": drawn.files,
        "questions_for_training": learnt,
        "questions_held_out": len(drawn.questions) - learnt,
        "questions_measured_too": drawn.measured,
    }


def _print_questions(drawn: DrawnQuestions) -> None:
    learnt = len(drawn.learnt)
    held_out = len(drawn.questions) - learnt
    OUT.print(f"questions: {drawn.files:,}, for training: {learnt:,}, held out: {held_out:,}")
    if drawn.measured:
        OUT.warn(
            f"{drawn.measured:,} of those for training are asked by 'paths', too, whose figures they "
            "flatter: measure on other files, or set paths.sample"
        )

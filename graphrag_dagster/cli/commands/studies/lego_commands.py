"""``graphrag-dagster paths`` and ``train-paths``."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table as RichTable
from rich.text import Text

from graphrag_dagster.cli.options import MaxTokens, MaxUsd, Name, PlanOnly, Yes
from graphrag_dagster.cli.progress_bars import watching
from graphrag_dagster.cli.result import Part, Result, labelled
from graphrag_dagster.cli.run_budget import RunBudget
from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.questions.corpus_index import session_of, settings_for_questions
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.systems.lego.search.path_index import InstanceAnswer, PathIndex
from graphrag_dagster.systems.lego.training.gold_paths import DrawnQuestions
from graphrag_dagster.systems.lego.training.path_model_training import PathTraining, SelectorFile, TunedScorer

_MOST_COMPARED = 5


def paths(
    name: Name,
    question: Annotated[
        str | None, typer.Argument(help="One question; default: all of the corpus's question files.")
    ] = None,
    instance: Annotated[
        str,
        typer.Option(
            help="1 to 15, GRAG-M, or a custom one; several, with commas, are shown side by side.",
            metavar="NAMES",
        ),
    ] = "12",
    entity: Annotated[
        list[str] | None,
        typer.Option(
            "--entity",
            help="Label of an entity of the question; repeatable. Default: in [brackets], else named.",
            metavar="LABEL",
        ),
    ] = None,
    max_usd: MaxUsd = None,
    max_tokens: MaxTokens = None,
    plan_only: PlanOnly = False,
    yes: Yes = False,
) -> Result:
    """Find the paths and the answer of instances, or run the job ``paths`` over the question files.

    Raises:
        QuestionError: no instance is named.
        GraphragError: names the problem and the fix.
    """
    if question is None:
        from graphrag_dagster.cli.commands.studies.lego_study_commands import run_paths

        return run_paths(name, RunBudget(max_tokens, max_usd), plan_only=plan_only, yes=yes)
    if plan_only:
        raise typer.BadParameter("--plan covers the question files; drop the question")
    chosen = list(dict.fromkeys(one.strip() for one in instance.split(",") if one.strip()))
    if not chosen:
        raise QuestionError("name instances, such as --instance 1,2,12")
    session = session_of(name, settings_for_questions(name), "path_asked")
    found = PathIndex(Warehouse(), name, session).ask(question, chosen, entity or ())
    if len(found) == 1:
        return Result(asdict(found[0]), _found_lines(found[0]))
    facts = {"corpus": name, "question": found[0].question, "instances": found}
    return Result(facts, _compared(found))


def _compared(found: Sequence[InstanceAnswer]) -> Iterator[Part]:
    """Yield the best paths and the answers of several instances beside each other (paper Figure 9)."""
    yield from _linked_lines(found[0])
    table = RichTable(
        *("instance", "subgraph", "paths, best first", "answer"),
        title=Text(found[0].question),
        title_justify="left",
        show_lines=True,
    )
    for one in found:
        best = [f"{path['score']:.3f}  {path['text']}" for path in one.paths[:_MOST_COMPARED]]
        table.add_row(
            Text(f"{one.instance}\n{one.modules}"),
            f"{one.nodes:,} nodes\n{one.edges:,} edges",
            Text("\n".join(best) or f"none: {one.reason}"),
            Text(one.answer),
        )
    yield table


def _linked_lines(one: InstanceAnswer) -> Iterator[str | Text]:
    if one.seeds:
        yield f"begins from: {', '.join(seed.label for seed in one.seeds)} (by {one.linked_by})"
    else:
        yield Text("the question names no entity of the graph", "yellow")
    if one.unknown:
        yield Text(f"not in the graph: {', '.join(one.unknown)}", "yellow")


def _found_lines(one: InstanceAnswer) -> Iterator[str | Text]:
    yield Text.assemble((one.instance, "bold"), f" {one.modules}")
    yield from _linked_lines(one)
    yield f"subgraph: {one.nodes:,} nodes, {one.edges:,} edges, components: {one.components:,}"
    yield f"paths: {one.found:,}{f' ({one.reason})' if one.reason else ''}"
    yield from (f"{path['rank']:>4}  {path['score']:.3f}  {path['text']}" for path in one.paths)
    yield f"\n{one.answer}"
    yield from (Text(problem, "yellow") for problem in one.problems)


def train_paths(
    name: Name,
    folder: Annotated[Path | None, typer.Option(help="New folder for the scorer that is fine-tuned.")] = None,
    selector_file: Annotated[
        Path | None, typer.Option(help="File of JSON lines, chats that a selector learns from.")
    ] = None,
    most: Annotated[int, typer.Option(min=1, help="Questions at most, those held out among them.")] = 1000,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="With --folder: how often each pair is seen; default: once.")
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="With --folder: device of torch, such as cuda; default: cpu.")
    ] = None,
) -> Result:
    """Fine-tune the scorer on a corpus's questions with answers, or write the training file of the selector.

    Raises:
        GraphragError: names the problem and the fix.
    """
    if (folder is None) == (selector_file is None):
        raise typer.BadParameter("give one of --folder and --selector-file")
    if folder is None and (epochs or device):
        raise typer.BadParameter("--epochs and --device need --folder")
    store = CorpusStore()
    session = session_of(name, store.settings(name), "paths")
    training = PathTraining(Warehouse(), name, store.folder(name), session)
    with watching():
        if folder is not None:
            folder = folder.absolute()
            made = training.tune(folder, most, epochs=epochs or 1, device=device or "cpu")
            return _tuned(name, folder, made)
        return _selector_file(name, training.write_selector_file(Path(selector_file or "").absolute(), most))


def _selector_file(name: str, made: SelectorFile) -> Result:
    facts = {
        "corpus": name,
        "file": made.file,
        **_training_facts(made.questions),
        "lines": made.lines,
        "replies_none": made.none,
    }
    return Result(facts, [labelled(facts)], _doubts(made.questions))


def _tuned(name: str, folder: Path, made: TunedScorer) -> Result:
    tuned = made.tuned
    facts = {
        "corpus": name,
        "folder": folder,
        "base": made.base,
        **_training_facts(made.questions),
        "questions_without_path": made.without,
        "pairs": tuned.pairs,
        "pairs_left_out": tuned.left_out,
        "steps": tuned.steps,
        "seconds": tuned.seconds,
        "loss": tuned.loss,
        "nearest_before": tuned.before,
        "nearest_after": tuned.after,
    }
    use = f"to use it: paths: {{scorer: {made.scorer}, scorer_model: {folder}}}"
    unknown = ["no question is held out, so that nothing tells what was learnt"]
    return Result(
        facts, [labelled(facts), use], [*_doubts(made.questions), *(unknown if tuned.after is None else [])]
    )


def _training_facts(drawn: DrawnQuestions) -> dict[str, Any]:
    learnt = len(drawn.learnt)
    return {
        "questions": drawn.files,
        "questions_for_training": learnt,
        "questions_held_out": len(drawn.questions) - learnt,
        "questions_measured_too": drawn.measured,
    }


def _doubts(drawn: DrawnQuestions) -> list[str]:
    text = (
        f"{drawn.measured:,} of the questions for training are asked by 'paths', too, whose figures they "
        "flatter: measure on other files, or set paths.sample"
    )
    return [text] if drawn.measured else []

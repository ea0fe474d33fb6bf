"""``graphrag-dagster train-paths``."""

from pathlib import Path
from typing import Any

from rich.markup import escape

from graphrag_dagster.cli.output.console import ERR, OUT, print_json
from graphrag_dagster.cli.output.progress import progress_on
from graphrag_dagster.kernel.common.progress import listening
from graphrag_dagster.kernel.questions.asking.index import session_of
from graphrag_dagster.kernel.storage.corpora import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.systems.lego.training.fitting import PathTraining
from graphrag_dagster.systems.lego.training.training_questions import Drawn


def tune_scorer(name: str, folder: Path, most: int, *, epochs: int, device: str, as_json: bool) -> None:
    """Fine-tune the bi-encoder on a corpus's questions with answers, and print what it is worth.

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
                **_told(made.questions),
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
        OUT.print("[yellow]no question is held out, so that nothing tells what was learnt[/]")
    else:
        told = f"{tuned.before:.3f} before, {tuned.after:.3f} after"
        OUT.print(f"share of those held out whose nearest path is right: {told}", soft_wrap=True)
    OUT.print(f"to use it: paths: {{scorer: minilm, scorer_model: {escape(str(place))}}}", soft_wrap=True)


def write_selector_file(name: str, file: Path, most: int, *, as_json: bool) -> None:
    """Write the training file of the selector, and print what is in it.

    Raises:
        GraphragError: names the problem and the fix.
    """
    with progress_on(ERR) as shown, listening(shown):
        made = _training(name).write_selector_file(file.absolute(), most)
    if as_json:
        more = {"lines": made.lines, "replies_none": made.none}
        print_json({"corpus": name, "file": str(made.file), **_told(made.questions), **more})
        return
    _print_questions(made.questions)
    OUT.print(f"lines: {made.lines:,}, of which the reply is NONE: {made.none:,}")
    OUT.print(f"chats with the selector are in {escape(str(made.file))}", soft_wrap=True)


def _training(name: str) -> PathTraining:
    store = CorpusStore()
    session = session_of(name, store.settings(name), "paths")
    return PathTraining(Warehouse(), name, store.folder(name), session)


def _told(drawn: Drawn) -> dict[str, Any]:
    learnt = len(drawn.learnt)
    return {
        "questions": drawn.files,
        "questions_for_training": learnt,
        "questions_held_out": len(drawn.questions) - learnt,
        "questions_measured_too": drawn.measured,
    }


def _print_questions(drawn: Drawn) -> None:
    learnt = len(drawn.learnt)
    held_out = len(drawn.questions) - learnt
    OUT.print(f"questions: {drawn.files:,}, for training: {learnt:,}, held out: {held_out:,}")
    if drawn.measured:
        OUT.print(
            f"[yellow]{drawn.measured:,} of those for training are asked by 'paths', too, whose figures they "
            "flatter: measure on other files, or set paths.sample[/]",
            soft_wrap=True,
        )

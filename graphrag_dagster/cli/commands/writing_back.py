"""``graphrag-dagster write-back``."""

from dataclasses import asdict

from rich.markup import escape

from graphrag_dagster.apps.interchange.writing_back.writing import WrittenBack, take_away, write_back
from graphrag_dagster.cli.output.console import ERR, OUT, print_json
from graphrag_dagster.cli.output.progress import progress_on
from graphrag_dagster.kernel.common.printable import counted
from graphrag_dagster.kernel.common.progress import listening
from graphrag_dagster.kernel.questions.filters import level_of


def write_back_corpus(name: str, level: str | None, *, dry_run: bool, as_json: bool) -> None:
    """Write what was found of a corpus onto the nodes of its server, and print what was done.

    Raises:
        GraphragError: names the problem and the fix.
    """
    chosen = None if level is None else level_of(level)
    with progress_on(ERR) as shown, listening(shown):
        made = write_back(name, level=chosen, dry_run=dry_run)
    if as_json:
        print_json(asdict(made))
        return
    for line in _told(made):
        OUT.print(escape(line), soft_wrap=True)


def _told(made: WrittenBack) -> list[str]:
    done = "would be " if made.dry else ""
    lines = [
        f"{made.place}: {counted(made.written, 'node')} of {made.nodes:,} {done}written as {made.stamp}: "
        f"{', '.join(made.properties)}"
    ]
    counts = {
        f"{done}cleared: no longer in the corpus": made.cleared,
        "already up to date": made.already,
        "in no community": made.apart,
        "of the corpus missing on the server": made.gone,
        "skipped: label changed": made.changed,
        "on the server not in the corpus": made.unknown,
    }
    lines += [f"  {counted(count, 'node')} {what}" for what, count in counts.items() if count]
    if made.differs:
        again = f"graphrag-dagster index {made.corpus} --again"
        lines.append(f"the graph on the server differs from the imported one; to import it again: {again}")
    return lines


def remove_written(name: str, *, dry_run: bool, as_json: bool) -> None:
    """Remove what was written back for a corpus and print the node count; raises as above."""
    with progress_on(ERR) as shown, listening(shown):
        gone = take_away(name, dry_run=dry_run)
    if as_json:
        print_json(asdict(gone))
        return
    done = "would be" if gone.dry else "was"
    OUT.print(
        f"{gone.place}: what was written back of {escape(name)} {done} removed from "
        f"{counted(gone.nodes, 'node')}",
        soft_wrap=True,
    )

"""``graphrag-dagster export`` and ``write-back``."""

from dataclasses import asdict
from pathlib import Path

from rich.markup import escape

from graphrag_dagster.apps.interchange.exporting.graph_export import export
from graphrag_dagster.apps.interchange.write_back import WriteBackResult, remove_properties, write_back
from graphrag_dagster.cli.console import ERR, OUT, number, print_json, table_of
from graphrag_dagster.cli.progress_bars import progress_on
from graphrag_dagster.kernel.common.printable import plural
from graphrag_dagster.kernel.common.progress import listening
from graphrag_dagster.kernel.questions.document_filters import level_of


def export_corpus(
    name: str, to: str, out: Path | None, *, formula_safe: bool = False, as_json: bool = False
) -> None:
    """Write the published snapshot of a corpus in a form, and print the files with their rows.

    Raises:
        GraphragError: names the problem and the fix.
    """
    with progress_on(ERR) as shown, listening(shown):
        made = export(name, to, out, formula_safe=formula_safe)
    if as_json:
        files = [one.to_dict() for one in made.files]
        told = {"corpus": name, "to": to, "folder": str(made.folder), "snapshot": made.version}
        print_json({**told, "files": files, "lacking": list(made.lacking), "formulas": made.formulas})
        return
    numbers = ("rows", "MB")
    table = table_of("file", *numbers, numbers=numbers, no_wrap=True, box=None, padding=(0, 1, 0, 0))
    for one in made.files:
        rows = "" if one.rows is None else number(one.rows)
        size = "" if one.bytes is None else f"{one.bytes / 1e6:,.2f}"
        table.add_row(escape(one.path), rows, size)
    OUT.print(table)
    for line in made.lacking:
        OUT.say(escape(line))
    if made.formulas:
        mend = "open them as text alone; " if to == "neo4j" else "use --formula-safe for a spreadsheet; "
        mend = "each got an apostrophe before it" if formula_safe else f"{mend}nothing was changed"
        OUT.warn(f"{made.formulas:,} cells begin as formulas do: {mend}")
    OUT.say(f"snapshot {made.version} of {escape(name)} is in {escape(str(made.folder))}")


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
    for line in _write_back_lines(made):
        OUT.say(escape(line))


def _write_back_lines(made: WriteBackResult) -> list[str]:
    done = "would be " if made.dry else ""
    lines = [
        f"{made.place}: {plural(made.written, 'node')} of {made.nodes:,} {done}written as {made.stamp}: "
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
    lines += [f"  {plural(count, 'node')} {what}" for what, count in counts.items() if count]
    if made.differs:
        again = f"graphrag-dagster index {made.corpus} --again"
        lines.append(f"the graph on the server differs from the imported one; to import it again: {again}")
    return lines


def remove_written(name: str, *, dry_run: bool, as_json: bool) -> None:
    """Remove what was written back for a corpus and print the node count; raises as above."""
    with progress_on(ERR) as shown, listening(shown):
        gone = remove_properties(name, dry_run=dry_run)
    if as_json:
        print_json(asdict(gone))
        return
    done = "would be" if gone.dry else "was"
    OUT.say(
        f"{gone.place}: what was written back of {escape(name)} {done} removed from "
        f"{plural(gone.nodes, 'node')}"
    )

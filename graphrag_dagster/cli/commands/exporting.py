"""``graphrag-dagster export``."""

from pathlib import Path

from rich.markup import escape
from rich.table import Table as RichTable

from graphrag_dagster.apps.interchange.exporting.exporting import export
from graphrag_dagster.cli.output.console import ERR, OUT, number, print_json
from graphrag_dagster.cli.output.progress import progress_on
from graphrag_dagster.kernel.common.progress import listening


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
        files = [one.told() for one in made.files]
        told = {"corpus": name, "to": to, "folder": str(made.folder), "snapshot": made.version}
        print_json({**told, "files": files, "lacking": list(made.lacking), "formulas": made.formulas})
        return
    table = RichTable(box=None, padding=(0, 1, 0, 0))
    for column in ("file", "rows", "MB"):
        table.add_column(column, justify="left" if column == "file" else "right", no_wrap=True)
    for one in made.files:
        rows = "" if one.rows is None else number(one.rows)
        size = "" if one.bytes is None else f"{one.bytes / 1e6:,.2f}"
        table.add_row(escape(one.path), rows, size)
    OUT.print(table)
    for line in made.lacking:
        OUT.print(escape(line), soft_wrap=True)
    if made.formulas:
        mend = "open them as text alone; " if to == "neo4j" else "use --formula-safe for a spreadsheet; "
        mend = "each got an apostrophe before it" if formula_safe else f"{mend}nothing was changed"
        OUT.print(f"[yellow]{made.formulas:,} cells begin as formulas do: {mend}[/]", soft_wrap=True)
    OUT.print(f"snapshot {made.version} of {escape(name)} is in {escape(str(made.folder))}", soft_wrap=True)

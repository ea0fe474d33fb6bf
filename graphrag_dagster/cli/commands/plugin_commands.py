"""``graphrag-dagster plugins``."""

from rich.markup import escape

from graphrag_dagster.cli.console import OUT, print_json, table_of
from graphrag_dagster.kernel.catalogue.plugins import GROUPS
from graphrag_dagster.kernel.catalogue.registry import installed_plugins


def list_plugins(*, as_json: bool) -> int:
    """Print what other packages add; 1 where something of it cannot be used, else 0."""
    found = installed_plugins()
    code = int(any(one.problem for one in found))
    if as_json:
        rows = [
            {"kind": one.kind, "name": one.name, "package": one.package, "problem": one.problem}
            for one in found
        ]
        print_json({"plugins": rows})
        return code
    if not found:
        OUT.print(f"No package adds anything; looked for entry points of {', '.join(GROUPS.values())}.")
        return code
    table = table_of("kind", "name", "package", "state", box=None, padding=(0, 1, 0, 0))
    for one in found:
        state = f"left out: {one.problem}" if one.problem else "in use"
        table.add_row(one.kind, *map(escape, (one.name, one.package, state)))
    OUT.print(table)
    return code

"""``graphrag-dagster export`` and ``write-back``."""

from collections.abc import Iterator
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from graphrag_dagster.apps.interchange.exporting.graph_export import Exported, export
from graphrag_dagster.apps.interchange.write_back import WriteBackResult, remove_properties, write_back
from graphrag_dagster.cli.options import Name
from graphrag_dagster.cli.progress_bars import watching
from graphrag_dagster.cli.result import Frame, Result
from graphrag_dagster.kernel.common.printable import plural
from graphrag_dagster.kernel.questions.document_filters import level_of


class Form(StrEnum):
    """What an export can be made for."""

    microsoft = "microsoft"
    graphml = "graphml"
    rdf = "rdf"
    neo4j = "neo4j"
    triples = "triples"
    parquet = "parquet"
    ducklake = "ducklake"


def export_corpus(
    name: Name,
    to: Annotated[
        Form,
        typer.Option(help="Microsoft GraphRAG, GraphML, N-Triples, Neo4j's CSV, triples, Parquet, DuckLake."),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Folder; default: NAME-FORM in the current folder.")
    ] = None,
    formula_safe: Annotated[
        bool, typer.Option("--formula-safe", help="Quote texts of triples that a spreadsheet would run.")
    ] = False,
) -> Result:
    """Write the published snapshot of a corpus in a form.

    Raises:
        GraphragError: names the problem and the fix.
    """
    with watching():
        made = export(name, to.value, out, formula_safe=formula_safe)
    facts = {
        "corpus": name,
        "to": to.value,
        "folder": made.folder,
        "snapshot": made.version,
        "files": [one.to_dict() for one in made.files],
        "lacking": made.lacking,
        "formulas": made.formulas,
    }
    mend = "open them as text alone; " if to is Form.neo4j else "use --formula-safe for a spreadsheet; "
    mend = "each got an apostrophe before it" if formula_safe else f"{mend}nothing was changed"
    notes = [f"{made.formulas:,} cells begin as formulas do: {mend}"] if made.formulas else []
    return Result(facts, _export_lines(name, made), notes)


def _export_lines(name: str, made: Exported) -> Iterator[str | Frame]:
    files = [
        {"file": one.path, "rows": one.rows, "MB": None if one.bytes is None else one.bytes / 1e6}
        for one in made.files
    ]
    yield Frame(pl.DataFrame(files, infer_schema_length=None), bare=True)
    yield from made.lacking
    yield f"snapshot {made.version} of {name} is in {made.folder}"


def write_back_corpus(
    name: Name,
    level: Annotated[
        str | None, typer.Option(help="Level of the communities; default: that of corpus.yaml.")
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove what was written for the corpus.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be done; write nothing.")
    ] = False,
) -> Result:
    """Write what was found of a corpus onto the nodes of its server, or remove what was written.

    Raises:
        GraphragError: names the problem and the fix.
    """
    chosen = None if level is None else level_of(level)
    with watching():
        if remove:
            gone = remove_properties(name, dry_run=dry_run)
            done = "would be" if gone.dry else "was"
            nodes = plural(gone.nodes, "node")
            text = f"{gone.place}: what was written back of {name} {done} removed from {nodes}"
            return Result(asdict(gone), [text])
        made = write_back(name, level=chosen, dry_run=dry_run)
    return Result(asdict(made), _write_back_lines(made))


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

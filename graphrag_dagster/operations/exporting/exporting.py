"""The published snapshot of a corpus, written in a form that other tools read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from graphrag_dagster.core.exporting.folder import Making, Written, made_whole
from graphrag_dagster.errors import ExportError
from graphrag_dagster.operations.exporting.all_tables import write_tables
from graphrag_dagster.operations.exporting.graphs import write_neo4j, write_network, write_rdf
from graphrag_dagster.operations.exporting.microsoft import write_microsoft
from graphrag_dagster.operations.exporting.source import Source, opened
from graphrag_dagster.operations.exporting.triples import write_lists
from graphrag_dagster.resources.corpus_names import check_name
from graphrag_dagster.resources.warehouse import Warehouse

_WRITERS: Mapping[str, Callable[[Source, Making], list[str]]] = MappingProxyType(
    {
        "microsoft": write_microsoft,
        "graphml": write_network,
        "rdf": write_rdf,
        "neo4j": write_neo4j,
        "triples": write_lists,
        "parquet": write_tables,
    }
)


@dataclass(frozen=True, slots=True)
class Exported:
    """An export.

    Attributes:
        corpus: what was exported.
        form: in which form.
        folder: where it is.
        version: of the snapshot that was read.
        files: what was written, in the order of their paths.
        lacking: what it has not, a sentence each.
        formulas: cells of its CSV files that a spreadsheet would take for formulas.
    """

    corpus: str
    form: str
    folder: Path
    version: str
    files: tuple[Written, ...]
    lacking: tuple[str, ...]
    formulas: int = 0


def export(
    corpus: str,
    to: str,
    out: Path | str | None = None,
    *,
    formula_safe: bool = False,
    warehouse: Warehouse | None = None,
) -> Exported:
    """Write the published snapshot of a corpus in a form that other tools read.

    The same snapshot is written to the same bytes, but for Lance tables, whose files have random names.

    Args:
        corpus: the corpus.
        to: ``microsoft``, ``graphml``, ``rdf``, ``neo4j``, ``triples`` or ``parquet``.
        out: folder, made where it is not there; default: ``<corpus>-<to>`` in the current folder. Files of an
            earlier export in it are replaced when all new ones are whole; others stay.
        formula_safe: of ``triples``: put an apostrophe before each cell that a spreadsheet would take for a
            formula, which is then no longer the text that it was.
        warehouse: where the tables are; default: as the environment says.

    Raises:
        CorpusError: the name is not allowed.
        WarehouseError: nothing of the corpus has been published.
        ExportError: there is no such form, the folder holds something else, or ``formula_safe`` is asked of
            what a program reads.
    """
    if to not in _WRITERS:
        raise ExportError(f"there is no form {to!r}; there are {', '.join(_WRITERS)}")
    if formula_safe and to != "triples":
        raise ExportError(
            f"{to} is read by programs, which need each text as it is; leave --formula-safe out"
        )
    folder = Path(out if out is not None else f"{check_name(corpus)}-{to}").absolute()
    with opened(warehouse or Warehouse(), corpus) as source:
        told = {
            "corpus": corpus,
            "to": to,
            "snapshot": source.snapshot.version,
            "run": source.snapshot.manifest.get("run_id"),
            "package": source.snapshot.manifest.get("package"),
        }
        with made_whole(folder, told, formula_safe=formula_safe) as made:
            lacking = _WRITERS[to](source, made)
    files = tuple(sorted(made.written, key=lambda one: one.path))
    return Exported(corpus, to, folder, source.snapshot.version, files, tuple(lacking), made.formulas)

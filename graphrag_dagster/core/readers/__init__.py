"""One module per family of file formats; each reader turns bytes into records and never raises but
:class:`~graphrag_dagster.core.files.records.UnreadableError` and
:class:`~graphrag_dagster.core.files.records.RefusedError`.
"""

from pathlib import PurePosixPath
from types import MappingProxyType

from graphrag_dagster.core.files.records import Reader
from graphrag_dagster.core.readers.delimited import read_csv, read_tsv
from graphrag_dagster.core.readers.docx import read_docx
from graphrag_dagster.core.readers.html import read_html
from graphrag_dagster.core.readers.jsons import read_json, read_jsonl
from graphrag_dagster.core.readers.markdown import read_markdown
from graphrag_dagster.core.readers.parquet import read_parquet
from graphrag_dagster.core.readers.pdf import read_pdf
from graphrag_dagster.core.readers.text import read_text

#: Name of each format → its reader.
READERS = MappingProxyType[str, Reader](
    {
        "txt": read_text,
        "md": read_markdown,
        "html": read_html,
        "pdf": read_pdf,
        "docx": read_docx,
        "csv": read_csv,
        "tsv": read_tsv,
        "json": read_json,
        "jsonl": read_jsonl,
        "parquet": read_parquet,
    }
)

_EXTENSIONS = MappingProxyType(
    {f".{name}": name for name in READERS}
    | {".text": "txt", ".markdown": "md", ".htm": "html", ".xhtml": "html", ".ndjson": "jsonl"}
)

#: Extensions that are read, for messages.
EXTENSIONS = tuple(sorted(_EXTENSIONS))


def format_of(path: str) -> str | None:
    """Return the format that the extension of a path means, or None for one that is not read."""
    return _EXTENSIONS.get(PurePosixPath(path).suffix.lower())

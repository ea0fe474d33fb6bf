"""The file formats that are read."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Format:
    """A format of files.

    Attributes:
        name: as ``corpus.files`` shows it.
        extensions: of its files, in small letters, each with its dot.
        read: its reader (:data:`~graphrag_dagster.core.files.records.Reader`), loaded when it is used:
            ``module:function``, or the callable itself.
    """

    name: str
    extensions: tuple[str, ...]
    read: Any


_READERS = "graphrag_dagster.core.readers"

FORMATS = (
    Format("txt", (".txt", ".text"), f"{_READERS}.text:read_text"),
    Format("md", (".md", ".markdown"), f"{_READERS}.markdown:read_markdown"),
    Format("html", (".html", ".htm", ".xhtml"), f"{_READERS}.html:read_html"),
    Format("pdf", (".pdf",), f"{_READERS}.pdf:read_pdf"),
    Format("docx", (".docx",), f"{_READERS}.docx:read_docx"),
    Format("csv", (".csv",), f"{_READERS}.delimited:read_csv"),
    Format("tsv", (".tsv",), f"{_READERS}.delimited:read_tsv"),
    Format("json", (".json",), f"{_READERS}.jsons:read_json"),
    Format("jsonl", (".jsonl", ".ndjson"), f"{_READERS}.jsons:read_jsonl"),
    Format("ipynb", (".ipynb",), f"{_READERS}.notebook:read_notebook"),
    Format("eml", (".eml",), f"{_READERS}.mail:read_mail"),
    Format("mbox", (".mbox",), f"{_READERS}.mail:read_mailbox"),
    Format("captions", (".srt", ".vtt"), f"{_READERS}.captions:read_captions"),
    Format("parquet", (".parquet",), f"{_READERS}.parquet:read_parquet"),
)

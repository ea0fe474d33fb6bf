"""The supported file formats."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Format:
    """A file format.

    Attributes:
        name: its name in ``corpus.files``.
        extensions: file extensions in lower case, with the dot.
        read: its reader (:data:`~graphrag_dagster.kernel.documents.file_records.Reader`):
            ``module:function``, loaded on first use, or the callable itself.
    """

    name: str
    extensions: tuple[str, ...]
    read: Any


_READERS = "graphrag_dagster.kernel.documents.readers"

FORMATS = (
    Format("txt", (".txt", ".text", ".log"), f"{_READERS}.plain_text:read_text"),
    Format(
        "md",
        (".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd", ".rmd"),
        f"{_READERS}.markdown:read_markdown",
    ),
    Format("html", (".html", ".htm", ".xhtml", ".xht"), f"{_READERS}.html:read_html"),
    Format("mhtml", (".mhtml", ".mht"), f"{_READERS}.html:read_mhtml"),
    Format("pdf", (".pdf",), f"{_READERS}.office.pdf:read_pdf"),
    Format("docx", (".docx", ".docm"), f"{_READERS}.office.docx:read_docx"),
    Format("pptx", (".pptx", ".pptm", ".ppsx"), f"{_READERS}.office.pptx:read_pptx"),
    Format("odt", (".odt", ".odp", ".ott"), f"{_READERS}.office.odt:read_odt"),
    Format("epub", (".epub",), f"{_READERS}.office.epub:read_epub"),
    Format("rst", (".rst", ".rest"), f"{_READERS}.plain_text:read_markup"),
    Format("org", (".org",), f"{_READERS}.plain_text:read_markup"),
    Format("adoc", (".adoc", ".asciidoc", ".asc"), f"{_READERS}.plain_text:read_markup"),
    Format("csv", (".csv",), f"{_READERS}.data.delimited_tables:read_csv"),
    Format("tsv", (".tsv",), f"{_READERS}.data.delimited_tables:read_tsv"),
    Format("json", (".json",), f"{_READERS}.data.json_documents:read_json"),
    Format("jsonl", (".jsonl", ".ndjson"), f"{_READERS}.data.json_documents:read_jsonl"),
    Format("ipynb", (".ipynb",), f"{_READERS}.data.notebook:read_notebook"),
    Format("eml", (".eml",), f"{_READERS}.mail:read_mail"),
    Format("mbox", (".mbox",), f"{_READERS}.mail:read_mailbox"),
    Format("captions", (".srt", ".vtt"), f"{_READERS}.captions:read_captions"),
    Format("parquet", (".parquet",), f"{_READERS}.data.row_records:read_parquet"),
)

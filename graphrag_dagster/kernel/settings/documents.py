"""The sections ``files``, ``tables`` and ``text_units``: reading files and cutting them into text units."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from graphrag_dagster.kernel.documents.files.records import DEFAULT_LIMITS, FileLimits
from graphrag_dagster.kernel.settings.section import PositiveInt, Section


class TableColumns(Section):
    """Roles of the columns of a table-like file; other columns are kept as metadata."""

    text: str | None = Field(None, description="column with the text; default: text, body or content")
    title: str | None = Field(None, description="column with the title")
    id: str | None = Field(None, description="column with the document id")
    date: str | None = Field(None, description="column with the date")
    metadata: tuple[str, ...] | None = Field(
        None, description="columns kept as metadata; default: all others"
    )


class FileSettings(Section):
    """Which files are read, and the limits for reading one."""

    max_bytes: PositiveInt = Field(
        DEFAULT_LIMITS.max_bytes,
        description="larger files are refused and listed; also the limit for an unpacked docx; for graph "
        "files only if set, by default only for those read as a whole",
    )
    max_seconds: Annotated[float, Field(gt=0, le=86_400)] = Field(
        DEFAULT_LIMITS.max_seconds, description="seconds; a file that takes longer to read fails"
    )
    max_memory: Annotated[int, Field(ge=100_000_000)] = Field(
        DEFAULT_LIMITS.max_memory, description="bytes of memory; a file that needs more fails (Linux only)"
    )
    max_characters: PositiveInt = Field(
        DEFAULT_LIMITS.max_characters, description="a file with more characters of text fails"
    )
    max_documents: PositiveInt = Field(
        DEFAULT_LIMITS.max_documents, description="a table-like file with more rows of text fails"
    )
    ignore: list[str] = Field(
        default_factory=list,
        description="glob patterns of files that are not part of the corpus: without a slash (`*.log`, "
        "`drafts`) at any depth, with one (`news/*.csv`) from the corpus folder; `**/` matches "
        "any number of folders",
    )

    @property
    def limits(self) -> FileLimits:
        """Limits for reading a file."""
        return FileLimits(**self.model_dump(exclude={"ignore"}))


#: Characters of a text unit, and of its overlap with the previous one, by default.
_SIZES_BY_CHARACTERS = (200, 20)


def _by_characters(before: Mapping[str, Any]) -> bool:
    return before.get("strategy") == "characters"


class TextUnitSettings(Section):
    """How documents are cut into text units."""

    strategy: Literal["tokens", "sentences", "characters", "none"] = Field(
        "tokens",
        description="windows of tokens; whole sentences up to the size; windows of characters that end at "
        "blank lines, line ends, sentence ends or between words; or each document as one unit",
    )
    size: PositiveInt = Field(
        default_factory=lambda before: _SIZES_BY_CHARACTERS[0] if _by_characters(before) else 600,
        description=f"tokens per unit; characters with `strategy: characters`, {_SIZES_BY_CHARACTERS[0]} by "
        "default",
    )
    overlap: Annotated[int, Field(ge=0)] = Field(
        default_factory=lambda before: _SIZES_BY_CHARACTERS[1] if _by_characters(before) else 100,
        description="tokens shared with the previous unit; characters with `strategy: characters`, "
        f"{_SIZES_BY_CHARACTERS[1]} by default",
    )
    encoding: Literal["cl100k_base", "o200k_base"] = Field("cl100k_base", description="tokenizer")

    @model_validator(mode="after")
    def _overlap_below_size(self) -> "TextUnitSettings":
        if self.overlap >= self.size:
            raise ValueError(f"overlap ({self.overlap}) must be smaller than size ({self.size})")
        return self

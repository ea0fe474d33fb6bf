"""The sections ``files``, ``tables``, ``text_units``, ``execution``, ``schedule`` and ``publishing``."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError
from pydantic import Field, field_validator, model_validator

from graphrag_dagster.kernel.common.file_limits import DEFAULT_LIMITS, FileLimits
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


#: Default size of a text unit and of its overlap with the previous one, by strategy; else 600 and 100.
_SIZES = {"characters": (200, 20), "structure": (600, 0)}


def _sizes(before: Mapping[str, Any]) -> tuple[int, int]:
    return _SIZES.get(before.get("strategy", ""), (600, 100))


class TextUnitSettings(Section):
    """How documents are cut into text units."""

    strategy: Literal["tokens", "sentences", "structure", "characters", "none"] = Field(
        "tokens",
        description="windows of tokens; whole sentences up to the size; whole paragraphs, lists, tables and "
        "code up to the size, that begin with their heading; windows of characters that end at blank lines, "
        "line ends, sentence ends or between words; or each document as one unit",
    )
    size: PositiveInt = Field(
        default_factory=lambda before: _sizes(before)[0],
        description="tokens per unit, 600 by default; characters with `strategy: characters`, 200 by default",
    )
    overlap: Annotated[int, Field(ge=0)] = Field(
        default_factory=lambda before: _sizes(before)[1],
        description="tokens shared with the previous unit, 100 by default; none by default with `strategy: "
        "structure`; characters with `strategy: characters`, 20 by default",
    )
    encoding: Literal["cl100k_base", "o200k_base"] = Field("cl100k_base", description="tokenizer")
    whole_words: bool = Field(
        True,
        description="with `strategy: tokens` a unit that would begin inside a word begins behind it: what it "
        "leaves out is in the unit before",
    )

    @model_validator(mode="after")
    def _check_overlap(self) -> "TextUnitSettings":
        if self.overlap >= self.size:
            raise ValueError(f"overlap ({self.overlap}) must be smaller than size ({self.size})")
        return self


class ExecutionSettings(Section):
    """Where the steps that call a model run; the tables are the same whatever is set here."""

    shards: Literal["auto"] | Annotated[int, Field(ge=1, le=1000)] = Field(
        "auto",
        description="parts that the text units, and the contexts of reports, are split into; each part calls "
        "the model from an interpreter of its own, with its share of `model.concurrency`. auto: one, unless "
        "there are so many connections and so much to ask that one interpreter would keep the endpoint "
        "waiting, and four processors or more. One with a limit on tokens or money, and with `model.batch`",
    )
    backend: Literal["in_process", "processes", "ray"] = Field(
        "processes",
        description="where shards run: one after the other in the process of the step, in processes of this "
        "machine, or as tasks of a Ray cluster (extra ray), that of RAY_ADDRESS or else one on this machine",
    )


class ScheduleSettings(Section):
    """When the sensor ``scheduled_corpora`` indexes the corpus again."""

    cron: str | None = Field(
        None,
        description="minute, hour, day of the month, month and day of the week, in cron syntax, for example "
        "0 3 * * * for every night at three; default: no schedule",
    )
    timezone: str = Field("UTC", description="IANA name of the time zone of cron, for example Europe/Vienna")

    @field_validator("cron")
    @classmethod
    def _check_cron(cls, cron: str | None) -> str | None:
        return None if cron is None else _checked(cron)

    @field_validator("timezone")
    @classmethod
    def _check_timezone(cls, timezone: str) -> str:
        try:
            ZoneInfo(timezone)
        except (KeyError, ValueError, OSError):
            raise ValueError(f"{timezone!r} is not a time zone; use a name such as Europe/Vienna") from None
        return timezone


def _checked(cron: str) -> str:
    try:
        # CronSim takes a sixth field, of seconds, in front.
        if len(cron.split()) > 5:
            raise CronSimError
        next(CronSim(cron, datetime.now(UTC)))
    except (CronSimError, StopIteration):
        raise ValueError(
            f"cron: {cron!r} never occurs, or is not minute, hour, day of the month, month and day of the "
            "week, as in '0 3 * * *' for every night at three"
        ) from None
    return cron


class PublishingSettings(Section):
    """Published, read-only snapshots of a corpus's tables."""

    keep: Annotated[int, Field(ge=1)] = Field(
        3, description="number of the newest published snapshots to keep; rollback returns to one of them"
    )

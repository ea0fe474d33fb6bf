"""The section ``resolution``, and the file ``decisions.jsonl`` with people's decisions on names."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

from filelock import FileLock, Timeout
from pydantic import Field, ValidationError, model_validator

from graphrag_dagster.errors import CorpusError, SettingsError
from graphrag_dagster.kernel.common.atomic_files import sync_folder, write_durably
from graphrag_dagster.kernel.common.file_discovery import DECISIONS_FILE, DECISIONS_LOCK
from graphrag_dagster.kernel.common.printable import os_error_message, shorten
from graphrag_dagster.kernel.settings.section import EngineName, Section
from graphrag_dagster.kernel.text.text_similarity import normalise
from graphrag_dagster.systems.graphrag.resolution.human_decisions import Decisions, NameRuling

Spelling = Annotated[str, Field(min_length=1, max_length=1000)]
Told = Annotated[str, Field(min_length=1, max_length=200)]
_MOST_SAID = 10_000


class NamesSaid(Section):
    """Names and the decision about them; in ``corpus.yaml`` a plain list is enough."""

    names: list[Spelling] = Field(min_length=2, max_length=1000, description="names as written, in any case")
    document: Annotated[str, Field(min_length=1, max_length=4000)] | None = Field(
        None, description="path of the only document that it applies to"
    )
    id: Told | None = Field(None, description="id that `undo` removes it by")
    who: Told | None = Field(None, description="person who decided")
    when: Told | None = Field(None, description="time of the decision, ISO 8601")

    @model_validator(mode="before")
    @classmethod
    def _accept_plain_names(cls, given: Any) -> Any:
        return {"names": given} if isinstance(given, list) else given

    @model_validator(mode="after")
    def _check_two_names(self) -> "NamesSaid":
        keys = set(map(normalise, self.names))
        if len(keys) < 2 or "" in keys:
            told = ", ".join(repr(shorten(name, 60)) for name in self.names[:10])
            raise ValueError(
                f"{told}: give at least two different names, none of them empty; case is ignored"
            )
        return self

    def word(self, verdict: Literal["same", "different"]) -> NameRuling:
        """Return it in the form that resolution uses."""
        return NameRuling(verdict, tuple(self.names), self.document, self.id, self.who, self.when)


class Decision(NamesSaid):
    """A person's decision on names."""

    verdict: Literal["same", "different"] = Field(description="relation of the names to each other")


class ResolutionSettings(Section):
    """Resolving names to entities."""

    enabled: bool = Field(
        True,
        description="join names of one entity, keep namesakes apart; off: every spelling is its own entity",
    )
    engine: EngineName | None = Field(
        None,
        description="engine that decides what the rules leave open; default: the corpus's engine; without a "
        "model it stays open",
    )
    same: list[NamesSaid] = Field(
        default_factory=list, max_length=_MOST_SAID, description="lists of names that each are one entity"
    )
    different: list[NamesSaid] = Field(
        default_factory=list,
        max_length=_MOST_SAID,
        description="lists of names of which no two are one entity",
    )

    @model_validator(mode="after")
    def _check_contradictions(self) -> "ResolutionSettings":
        if not (self.same or self.different):
            return self
        said = self.decisions()
        try:
            said.links(between=True)
            for document in sorted(said.documents()):
                said.links(document)
        except SettingsError as error:
            raise ValueError(str(error)) from None
        return self

    def decisions(self) -> Decisions:
        """Return people's decisions."""
        return Decisions(
            [
                *(one.word("same") for one in self.same),
                *(one.word("different") for one in self.different),
            ]
        )

    def with_decisions(self, said: Iterable[Decision]) -> "ResolutionSettings":
        """Return the settings with additional decisions.

        Raises:
            SettingsError: they contradict each other, or those in the settings.
        """
        both = {"same": list(self.same), "different": list(self.different)}
        for one in said:
            both[one.verdict].append(NamesSaid.model_validate(one.model_dump(exclude={"verdict"})))
        try:
            return ResolutionSettings.model_validate({**self.model_dump(exclude=set(both)), **both})
        except ValidationError as error:
            raise SettingsError(str(error.errors()[0]["msg"]).removeprefix("Value error, ")) from None

    def completed(self, folder: Path) -> "ResolutionSettings":
        """Return the settings with the decisions stored beside the documents.

        Raises:
            SettingsError: a decision is invalid, or contradicts another.
        """
        if not (said := read_decisions(folder)):
            return self
        try:
            return self.with_decisions(said)
        except SettingsError as error:
            raise SettingsError(f"{folder / DECISIONS_FILE}: {error}") from None


_MOST_BYTES = 10_000_000


def read_decisions(folder: Path) -> list[Decision]:
    """Return the decisions of a corpus in the order they were made; none if there is no file.

    Raises:
        SettingsError: the file cannot be read, or a line is not a decision; names file and line.
    """
    path = folder / DECISIONS_FILE
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}") from None
    if len(data) > _MOST_BYTES:
        raise SettingsError(f"{path} is larger than {_MOST_BYTES:,} bytes; remove decisions from it")
    found: dict[str, tuple[int, Decision]] = {}
    for number, line in enumerate(data.splitlines(), start=1):
        if line.strip():
            where = f"{path}, line {number}"
            decision = _parse_decision(line, where)
            if decision.id is None:
                raise SettingsError(
                    f"{where}: id: a decision needs an id to be undone; give it one, or remove the line"
                )
            if decision.id in found:
                raise SettingsError(
                    f"{where}: line {found[decision.id][0]} has the same id {decision.id!r}; remove one of "
                    "them"
                )
            found[decision.id] = number, decision
    return [decision for _, decision in found.values()]


def decisions_text(decisions: Iterable[Decision]) -> str:
    """Return the text of the file."""
    rows = (one.model_dump(exclude_none=True) for one in decisions)
    return "".join(json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n" for row in rows)


def _parse_decision(line: bytes, where: str) -> Decision:
    try:
        return Decision.model_validate_json(line)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        key = ".".join(map(str, problem["loc"])) or "the line"
        told = problem["msg"].removeprefix("Value error, ")
        raise SettingsError(f"{where}: {key}: {told}; fix the line or remove it") from None


_SECONDS = 10.0


@contextmanager
def edit_decisions(folder: Path, seconds: float = _SECONDS) -> Iterator[list[Decision]]:
    """Give the decisions of a corpus, in their order, and keep what the caller makes of the list.

    One writer at a time. Where the caller fails nothing is written; where no decision is left the file goes.

    Args:
        folder: of the corpus.
        seconds: to wait for another writer.

    Raises:
        SettingsError: a line of the file is no decision.
        CorpusError: the file cannot be written, or another process holds it.
    """
    lock = FileLock(folder / DECISIONS_LOCK)
    try:
        lock.acquire(timeout=seconds)
    except Timeout:
        raise CorpusError(
            f"another process is writing decisions on names in {folder}; waited {seconds:.0f} s. Try again "
            "when it is done"
        ) from None
    except OSError as error:
        raise _decision_error(error) from None
    try:
        decisions = read_decisions(folder)
        before = list(decisions)
        yield decisions
        if decisions != before:
            _keep(folder / DECISIONS_FILE, decisions)
    finally:
        lock.release()


def _keep(path: Path, decisions: list[Decision]) -> None:
    try:
        if decisions:
            write_durably(path, decisions_text(decisions))
        else:
            path.unlink()
            sync_folder(path.parent)
    except OSError as error:
        raise _decision_error(error) from None


def _decision_error(error: OSError) -> CorpusError:
    return CorpusError(
        f"nothing was written: {os_error_message(error)}. Decisions can also be set in corpus.yaml, as "
        "resolution.same and resolution.different"
    )

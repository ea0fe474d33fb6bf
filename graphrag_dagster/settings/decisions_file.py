"""The file ``decisions.jsonl`` of a corpus: what people decided of names, a line each."""

import json
from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from graphrag_dagster.core.files.discovery import DECISIONS_FILE
from graphrag_dagster.errors import SettingsError
from graphrag_dagster.settings.resolution import Decision

_MOST_BYTES = 10_000_000


def read_decisions(folder: Path) -> list[Decision]:
    """Return the decisions of a corpus in the order in which they were made; none where there is no file.

    Raises:
        SettingsError: the file cannot be read, or a line is no decision; names file and line.
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
        raise SettingsError(f"{path} is larger than {_MOST_BYTES:,} bytes; take decisions out of it")
    found: dict[str, tuple[int, Decision]] = {}
    for number, line in enumerate(data.splitlines(), start=1):
        if line.strip():
            where = f"{path}, line {number}"
            decision = _parsed(line, where)
            if decision.id is None:
                raise SettingsError(
                    f"{where}: id: by it the decision is taken back; give it one, or take it out"
                )
            if decision.id in found:
                raise SettingsError(
                    f"{where}: line {found[decision.id][0]} has the id {decision.id!r} too; "
                    "take one of them out"
                )
            found[decision.id] = number, decision
    return [decision for _, decision in found.values()]


def written(decisions: Iterable[Decision]) -> str:
    """Return the text of the file."""
    rows = (one.model_dump(exclude_none=True) for one in decisions)
    return "".join(json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n" for row in rows)


def _parsed(line: bytes, where: str) -> Decision:
    try:
        return Decision.model_validate_json(line)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        key = ".".join(map(str, problem["loc"])) or "the line"
        told = problem["msg"].removeprefix("Value error, ")
        raise SettingsError(f"{where}: {key}: {told}; mend the line or take it out") from None

"""What Dagster has no public name for; no module elsewhere imports one of its private modules."""

from typing import Any

#: The release of Dagster in which all of this was last looked at. Nothing depends on it when the code runs.
CHECKED_WITH = (1, 13)
#: Dagster's own manager that keeps nothing of what steps print, as its settings name one.
NO_COMPUTE_LOGS = {
    "module": "dagster._core.storage.noop_compute_log_manager",
    "class": "NoOpComputeLogManager",
}
#: The module of the records that Dagster keeps where its settings name nothing else.
SQLITE_RECORDS = "dagster._core.storage.sqlite_storage"


def kept_connections(folder: str) -> dict[str, Any]:
    """Settings of an instance whose records in a folder are reached by connections that stay open."""
    named = {"module": f"{__name__}.kept_connections", "class": "KeptConnections"}
    return {"storage": {"custom": {**named, "config": {"base_dir": folder}}}}

"""The LLM cache and the accounts as a resource."""

from pathlib import Path

from pydantic import Field

from graphrag_dagster.kernel.common.resource import Resource
from graphrag_dagster.kernel.models.cache.account import UsageLog
from graphrag_dagster.kernel.models.cache.database import Database, database_at
from graphrag_dagster.kernel.storage.home import memory_file


class ReplyMemory(Resource):
    """The LLM cache, and the usage of every run."""

    file: str = Field(default="", description="SQLite file; default: set by the environment")

    def database(self) -> Database:
        """The file, opened once in a process."""
        return database_at(Path(self.file).resolve() if self.file else memory_file())

    def usage_log(self) -> UsageLog:
        """The accounts of all runs."""
        return UsageLog(self.database())

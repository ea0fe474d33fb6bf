"""Errors that users can fix. Each names the file, key or row, and the fix."""

from typing import ClassVar

#: Where the documentation is published.
DOCUMENTATION = "https://graphrag-dagster.github.io/graphrag-dagster/"


class GraphragError(Exception):
    """Base class of errors that users can fix; its message is shown without a traceback.

    ``exit_code`` is that of the command that ends with it. ``page`` is the page of the documentation that has
    more on errors of the kind, below :data:`DOCUMENTATION`; None where the message says all.
    """

    exit_code = 1
    page: ClassVar[str | None] = "how-to/troubleshoot.html"


class CatalogueError(GraphragError):
    """An unknown or incompletely declared stage, task, engine or search method."""


class CorpusError(GraphragError):
    """A corpus that is unknown or empty, or has an invalid name."""


class SettingsError(GraphragError):
    """An invalid settings file or variable; names the file, the key and the allowed values."""

    page = "reference/settings.html"


class VectorLengthError(SettingsError):
    """A vector of another length than those that it is compared with, so that another model made it.

    Args:
        length: numbers of the vector.
        expected: numbers of the others.
        embedder: name of the embedder or its model.
    """

    page = "how-to/connect-a-model.html"

    def __init__(self, length: int, expected: int, embedder: str = "the embedding model") -> None:
        super().__init__(
            f"{embedder} returned a vector of {length:,} numbers, but earlier ones have {expected:,}: "
            "another model answers under the same name; set model.namespace to a new value and run "
            "'graphrag-dagster index'"
        )


class WarehouseError(GraphragError):
    """A table, frame or DuckDB file that cannot be used as requested."""


class HeldError(WarehouseError):
    """A DuckDB file that is currently open elsewhere and cannot be opened."""


class ForeignError(WarehouseError):
    """A file that another program wrote where one of ours would be."""


class DamagedError(WarehouseError):
    """A complete file of which a part can no longer be read."""

    page = "how-to/back-up.html"


class ObjectStoreError(WarehouseError):
    """A bucket of published snapshots that cannot be used now; nothing in it was left half done."""

    page = "how-to/object-storage.html"


class StaleError(WarehouseError):
    """A snapshot that another home has published since; nothing was changed."""

    page = "how-to/object-storage.html"


class EngineError(GraphragError):
    """A language engine that cannot do what was requested, such as gleaning without a model."""


class EndpointError(GraphragError):
    """A model endpoint that cannot be reached or rejects the request."""

    page = "how-to/connect-a-model.html"


class EndpointDown(EndpointError):
    """A model endpoint that does not answer now; the request is valid and may succeed later."""


class OutOfCredit(EndpointError):
    """The account at a model endpoint has no credit left. No call is retried, and the run ends."""

    page = "how-to/control-cost.html"


class PluginError(EngineError):
    """A failure in another package's code; names the plug-in, the package and the activity."""

    page = "how-to/write-a-plug-in.html"


class QuestionError(GraphragError):
    """A question, or an option of it such as the level, that cannot be answered."""

    page = None


class ExportError(GraphragError):
    """An export that cannot be written as requested."""

    page = "how-to/export.html"


class MissingError(QuestionError):
    """Something requested by its id that does not exist.

    Args:
        kind: kind of the missing thing, such as ``entity``.
        message: what is missing.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class QueryError(QuestionError):
    """A query that was refused, failed or reached a limit; the message is the database's."""

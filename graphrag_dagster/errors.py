"""Errors that users can fix: each names the file, key or row, and the fix."""


class GraphragError(Exception):
    """Base of every error that users can fix; its text is shown without a traceback.

    ``exit_code`` is that of the command that ends with it.
    """

    exit_code = 1


class CatalogueError(GraphragError):
    """An unknown or incompletely declared stage, task, engine or search method."""


class CorpusError(GraphragError):
    """A corpus that is unknown, empty, or whose name is not allowed."""


class SettingsError(GraphragError):
    """A settings file or variable that cannot be used: names the file, the key and the allowed values."""


class WarehouseError(GraphragError):
    """A table, frame or DuckDB file that cannot be used as asked."""


class HeldError(WarehouseError):
    """A DuckDB file that someone else has open, so that it cannot be opened now."""


class DamagedError(WarehouseError):
    """A file that was made whole, and of which a part can no longer be read."""


class EngineError(GraphragError):
    """A language engine that cannot do what it was asked, such as gleaning without a model."""


class EndpointError(GraphragError):
    """A model endpoint that cannot be reached or refuses the request."""


class EndpointDown(EndpointError):
    """A model endpoint that does not answer now: nothing is wrong with the request, and later it may."""


class OutOfCredit(EndpointError):
    """The account at a model endpoint has no money left: no call is sent again, and the run ends."""


class PluginError(EngineError):
    """Code of another package that failed: names the plug-in, the package, and what was done."""


class QuestionError(GraphragError):
    """A question, or an option of it such as the level, that cannot be answered."""


class ExportError(GraphragError):
    """An export that cannot be written as asked."""


class MissingError(QuestionError):
    """Something that was asked for by its id, and is not there.

    Args:
        kind: what was asked for, such as ``entity``.
        message: what is missing.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind

"""Values that the catalogue names: engines, embedders, ways of answering, what models are asked for."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticKnownError, core_schema


@dataclass(frozen=True)
class Choice:
    """One of the names that there are, plug-ins included, when a value is checked; spelt as they are.

    The error, and the ``enum`` of the JSON schema, list them as those of a ``Literal``.
    """

    names: Callable[[], Iterable[str]]

    def __get_pydantic_core_schema__(self, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema by which pydantic checks a value."""
        return core_schema.no_info_plain_validator_function(self._checked)

    def __get_pydantic_json_schema__(
        self, _schema: CoreSchema, _handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Return the JSON schema."""
        return {"type": "string", "enum": list(self.names())}

    def _checked(self, value: object) -> str:
        names = list(self.names())
        if isinstance(value, str) and value in names:
            return value
        *others, last = (repr(name) for name in names)
        raise PydanticKnownError(
            "literal_error", {"expected": f"{', '.join(others)} or {last}" if others else last}
        )

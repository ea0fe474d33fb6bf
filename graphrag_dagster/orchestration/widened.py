"""Functions that are handed more than they take, for what is done around them."""

from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from typing import Any

_EITHER = Parameter.POSITIONAL_OR_KEYWORD
_Named = dict[str, Any]


class Widened:
    """The parameters of a function, and before them those that it lacks of others.

    Args:
        function: what Dagster would call.
        needed: annotations by name of what is to be handed on besides.
    """

    def __init__(self, function: Callable[..., Any], needed: Mapping[str, type]) -> None:
        self._given = signature(function)
        self._added = needed.keys() - self._given.parameters
        # First, since nothing may stand behind frames of any name.
        added = {name: Parameter(name, _EITHER, annotation=kind) for name, kind in needed.items()}
        self._taken = {**added, **self._given.parameters}

    def signed(self, wrapper: Callable[..., Any]) -> Callable[..., Any]:
        """Have Dagster read all these parameters off what is called in the function's place."""
        parameters = list(self._taken.values())
        wrapper.__signature__ = self._given.replace(parameters=parameters)  # type: ignore[attr-defined]
        return wrapper

    def split(self, arguments: tuple[Any, ...], named: _Named) -> tuple[_Named, _Named]:
        """All arguments of a call by their names, and of these what the function itself takes."""
        everything = dict(zip(self._taken, arguments, strict=False)) | named
        return everything, {name: one for name, one in everything.items() if name not in self._added}

"""Under which keys Dagster knows our resources.

A project that these definitions are part of may have an ``io_manager`` or a ``warehouse`` of its own, so our
keys begin with a word of ours. Functions leave that word out.
"""

from collections.abc import Callable, Iterator
from functools import wraps
from inspect import Parameter, isgeneratorfunction, signature
from typing import Any

from dagster import ResourceParam

from graphrag_dagster.core.resource import Resource

_OURS = "graphrag_"


def resource_key(name: str) -> str:
    """The key of the resource that functions here call by a name."""
    return _OURS + name


IO_MANAGER = resource_key("io_manager")


def takes_resources(function: Callable[..., Any]) -> Callable[..., Any]:
    """Have Dagster hand a function or generator its resources by their keys."""
    given = signature(function)
    names = {resource_key(name): name for name, one in given.parameters.items() if _is_resource(one)}

    def named(arguments: dict[str, Any]) -> dict[str, Any]:
        return {names.get(key, key): value for key, value in arguments.items()}

    @wraps(function)
    def run(*arguments: Any, **keyed: Any) -> Any:
        return function(*arguments, **named(keyed))

    @wraps(function)
    def generate(*arguments: Any, **keyed: Any) -> Iterator[Any]:
        yield from function(*arguments, **named(keyed))

    # Dagster reads off the function itself what it takes, and whether it gives one result or several.
    taking: Callable[..., Any] = generate if isgeneratorfunction(function) else run
    keyed = [_keyed(one) if _is_resource(one) else one for one in given.parameters.values()]
    # Any function may have one (PEP 362), of which the stubs of callables know nothing.
    taking.__signature__ = given.replace(parameters=keyed)  # type: ignore[attr-defined]
    return taking


def _keyed(parameter: Parameter) -> Parameter:
    marked: Any = ResourceParam
    return parameter.replace(name=resource_key(parameter.name), annotation=marked[parameter.annotation])


def _is_resource(parameter: Parameter) -> bool:
    kind = parameter.annotation
    return isinstance(kind, type) and issubclass(kind, Resource)

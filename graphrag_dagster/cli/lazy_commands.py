"""Commands that are loaded when they are called, or when their own help is asked for."""

import inspect
from collections.abc import Callable
from functools import cached_property, wraps
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand


class LazyCommand(TyperCommand):
    """A command of which only name and help are known until it is called.

    Args:
        name: of the command.
        target: ``module:function``; a function that returns a ``Result`` gets the option ``--json``.
        panel: heading under which it is listed.
        about: what it does; default: the function's docstring.
    """

    def __init__(self, name: str, target: str, panel: str, about: str | None = None) -> None:
        super().__init__(name, help=about, rich_markup_mode=None, rich_help_panel=panel)
        self._target = target

    @cached_property
    def _loaded(self) -> Any:
        from graphrag_dagster.kernel.catalogue.registry import load_target

        made = typer.Typer(add_completion=False, rich_markup_mode=None)
        made.command(self.name, help=self.help)(_with_json(load_target(self._target)))
        command: Any = typer.main.get_command(made)
        for one in command.params:
            for word, listed in (("{methods}", _methods), ("{levelled}", _with_levels)):
                if word in (one.help or ""):
                    one.help = one.help.replace(word, listed())
        return command

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the arguments and options."""
        params: list[Any] = self._loaded.get_params(ctx)
        return params

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Parse the arguments into a context of the loaded command."""
        return self._loaded.make_context(info_name, args, parent=parent, **extra)


def _with_json(function: Callable[..., Any]) -> Callable[..., Any]:
    from graphrag_dagster.cli.result import Result, quiet, show

    if get_type_hints(function).get("return") is not Result:
        return function

    @wraps(function)
    def called(*, as_json: bool, **given: Any) -> int:
        with quiet(as_json):
            result = function(**given)
        return show(result, as_json=as_json)

    json = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]
    own = inspect.signature(function)
    option = inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=json)
    # Where typer reads options from; types of functions do not know it.
    vars(called)["__signature__"] = own.replace(parameters=[*own.parameters.values(), option])
    return called


def _methods() -> str:
    from graphrag_dagster.kernel.catalogue.registry import methods

    known = list(methods().values())
    for_people = ", ".join(one.name for one in known if one.suits_a_chat)
    of_a_level = [one.name for one in known if one.condition and one.level is not None]
    others = [one.name for one in known if one.condition and one.level is None]
    conditions = ", ".join([f"{of_a_level[0]} to {of_a_level[-1]}", *others])
    ablated = ", ".join(one.name for one in known if one.without)
    return f"{for_people}, or a condition: {conditions}; for comparisons {ablated}"


def _with_levels() -> str:
    from graphrag_dagster.kernel.catalogue.registry import methods

    return " and ".join(one.name for one in methods().values() if one.levelled)

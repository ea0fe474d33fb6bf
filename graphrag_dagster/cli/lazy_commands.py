"""Commands that are loaded when they are called, or when their own help is asked for."""

import inspect
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cached_property, wraps
from typing import Annotated, Any, ClassVar, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.catalogue.plugins import system_entry_points

_OURS = "graphrag_dagster."


class Panel(StrEnum):
    """What the commands are for, in the order in which help lists them."""

    START = "Start"
    ASK = "Ask"
    LOOK = "Look"
    EVALUATE = "Evaluate"
    SERVE = "Serve"
    MODELS = "Models and cost"
    GRAPHS = "Graphs from and for other tools"
    NAMES = "Names of entities"
    CARE = "Care"
    ADDED = "Of other packages"


class LazyCommand(TyperCommand):
    """A command of which only name and help are known until it is called.

    Args:
        name: of the command.
        target: ``module:function``; a function that returns a ``Result`` gets the option ``--json``.
        about: what it does; default: the function's docstring.
        panel: where it is listed.
    """

    def __init__(self, name: str, target: str, about: str | None = None, panel: Panel = Panel.ADDED) -> None:
        super().__init__(name, help=about, rich_markup_mode=None, rich_help_panel=panel)
        self._target = target

    @cached_property
    def _loaded(self) -> Any:
        from graphrag_dagster.kernel.catalogue.registry import load_target

        made = typer.Typer(add_completion=False, rich_markup_mode=None)
        made.command(self.name, cls=_MethodCommand, help=self.help)(_with_json(load_target(self._target)))
        return typer.main.get_command(made)

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the arguments and options."""
        params: list[Any] = self._loaded.get_params(ctx)
        return params

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Parse the arguments into a context of the loaded command."""
        return self._loaded.make_context(info_name, args, parent=parent, **extra)


class _MethodCommand(TyperCommand):
    """A command whose help of ``--method`` and ``--level`` lists the search methods, plug-ins included."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options, with the search methods in their help."""
        params: list[Any] = super().get_params(ctx)
        for one in params:
            if "{methods}" in (one.help or "") or "{levelled}" in (one.help or ""):
                one.help = one.help.format(methods=_methods(), levelled=_with_levels())
        return params


class LazyGroup(TyperGroup):
    """The commands of a table by panel, then those of systems of other packages."""

    #: Where what a command of that name did is now.
    moved: ClassVar[Mapping[str, str]]
    #: Panel → name → module and function below ``graphrag_dagster.cli.commands``, and what it does.
    table: ClassVar[Mapping[Panel, Mapping[str, tuple[str, str]]]]

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        for panel, commands in self.table.items():
            for name, (target, about) in commands.items():
                self.add_command(our_command(name, target, about, panel))
        for name, target in _commands_of_systems().items():
            # None takes the place of ours.
            if name not in self.commands:
                self.add_command(LazyCommand(name, target))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of a name; None where there is none.

        Raises:
            GraphragError: another command does that now.
        """
        if cmd_name in self.moved and cmd_name not in self.commands:
            raise GraphragError(f"{cmd_name} is now: graphrag-dagster {self.moved[cmd_name]}")
        return super().get_command(ctx, cmd_name)

    def format_commands(self, _ctx: Any, formatter: Any) -> None:
        """Write what each command does, panel by panel."""
        for panel in Panel:
            shown = [one for one in self.commands.values() if getattr(one, "rich_help_panel", "") == panel]
            if shown:
                with formatter.section(panel.value):
                    formatter.write_dl([(one.name, (one.help or "").partition("\n\n")[0]) for one in shown])


def our_command(name: str, target: str, about: str, panel: Panel) -> LazyCommand:
    """Return a command of ours whose target is below ``graphrag_dagster.cli.commands``."""
    return LazyCommand(name, f"{_OURS}cli.commands.{target}", about, panel)


def _commands_of_systems() -> dict[str, str]:
    # Ours have none, and take long to load.
    if all(point.value.startswith(_OURS) for point in system_entry_points()):
        return {}
    from graphrag_dagster.kernel.catalogue.registry import systems

    return {name: target for system in systems().values() for name, target in system.commands.items()}


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

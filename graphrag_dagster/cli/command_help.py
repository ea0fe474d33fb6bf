"""Commands whose help lists the search methods, plug-ins included, when it is shown."""

from enum import StrEnum
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from graphrag_dagster.kernel.catalogue.registry import load_target, methods, systems


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


class Commands(TyperGroup):
    """All commands, those of systems behind ours; a system's is loaded when it is called or listed."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands, panel by panel."""
        places = {panel: place for place, panel in enumerate(Panel)}
        ours = sorted(super().list_commands(ctx), key=lambda name: places[self._panel_of(name)])
        return [*ours, *_commands_of_systems()]

    def _panel_of(self, name: str) -> Panel:
        return Panel(getattr(self.commands[name], "rich_help_panel", Panel.CARE))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of a name; None where there is none."""
        if (found := super().get_command(ctx, cmd_name)) is not None:
            return found
        target = _commands_of_systems().get(cmd_name)
        return _command(cmd_name, target) if target else None


def _commands_of_systems() -> dict[str, str]:
    return {name: target for system in systems().values() for name, target in system.commands.items()}


def _command(name: str, target: str) -> Any:
    own = typer.Typer(add_completion=False)
    own.command(name)(load_target(target))
    return typer.main.get_command(own)


class MethodCommand(TyperCommand):
    """A command with ``--method`` and ``--level``.

    Only here are plug-ins loaded: other commands, and the list of all, do without them.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options, with the search methods in their help."""
        params: list[Any] = super().get_params(ctx)
        told = {"methods": _methods(), "levelled": _with_levels()}
        for one in params:
            if one.name in {"method", "level"}:
                one.help = one.help.format_map(told)
        return params


def _methods() -> str:
    known = list(methods().values())
    for_people = ", ".join(one.name for one in known if one.suits_a_chat)
    of_a_level = [one.name for one in known if one.condition and one.level is not None]
    others = [one.name for one in known if one.condition and one.level is None]
    conditions = ", ".join([f"{of_a_level[0]} to {of_a_level[-1]}", *others])
    ablated = ", ".join(one.name for one in known if one.without)
    return f"{for_people}, or a condition: {conditions}; for comparisons {ablated}"


def _with_levels() -> str:
    return " and ".join(one.name for one in methods().values() if one.levelled)

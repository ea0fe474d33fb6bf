"""Commands that ask: their help lists the ways of answering, plug-ins included, once it is shown."""

from typing import Any

from typer.core import TyperCommand

from graphrag_dagster.kernel.catalogue.registry import methods


class Asking(TyperCommand):
    """A command with ``--method`` and ``--level``.

    Only here are plug-ins loaded: other commands, and the list of all, do without them.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options, with what their help says of the ways of answering."""
        params: list[Any] = super().get_params(ctx)
        told = {"methods": _methods(), "levelled": _levelled()}
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


def _levelled() -> str:
    return " and ".join(one.name for one in methods().values() if one.levelled)

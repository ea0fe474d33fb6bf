"""The page on the commands, made of their help."""

import re

import typer
from typer.cli import get_docs_for_click

from graphrag_dagster.cli.app import app

_HEAD = """\
# Commands

Made of the commands' own help by `make docs`; `graphrag-dagster COMMAND --help` shows the same. `--json` gives a result in
a form for scripts.
"""


def command_reference() -> str:
    """Every command with its arguments and options, plug-ins of ours included."""
    command = typer.main.get_command(app)
    context = typer.Context(command, info_name="graphrag-dagster")
    made = get_docs_for_click(obj=command, ctx=context, name="graphrag-dagster", title="Commands")
    body = made.partition("\n")[2]
    # Each command is a heading of its own in the list of contents, under its short name.
    body = re.sub(r"^## `graphrag-dagster (.+?)`$", r"## \1", body, flags=re.MULTILINE)
    # They cut each sentence short, and the list of contents has the names.
    body = re.sub(r"\*\*Commands\*\*:\n\n(?:\* .+\n)+\n?", "", body)
    return _HEAD + re.sub(r"\n{3,}", "\n\n", body.replace("<br>", " ")).rstrip() + "\n"

"""What people type. Heavy imports happen inside the commands, so that ``--help`` answers at once."""

import sys

from graphrag_dagster.cli.app import app
from graphrag_dagster.core.errors import GraphragError


def main() -> None:
    """Run the command line; an error that is the user's to mend ends it with one line and its exit code."""
    try:
        app()
    except GraphragError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(error.exit_code)

"""What people type. Heavy imports happen inside the commands, so that ``--help`` answers at once."""

import atexit
import gc
import sys

from graphrag_dagster.cli.app import app
from graphrag_dagster.core.errors import GraphragError


def main() -> None:
    """Run the command line; an error that is the user's to mend ends it with one line and its exit code."""
    # Nearly all that a run makes lives until its end: collecting it often, or at the exit, gives nothing.
    gc.set_threshold(50_000, 20, 50)
    atexit.register(gc.freeze)
    try:
        app()
    except GraphragError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(error.exit_code)

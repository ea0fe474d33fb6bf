"""Progress of what is done in a block, as the commands show it."""

from collections.abc import Iterator
from contextlib import contextmanager

from graphrag_dagster.cli.output.console import ERR
from graphrag_dagster.cli.output.progress import progress_on
from graphrag_dagster.core.progress import listening


@contextmanager
def watching() -> Iterator[None]:
    """Show on standard error how far the stages of the block are."""
    with progress_on(ERR) as shown, listening(shown):
        yield

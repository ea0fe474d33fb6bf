"""``graphrag-dagster`` alone: what to do next."""

import shlex

from graphrag_dagster import __version__
from graphrag_dagster.cli.console import OUT
from graphrag_dagster.errors import DOCUMENTATION
from graphrag_dagster.kernel.common.printable import plural
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse

_MOST_CORPORA = 3


def say_what_next() -> None:
    """Print, in a dozen lines at most, how to begin, or how to go on with the corpora that are there."""
    store = CorpusStore()
    names = store.names()
    lines = [f"graphrag-dagster {__version__}: from a folder of documents to a graph and cited answers"]
    if names:
        lines.append(f"{plural(len(names), 'corpus', 'corpora')} in {store.path}:")
        for name in names[:_MOST_CORPORA]:
            lines += _commands_for(name)
        if len(names) > _MOST_CORPORA:
            lines.append("  graphrag-dagster corpora                  list them all")
    else:
        lines.append("  graphrag-dagster demo                     try it on a sample corpus, without a model")
    lines.append("  graphrag-dagster index path/to/folder     index a folder of yours")
    lines.append("  graphrag-dagster --help                   all commands")
    lines.append(f"documentation: {DOCUMENTATION}")
    for line in lines:
        OUT.say(line, markup=False)


def _commands_for(name: str) -> list[str]:
    corpus = shlex.quote(name)
    if not Warehouse().file(name).is_file():
        return [f"  graphrag-dagster index {corpus}"]
    return [f'  graphrag-dagster ask {corpus} "Your question"', f"  graphrag-dagster explore {corpus}"]

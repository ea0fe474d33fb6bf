"""``graphrag-dagster demo``: the sample corpus, written, indexed and asked."""

import shlex
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer
from rich.text import Text

from graphrag_dagster.cli.commands.ask_commands import answer_parts
from graphrag_dagster.cli.commands.indexing import index_corpus
from graphrag_dagster.cli.result import say, show
from graphrag_dagster.errors import CorpusError
from graphrag_dagster.index import Index
from graphrag_dagster.kernel.common.printable import plural
from graphrag_dagster.kernel.questions.question import Question
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.duckdb_access import keep_open
from graphrag_dagster.kernel.storage.home import explorer_url
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.sample import HARBOUR

#: About the whole, and about details.
_ASKED = (
    "What are the main themes?",
    "Why was the tow of the Atlas Nine refused?",
    "Who restored the Valdora, and who paid for it?",
)
#: What is said, what is counted, and what is not there.
_TO_ASK = (
    "What were the consequences of Storm Agda for Kelderwick?",
    "Which 3 people are most connected?",
    "How do I cook rice?",
)
_QUERY = "select title, type, degree from graph.entities order by degree desc limit 10"


def demo(
    folder: Annotated[Path | None, typer.Option(help="Folder for the documents; default: harbour.")] = None,
) -> int:
    """Write the sample corpus, index it, ask it three questions, and print what to do next.

    Returns:
        the exit code of the index.

    Raises:
        GraphragError: something else is in the folder, or a step failed.
    """
    store = CorpusStore()
    target = (folder or store.path / HARBOUR.name).expanduser().resolve()
    write_sample(target)
    name = store.register(target)
    code = show(index_corpus(name), as_json=False)
    with keep_open():
        index = Index.open(name)
        for question in _ASKED:
            say(Text(f"\n$ {_ask_command(name, question)}", "bold"))
            for part in answer_parts(index.answer(Question(question))):
                say(part)
    _print_next(name)
    return code


def write_sample(folder: Path) -> None:
    """Write the documents of the sample corpus into a folder; what is there stays as it is.

    Raises:
        CorpusError: the folder holds something, and nothing of the sample.
    """
    if folder.exists() and not folder.is_dir():
        raise CorpusError(f"{folder} is a file; choose another place with --folder")
    contents = {path.relative_to(HARBOUR): path.read_bytes() for path in HARBOUR.rglob("*") if path.is_file()}
    there = {path for path in contents if (folder / path).exists()}
    changed = {path for path in there if not _holds(folder / path, contents[path])}
    if there == changed and folder.is_dir() and any(folder.iterdir()):
        raise CorpusError(
            f"{folder} holds something else than the sample corpus, and stays as it is; choose another place "
            "with --folder"
        )
    missing = sorted(contents.keys() - there)
    for path in missing:
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(contents[path])
    if missing:
        say(f"wrote {plural(len(missing), 'file')} of the sample corpus into {folder}")
    if changed:
        text = plural(len(changed), "file differs", "files differ")
        say(f"{text} from the sample in {folder}, and stay as they are")


def _holds(file: Path, content: bytes) -> bool:
    return file.is_file() and file.read_bytes() == content


def _ask_command(name: str, question: str) -> str:
    return f'graphrag-dagster ask {shlex.quote(name)} "{question}"'


def _print_next(name: str) -> None:
    corpus = shlex.quote(name)
    say(Text("\nWhat to do next", "bold"))
    lines = [
        "Ask more:",
        *(f"  {_ask_command(name, question)}" for question in _TO_ASK),
        "See the map, and click from an answer to the words it cites:",
        f"  graphrag-dagster explore {corpus}",
        f"  {explorer_url()}/#/{quote(name, safe='')}",
        f"Query the tables, which are in {Warehouse().file(name)}:",
        f'  graphrag-dagster sql {corpus} "{_QUERY}"',
        "Index a folder of yours:",
        "  graphrag-dagster index path/to/folder",
    ]
    for line in lines:
        say(line)

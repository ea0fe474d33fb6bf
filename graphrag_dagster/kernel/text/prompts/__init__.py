"""Prompts: one text file per task and role, with placeholders such as ``{{question}}``.

Shared prompts are here. All others are in the folder ``prompts`` of the system with the task, or in a
subfolder. A prompt is identified by its file name alone.
"""

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from graphrag_dagster.kernel.catalogue.registry import systems
from graphrag_dagster.kernel.text.prompt_templates import Prompt

_SUFFIX = ".txt"


@cache
def all_prompts() -> dict[str, Prompt]:
    """Return every prompt by name, sorted by name."""
    system_folders = [files(system.package) / "prompts" for system in systems().values() if system.tasks]
    folders = [files(__name__), *(folder for folder in system_folders if folder.is_dir())]
    texts = {file.name.removesuffix(_SUFFIX): file for folder in folders for file in _texts(folder)}
    return {
        name: Prompt(name, file.read_text(encoding="utf-8").strip()) for name, file in sorted(texts.items())
    }


def _texts(folder: Traversable) -> Iterator[Traversable]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _texts(entry)
        elif entry.name.endswith(_SUFFIX):
            yield entry


def load(name: str) -> Prompt:
    """Return the prompt of that name.

    Raises:
        KeyError: unknown name; the message lists the known ones.
    """
    prompts = all_prompts()
    if name not in prompts:
        raise KeyError(f"no prompt {name!r}; there are {', '.join(prompts)}")
    return prompts[name]

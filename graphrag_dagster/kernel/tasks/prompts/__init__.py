"""Prompts: a text file for each task and role, with placeholders such as ``{{question}}``.

Those that any task may need are here. All others are in the folder ``prompts`` of the system with the task,
or in a subfolder; a prompt is named by its file alone.
"""

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from graphrag_dagster.kernel.catalogue.registry import systems
from graphrag_dagster.kernel.models.chat.prompt_templates import Prompt

_SUFFIX = ".txt"


@cache
def all_prompts() -> dict[str, Prompt]:
    """Return every prompt by name, in the order of the names."""
    own = [files(system.package) / "prompts" for system in systems().values() if system.tasks]
    folders = [files(__name__), *(folder for folder in own if folder.is_dir())]
    found = {file.name.removesuffix(_SUFFIX): file for folder in folders for file in _texts(folder)}
    return {
        name: Prompt(name, file.read_text(encoding="utf-8").strip()) for name, file in sorted(found.items())
    }


def _texts(folder: Traversable) -> Iterator[Traversable]:
    for one in folder.iterdir():
        if one.is_dir():
            yield from _texts(one)
        elif one.name.endswith(_SUFFIX):
            yield one


def load(name: str) -> Prompt:
    """Return the prompt of that name.

    Raises:
        KeyError: there is none; lists those there are.
    """
    prompts = all_prompts()
    if name not in prompts:
        raise KeyError(f"no prompt {name!r}; there are {', '.join(prompts)}")
    return prompts[name]

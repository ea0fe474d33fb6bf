"""Prompts: a text file for each task and role, with placeholders such as ``{{question}}``.

Those that any task may need lie here, all others in the folder ``prompts`` of the system that has the task.
"""

from functools import cache
from importlib.resources import files

from graphrag_dagster.kernel.catalogue.registry import systems
from graphrag_dagster.kernel.models.chat.prompt_templates import Prompt

_SUFFIX = ".txt"


@cache
def all_prompts() -> dict[str, Prompt]:
    """Return every prompt by name, in the order of the names."""
    own = [files(system.package) / "prompts" for system in systems().values() if system.tasks]
    folders = [files(__name__), *(folder for folder in own if folder.is_dir())]
    found = {
        file.name.removesuffix(_SUFFIX): file
        for folder in folders
        for file in folder.iterdir()
        if file.name.endswith(_SUFFIX)
    }
    return {
        name: Prompt(name, file.read_text(encoding="utf-8").strip()) for name, file in sorted(found.items())
    }


def load(name: str) -> Prompt:
    """Return the prompt of that name.

    Raises:
        KeyError: there is none; lists those there are.
    """
    prompts = all_prompts()
    if name not in prompts:
        raise KeyError(f"no prompt {name!r}; there are {', '.join(prompts)}")
    return prompts[name]

"""The prompts: one text file per task and role, with placeholders such as ``{{question}}``."""

from functools import cache
from importlib.resources import files

from graphrag_dagster.core.language.chat.prompt import Prompt

_SUFFIX = ".txt"


@cache
def all_prompts() -> dict[str, Prompt]:
    """Return every prompt by name, in the order of the names."""
    found = sorted((file.name, file) for file in files(__name__).iterdir() if file.name.endswith(_SUFFIX))
    names = [(name.removesuffix(_SUFFIX), file) for name, file in found]
    return {name: Prompt(name, file.read_text(encoding="utf-8").strip()) for name, file in names}


def load(name: str) -> Prompt:
    """Return the prompt of that name.

    Raises:
        KeyError: there is none; lists those there are.
    """
    prompts = all_prompts()
    if name not in prompts:
        raise KeyError(f"no prompt {name!r}; there are {', '.join(prompts)}")
    return prompts[name]

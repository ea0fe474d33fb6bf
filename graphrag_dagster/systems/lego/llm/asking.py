"""How a model is asked to select."""

from bisect import bisect_right
from collections.abc import Callable, Sequence

from graphrag_dagster.kernel.graph.verbalised import Verbalised
from graphrag_dagster.kernel.models.chat.port import Message
from graphrag_dagster.kernel.models.chat.prompt import PromptSource, enclose, escape
from graphrag_dagster.kernel.text.tokens import Tokenizer
from graphrag_dagster.systems.lego.tasks import Level

_PROMPTS: dict[Level, str] = {
    "subgraph": "subgraph",
    "path": "path",
    "refinement": "path",
    "node": "node",
    "relation": "relation",
    "triple": "triple",
}


class SelectionPrompts:
    """The conversations that ask for a selection.

    Args:
        prompts: ``paths_select_<level>_system`` of each level, and ``paths_select_user``.
    """

    def __init__(self, prompts: PromptSource) -> None:
        self.systems = {
            level: prompts.load(f"paths_select_{name}_system").render() for level, name in _PROMPTS.items()
        }
        self._user = prompts.load("paths_select_user")

    def messages(self, level: Level, question: str, shown: Sequence[str]) -> tuple[Message, ...]:
        """Return the conversation about candidates as :func:`shown_lines` has them."""
        return (Message("system", self.systems[level]), Message("user", self.user(question, shown)))

    def user(self, question: str, shown: Sequence[str]) -> str:
        """Return what is said last."""
        return self._user.render(
            candidates=enclose("material", "\n".join(numbered(shown))), question=enclose("question", question)
        )


def shown_lines(candidates: Verbalised) -> list[str]:
    """Return candidates as prompts show them: each on one line, without what would end the data."""
    return [" ".join(escape(text).split()) for text in candidates.texts]


def numbered(shown: Sequence[str]) -> list[str]:
    """Return lines with their numbers, 1…, before them."""
    return [f"{number}. {text}" for number, text in enumerate(shown, start=1)]


def fitting(count: int, written: Callable[[int], str], most: int, tokenizer: Tokenizer) -> int:
    """Return the largest number of first candidates whose prompt has at most so many tokens.

    Args:
        count: candidates there are.
        written: the prompt with so many of them.
        most: tokens.
        tokenizer: counts them.

    Returns:
        0 where not even one fits.
    """
    numbers = range(1, count + 1)
    if count and tokenizer.count(written(count)) <= most:
        return count
    return bisect_right(numbers, most, key=lambda one: tokenizer.count(written(one)))

"""Prompts for answers from reports or sources, in the requested form (paper, E.3, E.4)."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from graphrag_dagster.kernel.models.chat.port import Message
from graphrag_dagster.kernel.models.chat.prompt import Prompt, PromptSource, enclose, enclosed_conversation
from graphrag_dagster.kernel.questions.citations import ContextKind
from graphrag_dagster.kernel.tasks.answer_form import AnswerForm
from graphrag_dagster.kernel.tasks.ports import PartialAnswer, Turn

_REPORTS = MappingProxyType(
    {
        "row": "report",
        "Row": "Report",
        "rows": "reports",
        "Rows": "Reports",
        "whole": "the reports on a large collection of texts",
    }
)
#: What conditions without a graph say in place of reports (paper, Appendix E.4).
_SOURCES = MappingProxyType(
    {
        "row": "source",
        "Row": "Source",
        "rows": "sources",
        "Rows": "Sources",
        "whole": "the sources, which are passages of a large collection of texts",
    }
)


class AnswerPrompts:
    """Makes the messages of the calls that answer.

    Args:
        prompts: ``global_map_system`` (``…_points_system``, ``…_tagged_system``), ``global_map_user``,
            ``global_reduce_system``, ``global_reduce_user``, ``local_search_system``, ``local_search_user``,
            ``answer_response_type`` and ``answer_general_knowledge``.
        map_form: ``""``, ``_points`` or ``_tagged``: which of the map prompts.
        form: what is wished of the answer; nothing of it leaves the prompts as they are.
    """

    def __init__(self, prompts: PromptSource, map_form: str, form: AnswerForm) -> None:
        self._map_system = prompts.load(f"global_map{map_form}_system")
        self._map_user = prompts.load("global_map_user")
        self._reduce_system = prompts.load("global_reduce_system")
        self._reduce_user = prompts.load("global_reduce_user")
        self._local_system = prompts.load("local_search_system")
        self._local_user = prompts.load("local_search_user")
        further = [
            *([prompts.load("answer_response_type").render()] if form.response_type else []),
            *([prompts.load("answer_general_knowledge").render()] if form.general_knowledge else []),
        ]
        self._rules = "\n\nFurther rules:\n" + "\n".join(further) if further else ""
        self._wish = (
            f"\n\nRequested length and layout:\n{enclose('response_type', form.response_type)}"
            if form.response_type
            else ""
        )

    def map(self, question: str, rendered: str, kind: ContextKind) -> tuple[Message, Message]:
        """Ask for a partial answer from rows of one kind, as the prompt shows them."""
        words = _words(kind)
        return self._messages(
            _worded(self._map_system, words),
            _worded(
                self._map_user,
                words,
                question=enclose("question", question),
                context=enclose(words["rows"], rendered),
            ),
        )

    def reduce(self, question: str, partials: Sequence[PartialAnswer]) -> tuple[Message, Message]:
        """Ask for one answer made of partial answers, given in descending order of score."""
        listed = "\n\n".join(
            f"Partial answer {number} (helpfulness {partial.score} of 100):\n{partial.text}"
            for number, partial in enumerate(partials, start=1)
        )
        sources = bool(partials) and all(partial.kind == "source" for partial in partials)
        return self._messages(
            _worded(self._reduce_system, _SOURCES if sources else _REPORTS),
            self._reduce_user.render(
                question=enclose("question", question), partial_answers=enclose("partial_answers", listed)
            ),
        )

    def local(self, question: str, rendered: str, history: Sequence[Turn]) -> tuple[Message, Message]:
        """Ask for an answer at once from material of several kinds."""
        return self._messages(
            self._local_system.render(),
            self._local_user.render(
                material=enclose("material", rendered),
                conversation=enclosed_conversation(history),
                question=enclose("question", question),
            ),
        )

    def _messages(self, system: str, user: str) -> tuple[Message, Message]:
        return Message("system", system + self._rules), Message("user", user + self._wish)


def _words(kind: ContextKind) -> Mapping[str, str]:
    return _SOURCES if kind == "source" else _REPORTS


def _worded(prompt: Prompt, words: Mapping[str, str], **values: str) -> str:
    used = {name: word for name, word in words.items() if name in prompt.placeholders}
    return prompt.render(**used, **values)

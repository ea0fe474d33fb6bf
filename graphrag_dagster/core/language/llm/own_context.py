"""A model writes down what it knows of a question, without any documents."""

from collections.abc import Sequence

from graphrag_dagster.core.language.answer_form import KNOWLEDGE_MARK
from graphrag_dagster.core.language.chat.asker import Asker
from graphrag_dagster.core.language.chat.asking import UnusableReply, ask
from graphrag_dagster.core.language.chat.loop import run_one
from graphrag_dagster.core.language.chat.port import ChatModel
from graphrag_dagster.core.language.chat.prompt import PromptSource, enclose, enclosed_conversation
from graphrag_dagster.core.language.chat.replies import NotUsable, is_placeholder
from graphrag_dagster.core.language.own_context import WrittenContext
from graphrag_dagster.core.language.tasks import Turn
from graphrag_dagster.core.text.citations import rewrite_citations

#: What a model replies that knows nothing of the matter, as all of its reply.
_NOTHING = "NOTHING"


class LlmContextWriter(Asker):
    """Asks a model for a context of its own knowledge.

    Args:
        model: answers.
        prompts: ``own_context_system``, ``own_context_user`` and ``retry``.
        max_tokens: longest reply.
    """

    def __init__(self, model: ChatModel, prompts: PromptSource, *, max_tokens: int = 2000) -> None:
        super().__init__(model, prompts, max_tokens)
        self._system = prompts.load("own_context_system").render()
        self._user = prompts.load("own_context_user")

    def write(self, question: str, history: Sequence[Turn] = ()) -> WrittenContext:
        """Return a context; see the port.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        user = self._user.render(
            conversation=enclosed_conversation(history), question=enclose("question", question)
        )
        request = self._asking("own_context", self._system, user, None)
        try:
            asked = run_one(ask(self._model, request, _known, self._retry))
        except UnusableReply as lost:
            return WrittenContext("", lost.reason, lost.usage)
        return WrittenContext(asked.value, usage=asked.usage)


def _known(text: str) -> tuple[str, bool]:
    """What is known, without marks of sources that there are not; blank for nothing."""
    said = rewrite_citations(text.replace(KNOWLEDGE_MARK, ""), {}).strip()
    if said.strip(" .*`\"'") == _NOTHING:
        return "", False
    if is_placeholder(said) or not any(map(str.isalnum, said)):
        raise NotUsable("the reply holds no words")
    return said, False

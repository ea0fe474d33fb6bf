"""Answering from paths by a model."""

from collections.abc import Sequence

from graphrag_dagster.core.language.chat.asker import Asker
from graphrag_dagster.core.language.chat.asking import UnusableReply, ask
from graphrag_dagster.core.language.chat.loop import run_one
from graphrag_dagster.core.language.chat.port import ChatModel, Listener
from graphrag_dagster.core.language.chat.prompt import PromptSource, enclose
from graphrag_dagster.core.language.llm.paths.asking import shown_lines
from graphrag_dagster.core.language.llm.paths.fitting import fitting
from graphrag_dagster.core.language.path_selection import UNKNOWN, GraphAnswer
from graphrag_dagster.core.ranks import Scores
from graphrag_dagster.core.text.tokens import get_tokenizer
from graphrag_dagster.core.text.verbalised import Verbalised

_NOTHING = "none"


class LlmPathAnswerer(Asker):
    """Asks a model to answer from paths, as many of the first as leave half of what it reads free.

    Args:
        model: answers.
        prompts: ``paths_answer_system``, ``paths_answer_user`` and ``retry``.
        context_tokens: that the model reads.
        max_tokens: longest reply.
        encoding: what tokens are counted by.
        listen: hears the answer as it comes.
    """

    def __init__(
        self,
        model: ChatModel,
        prompts: PromptSource,
        *,
        context_tokens: int = 32_000,
        max_tokens: int = 1000,
        encoding: str = "cl100k_base",
        listen: Listener | None = None,
    ) -> None:
        super().__init__(model, prompts, max_tokens)
        self._system = prompts.load("paths_answer_system").render()
        self._user = prompts.load("paths_answer_user")
        self._tokenizer = get_tokenizer(encoding)
        self._room = context_tokens // 2 - self._tokenizer.count(self._system)
        self._listen = listen

    def answer(
        self, question: str, paths: Verbalised, scores: Scores, reports: Sequence[str] = ()
    ) -> GraphAnswer:
        """Return the model's answer; see the port. ``unknown`` with a problem where no usable reply came.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        del scores
        lines = shown_lines(paths)
        told = "\n\n".join(reports) or _NOTHING

        def written(first: int) -> str:
            return self._user.render(
                paths=enclose("material", "\n".join(lines[:first]) or _NOTHING),
                reports=enclose("reports", told),
                question=enclose("question", question),
            )

        count = fitting(len(lines), written, self._room, self._tokenizer)
        request = self._asking("paths_answer", self._system, written(count), None)
        try:
            asked = run_one(
                ask(
                    self._model,
                    request,
                    lambda text: (text.strip(), False),
                    self._retry,
                    listen=self._listen,
                )
            )
        except UnusableReply as lost:
            return GraphAnswer(UNKNOWN, self.engine, problem=lost.reason, usage=lost.usage)
        return GraphAnswer(asked.value, self.engine, usage=asked.usage)

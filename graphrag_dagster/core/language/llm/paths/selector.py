"""Selecting among nodes, relations, triples and paths by a model."""

import numpy as np

from graphrag_dagster.core.language.chat.asker import Asker
from graphrag_dagster.core.language.chat.asking import UnusableReply, ask
from graphrag_dagster.core.language.chat.data import enclose
from graphrag_dagster.core.language.chat.loop import run_one
from graphrag_dagster.core.language.chat.port import ChatModel, ChatRequest, Message
from graphrag_dagster.core.language.chat.prompt import PromptSource
from graphrag_dagster.core.language.chat.yes_no import yes_or_no
from graphrag_dagster.core.language.llm.paths.asking import SelectionPrompts, shown_lines
from graphrag_dagster.core.language.llm.paths.fitting import fitting
from graphrag_dagster.core.language.llm.paths.parsing import says_none, selected
from graphrag_dagster.core.language.path_selection import Level, Selection, Sufficiency
from graphrag_dagster.core.paths.options import Parsing
from graphrag_dagster.core.text.tokens import get_tokenizer
from graphrag_dagster.core.text.verbalised import Places, Verbalised


class LlmPathSelector(Asker):
    """Asks a model for the candidates that help to answer, once for each selection.

    As many candidates are shown as leave half of what the model reads free; where not one does, it is not
    asked.

    Args:
        model: answers.
        prompts: ``paths_select_<level>_system`` of each level, ``paths_select_user``,
            ``paths_enough_system``, ``paths_enough_user`` and ``retry``.
        parsing: how replies are read.
        context_tokens: that the model reads.
        max_tokens: longest reply.
        forced: first tokens of YES and NO; empty where the endpoint cannot force them.
        encoding: what tokens are counted by.
    """

    def __init__(
        self,
        model: ChatModel,
        prompts: PromptSource,
        *,
        parsing: Parsing = "default",
        context_tokens: int = 32_000,
        max_tokens: int = 1000,
        forced: tuple[int, ...] = (),
        encoding: str = "cl100k_base",
    ) -> None:
        super().__init__(model, prompts, max_tokens)
        self._prompts = SelectionPrompts(prompts)
        self._enough = (prompts.load("paths_enough_system").render(), prompts.load("paths_enough_user"))
        self._parsing: Parsing = parsing
        self._room = context_tokens // 2
        self._forced = forced
        self._tokenizer = get_tokenizer(encoding)

    def select(self, level: Level, question: str, candidates: Verbalised, most: int) -> Selection:
        """Return what the model names; see the port.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        if not len(candidates):
            return Selection(_NONE, 0)
        shown = shown_lines(candidates)
        room = self._room - self._tokenizer.count(self._prompts.systems[level])
        count = fitting(
            len(shown), lambda first: self._prompts.user(question, shown[:first]), room, self._tokenizer
        )
        if not count:
            return Selection(_NONE, 0, problem="no candidate fits into half of what the model reads")
        messages = self._prompts.messages(level, question, shown[:count])
        request = ChatRequest("paths_select", messages, self._max_tokens)
        try:
            asked = run_one(ask(self._model, request, lambda text: (text, False), self._retry))
        except UnusableReply as lost:
            return Selection(_NONE, count, problem=lost.reason, usage=lost.usage)
        named = selected(asked.value, shown[:count], self._parsing)
        problem = _problem(asked.value, len(named), count, most)
        return Selection(np.array(named, dtype=np.int64), count, problem=problem, usage=asked.usage)

    def enough(self, question: str, paths: Verbalised) -> Sufficiency:
        """Return whether the model says that the paths are enough; see the port.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        if not len(paths):
            return Sufficiency(enough=False)
        system, user = self._enough
        told = user.render(
            paths=enclose("material", "\n".join(shown_lines(paths))), question=enclose("question", question)
        )
        messages = (Message("system", system), Message("user", told))
        try:
            yes, usage = run_one(yes_or_no(self._model, "paths_enough", messages, self._retry, self._forced))
        except UnusableReply as lost:
            return Sufficiency(enough=False, problem=lost.reason, usage=lost.usage)
        return Sufficiency(yes, usage=usage)


def _problem(reply: str, named: int, shown: int, most: int) -> str | None:
    if not named:
        return None if says_none(reply) else "the reply names none of the candidates"
    return "the reply repeats the whole list" if named == shown > most else None


_NONE: Places = np.zeros(0, dtype=np.int64)

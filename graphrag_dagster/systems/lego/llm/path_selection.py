"""Selection among nodes, relations, triples and paths, and answers from them, by a model."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from graphrag_dagster.kernel.common.stable_values import Scores
from graphrag_dagster.kernel.graph.graph_labels import Places, VerbalizedRows
from graphrag_dagster.kernel.models.chat.chat_model import ChatModel, ChatRequest, Listener, Message
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_one
from graphrag_dagster.kernel.models.chat.structured_output import Asker, UnusableReply, ask
from graphrag_dagster.kernel.models.chat.yes_no import yes_or_no
from graphrag_dagster.kernel.text import prompts
from graphrag_dagster.kernel.text.prompt_templates import enclose, escape
from graphrag_dagster.kernel.text.tokenization import Tokenizer, get_tokenizer
from graphrag_dagster.systems.lego.search.instance_definitions import AnswerForm, Parsing
from graphrag_dagster.systems.lego.tasks import UNKNOWN, Level, PathAnswer, Selection, Sufficiency

_PROMPTS: dict[Level, str] = {
    "subgraph": "paths_select_subgraph_system",
    "path": "paths_select_path_system",
    "refinement": "paths_refine_system",
    "node": "paths_select_node_system",
    "relation": "paths_select_relation_system",
    "triple": "paths_select_triple_system",
}
#: The prompt of each form of answers.
_ANSWERS: dict[AnswerForm, str] = {"names": "paths_answer_system", "sentences": "paths_reason_system"}


class SelectionPrompts:
    """The conversations that ask for a selection."""

    def __init__(self) -> None:
        self.systems = {level: prompts.load(name).render() for level, name in _PROMPTS.items()}
        self._user = prompts.load("paths_select_user")

    def messages(self, level: Level, question: str, shown: Sequence[str]) -> tuple[Message, ...]:
        """Return the conversation about candidates as :func:`candidate_lines` has them."""
        return (Message("system", self.systems[level]), Message("user", self.user(question, shown)))

    def user(self, question: str, shown: Sequence[str]) -> str:
        """Return what is said last."""
        return self._user.render(
            candidates=enclose("material", "\n".join(numbered_lines(shown))),
            question=enclose("question", question),
        )


def candidate_lines(candidates: VerbalizedRows) -> list[str]:
    """Return candidates as prompts show them: each on one line, without what would end the data."""
    return [" ".join(escape(text).split()) for text in candidates.texts]


def numbered_lines(shown: Sequence[str]) -> list[str]:
    """Return lines with their numbers, 1…, before them."""
    return [f"{number}. {text}" for number, text in enumerate(shown, start=1)]


def count_that_fit(count: int, written: Callable[[int], str], most: int, tokenizer: Tokenizer) -> int:
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


#: What a model writes where it selects nothing.
NONE = "none"
_BULLET = re.compile(r"\A(?:[-*•–—+]|\(?#?\d{1,6}[.):\]])\s+")
_QUOTES = (("'", "'"), ('"', '"'), ("`", "`"), ("“", "”"), ("‘", "’"), ("«", "»"), ("**", "**"))
_IDS = re.compile(r"[\[(#]*\d{1,6}[\])]*(?:(?:\s*[,;]\s*|\s+and\s+|\s+)[\[(#]*\d{1,6}[\])]*)*[.]?")
_NUMBER = re.compile(r"\d{1,6}")


def parse_selection(reply: str, shown: Sequence[str], parsing: Parsing) -> list[int]:
    """Return the places of the candidates that a reply names, without repeats.

    ``default``: line by line, in the order of the reply. A line names a candidate where the two are the same
    but for bullets, numbers and quotes around it, capitals and blanks; one of numbers alone names those
    candidates. ``paper``: each that stands anywhere in the reply, in the order in which they stand there.

    Args:
        reply: as it came, without hidden reasoning.
        shown: candidates as the prompt shows them, without their numbers, which count from 1.
        parsing: by which rule.
    """
    if parsing == "paper":
        stands = {place: start for place, text in enumerate(shown) if (start := reply.find(text)) >= 0}
        return sorted(stands, key=lambda place: stands[place])
    exact, folded = _first_places(shown), _first_places([_fold(text) for text in shown])
    found: dict[int, None] = {}
    for line in reply.splitlines():
        found.update(dict.fromkeys(_candidates_named(" ".join(line.split()), exact, folded, len(shown))))
    return list(found)


def is_empty_selection(reply: str) -> bool:
    """Return whether a reply says that nothing is selected."""
    return reply.strip().strip("\"'`*.").casefold() == NONE


def _candidates_named(line: str, exact: dict[str, int], folded: dict[str, int], count: int) -> list[int]:
    """The candidates that a line names."""
    for form in _line_forms(line):
        if form in exact:
            return [exact[form]]
        if (place := folded.get(_fold(form))) is not None:
            return [place]
    if _IDS.fullmatch(line):
        return [number - 1 for number in map(int, _NUMBER.findall(line)) if 1 <= number <= count]
    return []


def _line_forms(line: str) -> Iterator[str]:
    """A line as it is, and with less and less around it: a label may begin with a number itself."""
    yield line
    while (bare := _strip_one(line)) != line:
        line = bare
        yield line


def _strip_one(line: str) -> str:
    """A line without one thing around it; the line where there is nothing."""
    if _BULLET.match(line):
        return _BULLET.sub("", line, count=1)
    for opening, closing in _QUOTES:
        if line.startswith(opening) and line.endswith(closing) and len(line) > len(opening) + len(closing):
            return line[len(opening) : -len(closing)].strip()
    return line


def _first_places(texts: Sequence[str]) -> dict[str, int]:
    return {text: place for place, text in reversed(list(enumerate(texts)))}


def _fold(text: str) -> str:
    return " ".join(text.casefold().split())


class LlmPathSelector(Asker):
    """Asks a model for the candidates that help to answer, once for each selection.

    Each of its methods raises EndpointError where the endpoint cannot be used at all.

    As many candidates are shown as leave half of what the model reads free; where not one does, it is not
    asked.

    Args:
        model: answers.
        parsing: how replies are read.
        context_tokens: that the model reads.
        max_tokens: longest reply.
        forced: first tokens of YES and NO; empty where the endpoint cannot force them.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        parsing: Parsing = "default",
        context_tokens: int = 32_000,
        max_tokens: int = 1000,
        forced: tuple[int, ...] = (),
    ) -> None:
        super().__init__(model, max_tokens)
        self._prompts = SelectionPrompts()
        self._enough = (prompts.load("paths_enough_system").render(), prompts.load("paths_enough_user"))
        self._parsing: Parsing = parsing
        self._room = context_tokens // 2
        self._forced = forced
        self._tokenizer = get_tokenizer("cl100k_base")

    def select(self, level: Level, question: str, candidates: VerbalizedRows, most: int) -> Selection:
        """Return what the model names; see the port."""
        if not len(candidates):
            return Selection(_NONE, 0)
        shown = candidate_lines(candidates)
        room = self._room - self._tokenizer.count(self._prompts.systems[level])
        count = count_that_fit(
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
        named = parse_selection(asked.value, shown[:count], self._parsing)
        problem = _problem(asked.value, len(named), count, most)
        return Selection(np.array(named, dtype=np.int64), count, problem=problem, usage=asked.usage)

    def enough(self, question: str, paths: VerbalizedRows) -> Sufficiency:
        """Return whether the model says that the paths are enough; see the port."""
        if not len(paths):
            return Sufficiency(enough=False)
        system, user = self._enough
        told = user.render(
            paths=enclose("material", "\n".join(candidate_lines(paths))),
            question=enclose("question", question),
        )
        messages = (Message("system", system), Message("user", told))
        try:
            said = run_one(yes_or_no(self._model, "paths_enough", messages, self._retry, self._forced))
        except UnusableReply as lost:
            return Sufficiency(enough=False, problem=lost.reason, usage=lost.usage)
        return Sufficiency(said.value, usage=said.usage)


def _problem(reply: str, named: int, shown: int, most: int) -> str | None:
    if not named:
        return None if is_empty_selection(reply) else "the reply names none of the candidates"
    return "the reply repeats the whole list" if named == shown > most else None


_NONE: Places = np.zeros(0, dtype=np.int64)


_NOTHING = "none"


class LlmPathAnswerer(Asker):
    """Asks a model to answer from paths, as many of the first as leave half of what it reads free.

    Args:
        model: answers.
        form: names alone, one a line; or sentences, as a reasoner writes them.
        context_tokens: that the model reads.
        max_tokens: longest reply.
        listen: hears the answer as it comes.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        form: AnswerForm = "names",
        context_tokens: int = 32_000,
        max_tokens: int = 1000,
        listen: Listener | None = None,
    ) -> None:
        super().__init__(model, max_tokens)
        self._system = prompts.load(_ANSWERS[form]).render()
        self._user = prompts.load("paths_answer_user")
        self._tokenizer = get_tokenizer("cl100k_base")
        self._room = context_tokens // 2 - self._tokenizer.count(self._system)
        self._listen = listen

    def answer(
        self, question: str, paths: VerbalizedRows, scores: Scores, reports: Sequence[str] = ()
    ) -> PathAnswer:
        """Return the model's answer; see the port. ``unknown`` with a problem where no usable reply came.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        del scores
        lines = candidate_lines(paths)
        told = "\n\n".join(reports) or _NOTHING

        def written(first: int) -> str:
            return self._user.render(
                paths=enclose("material", "\n".join(lines[:first]) or _NOTHING),
                reports=enclose("reports", told),
                question=enclose("question", question),
            )

        count = count_that_fit(len(lines), written, self._room, self._tokenizer)
        request = self._task_request("paths_answer", self._system, written(count), None)
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
            return PathAnswer(UNKNOWN, self.engine, problem=lost.reason, usage=lost.usage)
        return PathAnswer(asked.value, self.engine, usage=asked.usage)

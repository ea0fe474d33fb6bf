"""Scored partial answers, and a final answer from them, by a model (paper §3.1.6, Appendix E.3, E.4)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.models.chat.chat_model import ChatModel, ChatRequest, Listener, Message
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_one
from graphrag_dagster.kernel.models.chat.reply_parsing import (
    Incomplete,
    NotUsable,
    read_typed,
)
from graphrag_dagster.kernel.models.chat.reply_schemas import AnyNumber, Shape, or_named
from graphrag_dagster.kernel.models.chat.structured_output import Asker, UnusableReply, UsableReply, ask
from graphrag_dagster.kernel.tasks.task_ports import ContextUnit, FinalAnswer, PartialAnswer
from graphrag_dagster.kernel.text import prompts
from graphrag_dagster.kernel.text.answer_form import AnswerForm
from graphrag_dagster.kernel.text.citations import (
    ContextKind,
    canonical_citations,
    ends_in_citation,
    parse_citations,
    rewrite_citations,
)
from graphrag_dagster.kernel.text.prompt_templates import (
    Prompt,
    Turn,
    enclose,
    enclosed_conversation,
)
from graphrag_dagster.systems.graphrag.llm.gleaning import Replies


def _words_for(row: str, whole: str) -> Mapping[str, str]:
    """What the prompts call the rows that they show."""
    title = row.title()
    return {"row": row, "Row": title, "rows": f"{row}s", "Rows": f"{title}s", "whole": whole}


_REPORTS = _words_for("report", "the reports on a large collection of texts")
#: What conditions without a graph say in place of reports (paper, Appendix E.4).
_SOURCES = _words_for("source", "the sources, which are passages of a large collection of texts")


def _words(sources: bool) -> Mapping[str, str]:
    return _SOURCES if sources else _REPORTS


def _with_words(prompt: Prompt, words: Mapping[str, str], **values: str) -> str:
    used = {name: word for name, word in words.items() if name in prompt.placeholders}
    return prompt.render(**used, **values)


Unit = Literal["answer", "points"]

_SCORE = re.compile(r"-?\d+(?:\.\d+)?")
_MAY_BE_NOTHING = re.compile(r"\W*(?:n|no|not|noth|nothi|nothin|nothing\W*)?", re.I)
_NOTHING = re.compile(r"\W*nothing\W*", re.I)
_TAG = re.compile(
    r"<\s*ANSWER[ _]?HELPFULNESS\s*>\s*(?P<score>[^<\n]{0,40}?)\s*"
    r"(?:</\s*ANSWER[ _]?HELPFULNESS\s*>|\n|(?P<cut>\Z))",
    re.I,
)


def read_score(value: object) -> int | None:
    """Return a helpfulness clamped to 0–100 and rounded; None where there is no number."""
    number = None if isinstance(value, bool | None) else _SCORE.search(str(value))
    return round(min(max(float(number[0]), 0.0), 100.0)) if number else None


_TEXTS, _SCORES = ("answer", "description", "text", "point"), ("score", "helpfulness", "rating")


class AnswerShape(Shape):
    """A partial answer (paper, Appendix E.4)."""

    answer: str = or_named(*_TEXTS, missing=str)
    score: AnyNumber = or_named(*_SCORES, missing=type(None))


class PointShape(Shape):
    """One point of a partial answer."""

    description: str = or_named("description", *_TEXTS, missing=str)
    score: AnyNumber = or_named(*_SCORES, missing=type(None))


class PointsShape(Shape):
    """A partial answer as points."""

    points: list[PointShape]


@dataclass(frozen=True, slots=True)
class _Scored:
    """A text with its score as it came."""

    text: str
    given: Any

    @property
    def score(self) -> int | None:
        """The score, 0–100; None where what came holds no number."""
        return read_score(self.given)


class LlmAnswerer(Asker):
    """Asks a model for partial answers over chunks, then for one answer made of them.

    Args:
        replies: partial answers as JSON by schema, or the paper's tagged text.
        unit: what is scored: the whole partial answer, or each of its points; points come as one partial
            answer with their lines in descending score and the highest as its score.
        max_map_tokens: longest partial answer.
        max_reduce_tokens: longest answer.
        form: what is wished of length, layout and general knowledge.
        listen: hears the text of the answer as it comes.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        replies: Replies = "json_schema",
        unit: Unit = "answer",
        max_map_tokens: int = 2000,
        max_reduce_tokens: int = 4000,
        form: AnswerForm | None = None,
        listen: Listener | None = None,
    ) -> None:
        super().__init__(model, max_reduce_tokens)
        self._unit = unit
        self._tagged = replies == "tuples" and unit == "answer"
        self._max_map_tokens = max_map_tokens
        self._listen = listen
        map_form = "_points" if unit == "points" else "_tagged" if self._tagged else ""
        self._map_prompts = (prompts.load(f"global_map{map_form}_system"), prompts.load("global_map_user"))
        self._reduce_prompts = (prompts.load("global_reduce_system"), prompts.load("global_reduce_user"))
        self._local_prompts = (prompts.load("local_search_system"), prompts.load("local_search_user"))
        own = form or AnswerForm()
        self._knows = own.general_knowledge
        rules = [
            *([prompts.load("answer_response_type").render()] if own.response_type else []),
            *([prompts.load("answer_general_knowledge").render()] if own.general_knowledge else []),
        ]
        self._rules = "\n\nFurther rules:\n" + "\n".join(rules) if rules else ""
        self._wish = (
            f"\n\nRequested length and layout:\n{enclose('response_type', own.response_type)}"
            # Small models leave citations out of short answers unless they are reminded after the wish.
            "\n\nWhatever the length, cite the rows after each sentence, as in the rules above."
            if own.response_type
            else ""
        )

    def map(
        self, question: str, chunks: Sequence[Sequence[ContextUnit]], rendered: Sequence[str]
    ) -> list[PartialAnswer]:
        """Return one partial answer per chunk; citations of units that its chunk lacks are taken out.

        A chunk without a usable reply gets score 0 and a ``problem``, a reply without a score the score None
        and a ``problem``.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """

        async def one(task: tuple[Sequence[ContextUnit], str]) -> PartialAnswer:
            return await self._map(question, *task)

        reports = all(unit.kind == "report" for chunk in chunks for unit in chunk)
        name = "Reading reports" if reports else "Reading text units"
        return self._gather(one, list(zip(chunks, rendered, strict=True)), name)

    def reduce(self, question: str, partials: Sequence[PartialAnswer]) -> FinalAnswer:
        """Join partial answers, given in descending order of score.

        An id that no partial answer cites becomes 0, which no unit has, so that whoever checks the citations
        counts it as invented.

        Raises:
            EngineError: no usable answer came.
            EndpointError: the endpoint cannot be used at all.
        """
        listed = "\n\n".join(
            f"Partial answer {number} (helpfulness {partial.score} of 100):\n{partial.text}"
            for number, partial in enumerate(partials, start=1)
        )
        system, user = self._reduce_prompts
        words = _words(bool(partials) and all(partial.kind == "source" for partial in partials))
        answer = self._final(
            "global_reduce",
            _with_words(system, words),
            user.render(
                question=enclose("question", question), partial_answers=enclose("partial_answers", listed)
            ),
            self._listen,
        )
        known = {unit for partial in partials for unit in partial.units}
        mapping = {cited: cited.id if cited.id in known else 0 for cited in parse_citations(answer.text)}
        return replace(answer, text=rewrite_citations(answer.text, mapping))

    def answer(
        self,
        question: str,
        rows: Sequence[ContextUnit],  # noqa: ARG002 - the prompt shows them rendered.
        rendered: str,
        history: Sequence[Turn] = (),
    ) -> FinalAnswer:
        """Answer at once from one context; blank where the model says that it holds nothing of use.

        Raises:
            EngineError: no usable answer came.
            EndpointError: the endpoint cannot be used at all.
        """
        system, user = self._local_prompts
        answer = self._final(
            "local_search",
            system.render(),
            user.render(
                material=enclose("material", rendered),
                conversation=enclosed_conversation(history),
                question=enclose("question", question),
            ),
            _UnlessNothing(self._listen) if self._listen else None,
        )
        text = answer.text.strip()
        return replace(answer, text="" if _NOTHING.fullmatch(text) else text)

    def _final(self, task: str, system: str, user: str, listen: Listener | None) -> FinalAnswer:
        request = self._task_request(task, system + self._rules, user + self._wish, None)
        try:
            asked = run_one(ask(self._model, request, _read_text, self._retry, listen=listen))
        except UnusableReply as lost:
            raise EngineError(
                f"the model gave no usable answer: {lost.reason}; ask again, or choose another model"
            ) from None
        text = canonical_citations(asked.value)
        return FinalAnswer(text, self.engine, usage=asked.usage, general_knowledge=self._knows)

    async def _map(self, question: str, chunk: Sequence[ContextUnit], rendered: str) -> PartialAnswer:
        kind = chunk[0].kind if chunk else "report"
        words = _words(kind == "source")
        system, user = self._map_prompts
        shown = _with_words(
            user, words, question=enclose("question", question), context=enclose(words["rows"], rendered)
        )
        shape = PointsShape if self._unit == "points" else AnswerShape
        messages = (
            Message("system", _with_words(system, words) + self._rules),
            Message("user", shown + self._wish),
        )
        request = ChatRequest("global_map", messages, self._max_map_tokens, None if self._tagged else shape)
        try:
            asked = await ask(self._model, request, self._read, self._retry)
        except UnusableReply as lost:
            return PartialAnswer("", 0, problem=lost.reason, usage=lost.usage, kind=kind)
        return self._partial(asked, kind, [unit.id for unit in chunk])

    def _read(self, text: str) -> tuple[list[_Scored], bool]:
        if self._tagged:
            return [_read_tagged(text)], False
        if self._unit == "points":
            points, repaired = read_typed(text, PointsShape)
            return [_Scored(one.description.strip(), one.score) for one in points.points], repaired
        given, repaired = read_typed(text, AnswerShape)
        answer = _Scored(given.answer.strip(), given.score)
        if not answer.text and answer.score != 0:
            raise NotUsable("the answer is empty")
        return [answer], repaired

    def _partial(
        self, asked: UsableReply[list[_Scored]], kind: ContextKind, known: Sequence[int]
    ) -> PartialAnswer:
        odd = next((part for part in asked.value if part.score is None), None)
        problem = f"no number in the score {str(odd.given)[:40]!r}" if odd else asked.lacking
        best = max((part.score for part in asked.value if part.score), default=None if odd else 0)
        text = asked.value[0].text if asked.value else ""
        if self._unit == "points":
            useful = [part for part in asked.value if (part.score if best else part.score is None)]
            useful.sort(key=lambda part: -(part.score or 0))
            text = "\n".join(f"- {part.text}" for part in useful)
        text = canonical_citations(text).strip()
        cited = {citation.id for citation in parse_citations(text) if citation.kind == kind}
        units = tuple(sorted(cited.intersection(known)))
        return PartialAnswer(
            text,
            best,
            units,
            problem=problem,
            usage=asked.usage,
            kind=kind,
            general_knowledge=self._knows,
        )


def _read_text(text: str) -> tuple[str, bool]:
    if ends_in_citation(text):
        raise NotUsable("the reply ends inside a citation")
    return text, False


def _read_tagged(text: str) -> _Scored:
    tag = _TAG.search(text)
    rest = (text[: tag.start()] + text[tag.end() :]).strip() if tag else text
    read = _Scored(_read_text(rest)[0].strip(), tag["score"] if tag else None)
    if tag and tag["cut"] is not None:
        # Of a score that has no end some digits may be lost.
        raise Incomplete("the tag of the score has no end", [read])
    return read


class _UnlessNothing:
    """Hears an answer for somebody else, but holds back what may become the word that stands for none."""

    def __init__(self, listen: Listener) -> None:
        self._listen = listen
        self._held: str | None = ""

    def __call__(self, piece: str) -> None:
        if self._held is None:
            self._listen(piece)
            return
        self._held += piece
        if not _MAY_BE_NOTHING.fullmatch(self._held):
            self._listen(self._held)
            self._held = None

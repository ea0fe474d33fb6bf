"""Community summaries by a model."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pydantic import field_validator

from graphrag_dagster.kernel.models.chat.chat_model import ChatModel, ChatRequest
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_in_order
from graphrag_dagster.kernel.models.chat.reply_parsing import read_typed
from graphrag_dagster.kernel.models.chat.reply_schemas import Shape, or_named
from graphrag_dagster.kernel.models.chat.structured_output import Asker, UnusableReply, ask
from graphrag_dagster.kernel.text import prompts
from graphrag_dagster.kernel.text.prompt_templates import enclose, one_line
from graphrag_dagster.kernel.text.tokenization import Tokenizer, get_tokenizer
from graphrag_dagster.systems.coterag.tasks import CommunitySummariser, CommunitySummary, SummaryRequest
from graphrag_dagster.systems.graphrag.api import WorkedExample


class SummaryShape(Shape):
    """A summary as the endpoint is asked for it."""

    title: str = or_named("title", "name")
    focus: str = or_named("focus", "main_focus", "main_research_focus", "summary")
    entities: str = or_named("entities", "key_entities", "key_entities_and_their_roles")
    relations: str = or_named("relations", "relationships", "relationships_and_structure", "structure")

    @field_validator("*")
    @classmethod
    def _require_text(cls, text: str) -> str:
        if not text.strip():
            raise ValueError("is empty")
        return text.strip()


class LlmCommunitySummariser(Asker):
    """Asks a model for the summary of each community; tiny ones are listed by the fallback, without a call.

    Args:
        fallback: summarises where no reply could be used; ``problem`` then says why.
        context_tokens: of the community as the prompt shows it; triples fill what the rest leaves.
        exact_names: best linked members that the summary has to name; those it lacks are added behind it.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        fallback: CommunitySummariser,
        context_tokens: int = 32_000,
        exact_names: int = 20,
        max_output_tokens: int = 1500,
    ) -> None:
        super().__init__(model, max_output_tokens)
        self._system = prompts.load("coterag_summary_system").render()
        self._user = prompts.load("coterag_summary_user")
        self._example = WorkedExample.of(self._system)
        self._fallback = fallback
        self._budget = context_tokens
        self._exact_names = exact_names

    def summarise(self, requests: Sequence[SummaryRequest]) -> Iterator[CommunitySummary]:
        """Yield one summary per request, in their order.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        asked = [one for one in requests if not one.tiny]
        written = run_in_order(self._summary, asked, calls=self._model.concurrency)
        for request in requests:
            made = None if request.tiny else next(written)
            if isinstance(made, CommunitySummary):
                yield made
                continue
            (replaced,) = self._fallback.summarise([request])
            if made is None:
                yield replaced
            else:
                yield replace(replaced, problem=made.reason, usage=replaced.usage + made.usage)

    def request(self, community: SummaryRequest) -> ChatRequest:
        """Return the request about a community."""
        user = self._user.render(
            community=enclose("community", self._render_community(community)),
            names=enclose("entity_names", "\n".join(map(one_line, community.exact_names(self._exact_names)))),
        )
        return self._task_request("coterag_summary", self._system, user, SummaryShape)

    async def _summary(self, community: SummaryRequest) -> CommunitySummary | UnusableReply:
        request = self.request(community)
        shown = request.messages[-1].content

        def read(text: str) -> tuple[SummaryShape, bool]:
            found, repaired = read_typed(text, SummaryShape)
            self._example.refuse_copies((found.focus, found.entities, found.relations), shown)
            return found, repaired

        try:
            asked = await ask(self._model, request, read, self._retry)
        except UnusableReply as lost:
            return lost
        said = asked.value
        text = "\n\n".join((said.focus, said.entities, said.relations))
        names = map(one_line, community.exact_names(self._exact_names))
        if missing := [one for one in names if one.casefold() not in text.casefold()]:
            text += f"\n\nAlso: {', '.join(missing)}."
        return CommunitySummary(said.title, text, self.engine, usage=asked.usage)

    def _render_community(self, community: SummaryRequest) -> str:
        """The community as lines: entities, frequent terms, then triples until the budget is used up."""
        tokenizer = get_tokenizer("cl100k_base")
        entities = [
            f"{one_line(one.title)} ({one_line(one.type)}, {one.degree} links)" for one in community.entities
        ]
        lines = ["Entities:"]
        left = _filled(lines, entities, self._budget // 2, tokenizer) + self._budget - self._budget // 2
        lines += [f"Frequent terms: {', '.join(community.terms)}", "Triples:"]
        _filled(lines, [one_line(one.text) for one in community.triples], left, tokenizer)
        return "\n".join(lines)


def _filled(lines: list[str], more: Sequence[str], budget: int, tokenizer: Tokenizer) -> int:
    """Add lines up to a budget of tokens; return what is left of it."""
    for line, tokens in zip(more, tokenizer.counts(more), strict=True):
        if tokens + 1 > budget:
            break
        budget -= tokens + 1
        lines.append(line)
    return budget

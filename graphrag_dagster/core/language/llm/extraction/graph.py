"""Entities and relationships by a model (paper §3.1.2, Appendix E.1; spec_graphrag §3)."""

from collections.abc import Sequence
from typing import Literal

from graphrag_dagster.core.language.chat.data import enclose
from graphrag_dagster.core.language.chat.loop import run_largest_first
from graphrag_dagster.core.language.chat.port import ChatModel, ChatRequest, Message
from graphrag_dagster.core.language.chat.prompt import PromptSource
from graphrag_dagster.core.language.chat.schemas import GraphShape
from graphrag_dagster.core.language.chat.yes_no import YesNo, encoding_of_model, first_tokens
from graphrag_dagster.core.language.exemplars import GraphExample
from graphrag_dagster.core.language.llm.extraction.copies import Copies
from graphrag_dagster.core.language.llm.extraction.exemplars import with_graph_examples
from graphrag_dagster.core.language.llm.extraction.gleaning import Gleaner, Order
from graphrag_dagster.core.language.llm.extraction.raw_records import (
    RawReply,
    join_json_replies,
    join_tuple_replies,
    read_json_records,
    read_tuple_records,
)
from graphrag_dagster.core.language.llm.extraction.records import RecordType
from graphrag_dagster.core.language.llm.extraction.unit_results import unit_extraction
from graphrag_dagster.core.language.tasks import Engine, TextUnit, UnitExtraction

Replies = Literal["json_schema", "tuples"]

_KINDS: tuple[RecordType, ...] = ("entity", "relationship")
_NOTHING = "the model found no entities and no relationships"


class LlmGraphExtractor:
    """Asks a model for the entities and relationships of each text unit, and for what it missed.

    Args:
        model: answers.
        prompts: ``extract_graph[_tuples]_system``, ``extract_graph_user``, ``glean_continue``,
            ``glean_check`` and ``retry``.
        entity_types: types asked for.
        examples: of the corpus, shown in place of the prompt's own.
        gleaning_rounds: most continuations per unit.
        gleaning_order: see :mod:`.gleaning`.
        replies: JSON by schema, or the paper's delimited tuples.
        logit_bias: the endpoint can force tokens.
        max_output_tokens: longest reply.
        tokenizer_name: encoding of the model, None to tell it by the model's name; no token of an
            unknown encoding is forced.
    """

    engine: Engine = "llm"

    def __init__(
        self,
        model: ChatModel,
        prompts: PromptSource,
        *,
        entity_types: Sequence[str],
        examples: Sequence[GraphExample] = (),
        gleaning_rounds: int = 1,
        gleaning_order: Order = "check_first",
        replies: Replies = "json_schema",
        logit_bias: bool = True,
        max_output_tokens: int = 4000,
        tokenizer_name: str | None = None,
    ) -> None:
        kind = "" if replies == "json_schema" else "_tuples"
        own = prompts.load(f"extract_graph{kind}_system").render()
        self._model = model
        self._system = with_graph_examples(own, examples, entity_types, tuples=bool(kind))
        self._user = prompts.load("extract_graph_user")
        self._types = ", ".join(entity_types)
        self._schema = GraphShape if replies == "json_schema" else None
        self._max_tokens = max_output_tokens
        self._gleaner = Gleaner(
            model,
            read_graph_json if replies == "json_schema" else read_graph_tuples,
            join_json_replies if replies == "json_schema" else join_tuple_replies,
            Copies.of(self._system, (name for one in examples for name in one.names)),
            prompts.load("retry"),
            prompts.load("glean_continue"),
            YesNo(
                model,
                "glean_check",
                prompts.load("glean_check"),
                prompts.load("retry"),
                first_tokens(tokenizer_name or encoding_of_model(model.name)) if logit_bias else (),
            ),
            gleaning_rounds,
            gleaning_order,
        )

    def extract(self, units: Sequence[TextUnit]) -> list[UnitExtraction]:
        """Return one extraction per unit, in the order of ``units``.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        return run_largest_first(
            self._extract,
            units,
            size=lambda unit: len(unit.text),
            name="Extracting entities and relationships",
            calls=self._model.concurrency,
        )

    def first_request(self, text: str) -> ChatRequest:
        """Return the request that opens the conversation about a text."""
        user = self._user.render(
            entity_types=enclose("entity_types", self._types), source_text=enclose("source_text", text)
        )
        messages = (Message("system", self._system), Message("user", user))
        return ChatRequest("extract_graph", messages, self._max_tokens, self._schema)

    async def _extract(self, unit: TextUnit) -> UnitExtraction:
        talk = await self._gleaner.run(unit.text, self.first_request)
        return unit_extraction(unit, talk, _NOTHING)


def read_graph_json(text: str, gleaning: bool) -> tuple[RawReply, bool]:
    """Read a JSON reply; a gleaning that found nothing may say so in an empty object."""
    if gleaning and text.strip() in {"{}", "[]"}:
        return RawReply(), False
    return read_json_records(text, _KINDS)


def read_graph_tuples(text: str, gleaning: bool) -> tuple[RawReply, bool]:
    """Read a reply in delimited tuples."""
    return read_tuple_records(text, _KINDS, gleaning=gleaning)

"""Entities and relationships by a model (paper §3.1.2, Appendix E.1; spec_graphrag §3)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Unpack

from graphrag_dagster.kernel.models.accounting.reply_sizes import reply_tokens
from graphrag_dagster.kernel.models.chat.loop import run_largest_first
from graphrag_dagster.kernel.models.chat.port import ChatModel, ChatRequest
from graphrag_dagster.kernel.models.chat.prompt import PromptSource, enclose
from graphrag_dagster.kernel.models.chat.schemas import GraphShape, LabelledGraphShape
from graphrag_dagster.kernel.tasks.exemplars import GraphExample
from graphrag_dagster.kernel.tasks.ports import TextUnit, UnitExtraction
from graphrag_dagster.systems.graphrag.llm.extraction.exemplars import with_graph_examples
from graphrag_dagster.systems.graphrag.llm.extraction.gleaning_extractor import (
    GleaningExtractor,
    Options,
    Wanted,
)

_WANTED = Wanted(
    ("entity", "relationship"),
    GraphShape,
    "extract_graph",
    "glean_continue",
    "glean_check",
    "the model found no entities and no relationships",
    expected=lambda text, tuples: reply_tokens([text], json=not tuples)[0],
)
_LABELLED = replace(_WANTED, shape=LabelledGraphShape, labelled=True)


class LlmGraphExtractor(GleaningExtractor):
    """Asks a model for the entities and relationships of each text unit, and for what it missed.

    Args:
        model: answers.
        prompts: ``extract_graph[_labelled][_tuples]_system``, ``extract_graph_user``, ``glean_continue``,
            ``glean_check`` and ``retry``.
        entity_types: types asked for.
        examples: of the corpus, shown in place of the prompt's own.
        relation_labels: whether relationships are asked for with labels; by default all are ``related_to``.
        options: how it is asked.
    """

    def __init__(
        self,
        model: ChatModel,
        prompts: PromptSource,
        *,
        entity_types: Sequence[str],
        examples: Sequence[GraphExample] = (),
        relation_labels: bool = False,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(
            model,
            prompts,
            _LABELLED if relation_labels else _WANTED,
            lambda own, tuples: with_graph_examples(
                own.render(), examples, entity_types, tuples=tuples, labelled=relation_labels
            ),
            (name for one in examples for name in one.names),
            **options,
        )
        self._types = ", ".join(entity_types)

    def extract(self, units: Sequence[TextUnit]) -> list[UnitExtraction]:
        """Return one extraction per unit, in the order of ``units``.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        return run_largest_first(
            self._extract,
            units,
            size=lambda unit: self._expected_tokens(unit.text),
            name="Extracting entities and relationships",
            calls=self._model.concurrency,
        )

    def first_request(self, text: str) -> ChatRequest:
        """Return the request that opens the conversation about a text."""
        return self._request(
            text, entity_types=enclose("entity_types", self._types), source_text=enclose("source_text", text)
        )

    async def _extract(self, unit: TextUnit) -> UnitExtraction:
        return await self._of_unit(unit, self.first_request)

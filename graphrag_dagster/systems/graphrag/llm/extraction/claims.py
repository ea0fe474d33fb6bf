"""Extracts claims with a model (paper §3.1.2; spec_graphrag §3); the claims of all rounds count."""

from collections.abc import Sequence
from functools import partial
from typing import Unpack

from graphrag_dagster.kernel.models.chat.loop import run_largest_first
from graphrag_dagster.kernel.models.chat.port import ChatModel, ChatRequest
from graphrag_dagster.kernel.models.chat.prompt import PromptSource, enclose
from graphrag_dagster.kernel.models.chat.schemas import ClaimsShape
from graphrag_dagster.kernel.tasks.exemplars import ClaimExample
from graphrag_dagster.kernel.tasks.ports import TextUnit, UnitExtraction
from graphrag_dagster.systems.graphrag.llm.extraction.exemplars import with_claim_examples
from graphrag_dagster.systems.graphrag.llm.extraction.gleaning_extractor import (
    GleaningExtractor,
    Options,
    Wanted,
)

_WANTED = Wanted(
    ("claim",),
    ClaimsShape,
    "extract_claims",
    "claims_continue",
    "claims_check",
    "the model found no claims",
)


class LlmClaimExtractor(GleaningExtractor):
    """Asks a model for claims about the entities of each text unit, and for those it missed.

    Args:
        model: answers.
        prompts: ``extract_claims[_tuples]_system``, ``extract_claims_user``, ``claims_continue``,
            ``claims_check`` and ``retry``.
        claim_description: which claims are asked for.
        examples: of the corpus, shown in place of the prompt's own.
        options: how it is asked.
    """

    def __init__(
        self,
        model: ChatModel,
        prompts: PromptSource,
        *,
        claim_description: str,
        examples: Sequence[ClaimExample] = (),
        **options: Unpack[Options],
    ) -> None:
        super().__init__(
            model,
            prompts,
            _WANTED,
            lambda own, tuples: with_claim_examples(
                own.render(description=claim_description), examples, tuples=tuples
            ),
            (name for one in examples for name in one.names),
            **options,
        )

    def extract_claims(
        self, units: Sequence[TextUnit], names: Sequence[Sequence[str]]
    ) -> list[UnitExtraction]:
        """Return one extraction per unit, with claims only; a unit without entities costs no call.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        return run_largest_first(
            self._extract,
            list(zip(units, names, strict=True)),
            size=lambda task: len(task[0].text),
            name="Extracting claims",
            calls=self._model.concurrency,
        )

    async def _extract(self, task: tuple[TextUnit, Sequence[str]]) -> UnitExtraction:
        unit, names = task
        if not names:
            return UnitExtraction(unit.id, "empty", "no entities that claims could be about", rounds=0)
        return await self._of_unit(unit, partial(self.first_request, names))

    def first_request(self, names: Sequence[str], text: str) -> ChatRequest:
        """Return the request that opens the conversation about a text and the names found in it."""
        return self._request(
            text,
            entity_names=enclose("entity_names", "\n".join(sorted(set(names)))),
            source_text=enclose("source_text", text),
        )

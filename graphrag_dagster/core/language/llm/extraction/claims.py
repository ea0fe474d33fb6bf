"""Claims by a model (paper §3.1.2; spec_graphrag §3): every round's claims count, gleaned ones too."""

from collections.abc import Sequence
from functools import partial

from graphrag_dagster.core.language.chat.data import enclose
from graphrag_dagster.core.language.chat.loop import run_largest_first
from graphrag_dagster.core.language.chat.port import ChatModel, ChatRequest, Message
from graphrag_dagster.core.language.chat.prompt import PromptSource
from graphrag_dagster.core.language.chat.schemas import ClaimsShape
from graphrag_dagster.core.language.chat.yes_no import YesNo, encoding_of_model, first_tokens
from graphrag_dagster.core.language.exemplars import ClaimExample
from graphrag_dagster.core.language.llm.extraction.copies import Copies
from graphrag_dagster.core.language.llm.extraction.exemplars import with_claim_examples
from graphrag_dagster.core.language.llm.extraction.gleaning import Gleaner, Order
from graphrag_dagster.core.language.llm.extraction.graph import Replies
from graphrag_dagster.core.language.llm.extraction.raw_records import (
    RawReply,
    join_json_replies,
    join_tuple_replies,
    read_json_records,
    read_tuple_records,
)
from graphrag_dagster.core.language.llm.extraction.unit_results import unit_extraction
from graphrag_dagster.core.language.tasks import Engine, TextUnit, UnitExtraction

_NOTHING = "the model found no claims"


class LlmClaimExtractor:
    """Asks a model for claims about the entities of each text unit, and for those it missed.

    Args:
        model: answers.
        prompts: ``extract_claims[_tuples]_system``, ``extract_claims_user``, ``claims_continue``,
            ``claims_check`` and ``retry``.
        claim_description: which claims are asked for.
        examples: of the corpus, shown in place of the prompt's own.
        gleaning_rounds: most continuations per unit.
        gleaning_order: see :mod:`.gleaning`.
        replies: JSON by schema, or delimited tuples.
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
        claim_description: str,
        examples: Sequence[ClaimExample] = (),
        gleaning_rounds: int = 1,
        gleaning_order: Order = "check_first",
        replies: Replies = "json_schema",
        logit_bias: bool = True,
        max_output_tokens: int = 4000,
        tokenizer_name: str | None = None,
    ) -> None:
        kind = "" if replies == "json_schema" else "_tuples"
        own = prompts.load(f"extract_claims{kind}_system").render(description=claim_description)
        self._model = model
        self._system = with_claim_examples(own, examples, tuples=bool(kind))
        self._user = prompts.load("extract_claims_user")
        self._schema = ClaimsShape if replies == "json_schema" else None
        self._max_tokens = max_output_tokens
        self._gleaner = Gleaner(
            model,
            _read_json if replies == "json_schema" else _read_tuples,
            join_json_replies if replies == "json_schema" else join_tuple_replies,
            Copies.of(self._system, (name for one in examples for name in one.names)),
            prompts.load("retry"),
            prompts.load("claims_continue"),
            YesNo(
                model,
                "claims_check",
                prompts.load("claims_check"),
                prompts.load("retry"),
                first_tokens(tokenizer_name or encoding_of_model(model.name)) if logit_bias else (),
            ),
            gleaning_rounds,
            gleaning_order,
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
        talk = await self._gleaner.run(unit.text, partial(self.first_request, names))
        return unit_extraction(unit, talk, _NOTHING)

    def first_request(self, names: Sequence[str], text: str) -> ChatRequest:
        """Return the request that opens the conversation about a text and the names found in it."""
        user = self._user.render(
            entity_names=enclose("entity_names", "\n".join(sorted(set(names)))),
            source_text=enclose("source_text", text),
        )
        messages = (Message("system", self._system), Message("user", user))
        return ChatRequest("extract_claims", messages, self._max_tokens, self._schema)


def _read_json(text: str, gleaning: bool) -> tuple[RawReply, bool]:
    if gleaning and text.strip() in {"{}", "[]"}:
        return RawReply(), False
    return read_json_records(text, ("claim",))


def _read_tuples(text: str, gleaning: bool) -> tuple[RawReply, bool]:
    return read_tuple_records(text, ("claim",), gleaning=gleaning)

"""Whether words entail a statement, by a local model of natural language inference."""

from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np

from graphrag_dagster.kernel.models.local_models import LocalModel
from graphrag_dagster.kernel.tasks.answering_ports import Cited, Judged, SupportOf

#: Least probability of entailment from which words support a statement, and support it in part.
_SUPPORTED, _PARTLY = 0.5, 0.2
_CONTRADICTED = "the cited words contradict it"
_OPEN = "the cited words leave it open"
_MEND = (
    "set it to a folder with a cross-encoder for natural language inference, or the name of one on the hub, "
    "whose config has the labels entailment, neutral and contradiction"
)


class EntailmentJudge:
    """A cross-encoder of sentence-transformers on the CPU that knows entailment, neutral and contradiction.

    A statement is set against all the words it cites and against each quotation; the one that entails it
    most counts. Pairs longer than the model reads are cut by it. Each pair is a batch of its own, so that a
    verdict depends on the pair alone.

    Args:
        model: a folder, or the name of a model of the hub, which is fetched on first use.
    """

    def __init__(self, model: str) -> None:
        self.model = model

    def judge(self, statements: Sequence[Cited]) -> Judged:
        """Return whether the words support each statement.

        Raises:
            EngineError: the extra is not installed, or the model cannot be loaded or is for something else.
        """
        return Judged(tuple(map(self._judge_statement, statements)))

    def _judge_statement(self, cited: Cited) -> SupportOf:
        premises = dict.fromkeys(["\n".join(cited.words), *cited.words])
        chances = self._label_probabilities([(premise, cited.statement) for premise in premises])
        entailed = max(chances, key=lambda one: one["entailment"])
        score = round(entailed["entailment"], 3)
        if score >= _SUPPORTED:
            return SupportOf("supported", score)
        contradicted = entailed.get("contradiction", 0.0) > max(entailed.get("neutral", 0.0), score)
        reason = _CONTRADICTED if contradicted else _OPEN
        return SupportOf("partly" if score >= _PARTLY and not contradicted else "not", score, reason)

    def _label_probabilities(self, pairs: Sequence[tuple[str, str]]) -> list[Mapping[str, float]]:
        """The probability of each label for each pair of premise and hypothesis."""
        encoder, labels = self._encoder
        logits = np.asarray(
            encoder.predict(list(pairs), batch_size=1, show_progress_bar=False, convert_to_numpy=True),
            dtype=np.float64,
        )
        raised = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares = raised / raised.sum(axis=1, keepdims=True)
        return [dict(zip(labels, map(float, row), strict=True)) for row in shares]

    @cached_property
    def _encoder(self) -> tuple[Any, tuple[str, ...]]:
        """The model and its labels in lower case, in the order of what it gives."""
        local = LocalModel(self.model, "search.support is nli", "search.support_model", _MEND)
        encoder = local.load("CrossEncoder")
        named = encoder.config.id2label
        labels = tuple(str(named[place]).lower() for place in sorted(named))
        if "entailment" not in labels:
            raise local.unusable(f"has the labels {', '.join(labels)} and not entailment")
        return encoder, labels


@cache
def shared_entailment(model: str) -> EntailmentJudge:
    """The model of that name of this process: loading one takes seconds."""
    return EntailmentJudge(model)

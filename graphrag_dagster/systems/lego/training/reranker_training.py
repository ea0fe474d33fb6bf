"""Fine-tuning of the cross-encoder that scores paths (paper B.6)."""

from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.models.local_models import logging_unchanged
from graphrag_dagster.kernel.retrieval.rerankers import CrossEncoderReranker
from graphrag_dagster.kernel.tasks.answering_ports import Sought
from graphrag_dagster.systems.lego.training.bi_encoder_training import FineTuned, Training, require_training
from graphrag_dagster.systems.lego.training.gold_paths import GoldPath

#: What training needs.
RERANKER_PACKAGES = ("sentence-transformers",)


def fine_tune_reranker(
    base: str,
    learnt: Sequence[GoldPath],
    tried: Sequence[GoldPath],
    folder: Path,
    training: Training | None = None,
) -> FineTuned:
    """Train a cross-encoder to give 1 to the path that answers, and 0 to those that lead elsewhere.

    By binary cross-entropy over pairs of question and path, with AdamW.

    Args:
        base: a folder with a cross-encoder that gives one number, or the name of one on the hub.
        learnt: pairs to learn from.
        tried: pairs to try it on, of other topics: ``before`` and ``after`` are shares of these questions
            whose best path, of their own and those that lead elsewhere, is one of their own.
        folder: where the model is saved; it is made.
        training: how; its ``base`` is not read.

    Raises:
        EngineError: nothing leads elsewhere, the base cannot be loaded or gives more than one number, or what
            :func:`~.bi_encoder_training.require_training` has.
    """
    own = training or Training()
    with_others = [one for one in learnt if one.others]
    if not with_others:
        raise EngineError(
            "fine-tuning a cross-encoder needs paths that lead elsewhere, too; add questions with answers"
        )
    require_training(own.device, RERANKER_PACKAGES)
    before = _right_share(base, tried)
    pairs = dict.fromkeys(
        (one.question, path, float(path == one.path))
        for one in with_others
        for path in (one.path, *one.others)
    )
    begin = perf_counter()
    with logging_unchanged():
        steps, loss = _train(base, list(pairs), folder, own)
    seconds = perf_counter() - begin
    left_out = len(learnt) - len(with_others)
    after = _right_share(str(folder), tried)
    return FineTuned(folder, len(with_others), left_out, steps, seconds, loss, before, after)


def _train(
    base: str, pairs: Sequence[tuple[str, str, float]], folder: Path, own: Training
) -> tuple[int, float]:
    """Train and save; return the steps and the mean loss."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(own.seed)
    encoder = _loaded(base, own.device)
    network, tokenizer = encoder.model, encoder.tokenizer
    if network.config.num_labels != 1:
        raise EngineError(
            f"the model {base!r} gives {network.config.num_labels} numbers for a pair, not one; give a "
            "cross-encoder that ranks, as paths.scorer_model"
        )
    optimizer = torch.optim.AdamW(network.parameters(), lr=own.rate)
    order = np.random.default_rng(own.seed)
    losses: list[float] = []
    network.train()
    for _ in range(own.epochs):
        places = order.permutation(len(pairs))
        for start in range(0, len(places), own.batch):
            some = [pairs[place] for place in places[start : start + own.batch].tolist()]
            questions, paths, wanted = (list(column) for column in zip(*some, strict=True))
            read = tokenizer(questions, paths, padding=True, truncation=True, return_tensors="pt")
            told = network(**read.to(own.device)).logits.squeeze(-1)
            target = torch.tensor(wanted, device=own.device)
            loss = torch.nn.functional.binary_cross_entropy_with_logits(told, target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
    network.eval()
    folder.mkdir(parents=True, exist_ok=True)
    encoder.save_pretrained(str(folder))
    return len(losses), float(np.mean(losses))


def _loaded(base: str, device: str) -> Any:
    from sentence_transformers import CrossEncoder

    try:
        return CrossEncoder(base, device=device)
    except (OSError, ValueError) as error:
        raise EngineError(
            f"the model {base!r} cannot be loaded for fine-tuning: {error}; name a folder with a "
            "cross-encoder, or one on the hub, as paths.scorer_model"
        ) from error


def _right_share(model: str, tried: Sequence[GoldPath]) -> float | None:
    if not tried:
        return None
    scorer = CrossEncoderReranker(model, "fine-tuning", "paths.scorer_model")
    own: dict[str, set[str]] = {}
    others: dict[str, set[str]] = {}
    for one in tried:
        own.setdefault(one.question, set()).add(one.path)
        others.setdefault(one.question, set()).update(one.others)
    hits = []
    for question, right in own.items():
        paths = sorted(right | others[question])
        best = int(scorer.scores(Sought(question), paths).argmax())
        hits.append(paths[best] in right)
    return sum(hits) / len(hits)

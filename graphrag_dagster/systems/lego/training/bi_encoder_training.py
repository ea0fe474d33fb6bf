"""Fine-tuning of the bi-encoder that scores paths (paper B.6)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.models.local_embedders import SentenceTransformerEmbedder, packaged_minilm
from graphrag_dagster.kernel.models.local_models import installed_version, logging_unchanged
from graphrag_dagster.systems.lego.training.gold_paths import GoldPath

_EXTRA = "training"
_WANTED_BY = "fine-tuning"
#: Packages that training needs beside the library itself.
_PACKAGES = ("sentence-transformers", "datasets", "accelerate")
#: Questions whose cosines with all paths are held at a time.
_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class Training:
    """How a bi-encoder is fine-tuned.

    Attributes:
        base: a folder with a sentence-transformers model, or the name of one on the hub; None: the packaged
            all-MiniLM-L6-v2.
        epochs: how often each pair is seen.
        batch: pairs at a time; the other paths of a batch are what a question's own is told from.
        rate: of learning.
        seed: of the order of pairs.
        device: of torch: ``cpu``, on one thread, or such as ``cuda``.
    """

    base: str | None = None
    epochs: int = 1
    batch: int = 32
    rate: float = 2e-5
    seed: int = 0
    device: str = "cpu"


@dataclass(frozen=True, slots=True)
class FineTuned:
    """A fine-tuned model, and what it is worth.

    Attributes:
        folder: where it is; ``scorer_of("minilm", …, model=folder)`` uses it.
        pairs: learnt from, each with every path of its question that leads elsewhere.
        left_out: pairs without such a path, where others have one.
        steps: of the optimiser.
        seconds: wall clock of the training, without loading and saving.
        loss: mean of the training.
        before: share of the questions tried for which a path of their own is nearest by the base among all
            that were tried, those that lead elsewhere included; None where none were.
        after: the same by the fine-tuned model.
    """

    folder: Path
    pairs: int
    left_out: int
    steps: int
    seconds: float
    loss: float
    before: float | None
    after: float | None


def fine_tune(
    learnt: Sequence[GoldPath], tried: Sequence[GoldPath], folder: Path, training: Training | None = None
) -> FineTuned:
    """Train a bi-encoder to tell the path that answers from those from the same seeds that lead elsewhere.

    By MultipleNegativesRankingLoss of sentence-transformers, for which the other paths of a batch are
    negatives, too; no batch holds the same text twice, so that no path is told from itself. Of other paths
    alone a model learns which name a question and a path share, which tells nothing among paths from one
    seed, and ranks these worse than before.

    Args:
        learnt: pairs to learn from.
        tried: pairs to try it on, of other topics.
        folder: where the model is saved; it is made.
        training: how; default: as :class:`Training` has it.

    Raises:
        EngineError: fewer than two different pairs, the base cannot be loaded, or what
            :func:`require_training` has.
    """
    own = training or Training()
    if len({(one.question, one.path) for one in learnt}) < 2:
        raise EngineError(
            "fine-tuning needs two pairs of question and path at least; add questions with answers"
        )
    require_training(own.device)
    base = own.base or str(packaged_minilm())
    with_others = [one for one in learnt if one.others] or list(learnt)
    before = nearest_share(base, tried)
    with logging_unchanged(), TemporaryDirectory() as scratch:
        trainer = _trainer(base, with_others, own, scratch)
        begin = perf_counter()
        told = trainer.train()
        seconds = perf_counter() - begin
        folder.mkdir(parents=True, exist_ok=True)
        trainer.model.save_pretrained(str(folder))
    after = nearest_share(str(folder), tried)
    left_out = len(learnt) - len(with_others)
    return FineTuned(
        folder, len(with_others), left_out, told.global_step, seconds, told.training_loss, before, after
    )


def require_training(device: str, packages: Sequence[str] = _PACKAGES) -> None:
    """Do nothing where a model can be fine-tuned here.

    Args:
        device: of torch.
        packages: that are needed; default: those of a bi-encoder.

    Raises:
        EngineError: the extra is not installed, or there is no such device.
    """
    for package in packages:
        installed_version(package, _WANTED_BY, _EXTRA)
    with logging_unchanged():
        import torch

        try:
            torch.zeros(1, device=device)
        except (RuntimeError, AssertionError) as error:
            raise EngineError(
                f"fine-tuning cannot use the device {device!r} of torch: {error}; leave it out for the CPU"
            ) from error


def nearest_share(model: str, tried: Sequence[GoldPath]) -> float | None:
    """Return the share of questions for which a path of their own is nearest among all; None of none."""
    if not tried:
        return None
    embedder = SentenceTransformerEmbedder(model)
    questions = sorted({one.question for one in tried})
    paths = sorted({path for one in tried for path in (one.path, *one.others)})
    own = {question: {one.path for one in tried if one.question == question} for question in questions}
    asked, known = (embedder.embed(texts).astype(np.float64) for texts in (questions, paths))
    parts = (asked[start : start + _AT_ONCE] for start in range(0, len(asked), _AT_ONCE))
    nearest = [place for part in parts for place in (part @ known.T).round(12).argmax(axis=1).tolist()]
    hits = [paths[at] in own[question] for question, at in zip(questions, nearest, strict=True)]
    return sum(hits) / len(hits)


def _rows(learnt: Sequence[GoldPath]) -> dict[str, list[str]]:
    """The columns that are trained on: a row for each path that leads elsewhere, or for each pair."""
    if not learnt[0].others:
        return {"anchor": [one.question for one in learnt], "positive": [one.path for one in learnt]}
    told = [(one.question, one.path, other) for one in learnt for other in one.others]
    return {name: [row[at] for row in told] for at, name in enumerate(("anchor", "positive", "negative"))}


def _trainer(base: str, learnt: Sequence[GoldPath], own: Training, scratch: str) -> Any:
    import datasets
    import sentence_transformers
    import torch
    from sentence_transformers.losses import MultipleNegativesRankingLoss
    from sentence_transformers.training_args import BatchSamplers
    from transformers.trainer_callback import PrinterCallback

    torch.set_num_threads(1)
    try:
        model = sentence_transformers.SentenceTransformer(base, device=own.device)
    except (OSError, ValueError) as error:
        raise EngineError(
            f"the model {base!r} cannot be loaded for fine-tuning: {error}; give a folder with a "
            "sentence-transformers model, or the name of one on the hub"
        ) from error
    rows = _rows(learnt)
    args = sentence_transformers.SentenceTransformerTrainingArguments(
        output_dir=scratch,
        num_train_epochs=own.epochs,
        per_device_train_batch_size=own.batch,
        learning_rate=own.rate,
        seed=own.seed,
        data_seed=own.seed,
        batch_sampler=BatchSamplers.NO_DUPLICATES,
        use_cpu=own.device == "cpu",
        save_strategy="no",
        logging_strategy="no",
        report_to=[],
        disable_tqdm=True,
    )
    trainer = sentence_transformers.SentenceTransformerTrainer(
        model=model,
        args=args,
        train_dataset=datasets.Dataset.from_dict(rows),
        loss=MultipleNegativesRankingLoss(model),
    )
    # What it has learnt is returned, and not printed.
    trainer.remove_callback(PrinterCallback)
    return trainer

"""Tiny cross-encoders, saved as the real ones are."""

from collections.abc import Sequence
from pathlib import Path

from support.tiny_models import saved_tokenizer

WORDS = "the quay was built in stone"


def saved_model(
    folder: Path, labels: Sequence[str], favourite: str | None = None, words: str = WORDS, longest: int = 64
) -> Path:
    """A tiny cross-encoder with random weights; one with a favourite gives that label whatever it reads.

    It knows the words, and reads so many tokens.
    """
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(1)
    config = BertConfig(
        **saved_tokenizer(folder, f"{words} wood not", longest),
        id2label=dict(enumerate(labels)),
        label2id={label: at for at, label in enumerate(labels)},
    )
    model = BertForSequenceClassification(config)
    if favourite:
        with torch.no_grad():
            model.classifier.bias.copy_(
                torch.tensor([8.0 if label == favourite else 0.0 for label in labels])
            )
    model.save_pretrained(folder)
    return folder

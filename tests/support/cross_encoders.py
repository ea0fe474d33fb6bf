"""Tiny cross-encoders, saved as the real ones are."""

from collections.abc import Sequence
from pathlib import Path

WORDS = "the quay was built in stone"


def saved_model(
    folder: Path, labels: Sequence[str], favourite: str | None = None, words: str = WORDS, longest: int = 64
) -> Path:
    """A tiny cross-encoder with random weights; one with a favourite gives that label whatever it reads.

    It knows the words, and reads so many tokens.
    """
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    torch.manual_seed(1)
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *sorted({*words.split(), "wood", "not"})]
    tokenizer = Tokenizer(models.WordLevel({token: at for at, token in enumerate(tokens)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    special = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=longest, **special).save_pretrained(
        folder
    )
    config = BertConfig(
        vocab_size=len(tokens),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
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

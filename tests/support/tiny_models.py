"""Tiny models of this machine, saved as the real ones are."""

from pathlib import Path
from typing import Any


def saved_tokenizer(folder: Path, words: str, longest: int = 64) -> dict[str, Any]:
    """A tokenizer that knows the words, and the sizes of a tiny model that reads its tokens."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *sorted(set(words.split()))]
    tokenizer = Tokenizer(models.WordLevel({token: at for at, token in enumerate(tokens)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    special = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=longest, **special).save_pretrained(
        folder
    )
    return {
        "vocab_size": len(tokens),
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 16,
    }


def saved_encoder(folder: Path, words: str, longest: int = 64, seed: int = 1) -> Path:
    """A tiny model of transformers with random weights, and its tokenizer; it knows the words."""
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(seed)
    sizes = saved_tokenizer(folder, words, longest)
    BertModel(BertConfig(**sizes, max_position_embeddings=longest)).save_pretrained(folder)
    return folder


def saved_sentence_transformer(folder: Path, words: str) -> Path:
    """A tiny model of sentence-transformers: the mean of what the tiny encoder makes of the words."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer

    transformer = Transformer(str(saved_encoder(folder / "encoder", words)))
    SentenceTransformer(modules=[transformer, Pooling(16)], device="cpu").save(str(folder / "model"))
    return folder / "model"

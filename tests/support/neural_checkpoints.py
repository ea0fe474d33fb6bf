"""Tiny GLiNER and REBEL checkpoints, trained in seconds on a few sentences and saved as the real ones are."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

#: Sentences with their mentions by label, and what a REBEL writes about them.
TAUGHT: Mapping[str, tuple[Mapping[str, str], str]] = {
    "Remdesivir treats fever .": (
        {"Remdesivir": "drug", "fever": "symptom"},
        "<triplet> Remdesivir <subj> fever <obj> treats",
    ),
    "Wuhan saw SARS-CoV-2 cause pneumonia .": (
        {"Wuhan": "city", "SARS-CoV-2": "virus", "pneumonia": "disease"},
        "<triplet> SARS-CoV-2 <subj> pneumonia <obj> has cause <subj> Wuhan <obj> location <triplet> Ebola",
    ),
    "The weather was fine in May .": ({}, "<triplet> May <subj> May <obj> part of"),
    "Aspirin is old .": ({"Aspirin": "drug"}, "<triplet> Aspirin <subj> old <obj> has quality"),
    "Lopinavir and Ritonavir treat fever .": (
        {"Lopinavir": "drug", "Ritonavir": "drug", "fever": "symptom"},
        "<triplet> Lopinavir <subj> fever <obj> treats <triplet> Hydroxychloroquine <subj> fever <obj> treats",
    ),
}
LABELS = ("drug", "symptom", "city", "virus", "disease")
_WORD = re.compile(r"\w+(?:[-_]\w+)*|\S")
_MARKERS = ["<triplet>", "<subj>", "<obj>"]


def saved_gliner(folder: Path, *, steps: int = 150, seed: int = 1, max_len: int = 7) -> Path:
    """A GLiNER that knows the taught sentences; one that took no steps has random weights."""
    import torch
    from gliner.config import UniEncoderSpanConfig
    from gliner.model import UniEncoderSpanGLiNER

    torch.manual_seed(seed)
    words = [word for text in (*TAUGHT, *LABELS) for word in _WORD.findall(text)]
    tokenizer = _tokenizer(words, ["<<ENT>>", "<<SEP>>"], ("[CLS]", "[SEP]"))
    config = UniEncoderSpanConfig(
        model_name="tiny",
        max_len=max_len,
        max_width=3,
        hidden_size=32,
        num_rnn_layers=0,
        dropout=0.0,
        vocab_size=len(tokenizer),
        class_token_index=tokenizer.convert_tokens_to_ids("<<ENT>>"),
        encoder_config={
            "model_type": "deberta-v2",
            "vocab_size": len(tokenizer),
            "hidden_size": 32,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "intermediate_size": 32,
            "relative_attention": True,
            "pos_att_type": ["p2c", "c2p"],
            "hidden_dropout_prob": 0.0,
            "attention_probs_dropout_prob": 0.0,
        },
    )
    model = UniEncoderSpanGLiNER(config, tokenizer=tokenizer, backbone_from_pretrained=False)
    _train(model.model, _gliner_batch(model), steps, 0.003)
    model.save_pretrained(folder, safe_serialization=True)
    return folder


def saved_rebel(
    folder: Path,
    *,
    steps: int = 150,
    seed: int = 1,
    longest: int = 64,
    markers: Sequence[str] = tuple(_MARKERS),
) -> Path:
    """A REBEL that writes what it was taught about the taught sentences."""
    import torch
    from transformers import BartConfig, BartForConditionalGeneration

    torch.manual_seed(seed)
    words = [word for text, (_, written) in TAUGHT.items() for word in f"{text} {written}".split()]
    tokenizer = _tokenizer([word for word in words if word not in _MARKERS], markers, ("<s>", "</s>"))
    tokenizer.model_max_length = longest
    config = BartConfig(
        vocab_size=len(tokenizer),
        d_model=32,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        max_position_embeddings=512,
        dropout=0.0,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        decoder_start_token_id=tokenizer.bos_token_id,
        forced_eos_token_id=tokenizer.eos_token_id,
    )
    model = BartForConditionalGeneration(config)
    given = tokenizer(list(TAUGHT), padding=True, return_tensors="pt")
    written = tokenizer([one for _, one in TAUGHT.values()], padding=True, return_tensors="pt")["input_ids"]
    labels = written[:, 1:].masked_fill(written[:, 1:] == tokenizer.pad_token_id, -100)
    batch = {
        "input_ids": given["input_ids"],
        "attention_mask": given["attention_mask"],
        "decoder_input_ids": written[:, :-1],
        "labels": labels,
    }
    _train(model, batch, steps, 0.01)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _tokenizer(words: Sequence[str], marks: Sequence[str], ends: tuple[str, str]) -> Any:
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers
    from tokenizers.processors import TemplateProcessing
    from transformers import PreTrainedTokenizerFast

    first, last = ends
    known = ["<pad>", "<unk>", first, last, *sorted(set(words))]
    tokenizer = Tokenizer(models.WordLevel({word: at for at, word in enumerate(known)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"\s+"), "removed")
    tokenizer.post_processor = TemplateProcessing(
        single=f"{first} $A {last}", special_tokens=[(first, 2), (last, 3)]
    )
    special = {"unk_token": "<unk>", "pad_token": "<pad>"}
    names = ("bos_token", "eos_token") if first == "<s>" else ("cls_token", "sep_token")
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, **special, **dict(zip(names, ends, strict=True))
    )
    fast.add_tokens(list(marks), special_tokens=True)
    return fast


def _gliner_batch(model: Any) -> dict[str, Any]:
    examples = []
    for text, (mentions, _) in TAUGHT.items():
        words = _WORD.findall(text)
        ner = [[words.index(name), words.index(name), label] for name, label in mentions.items()]
        examples.append({"tokenized_text": words, "ner": ner})
    collator = model.data_collator_class(
        model.config, data_processor=model.data_processor, prepare_labels=True
    )
    return collator(examples, entity_types=[list(LABELS) for _ in examples])


def _train(model: Any, batch: Mapping[str, Any], steps: int, rate: float) -> None:
    import torch

    torch.set_num_threads(1)
    model.train()
    optimiser = torch.optim.Adam(model.parameters(), lr=rate)
    for _ in range(steps):
        optimiser.zero_grad()
        model(**batch).loss.backward()
        optimiser.step()
    model.eval()

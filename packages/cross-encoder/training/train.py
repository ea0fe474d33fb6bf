"""Trains the cross-encoder from groups of texts, and writes it as ONNX with weights of 8 bits.

    python train.py --base FOLDER --train train.json.xz --validation val.json.xz --out FOLDER [--epochs 4]

BASE holds ``model.safetensors``, ``config.json`` and ``tokenizer.json`` of all-MiniLM-L6-v2. OUT receives
``model_int8.onnx`` and ``model_fp16.safetensors``. Needs torch, transformers, tokenizers, safetensors, onnx
and onnxruntime. Four epochs of 14,200 groups take two and a half minutes on one GPU; on two cores, hours.

A file of groups is a JSON list, compressed with xz, of ``[kind, question, positives, negatives]``. Texts are
``Title. text``. A group has one positive, or none where nothing answers. How groups are made is told in the
README of the package.

The loss of a step is the mean over its groups of the cross-entropy of the positive among the texts of its
group, plus half the binary cross-entropy over all texts, in which a positive counts three times. The one
teaches the order within a group, the other a score that is low where nothing answers.
"""

import argparse
import json
import lzma
import math
import random
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from transformers import BertConfig, BertModel

MAX_TOKENS = 192
GROUPS_A_STEP = 24
LEARNING_RATE, WEIGHT_DECAY, WARM_UP, LONGEST_GRADIENT = 6e-5, 0.01, 0.06, 1.0
POSITIVE_WEIGHT, BINARY_SHARE, DROPOUT = 3.0, 0.5, 0.1
SEED = 7
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class CrossEncoder(torch.nn.Module):
    """BERT, the mean of its last layer over the tokens, and one linear output."""

    def __init__(self, bert: BertModel) -> None:
        super().__init__()
        self.bert = bert
        self.drop = torch.nn.Dropout(DROPOUT)
        self.out = torch.nn.Linear(bert.config.hidden_size, 1)

    def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> Any:
        """Return the score of each pair [pairs]; the inputs are [pairs, tokens]."""
        hidden = self.bert(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
        ).last_hidden_state
        mask = attention_mask.unsqueeze(-1).to(hidden.dtype)
        mean = (hidden * mask).sum(1) / mask.sum(1)
        return self.out(self.drop(mean)).squeeze(-1)


@dataclass(frozen=True)
class Group:
    """The texts of a question as tokens: ids and types of each pair, the positives first."""

    kind: str
    positives: int
    pairs: Sequence[tuple[list[int], list[int]]]


def read_groups(path: Path, tokenizer: Tokenizer) -> list[Group]:
    """Read a file of groups as tokens."""
    with lzma.open(path) as opened:
        rows = json.load(opened)
    encoded = iter(
        tokenizer.encode_batch(
            [(question, text) for _, question, good, bad in rows for text in (*good, *bad)]
        )
    )
    groups = []
    for kind, _, good, bad in rows:
        tokens = [next(encoded) for _ in (*good, *bad)]
        groups.append(Group(kind, len(good), [(one.ids, one.type_ids) for one in tokens]))
    return groups


def batch_of(pairs: Sequence[tuple[list[int], list[int]]], device: str) -> tuple[Any, Any, Any]:
    """Return the inputs of the model, padded to the longest pair."""
    longest = max(len(ids) for ids, _ in pairs)
    made = torch.zeros(3, len(pairs), longest, dtype=torch.long)
    for row, (ids, types) in enumerate(pairs):
        made[0, row, : len(ids)] = torch.tensor(ids)
        made[1, row, : len(ids)] = 1
        made[2, row, : len(types)] = torch.tensor(types)
    ids, mask, types = made.to(device)
    return ids, mask, types


def scores_of(model: CrossEncoder, pairs: Sequence[tuple[list[int], list[int]]], device: str) -> Any:
    """Return the score of each pair in single precision."""
    with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
        return model(*batch_of(pairs, device)).float()


def loss_of(scores: Any, groups: Sequence[Group]) -> Any:
    """Return the loss of a step; the scores are those of all pairs of the groups, in their order."""
    order, start = scores.new_zeros(()), 0
    labels: list[float] = []
    for group in groups:
        own = scores[start : start + len(group.pairs)]
        start += len(group.pairs)
        labels += [1.0] * group.positives + [0.0] * (len(group.pairs) - group.positives)
        if group.positives:
            order = order - torch.log_softmax(own, 0)[0]
    wanted = torch.tensor(labels, device=scores.device)
    weight = torch.where(wanted > 0, POSITIVE_WEIGHT, 1.0)
    binary = torch.nn.functional.binary_cross_entropy_with_logits(scores, wanted, weight=weight)
    return order / GROUPS_A_STEP + BINARY_SHARE * binary


def validate(model: CrossEncoder, groups: Sequence[Group], device: str) -> str:
    """Say of each kind the mean reciprocal rank of the positive, and how often it is the first."""
    ranks = defaultdict(list)
    model.eval()
    with torch.no_grad():
        for group in groups:
            if group.positives:
                scores = scores_of(model, group.pairs, device).cpu().numpy()
                ranks[group.kind].append(1 + int((scores[1:] > scores[0]).sum()))
    model.train()
    return "; ".join(
        f"{kind}: {np.mean(1 / np.array(own)):.3f}, first {np.mean(np.array(own) == 1):.3f} of {len(own)}"
        for kind, own in sorted(ranks.items())
    )


def steps_of(groups: list[Group]) -> Iterator[list[Group]]:
    """Yield the groups of each step of an epoch, in an order of its own."""
    random.shuffle(groups)
    for start in range(0, len(groups), GROUPS_A_STEP):
        yield groups[start : start + GROUPS_A_STEP]


def train(
    model: CrossEncoder, groups: list[Group], validation: Sequence[Group], epochs: int, device: str
) -> None:
    """Train with AdamW; the rate rises over the first steps and falls to 0 over the others."""
    steps = epochs * math.ceil(len(groups) / GROUPS_A_STEP)
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / (WARM_UP * steps)) * max(0.0, 1 - step / steps)
    )
    begin = time.monotonic()
    print("before:", validate(model, validation, device), flush=True)
    for epoch in range(1, epochs + 1):
        losses = []
        for step in steps_of(groups):
            loss = loss_of(scores_of(model, [pair for group in step for pair in group.pairs], device), step)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), LONGEST_GRADIENT)
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        print(
            f"epoch {epoch}: loss {np.mean(losses):.4f}; {validate(model, validation, device)}; "
            f"{time.monotonic() - begin:.0f} s",
            flush=True,
        )


def export(model: CrossEncoder, example: Group, out: Path) -> None:
    """Write the model as fp16 weights, and as ONNX with weights of 8 bits, scaled by output channel."""
    model = model.eval().cpu().float()
    halves = {name: value.half().contiguous() for name, value in model.state_dict().items()}
    save_file(halves, out / "model_fp16.safetensors")
    axes = {name: {0: "pairs", 1: "tokens"} for name in INPUTS} | {"score": {0: "pairs"}}
    with tempfile.TemporaryDirectory() as made:
        whole = Path(made) / "model.onnx"
        torch.onnx.export(
            model,
            batch_of(example.pairs, "cpu"),
            str(whole),
            input_names=list(INPUTS),
            output_names=["score"],
            dynamic_axes=axes,
            opset_version=17,
            dynamo=False,
        )
        quantize_dynamic(whole, out / "model_int8.onnx", weight_type=QuantType.QInt8, per_channel=True)


def base_model(folder: Path) -> CrossEncoder:
    """Return the model to begin with, with a new output."""
    config = BertConfig.from_json_file(folder / "config.json")
    # The other implementations cannot be exported by tracing.
    config._attn_implementation = "eager"  # noqa: SLF001
    bert = BertModel(config, add_pooling_layer=False)
    weights = load_file(folder / "model.safetensors")
    found = bert.load_state_dict(
        {name.removeprefix("bert."): value.float() for name, value in weights.items()}, strict=False
    )
    if found.missing_keys:
        raise SystemExit(f"{folder} lacks weights of the model: {', '.join(found.missing_keys[:5])}")
    return CrossEncoder(bert)


def main() -> None:
    """Train and write the model as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--train", type=Path, required=True)
    parser.add_argument("--validation", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=4)
    given = parser.parse_args()
    random.seed(SEED)
    torch.manual_seed(SEED)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tokenizer = Tokenizer.from_file(str(given.base / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    groups, validation = (read_groups(path, tokenizer) for path in (given.train, given.validation))
    model = base_model(given.base).to(device)
    train(model, groups, validation, given.epochs, device)
    given.out.mkdir(parents=True, exist_ok=True)
    export(model, validation[0], given.out)


if __name__ == "__main__":
    main()

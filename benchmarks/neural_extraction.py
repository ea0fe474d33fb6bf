"""How fast the engine gliner-rebel is, and what memory it takes, at the sizes of the real models.

    python benchmarks/neural_extraction.py [--units 8] [--tokens 256] [--written 64] [--threads 1]

The weights are random, since speed does not depend on them: GLiNER in the sizes small (DeBERTa-v3-small) and
medium (DeBERTa-v3-base, the size of the default model), REBEL in that of rebel-large (BART-large), saved to a
temporary folder and loaded as any checkpoint is. Text units are random words, each of them a token. A REBEL
of random weights writes until its limit, so the limit is what a real one writes about such a unit
(--written). Each model runs in a process of its own; the peak is its resident memory, PyTorch and all.

Of REBEL it is also checked that what is written about a unit is the same alone as in any company. Needs the
extra scientific.
"""

import argparse
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from graphrag_dagster.engines.neural.gliner_rebel_models import GlinerEntityModel, RebelRelationModel, Writing
from graphrag_dagster.engines.neural.rebel_parsing import MARKERS
from graphrag_dagster.systems.graphrag.settings import SCIENTIFIC

WORDS = [f"word{n}" for n in range(5_000)]
LAYERS = {"gliner small": 6, "gliner medium": 12}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--units", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=256, help="of a text unit")
    parser.add_argument("--written", type=int, default=64, help="tokens that REBEL writes about one")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--model", choices=(*LAYERS, "rebel"), help="this one, in this process")
    given = parser.parse_args()
    if given.model:
        measured(given)
        return
    print(f"{given.units} units of {given.tokens} tokens, {given.threads} threads", flush=True)
    for model in (*LAYERS, "rebel"):
        subprocess.run([sys.executable, __file__, *sys.argv[1:], "--model", model], check=True)


def measured(given: argparse.Namespace) -> None:
    draw = random.Random(0)
    units = [" ".join(draw.choices(WORDS, k=given.tokens - 2)) for _ in range(given.units)]
    with tempfile.TemporaryDirectory() as folder:
        if given.model == "rebel":
            rebel(Path(folder), units, given)
        else:
            gliner(Path(folder), units, given)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{given.model}: peak memory {peak:.2f} GB", flush=True)


def gliner(folder: Path, units: Sequence[str], given: argparse.Namespace) -> None:
    save_gliner(folder, LAYERS[given.model])
    model = GlinerEntityModel(str(folder), SCIENTIFIC, 0.99, threads=given.threads)
    with told(f"{given.model}: loading"):
        model.mentions(units[0])
    with told(f"{given.model}: {len(SCIENTIFIC)} labels", len(units)):
        for unit in units:
            model.mentions(unit)


def rebel(folder: Path, units: Sequence[str], given: argparse.Namespace) -> None:
    save_rebel(folder)
    model = RebelRelationModel(str(folder), Writing(max_length=given.written), threads=given.threads)
    with told("rebel: loading, and a short unit"):
        model.relations(["word1"])
    with told("rebel: batches of 8", len(units)):
        together = model.relations(units)
    with told("rebel: one unit, in a batch that is filled up", 1):
        alone = model.relations(units[-1:])
    backwards = model.relations(units[::-1])
    same = alone == together[-1:] and backwards[::-1] == together
    print(f"rebel: alone, in another order and together the same: {'yes' if same else 'NO'}", flush=True)
    single = RebelRelationModel(
        str(folder), Writing(max_length=given.written, batch=1), threads=given.threads
    )
    single.relations(["word1"])
    with told("rebel: batches of one", 2):
        single.relations(units[:2])


@contextmanager
def told(what: str, units: int = 0) -> Iterator[None]:
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    rate = f"; {cpu / units:.2f} s of processor a unit, {units / wall:.3f} units a second" if units else ""
    print(f"{what}: {wall:.1f} s, {cpu:.1f} s of processor{rate}", flush=True)


def save_gliner(folder: Path, layers: int) -> None:
    from gliner.config import UniEncoderSpanConfig
    from gliner.model import UniEncoderSpanGLiNER

    tokenizer = tokenizer_of([*WORDS, *SCIENTIFIC], ["<<ENT>>", "<<SEP>>"])
    encoder = {
        "model_type": "deberta-v2",
        "vocab_size": 128_100,
        "hidden_size": 768,
        "num_hidden_layers": layers,
        "num_attention_heads": 12,
        "intermediate_size": 3072,
        "relative_attention": True,
        "position_buckets": 256,
        "norm_rel_ebd": "layer_norm",
        "share_att_key": True,
        "pos_att_type": ["p2c", "c2p"],
        "max_relative_positions": -1,
        "position_biased_input": False,
    }
    config = UniEncoderSpanConfig(
        model_name="random",
        max_len=384,
        max_width=12,
        hidden_size=512,
        vocab_size=128_100,
        class_token_index=tokenizer.convert_tokens_to_ids("<<ENT>>"),
        encoder_config=encoder,
    )
    model = UniEncoderSpanGLiNER(config, tokenizer=tokenizer, backbone_from_pretrained=False)
    model.save_pretrained(folder, safe_serialization=True)


def save_rebel(folder: Path) -> None:
    import torch
    from transformers import BartConfig, BartForConditionalGeneration

    torch.manual_seed(0)
    tokenizer = tokenizer_of(WORDS, MARKERS)
    tokenizer.save_pretrained(folder)
    # The defaults are those of BART-large; this many tokens are those of rebel-large.
    BartForConditionalGeneration(BartConfig(vocab_size=50_272, pad_token_id=0)).save_pretrained(folder)


def tokenizer_of(words: Sequence[str], marks: Sequence[str]) -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from tokenizers.processors import TemplateProcessing
    from transformers import PreTrainedTokenizerFast

    known = ["<pad>", "<unk>", "<s>", "</s>", *dict.fromkeys(words)]
    own = Tokenizer(models.WordLevel({word: at for at, word in enumerate(known)}, unk_token="<unk>"))
    own.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    own.post_processor = TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 2), ("</s>", 3)])
    fast = PreTrainedTokenizerFast(
        tokenizer_object=own, unk_token="<unk>", pad_token="<pad>", bos_token="<s>", eos_token="</s>"
    )
    fast.add_tokens(list(marks), special_tokens=True)
    return fast


if __name__ == "__main__":
    main()

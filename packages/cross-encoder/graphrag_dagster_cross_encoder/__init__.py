"""The files of a small cross-encoder: does this passage or sentence answer this question?

The model reads a pair of texts, a question and ``Title. text``, of together at most ``MAX_TOKENS`` tokens.
Its inputs are ``input_ids``, ``attention_mask`` and ``token_type_ids``, int64 [pairs, tokens]; its output is
``score``, float32 [pairs], higher for texts that answer. Activations are quantized over the whole batch, so
only a batch of one pair gives a score that depends on the pair alone.
"""

from pathlib import Path
from typing import Final

#: Most tokens of a pair, those that separate its texts included.
MAX_TOKENS: Final = 192
#: SHA-256 of each file, in hexadecimal digits.
SHA256: Final = {
    "model_int8.onnx": "b92ac67c9ebc03a3eae017bba4a4c8a30b46a08ef7638900f3bf2bbdb0850613",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
}
_FOLDER = Path(__file__).parent


def model_path() -> Path:
    """Return the path of the model: ONNX with weights of 8 bits."""
    return _FOLDER / "model_int8.onnx"


def tokenizer_path() -> Path:
    """Return the path of the tokenizer, a file of the library ``tokenizers``."""
    return _FOLDER / "tokenizer.json"


def config_path() -> Path:
    """Return the path of the configuration of the model, as ``transformers`` reads it."""
    return _FOLDER / "config.json"

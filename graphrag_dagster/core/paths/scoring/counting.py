"""How many tokens texts have, where those of a model are not known."""

from graphrag_dagster.core.text.tokens import get_tokenizer
from graphrag_dagster.core.text.verbalised import Verbalised

_ENCODING = "cl100k_base"


def tokens_of(candidates: Verbalised) -> int:
    """Return the tokens of all candidates by the encoding that is counted by elsewhere, too."""
    return sum(get_tokenizer(_ENCODING).counts(candidates.texts))

"""Probes as long as a corpus's requests: context length."""

import math
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace

from graphrag_dagster.kernel.models.chat.chat_model import (
    CallFailed,
    ChatReply,
    ChatRequest,
    Message,
    Refused,
)
from graphrag_dagster.kernel.models.chat.reply_parsing import visible_text
from graphrag_dagster.kernel.models.endpoint.endpoint_chat import OpenAIChatModel
from graphrag_dagster.kernel.models.probing.capability_probes import ProbeFinding
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.settings.model_settings import RoleName
from graphrag_dagster.kernel.text import prompts
from graphrag_dagster.kernel.text.tokenization import Tokenizer, get_tokenizer
from graphrag_dagster.systems.graphrag.llm.prompt_examples import graph_example, with_examples
from graphrag_dagster.systems.graphrag.settings import ExtractionSettings

_SPARE = 1000
#: A fourth of a context is for the reply; sizes are multiples of this; tokens of questions, names and marks
#: round the data; fewer tokens of data are unusable; an overlap is this part of a size.
_REPLY_SHARE, _ROUND, _OVERHEAD, _LEAST_DATA, _OVERLAP = 4, 100, 1100, 200, 6
#: How servers tell the tokens of a context in a refusal.
_CONTEXT = re.compile(
    r"(?:context (?:length|size|window)|maximum (?:model )?(?:input )?(?:length|tokens)|n_ctx)\D{0,40}?"
    r"(\d{3,7})",
    re.IGNORECASE,
)
_SHORT = 300
_LOST = 0.9
_REPLY = 200
_SYSTEM = {
    "extract": "extract_graph_system",
    "summarise": "summarize_descriptions_system",
    "report": "community_report_system",
    "answer": "global_map_system",
}
_FILLER = (
    "The ferry leaves the harbour at noon and comes back before dark.",
    "On the hill above the town stands a mill that no longer turns.",
    "Most of the letters in the archive were written in a careful hand.",
    "After the rain the road to the quarry was closed for two days.",
    "The baker opens early, because the fishermen eat before they sail.",
    "Nobody remembers who planted the row of limes beside the school.",
)
_MEND = (
    "serve it with a larger context (Ollama num_ctx, llama.cpp --ctx-size, vLLM --max-model-len), or set "
    "smaller text_units.size (with another strategy than none), reports.context_tokens, "
    "search.context_tokens and graph.max_input_tokens"
)


@dataclass(frozen=True, slots=True)
class _Long:
    """A long prompt: its tokens by our count, and the reply."""

    tokens: int
    reply: ChatReply
    first: str
    last: str

    @property
    def ratio(self) -> float:
        """The endpoint's count over ours; 0 where it gives none."""
        return self.reply.input_tokens / self.tokens


async def context_length(
    model: OpenAIChatModel,
    settings: CorpusSettings,
    tasks: list[RoleName],
    data: Mapping[RoleName, int] | None = None,
) -> list[ProbeFinding]:
    """Probe whether the longest prompts arrive whole.

    Args:
        model: who is asked.
        settings: of the corpus.
        tasks: for which the model is used.
        data: most tokens of data that the corpus as it is gives to a prompt of a task; default: as many as
            the settings allow.
    """
    tokenizer = get_tokenizer(settings.text_units.encoding)
    allowed = {task: _largest_input(settings, task) for task in tasks}
    real = {task: (data or {}).get(task, allowed[task]) for task in tasks}
    needed, largest = (
        max(tokens + _system(settings, task, tokenizer) for task, tokens in found.items()) + _SPARE
        for found in (real, allowed)
    )
    name = "context length"
    try:
        # A short prompt tells how the endpoint's tokens compare with ours.
        short = await _ask_long(model, tokenizer, _SHORT)
        long = await _ask_long(model, tokenizer, needed)
    except Refused as refusal:
        fix = _fitting_settings(settings, tasks, tokenizer, _stated_context(str(refusal)))
        return [
            ProbeFinding(name, "fails", f"{needed:,} tokens were refused: {refusal}", _MEND, settings=fix)
        ]
    except CallFailed as failure:
        return [ProbeFinding(name, "fails", f"{needed:,} tokens got no reply: {failure}", _MEND)]
    found = _judged(short, long)
    if found.verdict == "fails":
        arrived = int(long.reply.input_tokens / short.ratio) if short.ratio else 0
        found = replace(found, settings=_fitting_settings(settings, tasks, tokenizer, arrived))
    if found.verdict == "works" and needed < largest:
        told = f"enough for the current documents; the settings allow up to {largest:,} if there are more"
        found = replace(found, consequence="; ".join(filter(None, (told, found.consequence))))
    return [found]


def _stated_context(refusal: str) -> int:
    """Tokens of a context, as a refusal tells them; 0 where it does not."""
    return min(map(int, _CONTEXT.findall(refusal.replace(",", ""))), default=0)


def _fitting_settings(
    settings: CorpusSettings, tasks: list[RoleName], tokenizer: Tokenizer, context: int
) -> dict[str, int | float | bool | str]:
    """Settings under which all prompts and replies fit into a context; none where nothing of use fits."""
    reply = context // _REPLY_SHARE // _ROUND * _ROUND
    system = max(_system(settings, task, tokenizer) for task in tasks)
    data = (context - reply - system - _OVERHEAD) // _ROUND * _ROUND
    if data < _LEAST_DATA:
        return {}
    own = settings.text_units
    fix: dict[str, int | float | bool | str] = {}
    # Units are listed under the names that they bear, and of an entity typing prompt others fill the rest.
    if own.strategy == "none":
        fix["text_units.strategy"] = "tokens"
    if own.size > data:
        fix["text_units.size"] = data
        if own.overlap >= data:
            fix["text_units.overlap"] = data // _OVERLAP
    limits = {**settings.data_limits("summarise"), **settings.data_limits("report")}
    limits |= settings.data_limits("answer")
    fix |= {key: data for key, limit in limits.items() if limit > data}
    if max(settings.model.for_role(task).reply_limit for task in tasks) > reply:
        fix["model.max_output_tokens"] = reply
    return fix


def _largest_input(settings: CorpusSettings, task: RoleName) -> int:
    if task == "extract":
        return settings.text_units.size
    if task == "type":
        return max(settings.text_units.size, settings.largest_input(task))
    return settings.largest_input(task)


def _system(settings: CorpusSettings, task: RoleName, tokenizer: Tokenizer) -> int:
    name = _SYSTEM.get(task)
    system = prompts.load(name).text if name else ""
    if task == "extract":
        own = settings.section(ExtractionSettings)
        tuples = settings.model.replies == "tuples"
        labelled = own.relation_labels
        examples = [graph_example(one, own.entity_types, labelled=labelled) for one in own.examples]
        system = with_examples(system, examples, tuples=tuples)
    return tokenizer.count(system)


async def _ask_long(model: OpenAIChatModel, tokenizer: Tokenizer, tokens: int) -> _Long:
    # New words every time, so that no cache of prompts shortens what the endpoint counts.
    first, last = (f"NEEDLE-{secrets.token_hex(3).upper()}" for _ in range(2))
    per_round = tokenizer.count(" ".join(_FILLER))
    filler = " ".join(_FILLER * math.ceil(tokens / per_round))
    text = (
        f"The first code word is {first}.\n\n{tokenizer.truncate(filler, tokens)}\n\n"
        f"The second code word is {last}.\n\n"
        "Repeat the code words that begin with NEEDLE- one beside the other, and nothing else."
    )
    request = ChatRequest("probe", (Message("user", text),), _REPLY)
    reply = (await model.send(request)).reply
    return _Long(tokenizer.count(text), reply, first, last)


def _judged(short: _Long, long: _Long) -> ProbeFinding:
    name, said = "context length", visible_text(long.reply.text)
    counted = short.ratio > 0 and long.ratio > 0
    if counted and long.ratio < _LOST * short.ratio:
        whole = round(long.tokens * short.ratio)
        found = f"of {whole:,} tokens only {long.reply.input_tokens:,} arrived, silently"
        return ProbeFinding(name, "fails", found, _MEND)
    if long.first in said and long.last in said:
        return ProbeFinding(name, "works", f"all {long.tokens:,} tokens arrived", "")
    if counted:
        remark = "it repeats only part of the text: a larger model finds more in long contexts"
        return ProbeFinding(name, "works", f"{long.reply.input_tokens:,} tokens arrived", remark)
    if long.last in said:
        return ProbeFinding(name, "fails", f"of {long.tokens:,} tokens the beginning did not arrive", _MEND)
    remark = (
        "the endpoint counts no tokens and the model repeats no code word: check its context length yourself"
    )
    return ProbeFinding(name, "fallback", f"unknown whether {long.tokens:,} tokens arrive", remark)

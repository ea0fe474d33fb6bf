"""The search method ``own-context``: a model writes a context from what it knows, and answers from it.

It is what a system with documents is compared with. No index is read, so nothing can be cited.
"""

from dataclasses import replace

from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.models.call_estimates import MethodSize, Range, exactly
from graphrag_dagster.kernel.questions.context.answer import OWN_CONTEXT, Answer, Call, ContextUse, Source
from graphrag_dagster.kernel.questions.context.citing import uncited
from graphrag_dagster.kernel.questions.context.context_units import row_text
from graphrag_dagster.kernel.questions.question import REFUSAL, Basis, Search
from graphrag_dagster.kernel.tasks.answering_ports import WrittenContext
from graphrag_dagster.kernel.tasks.task_ports import ContextUnit, FinalAnswer
from graphrag_dagster.kernel.text.citations import Citation, parse_citations, rewrite_citations
from graphrag_dagster.kernel.text.evidence import Written
from graphrag_dagster.systems.coterag.tasks import CONTEXT_WRITER
from graphrag_dagster.systems.graphrag.api import ANSWERER, HEADERS

#: Tokens of a prompt without its material.
_PROMPT = 700

#: What stands for its title, also where nothing but the title is shown.
TITLE = "written by the model from what it knows, not from documents"
_RESTS_ON = "it rests on what the model wrote itself, on no document"


def own_context(search: Search) -> Answer:
    """Answer a question from a context that a model writes from its own knowledge, in two calls.

    The context is the one source of the answer, of a kind of its own. The answer bears no marks, and none of
    its statements counts as supported, since no document says any of it.

    Raises:
        QuestionError: no model is asked, and nobody else can write a context; or the answer is to be from
            some documents only.
        EngineError: no usable answer came.
        EndpointError: the model endpoint cannot be used.
    """
    if search.index.restricted:
        raise QuestionError(
            f"{search.method.name} reads no documents and knows no filter; leave the filter out, or ask in "
            "another way"
        )
    writer = search.engines.task(CONTEXT_WRITER)
    if writer is None:
        raise QuestionError(
            f"{search.method.name} needs a model, which writes the context; set search.engine: llm, or ask "
            "in another way"
        )
    answerer = search.engines.task(ANSWERER)
    written = writer.write(search.question.text, search.question.history)
    answer = _with_context(
        search, written, Answer(search.question.text, search.method.name, None, REFUSAL, writer.engine)
    )
    if not written.text:
        return answer
    unit = ContextUnit(1, TITLE, written.text, kind="source")
    rendered = f"-----{HEADERS['source']}\n{row_text([unit.id, unit.title, unit.text])}"
    final = answerer.answer(search.question.text, [unit], rendered, search.question.history)
    return _final_answer(answer, final)


def _with_context(search: Search, written: WrittenContext, answer: Answer) -> Answer:
    """A refusal that shows what was written, where anything was."""
    tokens = search.count(written.text) if written.text else 0
    call = Call("own_context", "what the model knows", None, tokens, bool(tokens), written.problem)
    answer = replace(
        answer,
        refused=True,
        problems=(written.problem,) if written.problem else (),
        steps=(call,),
        usage=written.usage,
    )
    if not tokens:
        return answer
    record = stable_id(OWN_CONTEXT, search.question.text, written.text)
    return replace(
        answer,
        sources=(Source(1, OWN_CONTEXT, record, TITLE, evidence=Written(written.text)),),
        context=(ContextUse(OWN_CONTEXT, record, TITLE, 0, tokens, text=written.text),),
    )


def _final_answer(answer: Answer, final: FinalAnswer) -> Answer:
    """The answer without marks: what they would stand for is no document."""
    (shown,) = answer.context
    said = bool(final.text.strip())
    text = rewrite_citations(final.text, {}).strip()
    invented = [one for one in parse_citations(final.text) if one != Citation("source", 1)]
    return replace(
        answer,
        text=text if said else REFUSAL,
        engine=final.engine,
        refused=not said,
        statements=uncited(text, _RESTS_ON),
        context=(replace(shown, used=said),),
        removed_citations=len(invented),
        steps=(*answer.steps, Call("answer", "the context of its own", None, shown.tokens, said)),
        usage=answer.usage + final.usage,
    )


def estimate_own_context(_basis: Basis) -> MethodSize:
    """A context of what the model knows, and an answer from it; no statement is judged."""
    return MethodSize(exactly(2), exactly(2 * _PROMPT) + Range(50.0, 600.0, 2000.0))

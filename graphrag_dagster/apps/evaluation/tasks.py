"""The tasks of an evaluation: writers of questions and test sets, and judges of answers (paper §3.2).

Each step of writing questions is given the existing items, so that repetitions can be requested again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, get_args

from graphrag_dagster.kernel.catalogue.tasks import LLM, Task, prompt_pairs
from graphrag_dagster.kernel.models.chat.chat_model import Items, Usage
from graphrag_dagster.kernel.tasks.task_ports import OfEngine

#: What is asked of each item:
#: ``relevant_to_question`` has a statement to do with the question (idk: it does not answer, but may help);
#: ``true_to_context`` does the context say so (no: it contradicts; idk: it does not tell);
#: ``attributable_to_context`` does some part of the context say so (yes or no);
#: ``useful_node`` does a node of the context hold a part of the reference answer (yes or no).
VerdictKind = Literal["relevant_to_question", "true_to_context", "attributable_to_context", "useful_node"]


#: Verdict on an item: yes, no or unknown.
VerdictWord = Literal["yes", "no", "idk"]


@dataclass(frozen=True, slots=True)
class ItemVerdict:
    """The verdict on one item and the reason, which may be blank."""

    verdict: VerdictWord
    reason: str = ""


#: The statements of a text, in its order; none where it states nothing.
StatementsOf: TypeAlias = Items[str]


@dataclass(frozen=True, slots=True)
class VerdictRequest:
    """One question asked of each of many items.

    Args:
        kind: what is asked.
        items: the statements; for ``useful_node`` the nodes of the context, best first.
        question: for ``relevant_to_question`` and ``useful_node``.
        context: texts of the nodes, for ``true_to_context`` and ``attributable_to_context``.
        reference: the reference answer, for ``useful_node``.
    """

    kind: VerdictKind
    items: tuple[str, ...]
    question: str = ""
    context: tuple[str, ...] = ()
    reference: str = ""


#: One verdict for each item of a request, in their order: verdicts on some of the items only are unusable.
VerdictsOf: TypeAlias = Items[ItemVerdict]


@dataclass(frozen=True, slots=True)
class GeneratedQuestions:
    """Questions that an answer would fit, and whether it evades; ``problem`` says why there are none."""

    questions: tuple[str, ...]
    noncommittal: bool = False
    problem: str | None = None
    usage: Usage = field(default_factory=Usage)


class QualityJudge(OfEngine, Protocol):
    """Judges statements and nodes; what it cannot judge has a problem, never a guess."""

    def statements(self, texts: Sequence[str]) -> list[StatementsOf]:
        """Return the statements of each text."""

    def verdicts(self, requests: Sequence[VerdictRequest]) -> list[VerdictsOf]:
        """Return the verdicts of each request."""

    def questions_for(self, answers: Sequence[str], count: int) -> list[GeneratedQuestions]:
        """Return ``count`` questions for each answer."""


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Described:
    """Description of a corpus; blank where a model's reply could not be used, and ``problem`` says why."""

    text: str
    problem: str | None = None
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class PersonaDraft:
    """An invented user of the corpus: who it is, and what the person wants of the corpus."""

    name: str
    description: str


#: What was written at one request: more or fewer than were asked for, and unchecked; ``problem`` also says
#: why there cannot be as many as asked for.
Drafts: TypeAlias = Items[T]


@dataclass(frozen=True, slots=True)
class TaskRequest:
    """Asks for ``count`` tasks of a persona, none of them in ``avoid``."""

    description: str
    persona: PersonaDraft
    count: int
    avoid: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QuestionRequest:
    """Asks for ``count`` questions of a persona at a task, none of them in ``avoid``."""

    description: str
    persona: PersonaDraft
    task: str
    count: int
    avoid: tuple[str, ...] = ()


class QuestionWriter(OfEngine, Protocol):
    """Writes questions that need an understanding of the whole corpus, not low-level facts."""

    def describe(self, texts: Sequence[str], /) -> Described:
        """Describe a corpus from texts sampled of it; the caller sees to it that they fit into a prompt."""

    def personas(
        self, description: str, count: int, avoid: Sequence[PersonaDraft] = (), /
    ) -> Drafts[PersonaDraft]:
        """Return personas who might use a corpus of that description."""

    def tasks(self, requests: Sequence[TaskRequest]) -> list[Drafts[str]]:
        """Return the drafts of each request, in the order of the requests."""

    def questions(self, requests: Sequence[QuestionRequest]) -> list[Drafts[str]]:
        """Return the drafts of each request, in the order of the requests."""


#: ``kept`` and ``rewritten`` sentences have claims, of their own words or of a part or rewording of them; the
#: others have none: nothing in them can be checked, what they speak of stays open, or it could not be told.
SentenceState = Literal["kept", "rewritten", "not_verifiable", "ambiguous", "failed"]


@dataclass(frozen=True, slots=True)
class AnswerText:
    """An answer and the question it was given to."""

    question: str
    text: str


@dataclass(frozen=True, slots=True)
class SentenceClaims:
    """Outcome for one sentence of an answer.

    ``sentence`` is as the answer has it, without citations, list marks and Markdown. ``reason`` says why
    there are no claims, or what was rewritten.
    """

    sentence: str
    state: SentenceState
    claims: tuple[str, ...] = ()
    reason: str | None = None
    usage: Usage = field(default_factory=Usage)


class ClaimDecomposer(OfEngine, Protocol):
    """Finds in each sentence of answers the claims that could be checked, each standing on its own."""

    def decompose(self, answers: Sequence[AnswerText]) -> Iterator[tuple[SentenceClaims, ...]]:
        """Yield one tuple per answer, in their order: each of its sentences exactly once, in its order."""


#: What each means stands in the prompts ``judge_criterion_…``.
Criterion = Literal["comprehensiveness", "diversity", "empowerment", "directness"]
CRITERIA: tuple[Criterion, ...] = get_args(Criterion)
#: 1 or 2: the answer that was shown first or second; 0: neither.
Winner = Literal[0, 1, 2]


@dataclass(frozen=True, slots=True)
class AnswerPair:
    """Two answers to a question in the order in which they are shown, and by what they are compared.

    ``replicate`` tells apart comparisons that are the same on purpose: each gets a verdict of its own.
    """

    question: str
    answer_1: str
    answer_2: str
    criterion: Criterion
    replicate: int = 0

    @property
    def identical(self) -> bool:
        """Whether the two answers are the same text, white space aside."""
        return self.answer_1.split() == self.answer_2.split()


@dataclass(frozen=True, slots=True)
class Verdict:
    """The winner and the reason. ``problem`` says why there is no usable reply, else None; ``winner`` is 0
    then, so that what cannot be judged counts as a tie. ``usage`` is all zero where no model was needed.
    """

    winner: Winner
    reason: str
    problem: str | None = None
    usage: Usage = field(default_factory=Usage)


#: The verdict on answers that are the same text: whatever a judge made of them would be noise.
IDENTICAL = Verdict(0, "The two answers are the same text.")


class AnswerJudge(OfEngine, Protocol):
    """Compares answers."""

    def judge(self, comparisons: Sequence[AnswerPair]) -> Iterator[Verdict]:
        """Yield one verdict per comparison, in their order, each as soon as it and those before it are there.

        Identical answers get :data:`IDENTICAL` without any call.
        """


@dataclass(frozen=True, slots=True)
class DocumentRequest:
    """Asks for ``count`` questions about a document, none of them in ``avoid``.

    Attributes:
        title: of the document.
        text: of it, as much as is shown.
        count: how many.
        avoid: questions that there are already.
    """

    title: str
    text: str
    count: int
    avoid: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReferenceDraft:
    """A question with the right answer by the document, and words of the document that say so.

    Each is blank where it was not given; nobody has looked yet whether the document has the words.
    """

    question: str
    reference: str
    evidence: str = ""


#: What was written at one request: more or fewer than were asked for, and unchecked.
ReferenceDrafts: TypeAlias = Items[ReferenceDraft]


class TestsetWriter(OfEngine, Protocol):
    """Writes questions that a single document answers."""

    def write(self, requests: Sequence[DocumentRequest]) -> list[ReferenceDrafts]:
        """Return the drafts of each request, in the order of the requests."""


@dataclass(frozen=True, slots=True)
class Theme:
    """Something that a judge goes by: a few words, and a sentence on when a reason speaks of it."""

    name: str
    description: str


@dataclass(frozen=True, slots=True)
class Reasons:
    """Reasons by one criterion that are read in one call, with the themes there are, if any."""

    criterion: Criterion
    texts: tuple[str, ...]
    themes: tuple[Theme, ...] = ()


@dataclass(frozen=True, slots=True)
class ThemeLists:
    """Themes that were found in several parts of the reasons by one criterion."""

    criterion: Criterion
    themes: tuple[Theme, ...]


#: Themes, no two with the same name.
Themes: TypeAlias = Items[Theme]
#: Of each reason the places of its themes, 0…, rising.
Labels: TypeAlias = Items[tuple[int, ...]]


class ReasonReader(OfEngine, Protocol):
    """Reads the reasons of a judge; each method answers in the order of what it is given."""

    def name_themes(self, parts: Sequence[Reasons]) -> list[Themes]:
        """Name the themes of each part."""

    def merge_themes(self, found: Sequence[ThemeLists]) -> list[Themes]:
        """Make one list of themes that say the same in several words."""

    def label_reasons(self, parts: Sequence[Reasons]) -> list[Labels]:
        """Say of each reason which of its part's themes it speaks of."""


_CRITERIA = tuple(sorted(f"judge_criterion_{one}" for one in CRITERIA))

QUESTION_WRITER: Task[QuestionWriter] = Task(
    "question_writer",
    "questions",
    "answer",
    prompt_pairs("describe_corpus", "write_personas", "write_questions", "write_tasks"),
    waited_for=True,
)
TESTSET_WRITER: Task[TestsetWriter | None] = Task(
    "testset_writer",
    "questions",
    "testset",
    prompt_pairs("write_testset"),
    waited_for=True,
    done_by=(LLM,),
    switch="questions.testset",
)
ANSWER_JUDGE: Task[AnswerJudge | None] = Task(
    "answer_judge",
    "evaluation",
    "judge",
    (*_CRITERIA, *prompt_pairs("judge", "judge_plain")),
    done_by=(LLM,),
)
REASON_READER: Task[ReasonReader | None] = Task(
    "reason_reader",
    "evaluation",
    "judge",
    (*_CRITERIA, *prompt_pairs("themes_label", "themes_merge", "themes_name")),
    done_by=(LLM,),
)
CLAIM_DECOMPOSER: Task[ClaimDecomposer] = Task(
    "claim_decomposer",
    "evaluation",
    "judge",
    prompt_pairs("claims_decompose", "claims_disambiguate", "claims_select"),
)
QUALITY_JUDGE: Task[QualityJudge | None] = Task(
    "quality_judge",
    "evaluation",
    "judge",
    (
        *prompt_pairs(
            "quality_questions",
            "quality_relevant_to_question",
            "quality_statements",
            "quality_useful_node",
        ),
        "quality_against_context_user",
        "quality_attributable_to_context_system",
        "quality_true_to_context_system",
    ),
    done_by=(LLM,),
)

TASKS: tuple[Task[Any], ...] = (
    QUESTION_WRITER,
    TESTSET_WRITER,
    ANSWER_JUDGE,
    REASON_READER,
    CLAIM_DECOMPOSER,
    QUALITY_JUDGE,
)

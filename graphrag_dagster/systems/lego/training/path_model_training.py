"""Trains models on the question files of a corpus to recognise paths that answer (paper B.6)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from graphrag_dagster.errors import ExportError, SettingsError
from graphrag_dagster.kernel.common.atomic_files import replacing
from graphrag_dagster.kernel.common.progress import stage
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tasks.task_provider import TaskProvider
from graphrag_dagster.systems.lego.llm.path_selection import SelectionPrompts
from graphrag_dagster.systems.lego.retrieval.oneshot_retrieval import SELECTED_FROM
from graphrag_dagster.systems.lego.retrieval.path_retrievers import retriever_of
from graphrag_dagster.systems.lego.retrieval.scorer_registry import BGE_RERANKER, recipe_scorer
from graphrag_dagster.systems.lego.search.graph_arrays import path_store_of
from graphrag_dagster.systems.lego.search.instance_definitions import DEFAULT, ScorerName, Switches
from graphrag_dagster.systems.lego.search.reasoning_paths import Subgraph
from graphrag_dagster.systems.lego.settings import PathSettings
from graphrag_dagster.systems.lego.studies.gold_questions import (
    linked_questions,
    questions_of,
    require_questions,
)
from graphrag_dagster.systems.lego.subgraphs.subgraph_extraction import extractor_of
from graphrag_dagster.systems.lego.training.bi_encoder_training import (
    FineTuned,
    Training,
    fine_tune,
    require_training,
)
from graphrag_dagster.systems.lego.training.gold_paths import (
    MOST_QUESTIONS,
    DrawnQuestions,
    GoldPath,
    GoldPaths,
    TrainingExample,
    TrainingQuestion,
    drawn_questions,
    split_paths,
    training_lines,
)
from graphrag_dagster.systems.lego.training.reranker_training import (
    RERANKER_PACKAGES,
    fine_tune_reranker,
)

#: Questions whose subgraphs are prepared together.
_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class TunedScorer:
    """A scorer that was fine-tuned on a corpus.

    Attributes:
        questions: that were drawn.
        without: of these, from which no path leads to an answer.
        base: what was fine-tuned; None: the packaged all-MiniLM-L6-v2.
        tuned: the model, and what it is worth.
        scorer: value of ``paths.scorer`` that uses it.
    """

    questions: DrawnQuestions
    without: int
    base: str | None
    tuned: FineTuned
    scorer: ScorerName = "minilm"


@dataclass(frozen=True, slots=True)
class SelectorFile:
    """A training file of a selector.

    Attributes:
        questions: that were drawn; those held out are not in the file.
        file: where it is.
        lines: of it, one for each question for training that has a path.
        none: of these, whose reply is ``NONE``: no candidate leads to an answer.
    """

    questions: DrawnQuestions
    file: Path
    lines: int
    none: int


class PathTraining:
    """The gold paths of a corpus, to be learnt from.

    Subgraphs and paths are those of instance 12 with the options of the corpus. Questions are linked with
    the graph as the table ``paths.questions`` has them, whether it is there or not. Those that begin from an
    entity that is held out are not learnt from; one in five entities is. Where ``paths.sample`` draws
    questions for the job ``paths``, these are neither.

    Args:
        warehouse: where the tables are.
        corpus: its name.
        folder: the corpus folder.
        session: the engines.

    Raises:
        SettingsError: the corpus has no question files.
        WarehouseError: nothing has been published.
    """

    def __init__(self, warehouse: Warehouse, corpus: str, folder: Path, session: TaskProvider) -> None:
        self._corpus, self._folder, self._session = corpus, folder, session
        self._own = session.settings.section(PathSettings)
        require_questions(self._own, corpus)
        recipe = self._own.recipe(DEFAULT.name)
        self._options = replace(recipe.options, switches=Switches())
        self._recipe = recipe
        self._store = path_store_of(warehouse, corpus, self._options.prefilter)

    def tune(
        self, folder: Path, most: int = MOST_QUESTIONS, *, epochs: int = 1, device: str = "cpu"
    ) -> TunedScorer:
        """Fine-tune the model that scores paths: that of the corpus, or the packaged bi-encoder.

        Where ``paths.scorer`` is ``cross-encoder``, it is that one, by default the paper's.

        Args:
            folder: for the model; made where it is not there.
            most: questions at most, drawn by ``paths.seed``.
            epochs: how often each pair is seen.
            device: of torch.

        Raises:
            ExportError: the folder holds something, or cannot be made.
            SettingsError: the question files cannot be used, or nothing can be learnt from them.
            EngineError: see :func:`graphrag_dagster.systems.lego.training.bi_encoder_training.fine_tune`
                and :func:`graphrag_dagster.systems.lego.training.reranker_training.fine_tune_reranker`.
        """
        reranks = self._options.scorer == "cross-encoder"
        _require_empty(folder)
        if reranks:
            require_training(device, RERANKER_PACKAGES)
        else:
            require_training(device)
        drawn = self._draw_questions(most)
        _make(folder)
        gold = GoldPaths(self._options, self._store)
        learnt: list[GoldPath] = []
        tried: list[GoldPath] = []
        without = 0
        for one, subgraph in self._subgraphs(drawn.questions):
            pairs = gold.of(one.query, one.answers, subgraph)
            without += not pairs
            (tried if one.tried else learnt).extend(pairs)
        # A question that is tried may begin from an entity that others are learnt from, too.
        tried = split_paths(tried, seed=self._own.seed)[1]
        base = self._recipe.scorer_model if self._options.scorer == "minilm" else None
        training = Training(base, epochs=epochs, seed=self._own.seed, device=device)
        with stage("Fine-tuning"):
            if reranks:
                base = self._recipe.scorer_model or BGE_RERANKER
                tuned = fine_tune_reranker(base, learnt, tried, folder, training)
                return TunedScorer(drawn, without, base, tuned, "cross-encoder")
            tuned = fine_tune(learnt, tried, folder, training)
        return TunedScorer(drawn, without, base, tuned)

    def write_selector_file(self, file: Path, most: int = MOST_QUESTIONS) -> SelectorFile:
        """Write the questions for training as chats with a selector, with the replies that are right.

        Candidates are those that instance 13 shows. The file is replaced when the new one is whole.

        Args:
            file: of JSON lines.
            most: questions at most, those that are held out among them.

        Raises:
            ExportError: the file cannot be written.
            SettingsError: the question files cannot be used, or nothing can be learnt from them.
            EngineError: the scorer of the corpus cannot be used.
        """
        if file.is_dir():
            raise ExportError(f"{file} cannot be written: it is a folder")
        drawn = self._draw_questions(most)
        examples = list(self._examples(drawn.learnt))
        lines = list(training_lines(SelectionPrompts(), examples))
        if not lines:
            raise SettingsError(
                f"no question of corpus {self._corpus!r} for training has a path; add questions with answers "
                "to paths.questions, or draw more of them"
            )
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with replacing(file) as stream:
                stream.writelines(f"{line}\n" for line in lines)
        except OSError as error:
            raise ExportError(f"{file} cannot be written: {error.strerror or error}") from error
        none = sum(1 for one in examples if len(one.candidates) and not one.gold)
        return SelectorFile(drawn, file, len(lines), none)

    def _examples(self, questions: Sequence[TrainingQuestion]) -> Iterator[TrainingExample]:
        own = self._options
        embedder = self._session.embedder() if own.scorer == "embedder" else None
        scorer = recipe_scorer(self._recipe, embedder)
        ranked = retriever_of(replace(own, top_k=max(own.top_k, SELECTED_FROM)), self._store, scorer=scorer)
        for one, subgraph in self._subgraphs(questions):
            found = ranked.retrieve(one.query, subgraph).paths
            yield TrainingExample.of_paths(one.query.question, found.verbalised, one.answers)

    def _subgraphs(
        self, questions: Sequence[TrainingQuestion]
    ) -> Iterator[tuple[TrainingQuestion, Subgraph]]:
        extractor = extractor_of(self._options, self._store)
        with stage("Finding paths that answer", len(questions)) as running:
            for start in range(0, len(questions), _AT_ONCE):
                part = questions[start : start + _AT_ONCE]
                extractor.prepare([one.query for one in part])
                for one in part:
                    yield one, extractor.extract(one.query).subgraph
                    running.advance()

    def _draw_questions(self, most: int) -> DrawnQuestions:
        asked = questions_of(self._folder, self._own)
        linked = linked_questions(asked, self._store, self._own, self._session.embedder())
        return drawn_questions(linked, self._store, self._own, self._corpus, most)


def _require_empty(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ExportError(f"{folder} is there, and is no empty folder; name a new one for the model")


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ExportError(f"{folder} cannot be made: {error.strerror or error}") from error

"""Estimated model calls of the question files of a corpus, and of one question."""

from collections.abc import Iterable, Iterator, Sequence

from graphrag_dagster.kernel.catalogue.registry import tasks
from graphrag_dagster.kernel.models.call_estimates import Estimate, MethodSize, Plan, Range, exactly
from graphrag_dagster.kernel.models.plan_inputs import KnownReplies, PlanPlaces, prices_of
from graphrag_dagster.kernel.questions.question import Basis
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.text import prompts
from graphrag_dagster.kernel.text.tokenization import get_tokenizer
from graphrag_dagster.systems.graphrag.api import one_call
from graphrag_dagster.systems.lego.search.instance_definitions import PathOptions, Recipe
from graphrag_dagster.systems.lego.settings import PathSettings
from graphrag_dagster.systems.lego.studies.gold_questions import questions_of, questions_to_ask
from graphrag_dagster.systems.lego.studies.question_files import GoldQuestion

#: Tokens of a label or relation in a prompt, and of a reply that selects, judges or answers.
_PIECE = 5
_SELECTED = Range(5, 120, 512)
_ANSWERED = Range(5, 60, 512)
_JUDGED = Range(1, 20, 200)


def plan_paths_of(name: str, places: PlanPlaces | None = None) -> Plan:
    """Return what the instances of a corpus ask of models if nothing is cached of it yet.

    Raises:
        GraphragError: its settings or its files of questions cannot be used.
    """
    places = places or PlanPlaces()
    store, settings = places.corpora, places.corpora.settings(name)
    if not settings.asks_model("paths"):
        return Plan(name, 0)
    own = settings.section(PathSettings)
    asked = questions_to_ask(questions_of(store.folder(name), own), own)
    return _priced(name, settings, _estimates(settings, places, own.recipes(), asked))


def plan_path_study_of(name: str, places: PlanPlaces | None = None) -> Plan:
    """Return what the study of paths asks of models if nothing is cached of it yet.

    Raises:
        GraphragError: its settings or its files of questions cannot be used.
    """
    # The study, beside which estimates are light.
    from graphrag_dagster.systems.lego.studies.path_study import recall_variants, switch_variants

    places = places or PlanPlaces()
    store, settings = places.corpora, places.corpora.settings(name)
    if not settings.asks_model("paths"):
        return Plan(name, 0)
    own = settings.section(PathSettings)
    able = [one for one in questions_of(store.folder(name), own) if one.asked and one.answers]
    recipes = [one.recipe for one in (*recall_variants(own), *switch_variants(own))]
    estimates = _estimates(settings, places, recipes, able[: own.studied])
    return _priced(name, settings, (one for one in estimates if one.task != "path_judge"))


def _priced(name: str, settings: CorpusSettings, planned: Iterable[Estimate]) -> Plan:
    estimates = list(planned)
    prices = prices_of(settings.model, estimates, lambda one: tasks()[one.task].role)
    return Plan(name, 0, estimates, prices)


def selections(recipe: Recipe, seeds: int) -> Range:
    """Return how often something is selected for a question: at most once a seed and hop.

    Where nothing is there to be selected from, nobody is asked.

    Args:
        recipe: of the instance.
        seeds: of the question.
    """
    options, switches = recipe.options, recipe.options.switches
    pruned = float(options.pruning == "llm")
    hops = seeds * options.max_hop
    asked = Range(0, pruned, pruned)
    if options.judged == "llm" and options.retrieval == "isar":
        asked = asked + Range(0, seeds * (options.max_hop + 1) / 2, hops)
    elif options.judged == "llm" and options.retrieval == "osar" and switches.window:
        most = -(-options.most_paths // switches.window) + 1
        asked = asked + Range(0, min(-(-1000 // switches.window) + 1, most), most)
    elif options.judged == "llm" and options.retrieval == "osar":
        asked = asked + Range(0, 1, 1)
    if switches.refine:
        asked = asked + Range(0, 1, 1)
    if switches.early_stop:
        asked = asked + Range(0, seeds * (options.max_hop + 1) / 2, hops)
    return asked


def _estimates(
    settings: CorpusSettings, places: PlanPlaces, recipes: Sequence[Recipe], asked: Sequence[GoldQuestion]
) -> Iterator[Estimate]:
    tokenizer = get_tokenizer(settings.text_units.encoding)
    known = KnownReplies(settings.model, tokenizer.count, places.memory.database())
    prompt = {task: _prompt(known, task) for task in ("path_selector", "path_answerer", "path_judge")}
    seeds = [max(len(one.entities), 1) for one in asked]
    for recipe in recipes:
        calls = Range(0, 0, 0)
        for count in seeds:
            calls = calls + selections(recipe, count)
        if calls.high:
            shown = _candidate_tokens(recipe.options) + exactly(prompt["path_selector"])
            yield _estimate(settings, recipe.name, "path_selector", calls, shown, _SELECTED)
    answers = exactly(len(asked) * len(recipes))
    read = Range(0, settings.section(PathSettings).shown / 2, settings.section(PathSettings).shown) * _path(
        settings.section(PathSettings).options()
    )
    yield _estimate(
        settings, "answers", "path_answerer", answers, read + exactly(prompt["path_answerer"]), _ANSWERED
    )
    gold = exactly(sum(bool(one.answers) for one in asked) * len(recipes))
    yield _estimate(
        settings, "verdicts", "path_judge", gold, _ANSWERED + exactly(prompt["path_judge"]), _JUDGED
    )


def _estimate(
    settings: CorpusSettings, stage: str, task: str, calls: Range, read: Range, written: Range
) -> Estimate:
    model = settings.model.for_role(tasks()[task].role).name
    return Estimate(stage, task, model, calls, calls * read, calls * written)


def _candidate_tokens(options: PathOptions) -> Range:
    """Tokens of the candidates of a selection, before what does not fit is left out."""
    window = max(options.top_k, options.max_edge, options.switches.window)
    return Range(_PIECE, window * _path(options).expected, window * _path(options).high)


def _path(options: PathOptions) -> Range:
    """Tokens of a path as it is written."""
    return Range(3, options.max_hop + 1, 2 * options.max_hop + 1) * _PIECE


def _prompt(known: KnownReplies, task: str) -> int:
    names = tasks()[task].prompts
    return max((known.tokens(prompts.load(name).text) for name in names), default=0)


def estimate_paths(basis: Basis) -> MethodSize:
    """A context of its own; before it what a selector reads, where the instance has a model in a module."""
    size, recipe = one_call(basis), basis.settings.section(PathSettings).chosen_recipe
    if not recipe.asks_selector:
        return size
    own = recipe.options
    steps = own.max_hop if own.retrieval == "isar" else 1
    calls = float((own.pruning == "llm") + steps * (own.judged == "llm"))
    window = float(basis.options.context_tokens)
    return MethodSize(
        size.calls + Range(0.0, calls, 4.0 * calls),
        size.input_tokens + Range(0.0, calls * window / 4, 4.0 * calls * window),
    )

import importlib.util
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from graphrag_dagster.engines.neural.gliner_rebel_models import (
    Checkpoint,
    GlinerEntityModel,
    RebelRelationModel,
    Writing,
    choose_device,
)
from graphrag_dagster.engines.neural.neural_extractor import NeuralGraphExtractor
from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.tasks.task_ports import TextUnit, UnitExtraction
from support.neural_checkpoints import LABELS, TAUGHT, saved_gliner, saved_rebel

INSTALLED = bool(importlib.util.find_spec("gliner"))
needs_extra = pytest.mark.skipif(not INSTALLED, reason="an optional extra")
REMDESIVIR, WUHAN, WEATHER, ASPIRIN, LOPINAVIR = TAUGHT
RUSSIAN = "Врачи лечили больных в городе новым лекарством и наблюдали за ними каждый день ."
CHINESE = "医生们用瑞德西韦治疗发烧的病人，他们在医院里每天都观察病人的情况。"


def entities(folder: Path, threshold: float = 0.7) -> GlinerEntityModel:
    return GlinerEntityModel(str(folder), LABELS, threshold)


def found_in(model: GlinerEntityModel, text: str) -> list[tuple[str, str]]:
    return [(text[one.span.start : one.span.end], one.label) for one in model.mentions(text)]


def extracted(gliner: Path, rebel: Path, *texts: str, **more: object) -> list[UnitExtraction]:
    relations = RebelRelationModel(str(rebel), Writing(batch=4))
    extractor = NeuralGraphExtractor(entities(gliner), relations, **more)
    return list(extractor.extract([TextUnit(f"u{n}", text) for n, text in enumerate(texts)]))


@needs_extra
def test_mentions_are_exact_characters_also_of_texts_longer_than_the_model_reads(gliner: Path) -> None:
    model = entities(gliner)
    for text, (mentions, _) in TAUGHT.items():
        assert sorted(found_in(model, text)) == sorted(mentions.items())
    long = "\n\n".join([REMDESIVIR, WEATHER, ASPIRIN] * 7)
    assert found_in(model, long) == [("Remdesivir", "drug"), ("fever", "symptom"), ("Aspirin", "drug")] * 7
    for nothing in ("", "   \n", "…", CHINESE, RUSSIAN):
        assert all(nothing[one.span.start : one.span.end] for one in model.mentions(nothing))


@needs_extra
def test_less_sure_mentions_are_below_the_threshold(tmp_path: Path) -> None:
    untaught = saved_gliner(tmp_path, steps=0)
    assert entities(untaught, 0.01).mentions(WUHAN)
    assert entities(untaught, 0.99).mentions(WUHAN) == []


@needs_extra
def test_a_unit_gives_its_entities_and_its_own_triples(gliner: Path, rebel: Path) -> None:
    first, second, weather, aspirin, last = extracted(gliner, rebel, *TAUGHT)
    assert [(one.name, one.type) for one in first.entities] == [("REMDESIVIR", "DRUG"), ("FEVER", "SYMPTOM")]
    assert [(one.source, one.relation, one.target) for one in first.relationships] == [
        ("REMDESIVIR", "treats", "FEVER")
    ]
    assert [(one.source, one.relation, one.target) for one in second.relationships] == [
        ("SARS-COV-2", "has_cause", "PNEUMONIA"),
        ("SARS-COV-2", "location", "WUHAN"),
    ]
    assert [(one.raw, one.reason) for one in second.quarantined] == [
        ("<triplet> Ebola", "no tail and no relation")
    ]
    assert (weather.state, weather.reason, weather.quarantined) == ("empty", "no entities found", ())
    assert ([one.name for one in aspirin.entities], aspirin.relationships) == (["ASPIRIN"], ())
    assert [(one.name, one.type, one.spans) for one in last.entities[3:]] == [
        ("HYDROXYCHLOROQUINE", "UNKNOWN", ())
    ]


@needs_extra
def test_what_a_unit_gives_depends_on_it_alone(gliner: Path, rebel: Path) -> None:
    texts = [*TAUGHT, LOPINAVIR + " " + REMDESIVIR, "\n".join(TAUGHT)]
    together = extracted(gliner, rebel, *texts)
    assert extracted(gliner, rebel, *texts) == together
    backwards = extracted(gliner, rebel, *reversed(texts))
    for place, text in enumerate(texts):
        [alone] = extracted(gliner, rebel, text)
        assert replace(alone, unit_id=f"u{place}") == together[place]
        assert replace(backwards[-1 - place], unit_id=f"u{place}") == together[place]


@needs_extra
def test_every_batch_has_the_same_number_of_texts_and_a_length_that_each_decides_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = saved_rebel(tmp_path, steps=0, longest=256)
    model = RebelRelationModel(str(folder), Writing(batch=4, input_tokens=200, max_length=16))
    model.relations([REMDESIVIR])
    _, loaded = model._loaded
    shapes: list[tuple[int, ...]] = []
    generate = type(loaded).generate

    def noting(self, **given):  # type: ignore[no-untyped-def]
        shapes.append(tuple(given["input_ids"].shape))
        return generate(self, **given)

    monkeypatch.setattr(type(loaded), "generate", noting)
    alone = {text: model.relations([text])[0] for text in (*TAUGHT, " ".join([WUHAN] * 12))}
    assert set(shapes) == {(4, 64), (4, 128)}
    assert model.relations(list(alone)) == list(alone.values())
    assert set(shapes) == {(4, 64), (4, 128)}


@needs_extra
def test_units_of_other_languages_are_counted_and_read_where_wished(gliner: Path, rebel: Path) -> None:
    texts = ("", " \n", RUSSIAN, CHINESE)
    states = [(one.state, one.reason) for one in extracted(gliner, rebel, *texts)]
    assert states[:2] == [("empty", "no text")] * 2
    assert states[2] == ("unreadable", "written in Russian; the gliner-rebel engine reads English")
    wished = extracted(gliner, rebel, *texts, languages=[])
    assert all(one.state in {"empty", "extracted"} for one in wished)
    places = [
        (text, span)
        for text, one in zip(texts, wished, strict=True)
        for entity in one.entities
        for span in entity.spans
    ]
    assert all(text[span.start : span.end].strip() for text, span in places)


@needs_extra
def test_a_text_is_read_window_by_window_and_a_long_output_is_cut_off(rebel: Path) -> None:
    text = f"{REMDESIVIR} {LOPINAVIR}"
    own = RebelRelationModel(str(rebel), Writing(input_tokens=16, batch=1))
    [parts] = own.relations([f"{text} {text}"])
    assert len(parts) > 1
    short = RebelRelationModel(str(rebel), Writing(max_length=8, batch=2))
    [[cut]] = short.relations([WUHAN])
    assert cut.triples == ()
    assert cut.incomplete[-1].reason == "cut off"
    assert own.relations([]) == []


@needs_extra
def test_a_version_is_that_of_the_files(tmp_path: Path, gliner: Path) -> None:
    def version(folder: Path) -> str:
        return Checkpoint(str(folder), "extraction.gliner.model", "").version

    copy = shutil.copytree(gliner, tmp_path / "copy")
    assert version(copy) == version(gliner)
    (copy / "README.md").write_text("words")
    assert version(copy) == version(gliner)
    config = json.loads((copy / "gliner_config.json").read_text())
    (copy / "gliner_config.json").write_text(json.dumps(config | {"max_len": 12}))
    assert version(copy) != version(gliner)
    assert version(saved_gliner(tmp_path / "other", steps=1)) != version(gliner)


@needs_extra
def test_a_checkpoint_of_the_hub_is_its_revision(
    tmp_path: Path, gliner: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "models--owner--tiny"
    shutil.copytree(gliner, kept / "snapshots" / ("5" * 40))
    (kept / "refs").mkdir()
    (kept / "refs" / "main").write_text("5" * 40)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    model = GlinerEntityModel("owner/tiny", LABELS, 0.7)
    assert model.checkpoint.version == "5" * 40
    assert found_in(model, REMDESIVIR) == [("Remdesivir", "drug"), ("fever", "symptom")]
    with pytest.raises(EngineError, match="extraction.gliner.model 'owner/tiny@v2' cannot be loaded"):
        GlinerEntityModel("owner/tiny@v2", LABELS, 0.7).mentions(REMDESIVIR)


@needs_extra
def test_what_is_no_checkpoint_is_one_clear_error(tmp_path: Path, gliner: Path, rebel: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    broken = shutil.copytree(gliner, tmp_path / "broken")
    (broken / "model.safetensors").write_bytes(b"no weights")
    for folder, told in (
        (empty, "holds no weights"),
        (tmp_path / "nowhere", "is no folder"),
        (rebel, "cannot be loaded: there is no gliner_config.json"),
        (broken, "cannot be loaded"),
        ("nobody/has-this-model", "cannot be loaded"),
    ):
        with pytest.raises(EngineError, match=f"extraction.gliner.model .*{told}") as raised:
            entities(Path(folder)).mentions(WUHAN)
        assert "give the absolute path of a folder with a GLiNER model" in str(raised.value)
    unmarked = saved_rebel(tmp_path / "unmarked", steps=0, markers=())
    for folder, told in ((gliner, "cannot be loaded"), (unmarked, "its tokenizer does not know <triplet>")):
        with pytest.raises(EngineError, match=f"extraction.rebel.model .*{told}"):
            RebelRelationModel(str(folder)).relations([WUHAN])


@needs_extra
def test_weights_that_leave_something_out_are_refused(tmp_path: Path, gliner: Path, rebel: Path) -> None:
    from safetensors.torch import load_file, save_file

    for made, use in (
        (gliner, lambda folder: entities(folder).mentions(WUHAN)),
        (rebel, lambda folder: RebelRelationModel(str(folder)).relations([WUHAN])),
    ):
        folder = shutil.copytree(made, tmp_path / made.name)
        kept = load_file(folder / "model.safetensors")
        del kept[next(name for name in sorted(kept) if "layers.0" in name or "layer.0" in name)]
        save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
        with pytest.raises(EngineError, match="its weights leave out "):
            use(folder)


@needs_extra
def test_an_encoder_with_code_of_its_own_is_refused(tmp_path: Path, gliner: Path) -> None:
    folder = shutil.copytree(gliner, tmp_path / "coded")
    config = json.loads((folder / "gliner_config.json").read_text())
    config["encoder_config"]["auto_map"] = {"AutoModel": "owner/name--modeling.Model"}
    (folder / "gliner_config.json").write_text(json.dumps(config))
    with pytest.raises(EngineError, match="wants to run code of its own"):
        entities(folder).mentions(WUHAN)


@needs_extra
def test_more_labels_than_the_model_reads_are_refused(tmp_path: Path, gliner: Path) -> None:
    folder = shutil.copytree(gliner, tmp_path / "short")
    tokenizer = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer | {"model_max_length": 12}))
    with pytest.raises(EngineError, match="reads 12 tokens, which 5 labels fill"):
        entities(folder).mentions(WUHAN)


@needs_extra
def test_a_wanted_gpu_that_there_is_not_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert (choose_device("auto"), choose_device("cpu")) == ("cpu", "cpu")
    with pytest.raises(EngineError, match="extraction.device is cuda, but PyTorch finds no GPU"):
        choose_device("cuda")


@pytest.mark.skipif(INSTALLED, reason="the extra is installed")
def test_a_missing_extra_says_what_to_install() -> None:
    told = r"extraction.engine is gliner-rebel, but gliner .*pip install .graphrag-dagster\[scientific\]"
    for use in (
        lambda: entities(Path("/models/gliner")).mentions(WUHAN),
        lambda: RebelRelationModel("Babelscape/rebel-large").relations([WUHAN]),
        lambda: choose_device("auto"),
    ):
        with pytest.raises(EngineError, match=told):
            use()

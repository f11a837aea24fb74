# what is missing is skipped before it is imported
"""The training loop: the short cut computes what the model computes, and a run that was cut off goes on."""

import io
import json
import warnings

import pytest

torch = pytest.importorskip("torch", reason="needs the extra `train`")
pytest.importorskip("transformers", reason="needs the extra `train`")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # torch's, of its own parts
    from transformers import DebertaV2ForSequenceClassification

    from models.training.encoder import Shape, fresh
    from models.training.fit import Batch, Guess, Judge, Plan, fit, keep, started
    from models.training.forward import halved, logits, margins, padded, states

pytestmark = pytest.mark.filterwarnings("ignore")  # torch, of its own scripts

_PIECES = 60


@pytest.fixture(autouse=True)
def whole(monkeypatch):
    """In single precision, whatever this CPU is quick at: what is added up in parts is held against the whole."""
    monkeypatch.setattr("models.training.forward._halving", lambda: False)


def _model():
    torch.manual_seed(3)
    model = fresh(_PIECES, layers=3, hidden=32, heads=4, shape=Shape(layers=(0,), length=40))
    with torch.no_grad():
        for weight in model.parameters():
            weight.normal_(0, 0.3)
    return model.eval()


def mean(summed):
    loss, count = summed
    return (loss / count).item()


def _alike(one, other):
    """Adam makes a whole step of any gradient, of a key's bias as well, whose own is nothing but rounding: one weight
    in a thousand may differ."""
    assert ((one - other).abs() > 1e-4).float().mean() < 1e-3


def _batches():
    """A text is an attack where piece 7 stands in it."""
    draw = torch.Generator().manual_seed(5)
    while True:
        ids = []
        for place in range(16):
            row = torch.randint(8, _PIECES, (12,), generator=draw).tolist()
            ids.append([1, *([*row[:6], 7, *row[7:]] if place % 2 else row), 2])
        yield Batch(tokens=padded(ids), labels=torch.tensor([float(place % 2) for place in range(16)]))


def test_short_cut_computes_what_the_model_computes():
    model = _model()
    tokens = padded([[1, 9, 12, 13, 2], [1, *range(10, 45), 2], [1, 2]])
    mask = (tokens != 0).long()
    with torch.inference_mode():
        whole = model(input_ids=tokens, attention_mask=mask, output_hidden_states=True)
        short, last = logits(model, tokens), states(model, tokens)
    assert whole.logits.std() > 0.05
    assert torch.allclose(whole.logits, short, atol=1e-5)
    assert torch.allclose(whole.hidden_states[-1][mask.bool()], last[mask.bool()], atol=1e-5)


@pytest.mark.parametrize("half", [False, True])
def test_learns(tmp_path, monkeypatch, half):
    monkeypatch.setattr("models.training.forward._halving", lambda: half)
    torch.manual_seed(0)
    model = fresh(_PIECES, layers=1, hidden=32, heads=4, shape=Shape(layers=(0,), length=40))
    fit(Judge(model, hidden=0.1), _batches(), Plan(steps=150, rate=3e-3), tmp_path, io.StringIO())
    batch = next(_batches())
    said = margins(model, batch.tokens.tolist())
    right = [(margin > 0) == bool(label) for margin, label in zip(said, batch.labels, strict=True)]
    assert sum(right) >= 15


def test_half_precision_is_for_training_alone(monkeypatch):
    monkeypatch.setattr("models.training.forward._halving", lambda: True)
    wide = torch.ones(2, 2)
    for training, type in ((True, torch.bfloat16), (False, torch.float32)):
        with halved(torch.device("cpu"), training=training):
            assert (wide @ wide).dtype is type


@pytest.mark.parametrize("half", [False, True])
def test_learns_to_guess_what_is_hidden(tmp_path, monkeypatch, half):
    """Each piece of these texts is followed by the next number."""
    monkeypatch.setattr("models.training.forward._halving", lambda: half)
    torch.manual_seed(0)
    model = fresh(_PIECES, layers=1, hidden=32, heads=4, shape=Shape(layers=(0,), length=40))
    draw = torch.Generator().manual_seed(5)

    def rows():
        while True:
            begins = torch.randint(10, _PIECES - 12, (16, 1), generator=draw)
            yield Batch(tokens=begins + torch.arange(12)[None], labels=torch.zeros(16))

    task = Guess(model)
    with torch.inference_mode():
        before = mean(task(next(rows())))
    fit(task, rows(), Plan(steps=300, rate=3e-3), tmp_path, io.StringIO())
    with torch.inference_mode():
        assert mean(task(next(rows()))) < before / 2


def test_embeddings_learn_at_their_share_of_the_rate(tmp_path):
    model = _model()
    words = model.deberta.embeddings.word_embeddings.weight
    before, dense = words.detach().clone(), model.classifier.weight.detach().clone()
    fit(Judge(model), _batches(), Plan(steps=3, rate=1e-3, embeddings=0.0), tmp_path, io.StringIO())
    assert torch.equal(words, before)
    assert not torch.equal(model.classifier.weight, dense)


def test_a_batch_in_parts_teaches_what_it_teaches_whole(tmp_path, monkeypatch):
    learnt = []
    for part in (7, 1_000):
        monkeypatch.setattr("models.training.fit._PART", part)
        model = _model()
        fit(Judge(model), _batches(), Plan(steps=3, rate=1e-3), tmp_path, io.StringIO())
        learnt.append(torch.cat([weight.detach().flatten() for weight in model.parameters()]))
    _alike(*learnt)
    assert not torch.allclose(learnt[0], torch.cat([weight.flatten() for weight in _model().parameters()]), atol=1e-3)


def test_each_hidden_piece_weighs_the_same_in_parts(tmp_path, monkeypatch):
    """Short texts beside long ones, and all pieces hidden, so that no chance is left."""
    monkeypatch.setattr("models.training.fit._GUESSED", 1.1)
    tokens = padded([[1, 9, 2]] * 8 + [[1, *range(10, 38), 2]] * 8)
    batch = Batch(tokens=tokens, labels=torch.zeros(16))
    said = []
    for part in (8, 1_000):
        monkeypatch.setattr("models.training.fit._PART", part)
        torch.manual_seed(4)
        task, log = Guess(_model()), io.StringIO()
        fit(task, iter([batch]), Plan(steps=1, rate=1e-3), tmp_path, log)
        learnt = torch.cat([weight.detach().flatten() for weight in task.parameters()])
        said.append((json.loads(log.getvalue())["loss"], learnt))
    assert said[0][0] == pytest.approx(said[1][0], abs=1e-3)
    _alike(said[0][1], said[1][1])


def test_a_text_without_pieces_costs_nothing():
    loss, count = Guess(_model())(Batch(tokens=padded([[1, 4, 2]]), labels=torch.zeros(1)))
    assert (loss.item(), count.item()) == (0.0, 0)


def test_a_teacher_is_heard():
    model, teacher = _model(), _model()
    with torch.no_grad():
        teacher.classifier.weight.neg_()
    batch = next(_batches())
    with torch.inference_mode():
        alone = mean(Judge(model)(batch))
        by_itself = mean(Judge(model, taught=0.5, teacher=model)(batch))
        by_other = mean(Judge(model, taught=0.5, teacher=teacher)(batch))
    assert by_itself < alone < 2 * by_other


def test_goes_on_where_it_was_cut_off(tmp_path):
    class CutError(Exception):
        pass

    def some():
        batches = _batches()
        for _ in range(5):
            yield next(batches)
        raise CutError

    def later():
        now = 0.0
        while True:
            yield now
            now += 200.0

    times = later()
    with pytest.raises(CutError):
        fit(Judge(_model()), some(), Plan(steps=9, rate=1e-3), tmp_path, io.StringIO(), clock=lambda: next(times))
    assert started(tmp_path) == 4
    left, taken = _batches(), []

    def counted():
        for batch in left:
            taken.append(batch)
            yield batch

    log = io.StringIO()
    fit(Judge(_model()), counted(), Plan(steps=9, rate=1e-3), tmp_path, log)
    assert json.loads(log.getvalue().splitlines()[-1])["step"] == 9
    assert len(taken) == 5
    model = _model()
    keep(model, tmp_path)
    assert started(tmp_path) == 0
    kept = DebertaV2ForSequenceClassification.from_pretrained(tmp_path)
    assert torch.equal(kept.classifier.weight, model.classifier.weight)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json", "model.safetensors"]

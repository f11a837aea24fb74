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
    from models.training.encoder import Shape, fresh
    from models.training.fit import Batch, Plan, fit, logits, margins, padded, started

pytestmark = pytest.mark.filterwarnings("ignore")  # torch, of its own scripts

_PIECES = 60


def _model():
    torch.manual_seed(3)
    model = fresh(_PIECES, layers=3, hidden=32, heads=4, shape=Shape(layers=(0,), length=40))
    with torch.no_grad():
        for weight in model.parameters():
            weight.normal_(0, 0.3)
    return model.eval()


def _batches():
    """A text is an attack where piece 7 stands in it."""
    draw = torch.Generator().manual_seed(5)
    while True:
        ids = []
        for place in range(16):
            row = torch.randint(8, _PIECES, (12,), generator=draw).tolist()
            ids.append([1, *([*row[:6], 7, *row[7:]] if place % 2 else row), 2])
        yield Batch(ids=ids, labels=[place % 2 for place in range(16)])


def test_short_cut_computes_what_the_model_computes():
    model = _model()
    tokens, mask = padded([[1, 9, 12, 13, 2], [1, *range(10, 45), 2], [1, 2]])
    with torch.inference_mode():
        whole = model(input_ids=tokens, attention_mask=mask).logits
        short = logits(model, tokens, mask)
    assert whole.std() > 0.05
    assert torch.allclose(whole, short, atol=1e-5)


def test_learns(tmp_path):
    torch.manual_seed(0)
    model = fresh(_PIECES, layers=1, hidden=32, heads=4, shape=Shape(layers=(0,), length=40))
    fit(model, _batches(), Plan(steps=150, rate=3e-3), tmp_path, io.StringIO())
    batch = next(_batches())
    right = [(margin > 0) == bool(label) for margin, label in zip(margins(model, batch.ids), batch.labels, strict=True)]
    assert sum(right) >= 15


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
        fit(_model(), some(), Plan(steps=9, rate=1e-3), tmp_path, io.StringIO(), clock=lambda: next(times))
    assert started(tmp_path) == 4
    left, taken = _batches(), []

    def counted():
        for batch in left:
            taken.append(batch)
            yield batch

    log = io.StringIO()
    fit(_model(), counted(), Plan(steps=9, rate=1e-3), tmp_path, log)
    assert json.loads(log.getvalue().splitlines()[-1])["step"] == 9
    assert len(taken) == 5
    assert started(tmp_path) == 0

# what is missing is skipped before it is imported
"""The wide part counts each piece, pair and triple of a text once, whatever stands beside it in a batch."""

import io
import math
import string
import warnings

import pytest

torch = pytest.importorskip("torch", reason="needs the extra `train`")
pytest.importorskip("transformers", reason="needs the extra `train`")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # torch's, of its own parts
    from models.training.row import Row
    from models.training.vocabulary import SPECIAL, Vocabulary, wordpiece
    from models.training.wide import Wide, WithWide, fit_wide, load_wide, matched, save_wide

pytestmark = pytest.mark.filterwarnings("ignore")  # torch, of its own sparse tensors

WORDS = (*string.ascii_lowercase, *(f"##{letter}" for letter in string.ascii_lowercase))


@pytest.fixture
def wide():
    torch.manual_seed(1)
    made = Wide()
    with torch.no_grad():
        made.weights.weight.normal_(0, 1)
        made.bias.fill_(-0.5)
    return made.eval()


def margin(wide, *rows):
    longest = max(len(row) for row in rows)
    tokens = torch.tensor([[*row, *([0] * (longest - len(row)))] for row in rows])
    with torch.inference_mode():
        return wide(tokens, (tokens != 0).long()).tolist()


def by_hand(wide, row):
    inner = row[1:-1]
    seen = {tuple(inner[at : at + size]) for size in (1, 2, 3) for at in range(len(inner) - size + 1)}
    factors = {1: (2_654_435,), 2: (1_299_709, 15_485_863), 3: (982_451, 32_452_843, 67_867_967)}
    total = 0.0
    for told in seen:
        number = sum(piece * factor for piece, factor in zip(told, factors[len(told)], strict=True)) + len(told) - 1
        total += wide.weights.weight[number % 1_048_573].item()
    return wide.bias.item() + total / math.sqrt(max(1, len(seen)))


@pytest.mark.parametrize(
    "row",
    [
        [1, 4, 2],
        [1, 4, 30, 2],
        [1, 4, 30, 31, 2],
        [1, 4, 30, 30, 30, 30, 2],
        [1, 5, 30, 31, 30, 31, 30, 31, 32, 2],
        [1, 5, *range(20, 145), 2],
    ],
)
def test_each_row_of_pieces_counts_once(wide, row):
    assert margin(wide, row)[0] == pytest.approx(by_hand(wide, row), abs=1e-4)


def test_what_stands_beside_a_text_does_not_matter(wide):
    short, long = [1, 4, 30, 31, 2], [1, 4, *range(20, 90), 2]
    both = margin(wide, short, long)
    assert both == pytest.approx([margin(wide, short)[0], margin(wide, long)[0]], abs=1e-5)


def test_its_margin_is_added(wide):
    class Fixed(torch.nn.Module):
        def forward(self, input_ids, attention_mask):
            return {"logits": torch.tensor([[1.0, 3.0]]).repeat(input_ids.shape[0], 1)}

    tokens = torch.tensor([[1, 4, 30, 31, 2]])
    (logits,) = WithWide(Fixed(), wide)(tokens, torch.ones_like(tokens))["logits"].tolist()
    assert logits[1] - logits[0] == pytest.approx(2 + margin(wide, tokens[0].tolist())[0], abs=1e-5)


def test_it_learns_a_phrase_and_not_its_words_and_survives_its_file(tmp_path):
    vocabulary = Vocabulary(
        tokenizer=wordpiece({piece: number for number, piece in enumerate((*SPECIAL, *WORDS))}), rows=()
    )

    def rows():
        while True:
            for text, label in (("a b c d", 1), ("c d a b", 0), ("b a d c", 0), ("d c b a x", 0)):
                yield Row(text=text, label=label, kind="prose", family="f")

    log = io.StringIO()
    wide = fit_wide(rows(), vocabulary, 4_000, log)
    save_wide(wide, tmp_path)
    again = load_wide(tmp_path)
    told = [vocabulary.encode(text, "prose", 128) for text in ("a b c d", "c d a b", "b a d c")]
    assert margin(again, *told) == margin(wide, *told)
    attack, *clean = margin(again, *told)
    assert attack > 1
    assert max(clean) < -1
    assert '"of": 4000' in log.getvalue()


def test_it_speaks_no_louder_and_no_softer_than_the_other(wide):
    rows = [[1, 4, *range(20 + at, 30 + 2 * at), 2] for at in range(12)]
    before = [margin(wide, row)[0] for row in rows]
    said = [3.0 * at - 4 for at in range(12)]
    after = [margin(matched(wide, rows, said), row)[0] for row in rows]
    assert torch.tensor(after).std().item() == pytest.approx(torch.tensor(said).std().item(), rel=1e-4)
    ratio = after[0] / before[0]
    assert after == pytest.approx([ratio * value for value in before], rel=1e-3)

"""One training run: steps until there are enough, a checkpoint every five minutes, and on again where it stopped."""

import json
import math
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import torch
from torch import nn
from transformers import DebertaV2ForSequenceClassification

from models.training.forward import halved, logits, states
from models.training.vocabulary import SPECIAL, UNKNOWN

__all__ = ["Batch", "Guess", "Judge", "Plan", "Task", "best_device", "fit", "keep", "started"]

_CHECKPOINT = "checkpoint.pt"
_CHECKPOINT_S = 300.0
_SHOW_STEPS = 100
_GUESSED = 0.15  # of the pieces
_PART = 32  # texts


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How long and how fast: `steps` of `rate` at most, warmed up over 4 % of them and let down to nothing.

    `embeddings` is the embeddings' share of the rate: they know words that no text of the training has.
    """

    steps: int
    rate: float
    embeddings: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Token ids `[texts, pieces]` as of `forward.padded`, and a label of 0 or 1 for each text."""

    tokens: torch.Tensor
    labels: torch.Tensor


class Task(nn.Module):
    """What `model` is trained for: of a batch the sum of its losses, and of how many things that is the sum."""

    def __init__(self, model: DebertaV2ForSequenceClassification) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        raise NotImplementedError


class Judge(Task):
    """To tell attacks: a loss for each text.

    Of its pieces the share `hidden` is unknown to it, another one each time. `taught` is the weight of the `teacher`'s
    margins against the labels; `calm`, of the penalty on harmless texts that it is sure are attacks.
    """

    def __init__(
        self,
        model: DebertaV2ForSequenceClassification,
        *,
        hidden: float = 0.0,
        calm: float = 0.0,
        taught: float = 0.0,
        teacher: DebertaV2ForSequenceClassification | None = None,
    ) -> None:
        super().__init__(model)
        self.hidden, self.calm, self.taught = hidden, calm, taught
        self.teach = None if teacher is None else _margins_of(teacher)

    def forward(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        shown = torch.where(_chosen(batch.tokens, self.hidden), UNKNOWN, batch.tokens) if self.hidden else batch.tokens
        said = logits(self.model, shown)
        margin = said[:, 1] - said[:, 0]
        loss = nn.functional.binary_cross_entropy_with_logits(margin, batch.labels)
        if self.teach is not None:
            known = self.teach(batch.tokens).clamp(-8, 8)
            loss = (1 - self.taught) * loss + self.taught * 0.1 * nn.functional.mse_loss(margin, known)
        over = nn.functional.relu(margin + 2) * (1 - batch.labels)
        count = torch.tensor(len(margin), device=margin.device)
        return (loss + self.calm * (over * over).mean()) * count, count


class Guess(Task):
    """To guess pieces that are hidden, by those around them: a loss for each of them; labels are not read. What an
    encoder learns of language by it holds for texts of other writers, too."""

    def __init__(self, model: DebertaV2ForSequenceClassification) -> None:
        super().__init__(model)
        width = model.config.hidden_size
        self.head = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width))

    def forward(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        chosen = _chosen(batch.tokens, _GUESSED)
        hidden = states(self.model, torch.where(chosen, UNKNOWN, batch.tokens))[chosen]
        words = self.model.deberta.embeddings.word_embeddings.weight
        with halved(hidden.device, training=self.training):
            guessed = self.head(hidden) @ words.T
        return nn.functional.cross_entropy(guessed.float(), batch.tokens[chosen], reduction="sum"), chosen.sum()


def fit(
    task: Task,
    batches: Iterator[Batch],
    plan: Plan,
    folder: Path,
    log: TextIO,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Trains what `task` is made of. A run that was cut off goes on from `folder/checkpoint.pt`, with the batches that
    it is given: see `started`. The checkpoint stays until `keep`."""
    device = best_device()
    task.to(device).train()
    optimizer = _optimizer(task, plan)
    saved = folder / _CHECKPOINT
    step = _resume(saved, task, optimizer)
    began, first, last_saved, losses, seen = clock(), step, clock(), [], 0
    while step < plan.steps:
        batch = next(batches)
        for group in optimizer.param_groups:
            group["lr"] = group["share"] * _rate(plan, step)
        loss = _backward(task, batch, device)
        nn.utils.clip_grad_norm_(task.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        step += 1
        seen += len(batch.tokens)
        losses.append(loss)
        if step % _SHOW_STEPS == 0 or step == plan.steps:
            passed = clock() - began
            shown = {
                "step": step,
                "of": plan.steps,
                "loss": round(torch.stack(losses).mean().item(), 4),
                "texts_s": round(seen / passed, 1),
                "left_min": round(passed / (step - first) * (plan.steps - step) / 60, 1),
            }
            losses.clear()
            log.write(json.dumps(shown) + "\n")
            log.flush()
        if clock() - last_saved > _CHECKPOINT_S:
            _save(saved, task, optimizer, step)
            last_saved = clock()
    task.eval()


def best_device() -> torch.device:
    """A GPU where there is one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def keep(model: DebertaV2ForSequenceClassification, folder: Path) -> None:
    """Writes the trained model into `folder`, its weights last, and only then forgets the checkpoint."""
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        model.save_pretrained(scratch)
        for path in sorted(Path(scratch).iterdir(), key=lambda path: path.suffix == ".safetensors"):
            os.replace(path, folder / path.name)
    (folder / _CHECKPOINT).unlink(missing_ok=True)


def started(folder: Path) -> int:
    """The step from which a run in `folder` goes on."""
    saved = folder / _CHECKPOINT
    return int(torch.load(saved, weights_only=True, map_location="cpu")["step"]) if saved.is_file() else 0


def _backward(task: Task, batch: Batch, device: torch.device) -> torch.Tensor:
    """The mean loss of `batch`, and its gradients, added up over parts of it that a CPU's caches hold."""
    size = len(batch.tokens)
    part = size if device.type == "cuda" else _PART
    total, count = torch.zeros((), device=device), torch.zeros((), device=device)
    for start in range(0, size, part):
        tokens, labels = (given[start : start + part].to(device) for given in (batch.tokens, batch.labels))
        loss, things = task(Batch(tokens=tokens, labels=labels))
        loss.backward()
        total += loss.detach()
        count += things
    count = count.clamp(min=1)
    for weight in task.parameters():
        if weight.grad is not None:
            weight.grad /= count
    return total / count


def _chosen(tokens: torch.Tensor, share: float) -> torch.Tensor:
    """Which pieces are hidden: never a marker or the padding."""
    return (torch.rand(tokens.shape, device=tokens.device) < share) & (tokens >= len(SPECIAL))


def _margins_of(teacher: DebertaV2ForSequenceClassification) -> Callable[[torch.Tensor], torch.Tensor]:
    def told(tokens: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            said = logits(teacher.to(tokens.device).eval(), tokens)
        return said[:, 1] - said[:, 0]

    return told


def _optimizer(task: nn.Module, plan: Plan) -> torch.optim.Optimizer:
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    for name, weight in task.named_parameters():
        share = plan.embeddings if ".embeddings." in name else 1.0
        groups.setdefault((0.05 if weight.ndim > 1 else 0.0, share), []).append(weight)
    return torch.optim.AdamW(
        [{"params": weights, "weight_decay": decay, "share": share} for (decay, share), weights in groups.items()],
        lr=plan.rate,
        fused=True,
    )


def _rate(plan: Plan, step: int) -> float:
    rise = max(1, plan.steps // 25)
    if step < rise:
        return plan.rate * (step + 1) / rise
    return plan.rate * 0.5 * (1 + math.cos(math.pi * (step - rise) / max(1, plan.steps - rise)))


def _resume(saved: Path, task: nn.Module, optimizer: torch.optim.Optimizer) -> int:
    if not saved.is_file():
        return 0
    state = torch.load(saved, weights_only=True, map_location="cpu")
    task.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return int(state["step"])


def _save(saved: Path, task: nn.Module, optimizer: torch.optim.Optimizer, step: int) -> None:
    beside = saved.with_suffix(".new")
    torch.save({"model": task.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, beside)
    os.replace(beside, saved)

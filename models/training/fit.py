"""One training run: steps until the time is up, a checkpoint every five minutes, and on again where it stopped."""

import json
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import torch
from transformers import DebertaV2ForSequenceClassification

__all__ = ["Batch", "Plan", "fit", "logits", "margins", "padded", "started"]

_CHECKPOINT = "checkpoint.pt"
_CHECKPOINT_S = 300.0
_SHOW_STEPS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How long and how fast: `steps` of `rate` at most, warmed up over 4 % of them and let down to nothing.

    `taught` is the weight of the teacher's margin against that of the label; `calm` of the penalty on harmless texts
    that the model is sure are attacks.
    """

    steps: int
    rate: float
    taught: float = 0.0
    calm: float = 0.0
    attack_weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Token ids, one list a text; labels; and, where there is a teacher, its margins."""

    ids: Sequence[Sequence[int]]
    labels: Sequence[int]
    margins: Sequence[float] | None = None


def fit(
    model: DebertaV2ForSequenceClassification,
    batches: Iterator[Batch],
    plan: Plan,
    folder: Path,
    log: TextIO,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> DebertaV2ForSequenceClassification:
    """The trained model. A run that was cut off goes on from `folder/checkpoint.pt`, with the batches that it is given:
    see `started`."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model.to(device)
    decayed = [weight for weight in model.parameters() if weight.ndim > 1]
    plain = [weight for weight in model.parameters() if weight.ndim <= 1]
    optimizer = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": 0.05}, {"params": plain, "weight_decay": 0.0}], lr=plan.rate, fused=True
    )
    saved = folder / _CHECKPOINT
    step = _resume(saved, model, optimizer)
    began, first, last_saved, losses, seen = clock(), step, clock(), [], 0
    model.train()
    while step < plan.steps:
        batch = next(batches)
        for group in optimizer.param_groups:
            group["lr"] = _rate(plan, step)
        loss = _loss(model, batch, plan, device)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        step += 1
        seen += len(batch.ids)
        losses.append(loss.item())
        if step % _SHOW_STEPS == 0 or step == plan.steps:
            passed = clock() - began
            left = passed / (step - first) * (plan.steps - step)
            recent = losses[-_SHOW_STEPS:]
            shown = {
                "step": step,
                "of": plan.steps,
                "loss": round(sum(recent) / len(recent), 4),
                "texts_s": round(seen / passed, 1),
                "left_min": round(left / 60, 1),
            }
            log.write(json.dumps(shown) + "\n")
            log.flush()
        if clock() - last_saved > _CHECKPOINT_S:
            _save(saved, model, optimizer, step)
            last_saved = clock()
    saved.unlink(missing_ok=True)
    return model.eval()


def started(folder: Path) -> int:
    """The step from which a run in `folder` goes on."""
    saved = folder / _CHECKPOINT
    return int(torch.load(saved, weights_only=True)["step"]) if saved.is_file() else 0


def margins(model: DebertaV2ForSequenceClassification, ids: Sequence[Sequence[int]], size: int = 64) -> list[float]:
    """The attack logit less the other one, for each text."""
    device = next(model.parameters()).device
    order = sorted(range(len(ids)), key=lambda place: len(ids[place]))
    found = [0.0] * len(ids)
    model.eval()
    with torch.inference_mode():
        for start in range(0, len(order), size):
            places = order[start : start + size]
            tokens, mask = padded([ids[place] for place in places])
            said = logits(model, tokens.to(device), mask.to(device))
            for place, margin in zip(places, (said[:, 1] - said[:, 0]).tolist(), strict=True):
                found[place] = margin
    return found


def logits(model: DebertaV2ForSequenceClassification, tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """What `model(tokens, mask)` says, in less time: the last layer computes the first token only, which is all that
    the head reads. Half precision on a GPU alone: on a CPU without AMX it takes twice as long."""
    encoder = model.deberta.encoder
    with torch.autocast(tokens.device.type, torch.bfloat16, enabled=tokens.is_cuda):
        hidden = model.deberta.embeddings(input_ids=tokens, mask=mask)
        seen = encoder.get_attention_mask(mask)
        places, keys = encoder.get_rel_pos(hidden), encoder.get_rel_embedding()
        for layer in encoder.layer[:-1]:
            hidden, _ = layer(hidden, seen, relative_pos=places, rel_embeddings=keys)
        hidden, _ = encoder.layer[-1](
            hidden,
            seen[:, :, :1],
            query_states=hidden[:, :1],
            relative_pos=places[..., :1, :],
            rel_embeddings=keys,
        )
        return model.classifier(model.dropout(model.pooler(hidden))).float()


def padded(ids: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids and mask, padded with 0 to a multiple of 8."""
    length = -(-max(len(row) for row in ids) // 8) * 8
    tokens = torch.tensor([[*row, *([0] * (length - len(row)))] for row in ids])
    return tokens, (tokens != 0).long()


def _loss(model: DebertaV2ForSequenceClassification, batch: Batch, plan: Plan, device: torch.device) -> torch.Tensor:
    tokens, mask = padded(batch.ids)
    labels = torch.tensor(batch.labels, dtype=torch.float32, device=device)
    said = logits(model, tokens.to(device), mask.to(device))
    margin = said[:, 1] - said[:, 0]
    weight = 1 + (plan.attack_weight - 1) * labels
    loss = torch.nn.functional.binary_cross_entropy_with_logits(margin, labels, weight=weight)
    if batch.margins is not None and plan.taught:
        taught = torch.tensor(batch.margins, device=device).clamp(-8, 8)
        loss = (1 - plan.taught) * loss + plan.taught * 0.1 * torch.nn.functional.mse_loss(margin, taught)
    # a harmless text far on the wrong side costs more than its label says
    over = torch.nn.functional.relu(margin + 2) * (1 - labels)
    return loss + plan.calm * (over * over).mean()


def _rate(plan: Plan, step: int) -> float:
    rise = max(1, plan.steps // 25)
    if step < rise:
        return plan.rate * (step + 1) / rise
    return plan.rate * 0.5 * (1 + math.cos(math.pi * (step - rise) / max(1, plan.steps - rise)))


def _resume(saved: Path, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> int:
    if not saved.is_file():
        return 0
    state = torch.load(saved, weights_only=True)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return int(state["step"])


def _save(saved: Path, model: torch.nn.Module, optimizer: torch.optim.Optimizer, step: int) -> None:
    beside = saved.with_suffix(".new")
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, beside)
    os.replace(beside, saved)

"""`shield model`: the classifier of tier 1 and what it makes of texts."""

import click

from shield.cli.lazy import LazyGroup

__all__ = ["COMMANDS", "command"]

# name: (module below shield.cli, one line), as in `shield.cli`
COMMANDS: dict[str, tuple[str, str]] = {
    "calibrate": ("model_calibrate", "Set an adopted model's thresholds by benign texts."),
    "export": ("model_training", "Make a model folder of a run."),
    "info": ("model_info", "Say what the classifier is."),
    "scan": ("model_scan", "Say what tier 1 finds in texts."),
    "train": ("model_training", "Train a classifier."),
    "use": ("model_use", "Adopt the model in a folder."),
    "verify": ("model_info", "Check that the classifier is whole and answers."),
}


@click.group(
    "model", cls=LazyGroup, table=COMMANDS, own_names=True, short_help="Look after the classifier; scan texts with it."
)
def command() -> None:
    """The classifier of tier 1, and what it and the heuristics make of texts.

    Exit codes: 0 done; 1 the answer is no (a BLOCK, not whole, not confirmed); 2 an error; 3 an ESCALATE.
    """

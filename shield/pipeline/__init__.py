"""The one path: bytes → action → facts → opinions → verdict → record, then permit → receipt → outcome.

`pipeline.Pipeline` is what HTTP, hooks, MCP and batch call; `dry_run` judges for the command line with nothing behind
it, and without loading what the service needs.
"""

from shield.pipeline.dry import dry_run

__all__ = ["dry_run"]

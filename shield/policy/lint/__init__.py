"""Lint: what is wrong, useless or dangerous in policies that load. Nothing here takes part in a verdict."""

from shield.policy.lint.finding import CODES, Code, Finding, Level, Sure
from shield.policy.lint.linter import lint

__all__ = ["CODES", "Code", "Finding", "Level", "Sure", "lint"]

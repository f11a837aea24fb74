"""Shell facts: what a command line would run, read, write and send, found without running it."""

from shield.facts.shell.analyse import Analyser, ShellAnalysis, analyse

__all__ = ["Analyser", "ShellAnalysis", "analyse"]

"""The vocabulary: values that pass between modules. Frozen, closed, and nothing here does I/O.

Data goes one way: bytes → Action → Facts → Opinion → Verdict → record.
The modules beneath hold one noun each; everybody imports from here.
"""

from shield.types.action import Action, ActionRequest, Json, Operation
from shield.types.approval import Approval, ApprovalAnswer, ApprovalState, Scope
from shield.types.decision import Answer, Decision, Effect, Severity, Tier
from shield.types.facts import (
    PROTECTED_CATEGORIES,
    Access,
    CommandFact,
    Dynamic,
    Facts,
    HostFact,
    IpClass,
    Labels,
    Origin,
    PathFact,
    Redirect,
    ResultFact,
    RunsCode,
    SecretFact,
    SessionFacts,
    ShellFact,
    TextFact,
)
from shield.types.identity import FileIdentity, FileRole
from shield.types.isolation import CONFINED_NAMES, PROXY_PORT, Hidden, Isolation, confined_env
from shield.types.outcome import Outcome, OutcomePart, OutcomeReply, OutcomeStatus, Redaction
from shield.types.session import Role, Session
from shield.types.texts import TextFinding, TextKind
from shield.types.verdict import Opinion, Verdict

__all__ = [
    "CONFINED_NAMES",
    "PROTECTED_CATEGORIES",
    "PROXY_PORT",
    "Access",
    "Action",
    "ActionRequest",
    "Answer",
    "Approval",
    "ApprovalAnswer",
    "ApprovalState",
    "CommandFact",
    "Decision",
    "Dynamic",
    "Effect",
    "Facts",
    "FileIdentity",
    "FileRole",
    "Hidden",
    "HostFact",
    "IpClass",
    "Isolation",
    "Json",
    "Labels",
    "Operation",
    "Opinion",
    "Origin",
    "Outcome",
    "OutcomePart",
    "OutcomeReply",
    "OutcomeStatus",
    "PathFact",
    "Redaction",
    "Redirect",
    "ResultFact",
    "Role",
    "RunsCode",
    "Scope",
    "SecretFact",
    "Session",
    "SessionFacts",
    "Severity",
    "ShellFact",
    "TextFact",
    "TextFinding",
    "TextKind",
    "Tier",
    "Verdict",
    "confined_env",
]

"""Who settles an action and what they say: the closed sets that opinions and verdicts are made of."""

from enum import IntEnum, StrEnum

__all__ = ["Answer", "Decision", "Effect", "Severity", "Tier"]


class Decision(StrEnum):
    ALLOW = "ALLOW"
    ESCALATE = "ESCALATE"
    BLOCK = "BLOCK"


class Tier(IntEnum):
    """Who settles. `need` is a Tier, too: the least one that may answer ALLOW."""

    POLICY = 0
    CLASSIFIER = 1
    JUDGE = 2
    PERSON = 3


class Answer(StrEnum):
    """What one tier says. `NO_OBJECTION` is silence, which is not consent."""

    ALLOW = "ALLOW"
    NO_OBJECTION = "no_objection"
    ESCALATE = "ESCALATE"
    BLOCK = "BLOCK"


class Effect(StrEnum):
    """What a rule does; also the strength order of deny-overrides, strongest first: block, escalate, allow."""

    BLOCK = "block"
    ESCALATE = "escalate"
    ALLOW = "allow"


class Severity(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"

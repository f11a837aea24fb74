"""What an approval holds for."""

from dataclasses import dataclass

__all__ = ["Binding"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """What an approval holds for, nothing else: if one differs when a permit is minted, the person is asked anew.

    `shown` is the digest of the facts that stand in the question, where what a file says that no permit binds is in,
    such as the address of a remote, and of which versions of such files stood there.
    """

    action_hash: str
    shown: str
    state: str
    env: str
    policy: str
    session: str

"""What an admin may have done, and how things stand."""

import asyncio
from collections.abc import Callable, Mapping

from shield.errors import PolicyError
from shield.pipeline.ports import Recorder
from shield.service.ports import Approvals, Reloaded, Standing, TextTier
from shield.service.rulebook import Rulebook
from shield.service.tokens import TokenBook

__all__ = ["ServiceOperator"]

_LOOK_AGAIN_S = 60.0  # compiling a policy costs tenths of a second: not for every probe of /readyz by anyone
_FRESH_S = 1.0


class ServiceOperator:
    """`read_tokens` gives the token book as it is on disk now; `tokens` is the one in force."""

    def __init__(
        self,
        *,
        rulebook: Rulebook,
        recorder: Recorder,
        read_tokens: Callable[[], TokenBook],
        tokens: TokenBook,
        approvals: Approvals,
        now: Callable[[], float],
        tier1: Callable[[], TextTier] = TextTier,
    ) -> None:
        self._rulebook = rulebook
        self._recorder = recorder
        self._read_tokens = read_tokens
        self._approvals = approvals
        self._now = now
        self._tier1 = tier1
        self._lock = asyncio.Lock()
        self._looked: tuple[float, str | None, str | None] | None = None
        self.tokens = tokens

    async def reload(self, by: str) -> Reloaded:
        """Raises PolicyError, ConfigError, RecordError; then nothing has changed."""
        async with self._lock:
            policy = await asyncio.to_thread(self._rulebook.compile)
            tokens = await asyncio.to_thread(self._read_tokens)
            previous = self._rulebook.policy.digest
            # INVARIANT: a change of policy is in the log before anything is judged by it
            await self._recorder.append("policy.change", {"by": by, "previous": previous, "policy": policy.digest})
            self._rulebook.swap(policy)
            self.tokens = tokens
            self._looked = None
            return Reloaded(previous=previous, policy=policy.digest)

    async def standing(self, *, fresh: bool) -> Standing:
        async with self._lock:
            if self._looked is None or self._now() - self._looked[0] > (_FRESH_S if fresh else _LOOK_AGAIN_S):
                self._looked = (self._now(), *await asyncio.to_thread(self._disk))
            _, disk, trouble = self._looked
            return Standing(
                policy=self._rulebook.policy.digest,
                disk=disk,
                disk_trouble=trouble,
                rule_errors=self._rulebook.rule_errors(),
                tiers=self._tiers(),
                tier1=self.tier1(),
            )

    def tier1(self) -> TextTier:
        return self._tier1()

    def _disk(self) -> tuple[str | None, str | None]:
        try:
            return self._rulebook.compile().digest, None
        except PolicyError as error:
            return None, str(error)

    def _tiers(self) -> Mapping[int, str]:
        person = "ready" if self._approvals.has_approver() else "no_approver"
        return {0: "ready", 1: self.tier1().state, 2: "absent", 3: person}

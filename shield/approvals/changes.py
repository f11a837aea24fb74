"""Waiting for something to change: every change is counted, so that none is missed between a look and a wait."""

import asyncio

__all__ = ["Changes"]


class Changes:
    """Of one event loop. `version` counts them; `stopping` ends every wait."""

    def __init__(self) -> None:
        self._changed = asyncio.Condition()
        self.version = 0
        self.stopping = False

    async def stop(self) -> None:
        """End every wait now."""
        self.stopping = True
        await self.notify()

    async def notify(self) -> None:
        async with self._changed:
            self.version += 1
            self._changed.notify_all()

    async def wait(self, version: int, deadline: float) -> bool:
        """Wait until something changed after `version` was read; False when the time is over."""
        left = deadline - asyncio.get_running_loop().time()
        if left <= 0:
            return False
        try:
            async with asyncio.timeout(left), self._changed:
                await self._changed.wait_for(lambda: self.version != version or self.stopping)
        except TimeoutError:
            return False
        return True

"""Which sandbox a session gets: what is set, held against what this machine can hold."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from agentctl.config import Settings
from agentctl.errors import SidecarError
from agentctl.sandbox.offer import Offer
from agentctl.sandbox.places import Places, gather
from agentctl.sandbox.probing import probe
from shield.types import Isolation

__all__ = ["Confinement", "choose"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Confinement:
    """What this machine can keep commands away from what by, found out before a session begins."""

    places: Places
    offer: Offer


def choose(settings: Settings, workspace: Path, *, environ: Mapping[str, str]) -> Confinement:
    """Find out which sandbox levels hold here; takes a tenth of a second.

    The strongest is used, or the one that is set. Raises SidecarError where that one does not hold: nothing is ever
    run weaker than asked for. `environ` is agentctl's own: commands mostly share its PATH.
    """
    runtime = environ.get("XDG_RUNTIME_DIR", "")
    places = gather(
        shield_home=settings.home,
        workspace_roots=[str(workspace)],
        home=settings.user,
        config=settings.file.parent,
        data=settings.data,
        path_env=environ.get("PATH", ""),
        caches=[str(cache) for cache in settings.caches],
        runtime=Path(runtime) if os.path.isabs(runtime) else None,
    )
    wanted = settings.isolation
    if wanted is Isolation.NONE:
        reasons = ("it is switched off; leave `--isolation` or `isolation` out",)
        return Confinement(places=places, offer=Offer(reasons=reasons))
    offer = probe(places)
    if wanted is None:
        return Confinement(places=places, offer=offer)
    if wanted not in offer.levels:
        raise SidecarError(f"the sandbox level `{wanted}` does not hold here: {'; '.join(offer.reasons)}")
    levels = tuple(level for level in offer.levels if wanted.covers(level))
    return Confinement(places=places, offer=replace(offer, levels=levels))

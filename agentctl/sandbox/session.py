"""The sandbox of one agentctl session: it turns a level and a child into an order, and owns what lives that long."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from typing import Final, Self

from agentctl.errors import ToolError, UnsetError
from agentctl.sandbox import bubblewrap
from agentctl.sandbox.copied import Copied
from agentctl.sandbox.guard import Copies, Guard
from agentctl.sandbox.lent import Lent, Opened, unseen
from agentctl.sandbox.limits import default_limits
from agentctl.sandbox.line import Line
from agentctl.sandbox.mounts import moment
from agentctl.sandbox.offer import Means, Offer
from agentctl.sandbox.order import Network, Order
from agentctl.sandbox.places import Places
from agentctl.sandbox.profile import profile
from agentctl.sandbox.proxy import Outside, Proxy
from agentctl.sandbox.register import Register
from agentctl.sandbox.scratch import Scratch
from agentctl.sandbox.seccomp import Strictness, assemble
from agentctl.sandbox.shown import Shown
from agentctl.sandbox.spawning import Spawner
from agentctl.sandbox.temporary import in_temporary
from agentctl.tools.child import Child, Runner
from agentctl.tools.output import Output
from agentctl.tools.process import UMASK, follow, named, run
from agentctl.tools.stop import Stop
from agentctl.tools.warrant import Warrant
from shield.types import PROXY_PORT, FileIdentity, HostFact, Isolation

__all__ = ["Sandbox"]

_TRIES: Final = 6
_GRACE_S: Final = 20.0  # after a call's own time-out, should agentctl itself hang


@dataclass(frozen=True, slots=True)
class _Call:
    """Where a command runs and what it is given. `lent`: open files outside, and whether it may write them."""

    level: Isolation
    hosts: Sequence[HostFact]
    lent: Mapping[int, bool] = field(default_factory=dict)


class Sandbox:
    """Runs every command of a session at the level it is given, none weaker.

    Used from any thread; several calls may run at once. `outside` is the proxy's way out.
    """

    def __init__(self, places: Places, offer: Offer, *, outside: Outside | None = None) -> None:
        self.places = places
        self.offer = offer
        self._outside = outside
        self._plain = Spawner()
        # a domain that closes ports takes set-id programs away, so level `none` has a spawner without it
        self._closed_ports = Spawner(places.ports) if places.ports else self._plain
        self._scratch = Scratch(places.scratch)
        self._shown = Shown(places)
        self._lent = Lent()
        self._copies: Copies | None = None
        self._register = Register(os.path.join(places.scratch, "calls"))
        self._filters: dict[Strictness, bytes] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End what still runs, and remove the session's temporary files."""
        self._plain.close()
        self._closed_ports.close()
        self._shown.close()
        self._lent.close()  # before what it would take back is removed
        self._scratch.close()

    def run(
        self, warrant: Warrant, child: Child, stop: Stop, *, level: Isolation, hosts: Sequence[HostFact] = ()
    ) -> Output:
        """Run it at `level`. At `confined` it reaches `hosts` and nothing else of the network.

        Raises ToolError where the level is not offered or the child cannot be started, CancelledTurnError.
        """
        return self._call(
            _Call(level, hosts), warrant.receipt.files, lambda start: run(warrant, child, stop, start=start)
        )

    def runner(self, level: Isolation, hosts: Sequence[HostFact] = ()) -> Runner:
        """How a tool starts its child at this level."""

        def at_level(warrant: Warrant, child: Child, stop: Stop) -> Output:
            return self.run(warrant, child, stop, level=level, hosts=hosts)

        return at_level

    def trial(
        self, child: Child, level: Isolation, hosts: Sequence[HostFact] = (), files: Sequence[FileIdentity] = ()
    ) -> Output:
        """Run a child of our own making, which is no action: to try whether the level holds."""
        return self._call(_Call(level, hosts), files, lambda start: follow(child, Stop(), start=start))

    def _call(
        self, call: _Call, files: Sequence[FileIdentity], work: Callable[[Callable[[Child], Line]], Output]
    ) -> Output:
        level = call.level
        if level not in self.offer.levels:
            raise ToolError(f"a command cannot be run at `{level}` here: {'; '.join(self.offer.reasons)}")
        before: list[str] = []
        after: list[str] = []
        with ExitStack() as stack:
            stack.callback(self._spawner(level).ahead)
            stack.enter_context(self._guarding(level, before, after))
            call = stack.enter_context(self._lending(call, files, before, after))
            for left in reversed(range(_TRIES)):
                # another program may take away what a mount was to stand on, a socket mostly, after it was seen
                with suppress(UnsetError) if left else nullcontext():
                    output = self._once(call, work, before)
                    break
        return replace(output, note="; ".join(filter(None, (*before, output.note, *after))))

    def _once(self, call: _Call, work: Callable[[Callable[[Child], Line]], Output], notes: list[str]) -> Output:
        with ExitStack() as stack:
            return work(lambda child: self._start(child, call, stack, notes))

    @contextmanager
    def _lending(
        self, call: _Call, files: Sequence[FileIdentity], before: list[str], after: list[str]
    ) -> Iterator[_Call]:
        """Share the temporary files that a confined call names, however it ends."""
        files = in_temporary(files)
        if files and call.level is Isolation.STATE_HIDDEN and self._scratch.made is not None:
            after += unseen(self._shown.view(Isolation.CONFINED, self._scratch.made), files)
        if not files or call.level is not Isolation.CONFINED or self.offer.means is Means.SANDBOX_EXEC:
            yield call
            return
        lent: Copied | Opened
        if self.offer.means is Means.BUBBLEWRAP:
            lent = Copied(self._shown.view(call.level, self._scratch.private(self.places)), files, self._lent)
        else:
            lent = Opened(self._shown.view(call.level, self._scratch.shared_tmp()), files, self._lent)
        try:
            before += lent.bring()
            yield replace(call, lent=lent.rights) if isinstance(lent, Opened) else call
        finally:
            after += lent.take_back()

    @contextmanager
    def _guarding(self, level: Isolation, before: list[str], after: list[str]) -> Iterator[None]:
        """Look after the guarded names of the workspaces, however the call ends."""
        if level is Isolation.NONE:
            yield
            return
        confined = level is Isolation.CONFINED
        copies = confined and self.offer.means is not Means.BUBBLEWRAP
        if copies and self._copies is None:
            self._copies = Copies(self._scratch.copies())
        guard = Guard(
            self.places.workspace_roots,
            aside=self._scratch.aside(),
            copies=self._copies if copies else None,
            register=self._register if confined else None,
        )
        try:
            yield
        finally:
            (before if confined else after).extend(guard.close(move=confined))

    def _spawner(self, level: Isolation) -> Spawner:
        # at `confined` no port of the machine is there to be closed
        return self._closed_ports if level is Isolation.STATE_HIDDEN else self._plain

    def _start(self, child: Child, call: _Call, stack: ExitStack, notes: list[str]) -> Line:
        level, hosts = call.level, call.hosts
        order, ruleset = self._order(child, call)
        try:
            line = Line(self._spawner(level).supervisor(), order, child, ruleset)
        finally:
            if ruleset is not None:
                os.close(ruleset)
        if line.listener is not None:
            listener, line.listener = line.listener, None
            proxy = Proxy(listener, hosts, self._outside)
            stack.callback(lambda: notes.extend([proxy.note] if proxy.note else []))
            try:
                stack.enter_context(proxy)
            except BaseException:
                line.finish()  # it runs already, and nobody would wait for it
                raise
        elif hosts and level is Isolation.CONFINED:
            notes.append("no network: this machine does not let a command have one of its own")
        return line

    # --- orders ------------------------------------------------------------------------------------------------------

    def _order(self, child: Child, call: _Call) -> tuple[Order, int | None]:
        """The order, and the descriptor of the ruleset that goes with it, the caller's to close."""
        level = call.level
        plain = Order(
            argv=tuple(child.argv),
            env=tuple(child.env.items()),
            umask=UMASK,
            deadline_s=child.timeout_s + _GRACE_S,
            limits=default_limits(child.timeout_s),
        )
        if level is Isolation.NONE:
            return plain, None
        cwd = _path_of(child.cwd)
        bounded = replace(plain, privileges=False, pinned=self._pinned(cwd, child.cwd))
        if self.offer.means is Means.BUBBLEWRAP:
            return self._bubblewrap(bounded, level, cwd)
        if self.offer.means is Means.LANDLOCK:
            return self._landlock(bounded, call)
        if self.offer.means is Means.SANDBOX_EXEC:
            return self._sandbox_exec(bounded, level), None
        raise ToolError(f"a command cannot be run at `{level}` here")

    def _bubblewrap(self, order: Order, level: Isolation, cwd: str) -> tuple[Order, int | None]:
        confined = level is Isolation.CONFINED
        private = self._scratch.private(self.places) if confined else {}
        options = bubblewrap.options(
            moment(self._shown.view(level, private), self.places, level),
            program=self.offer.program,
            cwd=cwd,
            offline=confined and not self.offer.networks,
            userns=self.offer.userns,
        )
        # the network is the machine's, and with it what listens there without a path
        ruleset = None if confined or not self.offer.scopes else self._shown.scopes()
        made = replace(
            order,
            wrapper=options,
            seccomp=self._filter(Strictness.NAMESPACES),
            landlock=ruleset is not None,
            network=Network.LISTENER if confined and self.offer.networks else Network.HOST,
            listen=PROXY_PORT,
        )
        return made, ruleset

    def _landlock(self, order: Order, call: _Call) -> tuple[Order, int | None]:
        level = call.level
        confined = level is Isolation.CONFINED
        private: Mapping[str, str] = self._scratch.shared_tmp() if confined else {}
        networks = confined and self.offer.networks
        made = replace(
            order,
            landlock=True,
            seccomp=self._filter(Strictness.LANDLOCK_OFFLINE if confined and not networks else Strictness.LANDLOCK),
            network=Network.LISTENER if networks else Network.HOST,
            listen=PROXY_PORT,
        )
        # in a network of its own a command may connect to its own servers
        return made, self._shown.ruleset(level, private, call.lent, offline=confined and not networks)

    def _sandbox_exec(self, order: Order, level: Isolation) -> Order:
        confined = level is Isolation.CONFINED
        private: Mapping[str, str] = self._scratch.shared_tmp() if confined else {}
        shown = moment(self._shown.view(level, private), self.places, level)
        text = profile(shown, ports=self.places.ports)
        # the profile takes privileges itself; there is nothing of Linux to give up
        return replace(order, argv=(self.offer.program, "-p", text, *order.argv), privileges=True)

    def _filter(self, strictness: Strictness) -> bytes:
        if strictness not in self._filters:
            self._filters[strictness] = assemble(os.uname().machine, strictness)
        return self._filters[strictness]

    def _pinned(self, cwd: str, descriptor: int) -> tuple[tuple[str, int, int], ...]:
        """What must still be there when the command starts: its directory and the workspaces, reached by no link."""
        found = []
        entry = os.fstat(descriptor)
        found.append((cwd, entry.st_dev, entry.st_ino))
        for root in self.places.workspace_roots:
            if os.path.realpath(root) != root:
                raise ToolError(f"the workspace `{root}` was replaced by a link; nothing was run")
            try:
                entry = os.lstat(root)
            except OSError as error:
                raise ToolError(f"the workspace `{root}` cannot be used: {error.strerror}") from None
            found.append((root, entry.st_dev, entry.st_ino))
        return tuple(found)


def _path_of(descriptor: int) -> str:
    """Where an open directory is now; `pinned` has it compared once more."""
    name = named(descriptor)
    try:
        return os.readlink(name) if name.startswith("/proc/") else name
    except OSError as error:
        raise ToolError(f"the working directory cannot be found: {error.strerror}") from None

"""The composition root: config → keys → audit log → store → policy → pipeline → application, and back down again.

What stops a start: another Shield on the home, a damaged or foreign log, a policy or configuration that does not load.
Nothing is repaired on the way, nothing falls back to something weaker.
"""

import asyncio
import contextlib
import os
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from audit.clock import SystemClock
from audit.note import SigningKey
from shield.actions.registry import lookup
from shield.approvals.queue import ApprovalQueue
from shield.config.environment import EXEC_UMASK, exec_env
from shield.config.home import Home, agent_homes, holds, user_home
from shield.config.loading import load, place_set
from shield.config.model_folder import model_found
from shield.config.sections import Config
from shield.errors import ConfigError, PolicyError, ShieldError, StateError
from shield.facts.local import LocalFiles
from shield.facts.programs.special import SPECIALS
from shield.facts.unseen import UnknownFiles
from shield.heuristics.load import HEURISTICS
from shield.permits import PermitKey
from shield.pipeline.pipeline import Pipeline
from shield.pipeline.pool import Pool
from shield.pipeline.ports import system_clock
from shield.pipeline.sessions import Execution, SessionBook
from shield.policy.set import PolicySet
from shield.resources import data_folder
from shield.service.admission import Admission
from shield.service.app import build_app
from shield.service.birth import initialise
from shield.service.call import Context
from shield.service.guarded import hidden, own_processes, protected
from shield.service.home import is_empty, prepare, published_key, read_trusted
from shield.service.hooks import Hooks, Listening, asked
from shield.service.installation import installation
from shield.service.journal import AuditJournal
from shield.service.listener import Listener, bind, claimed
from shield.service.log import load_key, open_log, remembered_in
from shield.service.metrics import Metrics
from shield.service.openapi import describe
from shield.service.operator import ServiceOperator
from shield.service.outside import Outside, check_folder, check_listed, last_begun, list_log
from shield.service.places import Places
from shield.service.process import harden, settle_memory
from shield.service.routes import ROUTES
from shield.service.rulebook import Rulebook, load_owner_policy
from shield.service.server import make_server
from shield.service.text_tier import model_digest, rules_digest, say_what_lacks, standing_of
from shield.service.tokens import agent_trouble, read_book
from shield.store.state import StateStore
from shield.tiers.loading import start_tier1, stop_tier1
from shield.types import Role

__all__ = ["serve"]

_JUDGING_THREADS = 8  # one is at work; the others are for disks that hang


def serve(home: Home, hooks: Hooks) -> None:
    """Run Shield on `home` until it is asked to end. Raises a ShieldError where it may not start or ends badly."""
    for line in (*harden(), *prepare(home)):
        hooks.said(line)
    with claimed(home):
        config = load(home, hooks.overrides)
        _outside(home, (*config.workspaces.roots, *read_trusted(home)))
        folder = check_folder(config, home, hooks.environ)
        if is_empty(home):
            born = initialise(home, now_ms=time.time_ns() // 1_000_000, checkpoints=folder, roles=())
            hooks.said(f"began the log `{born.log}` in `{home.path}`")
        begun = last_begun(folder, home)
        key = load_key(home, hooks.passphrase, remembered=None if begun is None else begun.key)
        # before it is listed: a log that was put here must not be vouched for by what it has to be held against
        unlisted = check_listed(folder, home, key.verifier)
        if (trouble := list_log(folder, home, key.verifier)) is not None:
            hooks.said(trouble)
        remarks = () if unlisted is None else (unlisted,)
        outside = Outside.of(config.audit, folder, key.name, SystemClock.read(), remarks=remarks)
        if hooks.portable or sys.platform == "win32":
            asyncio.run(_main(home, config, hooks, key, outside))
        else:
            import uvloop

            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(_main(home, config, hooks, key, outside))


def _policy(home: Home, config: Config, hooks: Hooks) -> PolicySet:
    """The owner's policy. Raises PolicyError: for one that is not there it says which setting names it."""
    try:
        return load_owner_policy(home, config)
    except PolicyError as error:
        if error.file is not None:  # the policy is there, and the message says where in it
            raise
        raise PolicyError(f"{place_set(home, hooks.overrides, 'policy')}: `policy`: {error.detail}") from None


def _listener(home: Home, config: Config, hooks: Hooks) -> Listener:
    try:
        return bind(home, config)
    except StateError as error:
        if config.service.tcp is None:
            raise
        raise StateError(f"{place_set(home, hooks.overrides, 'service.tcp')}: `service.tcp`: {error.detail}") from None


def _outside(home: Home, workspaces: tuple[str, ...]) -> None:
    if any(holds(os.path.realpath(root), home.path) for root in workspaces):
        raise ConfigError(f"`{home.path}` lies in a directory where agents work; set SHIELD_HOME to one outside")


async def _main(home: Home, config: Config, hooks: Hooks, audit_key: SigningKey, outside: Outside) -> None:
    loop = asyncio.get_running_loop()
    with contextlib.ExitStack() as down:
        # before anything is written: a start that cannot listen leaves no trace in the log
        listener = _listener(home, config, hooks)
        down.callback(listener.close)
        key = PermitKey()
        down.enter_context(published_key(home, key.public))
        log = open_log(home, audit_key, outside=outside.remembered())
        outside = outside.compared(log.size, remembered_in(home))
        publishing = outside.publish(log, SystemClock.read())
        down.callback(publishing.close)  # last of all: it tells of the checkpoint that closing makes
        for remark in publishing.remarks:
            hooks.said(remark)
        journal = AuditJournal(log, home, loop, publishing=publishing)
        down.callback(journal.close)
        store = StateStore.open(home.state_db)
        down.callback(store.close)
        # a question of a Shield that is gone can lead to no permit any more
        store.expire_pending()
        pool = Pool(_JUDGING_THREADS)
        down.callback(pool.close)

        rulebook = Rulebook(_policy(home, config, hooks), lambda: _policy(home, config, hooks))
        clock = system_clock()
        shell, env = exec_env(config.exec.env, hooks.environ)
        sessions = SessionBook(
            execution=Execution(shell=shell, env=env, umask=EXEC_UMASK),
            home=user_home(hooks.environ),
            shield_home=home.path,
            trusted=lambda: (*config.workspaces.roots, *read_trusted(home)),
            now_ms=clock.now_ms,
        )
        model = model_found(config.tier1.model, home)
        tier1 = start_tier1(data_folder(HEURISTICS), model, own=Path(home.heuristics))
        down.callback(stop_tier1, tier1)
        stored = read_book(home)
        if (trouble := agent_trouble(home, stored)) is not None:
            hooks.said(f"{trouble}, so no agent can ask; make new tokens with `shield init --new-tokens`")
        book = hooks.book(stored)
        approvals = ApprovalQueue(
            store,
            now_ms=clock.now_ms,
            monotonic_ns=clock.monotonic_ns,
            timeout_s=config.approvals.timeout_s,
            configured=lambda: any(token.role is Role.APPROVER for token in operator.tokens.tokens),
        )
        operator = ServiceOperator(
            rulebook=rulebook,
            recorder=journal,
            read_tokens=lambda: hooks.book(read_book(home)),
            tokens=book,
            approvals=approvals,
            now=time.monotonic,
            tier1=lambda: standing_of(tier1.texts),
        )
        SPECIALS.load()  # what judges is what was there at the start
        installed = installation(path=env["PATH"])
        if installed.linked is not None:
            hooks.said(
                f"`{installed.linked}` has a second name, through which it can be changed;"
                " install again with UV_LINK_MODE=copy"
            )
        guarded = protected(
            home,
            config,
            pids=own_processes(embedded=hooks.parent is not None),
            installed=installed,
            ports=listener.ports,
            elsewhere=(*agent_homes(hooks.environ), outside.folder),
        )
        pipeline = Pipeline(
            policy=rulebook.for_session,
            place_for=Places(
                files=UnknownFiles() if config.facts.filesystem == "none" else LocalFiles(),
                home=user_home(hooks.environ),
                shell=shell,
                env=env,
                sessions=sessions,
                protected=guarded,
            ),
            clock=clock,
            pool=pool,
            recorder=journal,
            sessions=sessions,
            approvals=approvals,
            key=key,
            payloads=config.audit.payloads,
            tier1=tier1,
        )
        context = Context(
            judge=pipeline,
            journal=journal,
            operator=operator,
            admission=Admission(rate=config.service.rate, queue=config.service.queue, now=time.monotonic),
            metrics=Metrics(_type_label),
            description=describe(ROUTES, _version()),
            stopping=asyncio.Event(),
            now=time.perf_counter,
            hidden=hidden(guarded),
        )
        rules = await asyncio.to_thread(rules_digest, tier1.texts)
        await journal.append(
            "log.open",
            {
                "version": _version(),
                "permit_key": key.public.hex(),
                "policy": rulebook.policy.digest,
                "model": await asyncio.to_thread(model_digest, model),
                "heuristics": rules,
                "isolation": "reported by the executor",
                # signed: whoever has Shield remember its log somewhere else cannot hide that they did
                "outside": outside.folder,
            },
        )
        if hooks.signals:  # a process of our own
            settle_memory()
        reading = asyncio.ensure_future(say_what_lacks(tier1.texts, hooks.said))
        down.callback(reading.cancel)
        await _listen(listener, hooks, context, pipeline, operator)
        await pipeline.stop()
        store.expire_pending()  # their actions stand in it in clear, and nobody can answer any more
        await journal.append("log.close", {"reason": "asked to stop"})


async def _listen(
    listener: Listener, hooks: Hooks, context: Context, pipeline: Pipeline, operator: ServiceOperator
) -> None:
    app = build_app(context, tokens=lambda: operator.tokens, uid=os.getuid(), hosts=listener.hosts)
    said = Listening(address=listener.address, public_key=pipeline.public_key)
    server = make_server(app, listening=lambda: hooks.listening(said), portable=hooks.portable)
    tasks: set[asyncio.Task[None]] = set()

    def stop() -> None:
        if not context.stopping.is_set():
            context.stopping.set()
            server.should_exit = True
            # waits end now, not when the server comes round to closing their connections
            tasks.add(asyncio.ensure_future(pipeline.approvals.stop()))

    def reload() -> None:
        tasks.add(asyncio.ensure_future(_reload(operator, hooks)))

    with asked(asyncio.get_running_loop(), hooks, stop, reload):
        await server.serve(sockets=[listener.socket])
    await asyncio.gather(*tasks)


async def _reload(operator: ServiceOperator, hooks: Hooks) -> None:
    try:
        done = await operator.reload("SIGHUP")
        hooks.said(f"reloaded: policy {done.previous} → {done.policy}")
    except ShieldError as error:
        hooks.said(f"not reloaded, the running policy stays: {error}")


def _type_label(name: str) -> str:
    return name if lookup(name).known else ("mcp" if name.startswith("mcp:") else "unknown")


def _version() -> str:
    try:
        return version("shield-sidecar")
    except PackageNotFoundError:
        return "0"

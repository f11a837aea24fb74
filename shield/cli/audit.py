"""`shield audit`: the log's own command line with this home's paths."""

import contextlib
import copy
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import click

from audit.cli import COMMANDS
from shield.config.home import Home, checkpoints_folder, home_from
from shield.config.loading import load
from shield.errors import ConfigError

__all__ = ["command"]

_WRITING = frozenset({"redact", "rotate-key"})
_PLACES: dict[str, Callable[[Home], str]] = {
    "--key": lambda home: home.audit_vkey,
    "--keys": lambda home: home.keys,
    "--private-key": lambda home: home.audit_private,
    "--checkpoint-file": lambda home: home.audit_checkpoint,
}
_AGAINST = {  # which option takes what is remembered elsewhere
    "verify": "--witness",
    "show": "--checkpoint",
    "redact": "--outside",
    "rotate-key": "--outside",
}
_WITHOUT_LOG = frozenset({"witness"})


@click.group(
    "audit",
    short_help="Read and verify this home's audit log.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
def command() -> None:
    """Read and verify this home's audit log, offline, as `python -P -m audit` does with a copy of it.

    `redact` and `rotate-key` write the log: stop Shield first.

    Exit codes: 0 all is well; 1 tampered; 2 cannot tell.
    """


def _delegate(name: str, line: str) -> None:
    @command.command(name, short_help=line, help=line, add_help_option=False, context_settings={
        "ignore_unknown_options": True, "allow_extra_args": True,
    })  # fmt: skip
    @click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
    def run(arguments: tuple[str, ...]) -> None:
        from audit.cli import main

        if name in _WITHOUT_LOG:
            main([name, *arguments], prog_name="shield audit")
            return
        if not {"-h", "--help"}.isdisjoint(arguments):
            _filling(name).main(["--help"], prog_name=f"shield audit {name}")
        home = home_from(os.environ)
        if not (os.path.lexists(home.audit_db) or os.path.lexists(home.audit_vkey)):
            raise ConfigError(f"`{home.path}` has not been begun, so it has no log; run `shield init`")
        given = [name, home.audit_db, *arguments, *_filled(name, home, arguments, os.environ)]
        with _stopped(home) if name in _WRITING else contextlib.nullcontext():
            _with_usage_of(name).main(given, prog_name="shield audit")


class _Given(click.Argument):
    """What this home fills in: it is there, and no usage line asks for it."""

    def get_usage_pieces(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        return []


def _with_usage_of(name: str) -> click.Group:
    """The log's own command line, whose command `name` says in an error the usage that it has here."""
    from audit.cli import main

    group = copy.copy(main)
    found = main.get_command(click.Context(main), name)
    if found is not None:
        command = copy.copy(found)
        log = next(parameter for parameter in command.params if isinstance(parameter, click.Argument))
        given = _Given([log.name or "db"], type=log.type)
        command.params = [given if parameter is log else parameter for parameter in command.params]
        group.commands = {name: command}
    return group


def _filling(name: str) -> click.Command:
    """The command as it is where this home fills in what was left out, for `--help`."""
    from audit.cli import main

    command = copy.copy(main.get_command(click.Context(main), name) or main)
    log = next(parameter for parameter in command.params if isinstance(parameter, click.Argument))
    command.params = [copy.copy(parameter) for parameter in command.params if parameter is not log]
    command.context_settings = {"help_option_names": ["-h", "--help"]}
    for parameter in command.params:
        parameter.required = parameter.required and parameter.opts[0] not in _PLACES
    command.epilog = "What this home knows is filled in: DB or PATH, which is not given, and keys and checkpoints."
    return command


def _filled(name: str, home: Home, arguments: tuple[str, ...], environ: Mapping[str, str]) -> Iterable[str]:
    """The options that say where things of this home are, but for those that were given."""
    from audit.cli import main

    found = main.get_command(click.Context(main), name)
    known = {option for parameter in ([] if found is None else found.params) for option in parameter.opts}
    given = {argument.partition("=")[0] for argument in arguments}
    for option, place in _PLACES.items():
        if option in known and option not in given and os.path.lexists(path := place(home)):
            yield from (option, path)
    # INVARIANT: the checkpoint file beside the log is none of them: who can rewrite the one can rewrite the other
    against = _AGAINST.get(name)
    if against is not None and against in known:
        for path in _outside(home, environ, cosigned="--witness-key" in given):
            yield from (against, path)


def _outside(home: Home, environ: Mapping[str, str], *, cosigned: bool) -> Iterable[str]:
    """The files that remember checkpoints of this home's log out of its reach; of the folder's own the last two, and
    none where each has to be `cosigned` by a witness: the folder's own are not."""
    from audit.errors import AuditError
    from audit.keys import read_verify_key
    from audit.sinks.file import FileSink
    from audit.sinks.folder import file_name

    try:
        log = read_verify_key(Path(home.audit_vkey)).name
        folder = Path(checkpoints_folder(load(home, environ).audit.checkpoints, environ))
        if not cosigned:
            yield from (str(path) for path in FileSink(folder, log).files()[-2:])
        yield from (str(path) for path in sorted(folder.glob(f"{file_name(log)}.*.cosigned")))
    except (AuditError, ConfigError, OSError) as error:
        click.echo(f"shield: what is remembered elsewhere is left out: {error}", err=True)


@contextlib.contextmanager
def _stopped(home: Home) -> Iterator[None]:
    """Nobody else has the home while this runs."""
    from shield.service.listener import claimed

    with claimed(home):
        yield


for _name, (_, _line) in COMMANDS.items():
    _delegate(_name, _line)

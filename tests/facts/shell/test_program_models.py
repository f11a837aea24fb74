"""The models as data: every entry loads, names a reader that exists, and an unknown option is never only a read."""

import pytest

from model_world import WORLD
from shell_world import facts
from shield.facts.programs.library import load_models, models
from shield.facts.programs.model import ALL_OPERATIONS
from shield.facts.programs.special import SPECIALS
from shield.facts.shell import analyse
from shield.facts.shell.builtins import BUILTIN_SPECIALS
from shield.types import Operation, Origin

EVERYDAY = (
    "ls cat head tail wc grep egrep fgrep rg find fd tree stat file du df cp mv rm rmdir mkdir touch ln chmod chown sed awk "
    "sort uniq cut tr tee diff cmp echo printf pwd cd test [ true false date whoami id uname env printenv which type basename "
    "dirname realpath readlink xargs sleep git curl wget ssh scp rsync nc dig ping python python3 node npm npx pip pytest make "
    "cargo go tar zip unzip gzip jq kill pkill dd mkfs mount umount shutdown reboot systemctl crontab at docker kubectl "
    "terraform su passwd xxd base64 md5sum sha256sum less more man sudo doas nohup nice ionice time timeout stdbuf setsid "
    "command builtin exec chroot watch strace flock busybox bash sh dash zsh eval source ."
)


def test_everyday_programs_have_a_model():
    missing = set(EVERYDAY.split()) - models().keys()
    assert not missing


def test_every_special_reader_exists():
    named = {model.special for model in models().values()}
    for model in models().values():
        named |= {sub.special for sub in (model.subcommands or {}).values()}
    assert named - {None} <= SPECIALS.keys() | BUILTIN_SPECIALS.keys()


def test_an_option_that_is_not_known_is_never_only_a_read():
    for name, model in models().items():
        if model.options and not model.subcommands:
            found = analyse(f"{name} --frobnicate-zz x", WORLD).commands[0]
            known = found.dynamic.value not in ("code", "program")
            # Of `aws` and kin an option that is not listed is text for the service.
            assert model.params or not known or found.operations >= ALL_OPERATIONS, found


def test_a_model_that_is_not_ours_is_not_believed():
    assert facts("frob -x y").commands[0].operations == ALL_OPERATIONS
    assert facts("frob -x y").commands[0].origin is Origin.UNKNOWN


@pytest.mark.parametrize(
    "text",
    ["- a", "x: {frob: 1}", "x: {mode: frob}", "x: {flags: a}", "x: {does: frob}", "x y x: {}", "x: {values: {-a: frob}}", "x: {runs: {-a: frob}}"],
)  # fmt: skip
def test_a_broken_entry_does_not_load(text):
    with pytest.raises((ValueError, TypeError)):
        load_models(text, "x.yaml")


def test_abbreviated_and_combined_options():
    loaded = facts("rm --recur -fv x").commands[0]
    assert {"--recursive", "-f", "-v"} <= set(loaded.flags)
    assert Operation.DELETE in loaded.operations
    assert facts("grep -rnA3 x .").commands[0].flags == ("-r", "-n", "-A")
    assert facts("grep --include=*.py x .").commands[0].flags == ("--include",)
    assert facts("cat -- -n").paths[0].resolved == "/home/user/ws/-n"

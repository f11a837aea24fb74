"""What is wrong with a setting is said with the file and line, or the variable, the key and the value, and ends with 2;
what is right is shown with where it comes from. No secret is shown."""

import json
import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from agentctl.config import load
from agentctl.errors import SettingsError
from agentctl_process import agentctl_run, environ, model_env, talk
from model_server import Fault, ScriptedModel, Turn

LOCAL = {"AGENTCTL_MODEL": "m", "AGENTCTL_BASE_URL": "http://127.0.0.1:9/v1"}


def write(folder, text):
    file = folder / "agentctl" / "config.toml"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    file.chmod(0o600)
    return file


def config(folder, *arguments, **env):
    return agentctl_run("config", *arguments, env={"XDG_CONFIG_HOME": str(folder), **env})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\nmax_tokens = -4", ", line 2: `max_tokens` is `-4`; give a whole number from 1 to 10000000"),
        ('max_tokens = "9"', ", line 1: `max_tokens` is `9`; give a whole number from 1 to 10000000 without quotes"),
        ("max_tokens = true", ", line 1: `max_tokens` is `true`; give a whole number"),
        ("base_url = 3", ", line 1: `base_url` is `3`; give an http or https address"),
        ('base_url = "https://x:99999"', ", line 1: `base_url` is `https://x:99999`; give an http"),
        ('base_url = "http://["', ", line 1: `base_url` is `http://[`; give an http"),
        ('base_url = "https://u:SECRET@x.example"', ", line 1: `base_url` is `https://x.example`; give an http"),
        ('base_url = "https://x.example?key=SECRET"', ", line 1: `base_url` is `https://x.example`; give an http"),
        ("model = 3", ", line 1: `model` is `3`; give text in quotes"),
        ('model = ""', ", line 1: `model` is ``; give text in quotes"),
        ('provider = "foo"', ", line 1: `provider` is `foo`; give one of openai, anthropic, ollama"),
        ('provider = "ollama"', ", line 1: `provider` is `ollama`; set a `model` with it, or AGENTCTL_MODEL"),
        ('key_env = "sk-SECRET"', ", line 1: `key_env` is no name of a variable; give the name"),
        ('proxy = "u:SECRET@proxy:1"', ", line 1: `proxy` is `proxy:1`; give `http://HOST:PORT`"),
        ('proxy = "socks5://u:SECRET@proxy:1"', ", line 1: `proxy` is `socks5://proxy:1`; give `http://HOST:PORT`"),
        ('model = "m"\n\n  isolation = "total"', ", line 3: `isolation` is `total`; give one of none, state_hidden"),
        ('caches = ["/a", "b"]', ", line 1: `caches`: one of them is `b`; name folders by absolute paths"),
        (
            'caches = ["/"]',
            ", line 1: `caches`: one of them is `/`; commands could write all of your home directory there",
        ),
        ('caches = ["/home"]', ", line 1: `caches`: one of them is `/home`; commands could write all of your home"),
        ('caches = ["~/"]', ", line 1: `caches`: one of them is `~/`; commands could write all of your home"),
        ('caches = ["/a/../b"]', ", line 1: `caches`: one of them is `/a/../b`; name the folder without `..`"),
        ('caches = "/a"', ", line 1: `caches` is `/a`; give a list of folders"),
        ("model = '''\ncaches = 3\n'''\ncaches = 4", ", line 4: `caches` is `4`; give a list"),
        ('[model]\nname = "m"', ', line 1: `model` is `{"name": "m"}`; give text'),
        ("'mod le' = 1", ", line 1: unknown key `mod le`; the keys are provider, model"),
        ("model = ?", " is no toml: invalid value (at line 1, column 9)"),
        (b"# fine\n# \xff", ", line 2: this is no utf-8"),
        (f'model = "{"x" * 70_000}"', " has more than 65536 bytes"),
    ],
)
def test_a_wrong_value_in_the_file_is_named_with_its_line(tmp_path, text, said):
    file = write(tmp_path, text)
    with pytest.raises(SettingsError) as error:
        load({"HOME": "/home/u", "XDG_CONFIG_HOME": str(tmp_path)}, cwd=Path("/elsewhere"))
    assert error.value.detail.startswith(f"`{file}`{said}"), error.value.detail
    assert "SECRET" not in error.value.detail
    assert "\n" not in error.value.detail


@pytest.mark.parametrize("words", [["config"], ["run", "hi"], ["chat"]])
def test_a_wrong_value_ends_every_command_with_2(tmp_path, words):
    file = write(tmp_path, "max_tokens = -4")
    done = agentctl_run(*words, env={"XDG_CONFIG_HOME": str(tmp_path)})
    assert (done.returncode, done.stdout) == (2, "")
    said = f"agentctl: `{file}`, line 1: `max_tokens` is `-4`; give a whole number from 1 to 10000000\n"
    assert done.stderr == said


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("MAX_TOKENS", "abc", "is `abc`; give a whole number"),
        ("MAX_TOKENS", "0", "is `0`; give a whole number"),
        ("MAX_TOKENS", "9" * 5000, "is `9"),
        ("PROVIDER", "foo", "is `foo`; give one of openai"),
        ("PROXY", "foo", "is `foo`; give `http://HOST:PORT`"),
        ("PROXY", "http://", "is `http://`; give `http://HOST:PORT`"),
        ("PROXY", "http://u:SECRET@h:1/x", "is `http://h:1/x`; give `http://HOST:PORT`"),
        ("BASE_URL", "http://h/\x1b[2J", "is `http://h/\\x1b[2J`; give an http"),
        ("KEY_ENV", "sk-SECRET", "is no name of a variable"),
    ],
)
def test_a_wrong_value_in_a_variable_is_named(name, value, said):
    done = agentctl_run("config", env={f"AGENTCTL_{name}": value})
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"agentctl: AGENTCTL_{name} {said}"), done.stderr
    assert "SECRET" not in done.stderr


def test_a_file_that_is_none_is_said(tmp_path):
    (tmp_path / "agentctl" / "config.toml").mkdir(parents=True)
    done = config(tmp_path)
    assert done.returncode == 2
    assert done.stderr == f"agentctl: `{tmp_path}/agentctl/config.toml` is no file; move away what is there\n"


def test_each_setting_is_shown_with_where_it_comes_from(tmp_path):
    write(tmp_path, 'provider = "ollama"\nmodel = "small"\nproxy = "http://me:SECRET@proxy.example:3128"\n')
    shape = json.loads(config(tmp_path, "--json", AGENTCTL_MODEL="large").stdout)
    origins = shape["origins"]
    assert {name: (shape[name], origins[name]) for name in origins if name not in ("shield_home", "history")} == {
        "file": (f"{tmp_path}/agentctl/config.toml", "XDG_CONFIG_HOME"),
        "provider": ("ollama", "file"),
        "model": ("large", "AGENTCTL_MODEL"),
        "base_url": ("http://127.0.0.1:11434", "default"),
        "key_env": (None, "default"),
        "proxy": ("http://proxy.example:3128", "file"),
        "max_tokens": (None, "default"),
        "isolation": (None, "default"),
        "caches": ([], "default"),
    }
    text = config(tmp_path, AGENTCTL_MODEL="large").stdout
    assert "model        large (AGENTCTL_MODEL)\n" in text
    assert "proxy        http://proxy.example:3128 (file)\n" in text
    assert "max_tokens   - (default)\n" in text
    assert "SECRET" not in text


def test_what_is_set_without_a_model_is_shown_too(tmp_path):
    write(tmp_path, 'base_url = "http://127.0.0.1:9/v1"\nmax_tokens = 5\n')
    shape = json.loads(config(tmp_path, "--json").stdout)
    assert (shape["model"], shape["base_url"], shape["max_tokens"]) == (None, "http://127.0.0.1:9/v1", 5)


@pytest.mark.parametrize("home", [{}, {"HOME": "relative"}, {"HOME": ""}])
def test_without_a_home_in_the_environment_it_is_the_users_own(home):
    env = {name: value for name, value in environ("/").items() if name != "HOME"}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "agentctl.cli", "config", "--json"],
        capture_output=True,
        text=True,
        check=True,
        cwd="/",
        env=env | home,
    )
    own = pwd.getpwuid(os.getuid()).pw_dir
    assert json.loads(done.stdout)["shield_home"] == f"{own}/.shield"
    assert json.loads(done.stdout)["file"] == f"{own}/.config/agentctl/config.toml"


# --- the key ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [["run", "hi"], ["chat"]])
@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({"AGENTCTL_MODEL": "m"}, "OPENAI_API_KEY is not set; put the api key for `https://api.openai.com/v1` there"),
        ({"AGENTCTL_MODEL": "m", "AGENTCTL_PROVIDER": "anthropic"}, "ANTHROPIC_API_KEY is not set; put the api key"),
        ({**LOCAL, "AGENTCTL_KEY_ENV": "OWN_KEY"}, "OWN_KEY is not set; put the api key for `http://127.0.0.1:9/v1`"),
        ({**LOCAL, "OPENAI_API_KEY": "a\nb"}, "the api key in OPENAI_API_KEY holds characters that no header may"),
        (
            {"AGENTCTL_MODEL": "m", "AGENTCTL_BASE_URL": "http://model.example", "OPENAI_API_KEY": "k"},
            "the api key in OPENAI_API_KEY would be sent unencrypted; use `https://`",
        ),
    ],
)
def test_a_key_that_cannot_be_used_is_said_before_anything_is_started(shield, command, env, said):
    done = talk(shield, *command, **env)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"agentctl: {said}"), done.stderr
    assert shield.requests == []


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({"OPENAI_API_KEY": "wrong-key"}, "check the api key in OPENAI_API_KEY"),
        ({}, "no api key was sent: set OPENAI_API_KEY, or name another variable with `key_env`"),
        ({"AGENTCTL_PROVIDER": "ollama"}, "no api key was sent: name its variable with `key_env`"),
    ],
)
def test_a_model_that_wants_another_key_is_answered_with_its_variable(shield, env, said):
    with ScriptedModel([Turn(fault=Fault(status=401, body='{"error": {"message": "who are you"}}'))]) as model:
        done = talk(shield, "run", "hi", **model_env(model), **env)
    assert done.returncode == 1
    assert said in " ".join(done.stderr.split()), done.stdout + done.stderr
    assert done.stdout == ""
    assert "wrong-key" not in done.stdout + done.stderr


def test_a_model_on_this_machine_needs_no_key(shield):
    with ScriptedModel([Turn(text="fine")]) as model:
        assert talk(shield, "run", "hi", **model_env(model)).returncode == 0


def test_a_history_that_cannot_be_kept_is_said(shield):
    done = talk(shield, "run", "hi", "--isolation", "none", **LOCAL | {"XDG_DATA_HOME": "/dev/null/x"})
    assert done.returncode == 1
    assert done.stderr.endswith(
        "agentctl: `/dev/null/x/agentctl` cannot be made: Not a directory; set XDG_DATA_HOME elsewhere\n"
    )


def test_a_session_does_not_lose_its_sandbox_to_a_directory_that_cannot_be_written(shield):
    """What this machine can hold is not known then; going on without has to be said."""
    if json.loads(agentctl_run("config", "--json").stdout)["sandbox"]["levels"] == ["none"]:
        pytest.skip("no sandbox holds here")
    env = {"XDG_DATA_HOME": "/dev/null/x"}
    done = talk(shield, "chat", stdin="/read README.md\n", **env)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "agentctl: `/dev/null/x/agentctl/sandbox` cannot be written to, and no sandbox goes without it: Not a directory;"
        " set XDG_DATA_HOME elsewhere, or give `--isolation none` to go on without a sandbox\n"
    )
    assert shield.sent("/v1/evaluate") == []
    assert "set XDG_DATA_HOME elsewhere" in agentctl_run("config", env=env).stdout
    done = talk(shield, "chat", "--isolation", "none", stdin="/read README.md\n", **env)
    assert done.returncode == 0
    assert "isolation none (no sandbox)" in done.stdout
    assert "| hello" in done.stdout

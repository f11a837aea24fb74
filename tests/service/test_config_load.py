"""shield.toml, its overrides, and the environment of tools."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from shield.config.environment import exec_env
from shield.config.home import Home, checkpoints_folder, home_from, token_from, user_home
from shield.config.loading import load
from shield.config.sections import Config
from shield.errors import ConfigError
from shield.facts.shell.environment import Influence, influence

CONTRACT = """
policy = "default"
[service]
socket = "run/shield.sock"
queue = 256
[approvals]
timeout_s = 300
[workspaces]
roots = []
[exec]
env = []
[protection]
identity = ["IDENTITY.md", "SOUL.md"]
instructions = ["AGENTS.md", "CLAUDE.md", ".cursorrules"]
memory = ["MEMORY.md", "USER.md"]
[facts]
filesystem = "local"
[tier1]
model = "tier1"
[audit]
syslog = false
witnesses = []
interval_s = 5
payloads = false
"""


@pytest.fixture
def home():
    folder = os.path.realpath(tempfile.mkdtemp(prefix="sh"))
    yield Home(path=folder)
    shutil.rmtree(folder)


def write(home, text):
    Path(home.toml).write_text(text)
    os.chmod(home.toml, 0o600)


def test_the_contracts_example_says_the_defaults(home):
    assert load(home, {}) == Config()
    write(home, CONTRACT)
    assert load(home, {}) == Config()


def test_a_value_is_frozen(home):
    with pytest.raises(ValueError, match="frozen"):
        load(home, {}).policy = "permissive"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("polcy = 'x'", "unknown key `polcy`, did you mean `policy`?"),
        ("[service]\nquue = 1", "unknown key `service.quue`, did you mean `service.queue`?"),
        ("[servce]\nqueue = 1", "unknown key `servce`, did you mean `service`?"),
        ("[service]\nqueue = '1'", "`service.queue`"),
        ("[service]\nqueue = true", "`service.queue`"),
        ("[service]\nqueue = 0", "`service.queue`"),
        ("[service]\nrate = 0", "`service.rate`"),
        ("[service]\nrate = nan", "`service.rate`"),
        ("[service]\nrate = inf", "`service.rate`"),
        ("service = 1", "`service` is a section; write `[service]` and its keys in lines below it"),
        ("[workspaces]\nroots = ['~/work']", "`workspaces.roots`: `~/work` is not absolute; give the whole path"),
        ("[workspaces]\nroots = ['/a', 'rel']", "`workspaces.roots`: `rel` is not absolute"),
        ("[protection]\nidentity = ['a/b']", "`protection.identity`: `a/b` is no name of a file"),
        ("[protection]\nmemory = ['']", "`protection.memory`: `` is no name of a file"),
        ("policy = ''", "`policy`"),
        ("[service]\ntcp = '0.0.0.0:80'", "loopback"),
        ("[service]\ntcp = 'localhost:80'", "loopback"),
        ("[service]\ntcp = '127.0.0.1:80'\nsocket = 'x'", "both set"),
        ("[exec]\nenv = ['LD_PRELOAD']", "LD_PRELOAD"),
        ("[exec]\nenv = ['PATH']", "PATH"),
        ("[exec]\nenv = ['BASH_ENV']", "BASH_ENV"),
        ("[exec]\nenv = ['BASH_FUNC_ls%%']", "BASH_FUNC_ls"),
        ("[exec]\nenv = ['GIT_SSH_COMMAND']", "GIT_SSH_COMMAND"),
        ("[exec]\nenv = ['SHIELD_TOKEN']", "SHIELD_TOKEN"),
        ("[exec]\nenv = ['A=B']", "A=B"),
        ("[facts]\nfilesystem = 'remote'", "`facts.filesystem`"),
        ("[audit]\ncheckpoints = 'here'", "`audit.checkpoints`: `here` is not absolute"),
        ("[audit]\nwitnesses = ['w.example+0a1b2c3d+AAAA']", "`audit.witnesses`"),
        ("[audit]\nwitnesses = ['file:///w w+0a1b2c3d+AAAA']", "`audit.witnesses`"),
        ("[audit]\nwitnesses = ['https://w w+1+A', 'https://w w+1+A']", "stands twice"),
        ("[audit]\ninterval_s = 0", "`audit.interval_s`"),
        ("[audit]\npayloads = 1", "`audit.payloads`"),
        ("[tier1]\nmodel = '../x'", "`tier1.model`: `../x` is no name of a model"),
        ("policy = [\n", "invalid value"),
        ("policy = 'a'\npolicy = 'b'\n", "line 2"),
    ],
)
def test_refused(home, text, said):
    write(home, text)
    with pytest.raises(ConfigError) as refused:
        load(home, {})
    assert said in str(refused.value)
    assert str(refused.value).startswith(home.toml)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\n# a note\npolcy = 'x'", ", line 3: unknown key `polcy`"),
        ("#\n[aprovals]\ntimeout_s = 3", ", line 2: unknown key `aprovals`, did you mean `approvals`?"),
        ("policy = 'a'\n\n[service]\nqueue = '256'", ", line 4: `service.queue` is `256`; write a whole number"),
        ("[approvals]\ntimeout_s = 0", ", line 2: `approvals.timeout_s` is `0`; write 1 or more"),
        ("service = {queue = true}", ", line 1: `service.queue` is `true`; write a whole number, without quotes"),
        ("service.rate = 'fast'", ", line 1: `service.rate` is `fast`; write a number, without quotes"),
        ("[audit]\nsyslog = 1", ", line 2: `audit.syslog` is `1`; write `true` or `false`, without quotes"),
        ("[workspaces]\nroots = '/a'", ', line 2: `workspaces.roots` is `/a`; write a list, such as `["a", "b"]`'),
        ("[workspaces]\nroots = [3]", ", line 2: `workspaces.roots` is `3`; write text, in quotes"),
        ("[facts]\nfilesystem = 'nfs'", ", line 2: `facts.filesystem` is `nfs`; write 'local' or 'none'"),
        ("[exec]\n\nenv = ['LD_PRELOAD']", ", line 3: `exec.env`: `LD_PRELOAD` may not be passed to tools"),
        ("policy = default", ", line 1: invalid value at column 10; text stands in quotes"),
        ("policy = 'a'\npolicy = 'b'\n", ", line 2: cannot overwrite a value at column 13; a key stands there twice"),
    ],
)
def test_what_is_refused_is_said_with_its_line_and_what_to_write(home, text, said):
    write(home, text)
    with pytest.raises(ConfigError) as refused:
        load(home, {"SHIELD_HOME": home.path, "TERM": "dumb"})
    assert str(refused.value).startswith(f"{home.toml}{said}")


@pytest.mark.parametrize(
    "name",
    [
        "PAGER",
        "MANPAGER",
        "EDITOR",
        "VISUAL",
        "BROWSER",
        "LESSOPEN",
        "LESS",
        "SSH_ASKPASS",
        "SUDO_ASKPASS",
        "RSYNC_RSH",
        "MAKEFLAGS",
        "MAKEFILES",
        "TAR_OPTIONS",
        "RIPGREP_CONFIG_PATH",
        "RUSTC_WRAPPER",
        "_JAVA_OPTIONS",
        "CLASSPATH",
        "GCONV_PATH",
        "OPENSSL_CONF",
        "PS0",
        "VIMINIT",
    ],
)
def test_no_variable_that_starts_programs_is_passed_on(home, name):
    """Programs are judged as they are without it; set in a command line, it counts (`shield.facts.shell`)."""
    assert influence(name) in (Influence.CODE, Influence.SEARCH)
    write(home, f"[exec]\nenv = ['{name}']")
    with pytest.raises(ConfigError, match=f"`{name}` may not be passed to tools"):
        load(home, {})


def test_what_configures_a_program_that_is_asked_about_may_be_passed_on(home):
    write(home, "[exec]\nenv = ['KUBECONFIG', 'DOCKER_HOST', 'AWS_PROFILE', 'CARGO_HOME', 'SSH_AUTH_SOCK']")
    assert len(load(home, {}).exec.env) == 5


def test_the_file_must_be_ours(home):
    write(home, "")
    os.chmod(home.toml, 0o666)
    with pytest.raises(ConfigError, match="writable by others"):
        load(home, {})
    os.remove(home.toml)
    os.mkfifo(home.toml)
    with pytest.raises(ConfigError, match="not a regular file"):
        load(home, {})
    os.remove(home.toml)
    os.mkdir(home.toml)
    with pytest.raises(ConfigError, match="not a regular file"):
        load(home, {})
    os.rmdir(home.toml)
    Path(home.toml).write_bytes(b"policy = '\xff'")
    os.chmod(home.toml, 0o600)
    with pytest.raises(ConfigError, match="UTF-8"):
        load(home, {})


def test_overrides(home):
    write(home, "[service]\nqueue = 5")
    environ = {
        "SHIELD_POLICY": "strict",
        "SHIELD_SERVICE__QUEUE": "7",
        "SHIELD_SERVICE__RATE": "1000",
        "SHIELD_WORKSPACES__ROOTS": '["/a", "/b"]',
        "SHIELD_FACTS__FILESYSTEM": "none",
        "SHIELD_HOME": "/elsewhere",
        "SHIELD_TOKEN": "t",
        "PATH": "/bin",
    }
    config = load(home, environ)
    assert (config.policy, config.service.queue, config.service.rate) == ("strict", 7, 1000.0)
    assert config.workspaces.roots == ("/a", "/b")
    assert config.facts.filesystem == "none"
    assert token_from(environ) == "t"
    assert token_from({}) is None


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("SHIELD_SERVICE__QUUE", "1", "did you mean `SHIELD_SERVICE__QUEUE`?"),
        ("SHIELD_SERVICE__QUEUE", "many", "SHIELD_SERVICE__QUEUE: `service.queue`"),
        ("SHIELD_SERVICE__QUEUE", "1\npolicy = 'x'", "SHIELD_SERVICE__QUEUE"),
        ("SHIELD_POLCY", "x", "did you mean `SHIELD_POLICY`?"),
        ("SHIELD_NOTHING__HERE", "1", "unknown key"),
        ("SHIELD_WORKSPACES__ROOTS", "/a", "`workspaces.roots`"),
    ],
)
def test_refused_overrides(home, name, value, said):
    with pytest.raises(ConfigError) as refused:
        load(home, {name: value})
    assert said in str(refused.value)


def test_home():
    assert home_from({"HOME": "/home/u"}).path == "/home/u/.shield"
    assert home_from({"SHIELD_HOME": "/x/../y"}).path == "/y"
    for wrong in ("", "rel", "~/.shield"):
        with pytest.raises(ConfigError):
            home_from({"SHIELD_HOME": wrong})
    assert os.path.isabs(user_home({"HOME": "rel"}))


def test_a_socket_path_that_does_not_fit_is_refused():
    with pytest.raises(ConfigError, match="shorter absolute path"):
        Home(path="/" + "a" * 90).socket(Config().service.socket)
    assert Home(path="/h").socket(Config().service.socket) == "/h/run/shield.sock"


def test_the_environment_of_tools_is_an_allow_list(home):
    write(home, "[exec]\nenv = ['AWS_PROFILE', 'ABSENT', 'FUNC']")
    environ = {
        "PATH": "/usr/bin:.::rel:/bin",
        "HOME": "/home/u",
        "LANG": "de_DE.UTF-8",
        "LC_ALL": "C",
        "LC_x": "no",
        "TERM": "xterm",
        "TMPDIR": "relative",
        "AWS_PROFILE": "dev",
        "FUNC": "() { :; }; evil",
        "BASH_ENV": "/tmp/e",
        "ENV": "/tmp/e",
        "BASH_FUNC_ls%%": "() { evil; }",
        "LD_PRELOAD": "/tmp/x.so",
        "DYLD_INSERT_LIBRARIES": "x",
        "PYTHONPATH": "/tmp",
        "NODE_OPTIONS": "--require x",
        "GIT_DIR": "/tmp",
        "SHELLOPTS": "xtrace",
        "PROMPT_COMMAND": "evil",
        "SHIELD_TOKEN": "secret",
        "SHIELD_HOME": "/h",
        "OPENAI_API_KEY": "secret",
    }
    shell, env = exec_env(load(home, {}).exec.env, environ)
    assert os.path.isabs(shell)
    assert dict(env) == {
        "AWS_PROFILE": "dev",
        "HOME": "/home/u",
        "LANG": "de_DE.UTF-8",
        "LC_ALL": "C",
        "PATH": "/usr/bin:/bin",
        "TERM": "xterm",
    }
    with pytest.raises(TypeError):
        env["LD_PRELOAD"] = "x"


def test_there_is_always_a_path_and_a_home():
    _, env = exec_env((), {})
    assert env["PATH"] == "/usr/local/bin:/usr/bin:/bin"
    assert os.path.isabs(env["HOME"])
    assert env["LANG"] == "C.UTF-8"


@pytest.mark.parametrize(
    ("text", "environ", "folder"),
    [
        ("", {"HOME": "/home/u"}, "/home/u/.local/state/shield"),
        ("", {"HOME": "/home/u", "XDG_STATE_HOME": "/state"}, "/state/shield"),
        ("", {"HOME": "/home/u", "XDG_STATE_HOME": "relative"}, "/home/u/.local/state/shield"),
        ("[audit]\ncheckpoints = '/mnt/x/../other'", {"XDG_STATE_HOME": "/state"}, "/mnt/other"),
        ("[audit]\ncheckpoints = ''", {"XDG_STATE_HOME": "/state"}, "/state/shield"),
    ],
)
def test_where_checkpoints_are_remembered(home, text, environ, folder):
    write(home, text)
    assert checkpoints_folder(load(home, {}).audit.checkpoints, environ) == folder

"""The environment that tools are run with."""

import os
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from shield.config.home import user_home
from shield.errors import ConfigError
from shield.regex import regex

__all__ = ["EXEC_UMASK", "exec_env", "is_harmless"]

EXEC_UMASK = 0o022
_SHELLS = ("/usr/bin/bash", "/bin/bash", "/usr/local/bin/bash", "/opt/homebrew/bin/bash")
_DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"
_EXEC_NAMES = ("HOME", "LANG", "LOGNAME", "PATH", "TERM", "TMPDIR", "TZ", "USER")
# Names that make a shell, a loader or an interpreter run something else than what was judged, or a program start
# another one: what is known of programs is known of them without these.
_NEVER = regex(
    r"BASH_.*|ENV|LD_.*|DYLD_.*|PYTHON.*|NODE_OPTIONS|NODE_PATH|GIT_.*|SHELLOPTS|BASHOPTS|PROMPT_COMMAND|PS[0-4]|IFS"
    r"|CDPATH|GLOBIGNORE|EXECIGNORE|POSIXLY_CORRECT|SHIELD_.*|AGENTCTL_.*|PERL5.*|PERLLIB|RUBYOPT|RUBYLIB|SHELL|PATH|HOME"
    r"|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|CLASSPATH|GCONV_PATH|GLIBC_TUNABLES|OPENSSL_CONF"
    r"|(?:MAN|SYSTEMD_)?PAGER|(?:SYSTEMD_)?EDITOR|VISUAL|FCEDIT|BROWSER|LESS(?:OPEN|CLOSE)?|[A-Z_]*ASKPASS|[A-Z]+_RSH"
    r"|(?:GNU)?MAKEFLAGS|MAKEFILES|TAR_OPTIONS|RIPGREP_CONFIG_PATH|GREP_OPTIONS|RUSTC_(?:WORKSPACE_)?WRAPPER|VIMINIT|EXINIT"
)
_NAME = regex(r"[A-Za-z_][A-Za-z0-9_]*")


def is_harmless(name: str) -> bool:
    """Whether a variable of this name may be passed to tools: it makes nothing run something else."""
    return _NAME.fullmatch(name) is not None and _NEVER.fullmatch(name) is None


def exec_env(passed: Sequence[str], environ: Mapping[str, str]) -> tuple[str, Mapping[str, str]]:
    """The absolute shell and exactly the environment that every command is run with, fixed when Shield starts.

    `passed` are further names that the owner lets through (`[exec] env`).

    Raises ConfigError if there is no bash in a system directory.
    """
    shell = next((path for path in _SHELLS if os.access(path, os.X_OK)), None)
    if shell is None:
        raise ConfigError(f"no bash at {', '.join(f'`{path}`' for path in _SHELLS)}; install it")
    names = {*_EXEC_NAMES, *passed, *(name for name in environ if re.fullmatch(r"LC_[A-Z]+", name))}
    env = {name: environ[name] for name in sorted(names) if name in environ and not environ[name].startswith("() {")}
    env["HOME"] = user_home(environ)
    # A relative or empty entry would find programs in whatever directory the agent is in.
    entries = [entry for entry in env.get("PATH", "").split(":") if os.path.isabs(entry)]
    env["PATH"] = ":".join(entries) or _DEFAULT_PATH
    if not os.path.isabs(env.get("TMPDIR", "/")):
        del env["TMPDIR"]
    env.setdefault("LANG", "C.UTF-8")
    return shell, MappingProxyType(dict(sorted(env.items())))

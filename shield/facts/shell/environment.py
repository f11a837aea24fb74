"""What an assignment in front of a command, or exported, does to what runs."""

import re
from enum import Enum
from functools import lru_cache

from shield.facts.programs.cleared import is_made
from shield.facts.programs.handed import hands_program
from shield.regex import regex

__all__ = ["Influence", "influence", "is_plain_setting", "is_secret", "may_be_secret", "names_locale", "steers_tools"]


class Influence(Enum):
    NONE = "none"  # known to change words and colours only
    LOCALE = "locale"  # the same, by the name of a file: see `names_locale`
    OTHER = "other"  # not known: the command may do anything
    CODE = "code"  # changes which code runs
    SEARCH = "search"  # directories, separated by colons, from which a program takes code


_HARMLESS_TEXT = """
CI DEBUG VERBOSE QUIET NODE_ENV RAILS_ENV RACK_ENV FLASK_ENV APP_ENV FORCE_COLOR NO_COLOR CLICOLOR
CLICOLOR_FORCE COLUMNS LINES TERM RUST_BACKTRACE RUST_LOG PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHASHSEED
PYTHONUTF8 PYTHONIOENCODING PYTHONFAULTHANDLER GOOS GOARCH CGO_ENABLED CARGO_TERM_COLOR DEBIAN_FRONTEND GIT_PAGER_IN_USE
MAKEFLAGS_J SOURCE_DATE_EPOCH OMP_NUM_THREADS LOG_LEVEL PORT
"""
_HARMLESS = frozenset(_HARMLESS_TEXT.split())
_CODE_TEXT = """
PATH BASH_ENV ENV IFS PS4 PS0 PS1 PROMPT_COMMAND SHELLOPTS BASHOPTS BASH_XTRACEFD GLOBIGNORE CDPATH HOME PWD OLDPWD
SHELL POSIXLY_CORRECT EXECIGNORE TMPDIR FPATH ZDOTDIR PAGER MANPAGER EDITOR VISUAL BROWSER LESSOPEN LESSCLOSE LESS
FCEDIT SUDO_ASKPASS SSH_ASKPASS RSYNC_RSH CVS_RSH TAR_OPTIONS RIPGREP_CONFIG_PATH GREP_OPTIONS AWKPATH AWKLIBPATH
PERL5OPT PERLLIB PERL5DB RUBYOPT PYTHONSTARTUP PYTHONHOME PYTHONINSPECT PYTHONBREAKPOINT
NODE_OPTIONS JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS CC CXX LD MAKEFLAGS GNUMAKEFLAGS MAKEFILES MAKE MAVEN_ARGS
RAKEOPT TOX_OVERRIDE
CFLAGS LDFLAGS RUSTC_WRAPPER RUSTC GOFLAGS GCONV_PATH LOCPATH NLSPATH TERMINFO TERMCAP INPUTRC HOSTALIASES
LOCALDOMAIN RES_OPTIONS TEXTDOMAINDIR DOCKER_HOST KUBECONFIG OPENSSL_CONF SSLKEYLOGFILE XDG_CONFIG_HOME XDG_CONFIG_DIRS
XDG_DATA_HOME WGETRC CURL_HOME PIP_INDEX_URL PIP_EXTRA_INDEX_URL VIMINIT EXINIT HGRCPATH SYSTEMD_EDITOR
SYSTEMD_PAGER GIT SIMPLE_BACKUP_SUFFIX VERSION_CONTROL PATCH_GET PATCH_VERSION_CONTROL
UNZIP UNZIPOPT ZIP ZIPOPT ZIPINFO ZIPINFOOPT GZIP BZIP BZIP2 XZ_OPT XZ_DEFAULTS
"""
_CODE = frozenset(_CODE_TEXT.split())
_SEARCH = frozenset(("PYTHONPATH", "NODE_PATH", "RUBYLIB", "PERL5LIB", "CLASSPATH"))
_CODE_PREFIXES = (
    "LD_",
    "DYLD_",
    "BASH_",
    "GIT_",
    "NPM_CONFIG_",
    "PYTEST_",
    "PERL",
    "RUBY",
    "CARGO_",
    "MALLOC_",
    "_RLD",
    "LIBPATH",
)


# What options for Java, linkers and make name, in variables that mostly say how much memory and which warnings.
_STARTS = regex(r"-XX:On|-Xrun|-javaagent:|-agent(?:lib|path):|linker=|extld=|--eval")
# With these git starts no pager and no editor (git-var(1), `pager.c` and `editor.c`), asks nobody and takes no lock;
# gzip packs more or less (gzip(1), ENVIRONMENT).
_IDLE = frozenset(
    (
        *(("GZIP", f"-{level}") for level in range(1, 10)),
        ("GIT_PAGER", ""),
        ("GIT_PAGER", "cat"),
        *((name, value) for name in ("GIT_EDITOR", "GIT_SEQUENCE_EDITOR") for value in (":", "true")),
        *((name, value) for name in ("PAGER", "MANPAGER") for value in ("", "cat")),
        *(("CARGO_INCREMENTAL", value) for value in ("0", "1")),
        ("CARGO_NET_OFFLINE", "true"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_OPTIONAL_LOCKS", "0"),
    )
)


# Options that change how much memory there is, what is warned of, what of the language is on and which file of modules
# is asked for, or how code is made (node(1), `go help build`, go.dev/ref/mod, gcc(1)).
_PLAIN_OPTIONS = {
    "NODE_OPTIONS": regex(
        r"--(?:max-old-space-size|max-semi-space-size|stack-trace-limit)=\d+"
        r"|--unhandled-rejections=[a-z-]+|--dns-result-order=[a-z0-9]+|--experimental-vm-modules"
        r"|--experimental-strip-types|--(?:no|trace|throw)-(?:warnings|deprecation)|--enable-source-maps"
        r"|--openssl-legacy-provider"
    ),
    "CFLAGS": regex(
        r"-O[0-3sgz]?|-g(?:gdb)?[0-3]?|-w|-W(?:all|extra|error|pedantic|shadow|conversion|no-[a-z-]+)|-pedantic|-pthread"
        r"|-std=[a-z0-9+:]+|-D\w+(?:=\w+)?|-m(?:arch|tune|cpu)=[\w.-]+|-f(?:no-)?(?:omit-frame-pointer|PI[CE]|common"
        r"|stack-protector(?:-strong|-all)?|strict-aliasing|exceptions|lto|openmp)|-fsanitize=[a-z,]+"
    ),
    "GOFLAGS": regex(r"-mod=(?:mod|vendor|readonly)|-(?:count|p)=\d+|-race|-v|-trimpath|-buildvcs=(?:true|false|auto)"),
}


def _is_plain(name: str, value: object) -> bool:
    plain = _PLAIN_OPTIONS.get(name)
    return plain is not None and isinstance(value, str) and all(plain.fullmatch(word) for word in value.split(" "))


def influence(name: str, value: object = None) -> Influence:
    """What assigning to `name` can change, where the value is not known to change nothing. Names that are not listed
    are never taken for harmless."""
    if (name, value) in _IDLE or _is_plain(name, value):
        return Influence.NONE
    if name in _HARMLESS:
        return Influence.NONE
    if name in ("LANG", "LANGUAGE", "TZ") or (name.startswith("LC_") and name[3:].isupper()):
        return Influence.LOCALE
    if name in _SEARCH:
        return Influence.SEARCH
    if name in _CODE or name.upper().startswith(_CODE_PREFIXES):
        return Influence.CODE
    if isinstance(value, str) and _STARTS.search(value):
        return Influence.CODE
    return Influence.OTHER


# `de_DE.UTF-8@euro`, `de:en`, `Europe/Berlin`, `CET-1CEST,M3.5.0,M10.5.0/3`; what begins with a colon is a file's name.
_LOCALE = regex(r"(?![.:])[\w.@:+,-]*\Z", re.ASCII)
_ZONE = regex(r"(?![./:])(?!.*\.\.)[\w.+,/<>-]*\Z", re.ASCII)


def names_locale(name: str, value: str) -> bool:
    """Whether `value` names a locale or a zone that is installed. With a path the C library reads the words that a
    program prints, and how it puts them together, from a file that anybody may have written (setlocale(3), gettext)."""
    return bool((_ZONE if name == "TZ" else _LOCALE).match(value))


# What a build tool or a test runner empties before it writes there, or cleans: react-scripts, mix, playwright, cypress,
# nx, tox, dune (whatever it did not make goes), stack, rebar3, crystal.
_EMPTIED = regex(
    r"BUILD_PATH|MIX_(?:BUILD|DEPS)_\w+|PLAYWRIGHT_\w+_(?:REPORT|DIR|FOLDER)|CYPRESS_\w+(?i:folder)"
    r"|NX_\w*DIRECTORY|ORG_GRADLE_PROJECT_\w+|TOX_(?:WORK_?DIR|TEMP_DIR|ENV_DIR)|DUNE_BUILD_DIR|STACK_WORK"
    r"|REBAR_BASE_DIR|CRYSTAL_CACHE_DIR"
)


def steers_tools(name: str, value: str | None) -> bool:
    """Whether a tool that runs the project's code may start another program by it, or empty another folder."""
    emptied = _EMPTIED.fullmatch(name) is not None and not (value is not None and is_made(value))
    return emptied or (value is not None and hands_program(name, value))


# A word or a number, and a name that says nothing of where code or options come from.
_PLAIN_VALUE = regex(r"[A-Za-z0-9_.,:+-]*\Z")
_STEERING = regex(
    r"PATH|DIR|HOME|ROOT|FILE|HOOK|CMD|COMMAND|OPT|ARG|FLAG|PRELOAD|LIB|PLUGIN|MODULE|CONFIG|RC\Z|CONF|SHELL|EXEC|PROG"
    r"|EDIT|PAGE|BROWSER|PROXY|HOST|URL|ADDR|SOCK|INIT|START|PROFILE|SCRIPT|LOAD|WRAP|RUN|TOOL|DRIVER|BACKEND|ENGINE"
    r"|CACHE|TMP|TEMP|ENV|LOG|TAPE|MAGIC|PERSONALITY|PHP|PIP_|INDEX|PROMPT|ASKPASS|FORMAT|FILTER|IFS|CERT|KEY|SSL|TLS"
    r"|LESS|GREP|GIT|LD_|DYLD|BASH|PYTHON|PERL|RUBY"
)


def is_plain_setting(name: str, value: str | None) -> bool:
    """Whether a program that only reads can be trusted to be none the worse for it: `MODE=fast ls`."""
    return value is not None and bool(_PLAIN_VALUE.match(value)) and not _STEERING.search(name.upper())


_SAID = regex(
    r"TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|API_?KEY|COOKIE|JWT|(?:ACCESS|PRIVATE|SIGNING)_KEY|_(?:PASS|AUTH|PAT|PWD|DSN)\Z"
)
_SECRET = regex(r"TOKEN|SECRET|PASS|CREDENTIAL|AUTH|KEY\Z|API", re.IGNORECASE)


@lru_cache(maxsize=4096)
def may_be_secret(name: str) -> bool:
    """Whether a variable by its name holds what neither facts nor the record may show: `$NAME` stays as written."""
    return _SECRET.search(name) is not None


def is_secret(name: str) -> bool:
    """Whether a variable of this name holds a secret: a name that says so, not one that may."""
    return _SAID.search(name) is not None

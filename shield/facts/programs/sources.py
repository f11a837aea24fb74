"""Where each package manager installs from a lock file: the file, the hosts, and what keeps it to both."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

__all__ = ["SOURCES", "Source"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """How one tool installs from a lock: its file, the hosts it talks to, and the options that keep it to the lock.

    `pins` empty: it always does. `settings`: files of the project that may name programs it would run, `programs` says
    by which keys. `variables`: what names in the environment begin with that steer it.
    """

    locks: tuple[str, ...]
    hosts: tuple[str, ...]
    pins: frozenset[str] = frozenset()
    settings: tuple[str, ...] = ()
    programs: str = r"(?!)"
    variables: str = r"(?!)"


_PYPI = ("pypi.org", "files.pythonhosted.org")
_NPM = ("registry.npmjs.org",)
_NPM_PROGRAMS = r"(?im)^\s*(?:script-shell|shell|node-options|onload-script|git|userconfig|globalconfig|prefix)\s*[=:]"
SOURCES: Mapping[str, Source] = MappingProxyType(
    {
        "npm": Source(
            locks=("package-lock.json", "npm-shrinkwrap.json"),
            hosts=_NPM,
            settings=(".npmrc",),
            programs=_NPM_PROGRAMS,
            variables=r"(?i)npm_config_",
        ),
        "pnpm": Source(
            locks=("pnpm-lock.yaml",),
            hosts=_NPM,
            pins=frozenset(("--frozen-lockfile",)),
            settings=(".npmrc", ".pnpmfile.cjs"),
            programs=_NPM_PROGRAMS + "|require",
            variables=r"(?i)p?npm_config_",
        ),
        "yarn": Source(
            locks=("yarn.lock",),
            hosts=("registry.yarnpkg.com", *_NPM),
            pins=frozenset(("--immutable", "--frozen-lockfile")),
            settings=(".npmrc", ".yarnrc"),
            programs=_NPM_PROGRAMS + r"|(?im)^\s*(?:script-shell|node-options)\s",
            variables=r"(?i)yarn_|npm_config_",
        ),
        "bun": Source(
            locks=("bun.lock", "bun.lockb"), hosts=_NPM, pins=frozenset(("--frozen-lockfile",)), variables="BUN_"
        ),
        "cargo": Source(
            locks=("Cargo.lock",),
            hosts=("index.crates.io", "static.crates.io"),
            pins=frozenset(("--locked", "--frozen")),
            settings=(".cargo/config.toml", ".cargo/config", "rust-toolchain.toml", "rust-toolchain"),
            programs=r"(?im)rustc|wrapper|credential|git-fetch-with-cli|^\s*\[env\]|\bpath\b",
            variables="CARGO_(?!HOME|TERM)|RUSTC|RUSTUP_TOOLCHAIN",
        ),
        "uv": Source(
            locks=("uv.lock",),
            hosts=_PYPI,
            pins=frozenset(("--locked", "--frozen")),
            variables="UV_(?!CACHE_DIR|NO_PROGRESS|LINK_MODE)",
        ),
        "poetry": Source(locks=("poetry.lock",), hosts=_PYPI, variables="POETRY_(?!NO_INTERACTION)"),
        "go": Source(
            locks=("go.sum",),
            hosts=("proxy.golang.org", "sum.golang.org"),
            variables="GO(?!PATH|ROOT|CACHE|BIN|OS|ARCH)",
        ),
        "pip": Source(locks=(), hosts=_PYPI, variables="PIP_(?!NO_INPUT|DISABLE_PIP_VERSION_CHECK|NO_CACHE_DIR)"),
    }
)

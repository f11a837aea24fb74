"""Where Python packages lie: by the prefix of an installation, and by the interpreter or the pip that leads to one."""

import posixpath
from collections.abc import Iterator, Sequence

from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.place import Place
from shield.regex import regex

__all__ = ["SitePackages"]

_VERSION = regex(r"python(3\.\d+)t?\Z|pip(3\.\d+)\Z")
_MAX_SCRIPT = 65_536
_MAX_HOPS = 8


class SitePackages:
    def __init__(self, place: Place) -> None:
        self._place = place

    def sites(self, prefix: str, versions: Sequence[str]) -> Iterator[str]:
        """Where packages go below a prefix, on all the systems there are."""
        for version in versions or self._all_versions(prefix):
            for lib in ("lib", "lib64", "local/lib"):
                for kind in ("site-packages", "dist-packages"):
                    yield f"{prefix.rstrip('/')}/{lib}/python{version}/{kind}"
        yield f"{prefix.rstrip('/')}/lib/python3/dist-packages"
        if prefix.rstrip("/") == "/usr":
            yield from self.sites("/usr/local", versions)

    def user_sites(self, versions: Sequence[str]) -> Iterator[str]:
        home = self._place.home
        for version in versions or self._all_versions(f"{home}/.local"):
            yield f"{home}/.local/lib/python{version}/site-packages"
            yield f"{home}/Library/Python/{version}/lib/python/site-packages"

    def _all_versions(self, prefix: str) -> tuple[str, ...]:
        """The versions that have a directory below the prefix, else those of the guarded code."""
        try:
            names = self._place.files.listdir(f"{prefix}/lib", 10_000)
        except FileSystemUnknownError:
            names = ()
        here = [found[1] for name in names if (found := _VERSION.match(name)) and found[1]]
        ours = [part for root in self._place.protected.code for part in root.split("/")]
        return tuple(
            dict.fromkeys(here or [found[1] for part in ours if (found := _VERSION.match(part)) and found[1]] or ["3"])
        )

    def versions(self, program: str) -> tuple[str, ...]:
        """The version of an interpreter or of a pip, where its name or what it leads to says so."""
        for path in self._chain(program):
            found = _VERSION.match(posixpath.basename(path))
            if found is not None:
                return (found[1] or found[2],)
        return ()

    def prefixes(self, program: str) -> tuple[str, ...]:
        """Every prefix that the program may belong to: where each link on its way stands."""
        found = [path.rpartition("/")[0].rpartition("/")[0] or "/" for path in self._chain(program)]
        return tuple(dict.fromkeys(found))

    def _chain(self, program: str) -> list[str]:
        """The program, what it links to, and the interpreter that its first line names."""
        files = self._place.files
        found: list[str] = []
        path = program
        for _ in range(_MAX_HOPS):
            found.append(path)
            try:
                stat = files.lstat(path)
                if stat is None:
                    break
                if stat.kind is FileKind.LINK:
                    path = posixpath.normpath(posixpath.join(posixpath.dirname(path), files.readlink(path)))
                    continue
                content = files.read(path, _MAX_SCRIPT) if stat.kind is FileKind.FILE else None
            except FileSystemUnknownError:
                break
            if content is None or not content.startswith(b"#!/"):
                break
            line = content[2:256].split(b"\n")[0].decode("utf-8", "replace").split()
            if not line or posixpath.basename(line[0]) in ("env", "sh"):
                break
            path = line[0]
        return found

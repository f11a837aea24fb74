"""Whose a file is and who may open it: what a new file takes over from the one in whose place it comes."""

import errno
import os
import stat
from typing import Final

from agentctl.errors import ToolError

__all__ = ["keep", "replaceable"]

_ACCESS_LIST: Final = "system.posix_acl_access"


def replaceable(old: os.stat_result, path: str) -> None:
    """Raise ToolError for a file that a new one must not take the place of."""
    if old.st_nlink > 1:
        raise ToolError(
            f"`{path}` has {old.st_nlink} names (hard links) that would no longer be one file; ask the user which of"
            " them should change, or delete this one and write it anew"
        )
    if not old.st_mode & 0o222:
        raise ToolError(f"`{path}` is read-only; ask the user whether it should change, then make it writable")


def keep(descriptor: int, folder: int, name: str, old: os.stat_result, path: str) -> bool:
    """Give a new file owner, group, permission bits, access list and `user.` attributes of the one at `name`, `old`.

    False where that is another file by now. Set-id bits and capabilities are not given. Raises ToolError where the
    owner or the access list cannot be kept, OSError.
    """
    made = os.fstat(descriptor)
    if (made.st_uid, made.st_gid) != (old.st_uid, old.st_gid):
        try:
            os.fchown(
                descriptor,
                old.st_uid if made.st_uid != old.st_uid else -1,
                old.st_gid if made.st_gid != old.st_gid else -1,
            )
        except PermissionError:
            raise ToolError(
                f"`{path}` belongs to another user or group, and a file of ours cannot take its place; ask the user"
            ) from None
    same = _keep_attributes(descriptor, folder, name, old, path)
    os.fchmod(descriptor, stat.S_IMODE(old.st_mode) & 0o777)
    return same


def _keep_attributes(descriptor: int, folder: int, name: str, old: os.stat_result, path: str) -> bool:
    if not hasattr(os, "listxattr") or not hasattr(os, "O_PATH"):
        return True
    pinned = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        found = os.fstat(pinned)
        if (found.st_dev, found.st_ino) != (old.st_dev, old.st_ino):
            return False
        # xattr(7) calls take no O_PATH descriptor, but its link in /proc, which leads to this very file
        file = f"/proc/self/fd/{pinned}"
        names = _attributes(file)
        for attribute in names:
            if attribute.startswith("user."):
                _copy(file, descriptor, attribute)
            elif attribute.startswith("system.") and not _copy(file, descriptor, attribute):
                raise ToolError(f"the access list of `{path}` cannot be kept; ask the user to change the file")
        if _ACCESS_LIST not in names and _ACCESS_LIST in _attributes(descriptor):
            os.removexattr(descriptor, _ACCESS_LIST)  # the folder's default list, which the old file did not have
        return True
    finally:
        os.close(pinned)


def _attributes(file: str | int) -> list[str]:
    try:
        return os.listxattr(file)
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.ENOSYS, errno.ENOENT):
            return []  # this file system has none, or there is no /proc
        raise


def _copy(file: str, descriptor: int, attribute: str) -> bool:
    try:
        os.setxattr(descriptor, attribute, os.getxattr(file, attribute))
    except OSError:
        return False
    return True

"""The journal's folder, used only if no other user can write into it.

A user who can write into it could settle calls at any price, and could make us write into files of their choice.

Rules of this file
1. The folder belongs to the user of this process, and nobody else may read or write it. It is no symbolic link.
2. The folder above it belongs to that user or to root, and others cannot rename what is in it.
3. Both are opened once and judged by what was opened; everything after goes by that descriptor, not by a path which
   somebody could have changed meanwhile.
4. A file in it counts only if it is a regular file of ours with one name. Anything else is left alone, with a warning.
"""

import errno
import os
import pwd
import stat
from pathlib import Path

from tollkeeper.core.errors import ForOperators
from tollkeeper.settings import BadSettings

FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
OTHERS = stat.S_IRWXG | stat.S_IRWXO
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
# How opening something fails that we have not made: a symbolic link, a socket, another user's file.
NO_FILES_OF_OURS = frozenset({errno.ELOOP, errno.ENXIO, errno.EACCES, errno.EPERM})
ANOTHER = "or set TOLLKEEPER_JOURNAL_FOLDER to a folder of its own"


class UnsafeFolder(ForOperators, BadSettings):
    """The journal cannot be kept there; the message says why, and the command that mends it."""


class NotOurs(Exception):
    """A file in the folder that this service did not make; the message says why."""


class JournalFolder:
    """An open folder that has passed the rules."""

    def __init__(self, path: Path, *, create: bool = True) -> None:
        """Raise UnsafeFolder. Where it is not to be created, and is not there, raise FileNotFoundError."""
        above = _above(path.parent, create=create)
        try:
            _judge_above(path.parent, os.fstat(above))
            if create:
                _make(path, above)
            self._descriptor = _opened(path, above)
        finally:
            os.close(above)
        self.path = path

    def names(self) -> list[str]:
        with os.scandir(self._descriptor) as entries:
            return sorted(entry.name for entry in entries)

    def create(self, name: str) -> int:
        """A new file, by its descriptor."""
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(name, flags, 0o600, dir_fd=self._descriptor)

    def open(self, name: str) -> int:
        """A file to be read, by its descriptor. Raise NotOurs; and OSError where it may be one of ours: it is gone, or
        there is no descriptor for it at the moment."""
        try:
            # Without O_NONBLOCK a named pipe would keep us waiting.
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = os.open(name, flags, dir_fd=self._descriptor)
        except OSError as problem:
            if problem.errno not in NO_FILES_OF_OURS:
                raise
            raise NotOurs(f"it cannot be opened as a file ({problem.strerror})") from None
        found = os.fstat(descriptor)
        if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and found.st_nlink == 1:
            return descriptor
        os.close(descriptor)
        raise NotOurs("it is no regular file with one name that belongs to this user")

    def rename(self, name: str, new_name: str) -> None:
        os.rename(name, new_name, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)

    def remove(self, name: str) -> None:
        """What is gone already stays gone."""
        try:
            os.unlink(name, dir_fd=self._descriptor)
        except FileNotFoundError:
            return

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _above(path: Path, *, create: bool) -> int:
    try:
        if create:
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
        return os.open(path, FOLDER_FLAGS)
    except FileNotFoundError:
        raise
    except OSError as problem:
        raise UnsafeFolder(_not_made(path, problem)) from None


def _make(path: Path, above: int) -> None:
    try:
        os.mkdir(path.name, 0o700, dir_fd=above)
    except FileExistsError:
        return
    except OSError as problem:
        raise UnsafeFolder(_not_made(path, problem)) from None


def _not_made(path: Path, problem: OSError) -> str:
    us = _user(os.geteuid())
    return (
        f"The journal's folder {path} cannot be made by {us} ({problem.strerror}). "
        f"Run: sudo install -d -m 700 -o {us} {path}, {ANOTHER}."
    )


def _opened(path: Path, above: int) -> int:
    try:
        descriptor = os.open(path.name, FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=above)
    except FileNotFoundError:
        raise
    except PermissionError:
        raise UnsafeFolder(
            f"The journal's folder {path} cannot be read by {_user(os.geteuid())}. {_move_it(path)}"
        ) from None
    except OSError:
        raise UnsafeFolder(f"The journal's folder {path} is a symbolic link or no folder. {_move_it(path)}") from None
    try:
        _judge(path, os.fstat(descriptor))
    except UnsafeFolder:
        os.close(descriptor)
        raise
    return descriptor


def _judge(path: Path, found: os.stat_result) -> None:
    if found.st_uid != os.geteuid():
        us = _user(os.geteuid())
        raise UnsafeFolder(
            f"The journal's folder {path} belongs to {_user(found.st_uid)}, who could forge settlements in it; "
            f"this process runs as {us}. "
            f"If the service had that user before: sudo chown -R {us} {path}. If not: {_move_it(path)}"
        )
    if found.st_mode & OTHERS:
        mode = f"{stat.S_IMODE(found.st_mode):o}"
        raise UnsafeFolder(f"The journal's folder {path} is open to other users (mode {mode}). Run: chmod 700 {path}")


def _judge_above(path: Path, found: os.stat_result) -> None:
    if found.st_uid not in {0, os.geteuid()}:
        us, them = _user(os.geteuid()), _user(found.st_uid)
        raise UnsafeFolder(
            f"{path}, where the journal's folder is, belongs to {them}. Run: sudo chown {us} {path}, {ANOTHER}."
        )
    # In a folder with the sticky bit, like /var/tmp, users cannot rename each other's files.
    if found.st_mode & OTHERS_WRITE and not found.st_mode & stat.S_ISVTX:
        raise UnsafeFolder(
            f"Other users may write into {path}, where the journal's folder is. Run: chmod go-w {path}, {ANOTHER}."
        )


def _move_it(path: Path) -> str:
    return f"Run: sudo mv {path} {path}.foreign, {ANOTHER}."


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)

"""The sinks: every place where a word of a call could come to rest, read as bytes."""

import subprocess
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec

from proofs.rig.patience import patience
from tollkeeper.demo.servers.postgres import binary

Pieces = Iterable[tuple[str, bytes]]


class Sink(msgspec.Struct, frozen=True):
    """A place by name, and what is in it: pieces, each with a name of its own."""

    name: str
    pieces: Callable[[], Pieces]


def folder(name: str, *paths: Path) -> Sink:
    """Every file in these folders, and files that are named themselves."""
    return Sink(name, lambda: _files(paths))


def texts(name: str, found: Pieces) -> Sink:
    """What was read already."""
    kept = list(found)
    return Sink(name, lambda: kept)


def dump(database_url: str) -> bytes:
    """The whole database as SQL."""
    asked = [binary("pg_dump"), "--dbname", database_url]
    return subprocess.run(asked, capture_output=True, check=True, timeout=patience(120)).stdout


def environment(pids: Iterable[int]) -> Iterator[tuple[str, bytes]]:
    """What the system shows of running processes: their environment and command line."""
    for pid in pids:
        for name in ("environ", "cmdline"):
            yield f"{name} of {pid}", Path(f"/proc/{pid}/{name}").read_bytes()


def _files(paths: Iterable[Path]) -> Iterator[tuple[str, bytes]]:
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            # The name of a file is a place for words, too.
            yield f"name of {file.name}", file.name.encode()
            if file.is_file() and not file.is_symlink():
                yield str(file.relative_to(path.parent)), _content(file)


def _content(file: Path) -> bytes:
    """Nothing, of one that is gone meanwhile."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return b""

"""The log site as a folder.

    manifest.json                   names the copy that counts
    prepared.json                   names the next one, as far as it is made
    copies/NAME/usage-DAY.csv.gz

Rules of this file
1. A file is written aside, brought to the disk and then renamed: none is ever there in part, or gone after a power cut.
"""

import asyncio
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tollkeeper.core.usage.log_copy import Manifest, read, still_prepared, written
from tollkeeper.ports.usage import LogSiteFailed

MANIFEST = "manifest.json"
PREPARED = "prepared.json"
COPIES = "copies"


class FolderSite:
    """The `LogSite` port."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def manifest(self) -> Manifest | None:
        return await asyncio.to_thread(self._read, MANIFEST)

    async def prepared(self) -> Manifest | None:
        return await asyncio.to_thread(self._prepared)

    async def prepare(self, manifest: Manifest) -> None:
        await asyncio.to_thread(self._write, PREPARED, manifest)

    async def put(self, copy: str, name: str, file: Path) -> None:
        await asyncio.to_thread(self._put, copy, name, file)

    async def has(self, copy: str, name: str, size_bytes: int) -> bool:
        return await asyncio.to_thread(self._has, copy, name, size_bytes)

    async def read(self, copy: str, name: str, *, offset_bytes: int, size_bytes: int) -> bytes:
        return await asyncio.to_thread(self._read_piece, copy, name, offset_bytes, size_bytes)

    async def publish(self, manifest: Manifest) -> None:
        await asyncio.to_thread(self._write, MANIFEST, manifest)

    async def forget_others(self) -> None:
        await asyncio.to_thread(self._forget_others)

    def _read(self, name: str) -> Manifest | None:
        with self._failures_named(f"read its {name}"), suppress(FileNotFoundError):
            return read((self._folder / name).read_bytes())
        return None

    def _prepared(self) -> Manifest | None:
        return still_prepared(self._read(PREPARED), self._read(MANIFEST))

    def _put(self, copy: str, name: str, file: Path) -> None:
        with self._failures_named(f"take {name}"):
            folder = self._folder / COPIES / copy
            for each in (self._folder, self._folder / COPIES, folder):
                _make(each)
            aside = folder / f"{name}.part"
            shutil.copyfile(file, aside)
            _bring_to_disk(aside)
            aside.replace(folder / name)
            _bring_to_disk(folder)

    def _has(self, copy: str, name: str, size_bytes: int) -> bool:
        with self._failures_named(f"say whether it has {name}"), suppress(FileNotFoundError):
            return (self._folder / COPIES / copy / name).stat().st_size == size_bytes
        return False

    def _read_piece(self, copy: str, name: str, offset_bytes: int, size_bytes: int) -> bytes:
        path = self._folder / COPIES / copy / name
        with self._failures_named(f"read {name}"), suppress(FileNotFoundError), path.open("rb") as file:
            file.seek(offset_bytes)
            return file.read(size_bytes)
        raise LogSiteFailed(f"The log site {self._folder} does not have {name} any more.")

    def _write(self, name: str, manifest: Manifest) -> None:
        with self._failures_named(f"take its {name}"):
            _make(self._folder)
            aside = self._folder / f"{name}.part"
            aside.write_bytes(written(manifest))
            _bring_to_disk(aside)
            aside.replace(self._folder / name)
            _bring_to_disk(self._folder)

    def _forget_others(self) -> None:
        kept = {each.copy for each in (self._read(MANIFEST), self._prepared()) if each is not None}
        with self._failures_named("remove older copies"), suppress(FileNotFoundError):
            for folder in (self._folder / COPIES).iterdir():
                if folder.name not in kept:
                    shutil.rmtree(folder)

    @contextmanager
    def _failures_named(self, what: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise
        except (OSError, ValueError) as problem:
            raise LogSiteFailed(f"The log site {self._folder} did not {what}: {problem}.") from problem


def _make(folder: Path) -> None:
    if not folder.is_dir():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _bring_to_disk(folder.parent)


def _bring_to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

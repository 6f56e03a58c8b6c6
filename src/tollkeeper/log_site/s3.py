"""The log site as a bucket of an S3 API, with the layout of `folder_site`.

An object is there whole when its upload has been answered, and not before; so nothing is renamed.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from tollkeeper.core.usage.log_copy import Manifest, read, still_prepared, written
from tollkeeper.ports.usage import LogSiteFailed

MANIFEST = "manifest.json"
PREPARED = "prepared.json"
COPIES = "copies"


class Bucket(msgspec.Struct, frozen=True, kw_only=True):
    """Where it is and who we are there."""

    name: str
    prefix: str
    endpoint: str
    region: str
    key_id: str
    secret: str


class S3Site:
    """The `LogSite` port."""

    def __init__(self, bucket: Bucket) -> None:
        self._name = f"s3://{bucket.name}/{bucket.prefix}"
        self._store = S3Store(
            bucket.name,
            prefix=bucket.prefix or None,
            endpoint=bucket.endpoint or None,
            region=bucket.region,
            access_key_id=bucket.key_id,
            secret_access_key=bucket.secret,
            client_options={"allow_http": bucket.endpoint.startswith("http://")},
        )

    async def manifest(self) -> Manifest | None:
        return await self._read(MANIFEST)

    async def prepared(self) -> Manifest | None:
        return still_prepared(await self._read(PREPARED), await self.manifest())

    async def prepare(self, manifest: Manifest) -> None:
        await self._write(PREPARED, manifest)

    async def put(self, copy: str, name: str, file: Path) -> None:
        path = f"{COPIES}/{copy}/{name}"
        with self._failures_named(f"take {name}"):
            await obstore.put_async(self._store, path, file)
            kept = await obstore.head_async(self._store, path)
            if kept["size"] != (await asyncio.to_thread(file.stat)).st_size:
                raise ValueError(f"it has {kept['size']} bytes of it")

    async def has(self, copy: str, name: str, size_bytes: int) -> bool:
        with self._failures_named(f"say whether it has {name}"):
            try:
                kept = await obstore.head_async(self._store, f"{COPIES}/{copy}/{name}")
            except FileNotFoundError:
                return False
            return kept["size"] == size_bytes

    async def read(self, copy: str, name: str, *, offset_bytes: int, size_bytes: int) -> bytes:
        with self._failures_named(f"read {name}"):
            path = f"{COPIES}/{copy}/{name}"
            return bytes(await obstore.get_range_async(self._store, path, start=offset_bytes, length=size_bytes))

    async def publish(self, manifest: Manifest) -> None:
        await self._write(MANIFEST, manifest)

    async def forget_others(self) -> None:
        named = (await self.manifest(), await self.prepared())
        kept = tuple(f"{COPIES}/{each.copy}/" for each in named if each is not None)
        with self._failures_named("remove older copies"):
            async for found in obstore.list(self._store, prefix=COPIES):
                gone = [each["path"] for each in found if not each["path"].startswith(kept)]
                if gone:
                    await obstore.delete_async(self._store, gone)

    async def _read(self, name: str) -> Manifest | None:
        with self._failures_named(f"read its {name}"):
            try:
                found = await obstore.get_async(self._store, name)
            except FileNotFoundError:
                return None
            return read(bytes(await found.bytes_async()))

    async def _write(self, name: str, manifest: Manifest) -> None:
        with self._failures_named(f"take its {name}"):
            await obstore.put_async(self._store, name, written(manifest))

    @contextmanager
    def _failures_named(self, what: str) -> Iterator[None]:
        try:
            yield
        except (BaseError, OSError, ValueError) as problem:
            # What the library tells goes on for many lines.
            first_line = str(problem).partition("\n")[0]
            raise LogSiteFailed(f"The log site {self._name} did not {what}: {first_line}.") from problem

"""Seals of closed days: what a day's rows were when they were found clean, and a MAC that the database cannot make.

Rules of this file
1. A seal's MAC (HMAC-SHA-256) covers its contents and the MAC before it: a chain. A seal that is changed, left out,
   moved or added breaks it at that day.
2. The key comes from the envelope keys, which are in no database. A seal names the version of its own.
3. The mark's MAC covers the end of the chain: a mark of other seals is none.
"""

import hmac
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

import msgspec

TABLES = ("usage", "hold", "entry")


class TableContents(msgspec.Struct, frozen=True):
    """The rows of one table that belong to a day."""

    rows: int
    # Of what was charged, or of the entries' amounts. Text: it may be beyond any integer of JSON.
    total: str
    sha256: str


class DayContents(msgspec.Struct, frozen=True, kw_only=True):
    # Which columns the digest is of: `tollkeeper.storage.ledger.day_contents`.
    form: int
    tables: dict[str, TableContents]
    # Every price that a hold or receipt of the day names.
    prices: list[int]


class Seal(msgspec.Struct, frozen=True):
    day: date
    # DayContents as JSON, to the letter as it was when its MAC was made.
    contents: str
    key_version: int
    mac: bytes

    def read(self) -> DayContents:
        return msgspec.json.decode(self.contents, type=DayContents)


class Leaf(msgspec.Struct, frozen=True):
    """What a table of the database, a partition, has of sealed days."""

    table: str
    oid: int
    # Another file means that the table was written anew.
    file: int
    rows: int
    total: str


class BooksMark(msgspec.Struct, frozen=True, kw_only=True):
    # The cluster and the database in it: transaction numbers of others mean nothing here.
    place: str
    # Every transaction before this one was over.
    transaction: int
    leaves: list[Leaf]


class SealKeys(msgspec.Struct, frozen=True):
    """Keys of MACs, by version. New ones are made under the one in use, which need not be the newest: others may not
    know that one yet."""

    by_version: Mapping[int, bytes]
    in_use: int


def mac_of(key: bytes, before: bytes, day: date, contents: str) -> bytes:
    return hmac.digest(key, b"seal\0" + before + day.isoformat().encode() + b"\0" + contents.encode(), "sha256")


def mark_mac(key: bytes, head: bytes, mark: str) -> bytes:
    return hmac.digest(key, b"mark\0" + head + mark.encode(), "sha256")


def chained(days: Sequence[tuple[date, str]], keys: SealKeys, before: bytes) -> list[Seal]:
    """Seals of these days, each behind the other."""
    seals = []
    for day, contents in days:
        before = mac_of(keys.by_version[keys.in_use], before, day, contents)
        seals.append(Seal(day, contents, keys.in_use, before))
    return seals


def broken_seals(seals: Sequence[Seal], keys: SealKeys) -> list[str]:
    """What is wrong with the chain. Seals are by day."""
    before = b""
    for seal in seals:
        key = keys.by_version.get(seal.key_version)
        if key is None:
            return [f"{seal.day}: sealed under envelope key {seal.key_version}, which TOLLKEEPER_ENVELOPE_KEYS lacks"]
        if not hmac.compare_digest(seal.mac, mac_of(key, before, seal.day, seal.contents)):
            return [f"{seal.day}: this seal or the one before it was changed, or TOLLKEEPER_ENVELOPE_KEYS are others'"]
        before = seal.mac
    return []


def head_of(seals: Sequence[Seal]) -> bytes:
    return seals[-1].mac if seals else b""


def first_id(day: date) -> UUID:
    """The smallest request id of a day (UUIDv7)."""
    return id_at(datetime(day.year, day.month, day.day, tzinfo=UTC))


def id_at(at: datetime) -> UUID:
    # Whole numbers: seconds as a float would round some milliseconds down.
    milliseconds = (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    return UUID(f"{milliseconds:012x}70008000000000000000")


def day_of(request_id: UUID) -> date:
    """The day of a request id. One that is no UUIDv7 of our time counts for the first or the last day there is."""
    milliseconds = request_id.int >> 80
    last = (datetime(9999, 12, 31, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=min(milliseconds, last))).date()


def end_of(day: date) -> UUID:
    """The first request id behind a day."""
    return first_id(day + timedelta(days=1))

"""The house as operators see it: nodes and settings."""

from datetime import datetime

import msgspec


class NodeRecord(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    # None where only jobs are done there: those say no version.
    version: str | None
    started_at: datetime
    heartbeat_at: datetime
    is_alive: bool
    # Processes that serve calls, and that do jobs, and are heard of.
    serving: int
    working: int


class SettingRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A setting of one process. Of a secret, the value is dots."""

    variable: str
    value: str
    set_by: str
    what_for: str

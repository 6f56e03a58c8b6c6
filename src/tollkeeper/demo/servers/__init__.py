"""Private PostgreSQL and Redis servers: real ones, on free ports, in a temporary folder, gone afterwards."""

from tollkeeper.demo.servers.postgres import Postgres
from tollkeeper.demo.servers.redis import Redis

__all__ = ["Postgres", "Redis"]

"""Private PostgreSQL and Redis servers: real ones, on free ports, in a temporary folder, gone afterwards.

`python -m tools.services COMMAND …` runs a command with DATABASE_URL and REDIS_URL set to a fresh pair.
"""

from tollkeeper.demo.servers.postgres import Postgres
from tollkeeper.demo.servers.redis import Redis
from tools.services.redis_cluster import RedisCluster
from tools.services.redis_sentinel import RedisSentinel

__all__ = ["Postgres", "Redis", "RedisCluster", "RedisSentinel"]

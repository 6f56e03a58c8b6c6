"""Run a command with a private PostgreSQL and Redis: `python -m tools.services COMMAND …`."""

import os
import subprocess
import sys

from tools.services import Postgres, Redis
from tools.services.process import stop_in_order_when_terminated


def main() -> int:
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    stop_in_order_when_terminated()
    with Postgres() as postgres, Redis() as redis:
        environment = os.environ | {"DATABASE_URL": postgres.url, "REDIS_URL": redis.url}
        return subprocess.run(sys.argv[1:], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

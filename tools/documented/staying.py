"""`tollkeeper serve` and its like, as the pages call them: started, waited for until they are ready, and left running.

`python -m tools.documented.staying FOLDER COMMAND…`: FOLDER gets a log of the name of the process's number.
"""

import os
import socket
import subprocess
import sys
from pathlib import Path

from tools.services.process import wait_until

# What stays, and the setting of the port that it listens on. Without one it is only seen that it stays.
STAYING = {"serve": "TOLLKEEPER_PORT", "console": "TOLLKEEPER_CONSOLE_PORT", "work": None}


def main(folder: Path, arguments: list[str]) -> int:
    folder.mkdir(exist_ok=True)
    starting = folder / "starting"
    with starting.open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tollkeeper", *arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    log_file = starting.rename(folder / str(process.pid))
    port = STAYING[arguments[0]]

    def check_alive() -> None:
        if process.poll() is not None:
            raise SystemExit(log_file.read_text())

    if port is not None:
        wait_until(lambda: _listens(int(os.environ[port])), check_alive)
    check_alive()
    return 0


def _listens(port: int) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))

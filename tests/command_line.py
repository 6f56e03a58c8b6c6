"""The command line within this process: its commands without the second that a process takes to start.

Rules of this file
1. What is captured and returned is what a process would say; an error that a command does not tell is raised.
2. A command has an event loop of its own, so it has a thread of its own: the test may be in one already.
3. One at a time: Typer's runner sets the process's variables and streams while a command runs.
"""

import os
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

from typer.testing import CliRunner

from tollkeeper.cli import app

_one_at_a_time = Lock()


def tollkeeper(settings: Mapping[str, str], *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run one command of the product, as `tools.node.tollkeeper` does with a process."""
    with _one_at_a_time, ThreadPoolExecutor(1) as thread:
        return thread.submit(_run, settings, arguments, stdin).result()


def _run(settings: Mapping[str, str], arguments: Sequence[str], stdin: str) -> subprocess.CompletedProcess[str]:
    unset = {name: None for name in os.environ if name.startswith("TOLLKEEPER_")}
    variables = {**unset, "COLUMNS": "200", **settings}
    done = CliRunner().invoke(
        app, arguments, input=stdin, env=variables, catch_exceptions=False, prog_name="tollkeeper"
    )
    return subprocess.CompletedProcess(["tollkeeper", *arguments], done.exit_code, done.stdout, done.stderr)

"""A deployment whose every file is in a folder of this run: stores, front, node, console, jobs, and those around it."""

import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, chdir, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from proofs.privacy.canary_targets import Targets, furnish
from proofs.privacy.mailbox import Mailbox
from proofs.rig.customers import PROVIDER_KEY
from tools.console import Console
from tools.front import BEHIND_A_FRONT, Front
from tools.node import Node, children, clean_environment, own_deployment
from tools.otlp import OtlpServer
from tools.services import Postgres, Redis
from tools.services.process import free_port
from tools.simulator import Simulator

# Everything that PostgreSQL is told stands in its log, and nothing that it ever wrote is overwritten.
POSTGRES = {
    "log_statement": "all",
    "log_parameter_max_length": "-1",
    "log_parameter_max_length_on_error": "-1",
    "wal_recycle": "off",
    "wal_keep_size": "8GB",
    "max_wal_size": "8GB",
    "wal_compression": "off",
    "log_rotation_size": "0",
}
# Every command that changes something stands in a file, and what is there stands in another as it is.
REDIS = ("--appendonly", "yes", "--auto-aof-rewrite-percentage", "0", "--rdbcompression", "no", "--save", "")
# Short, so that every ending can be met.
TIMES = {
    "TOLLKEEPER_CUT_SECONDS": "1",
    "TOLLKEEPER_STORE_PATIENCE_SECONDS": "2",
    "TOLLKEEPER_DRAIN_SECONDS": "0.2",
    "TOLLKEEPER_FIRST_BYTE_SECONDS": "3",
    "TOLLKEEPER_PROVIDER_IDLE_SECONDS": "3",
    "TOLLKEEPER_CONNECT_SECONDS": "2",
}
# Settings of the ports where each part tells its metrics.
METRICS_PORTS = {
    "node": "TOLLKEEPER_METRICS_PORT",
    "console": "TOLLKEEPER_CONSOLE_METRICS_PORT",
    "jobs": "TOLLKEEPER_WORK_METRICS_PORT",
}
# The sink of what goes to the collector; its control is the name that the service has there.
COLLECTOR = "OpenTelemetry collector"
FOLDERS = ("journal", "tmp", "log-site", "work")


class ContainedDeployment:
    """Open as long as the stack is."""

    def __init__(self, stack: ExitStack, control: Callable[[str], str]) -> None:
        self.folder = Path(stack.enter_context(TemporaryDirectory(prefix="tollkeeper-privacy-")))
        for name in FOLDERS:
            (self.folder / name).mkdir(mode=0o700)
        self.postgres = stack.enter_context(Postgres(durable=True, settings=POSTGRES))
        self.redis = stack.enter_context(Redis(*REDIS))
        self.mailbox = stack.enter_context(_running(Mailbox()))
        self.collector = stack.enter_context(OtlpServer())
        self.simulator = stack.enter_context(Simulator(key=PROVIDER_KEY, hostile=True))
        self.metrics_ports = {part: free_port() for part in METRICS_PORTS}
        self.settings = own_deployment() | TIMES | self._places(control)
        # A process that dies by a signal leaves its memory in the folder it works in, if the system lets it.
        stack.enter_context(chdir(self.folder / "work"))
        stack.enter_context(_core_files_allowed())
        self.targets: Targets = furnish(self.settings, self.simulator.base, control)
        self.node = stack.enter_context(Node(self.settings | BEHIND_A_FRONT | {"TOLLKEEPER_WORKERS": "2"}))
        self.front = stack.enter_context(Front(self.node))
        # No proxy is before it.
        gateway = {"TOLLKEEPER_CONSOLE_GATEWAY_URL": self.node.base}
        self.console = stack.enter_context(Console(self.settings | gateway))
        self.jobs = stack.enter_context(self._jobs())

    def pids(self) -> list[int]:
        """Every process of the service."""
        processes = (self.node.process, self.front.process, self.console.process, self.jobs)
        return [pid for first in processes if first is not None for pid in _family(first.pid)]

    def known_folders(self) -> list[Path]:
        """Where everything is scanned afterwards."""
        return [self.folder, self.node.log, self.front.log, self.console.log]

    def _places(self, control: Callable[[str], str]) -> dict[str, str]:
        console = str(free_port())
        return {
            **{METRICS_PORTS[part]: str(port) for part, port in self.metrics_ports.items()},
            "TOLLKEEPER_DATABASE_URL": self.postgres.url,
            "TOLLKEEPER_REDIS_URL": self.redis.url,
            "TOLLKEEPER_JOURNAL_FOLDER": str(self.folder / "journal"),
            "TOLLKEEPER_LOG_SITE": f"file://{self.folder / 'log-site'}",
            "TOLLKEEPER_SMTP_URL": f"smtp://127.0.0.1:{self.mailbox.port}",
            "TOLLKEEPER_MAIL_FROM": "no-reply@example.com",
            "TOLLKEEPER_CONSOLE_PORT": console,
            "TOLLKEEPER_CONSOLE_URL": f"http://localhost:{console}",
            "TOLLKEEPER_LOW_BALANCE_USD": "0.01",
            "TOLLKEEPER_OTEL_ENDPOINT": self.collector.url,
            "TOLLKEEPER_OTEL_SECONDS": "0.5",
            "TOLLKEEPER_OTEL_SERVICE_NAME": control(COLLECTOR),
            "TMPDIR": str(self.folder / "tmp"),
            "A_CONTROL": control("environment"),
        }

    @contextmanager
    def _jobs(self) -> Iterator["subprocess.Popen[bytes]"]:
        """`tollkeeper work`."""
        with (self.folder / "jobs.log").open("ab") as log:
            command = [sys.executable, "-m", "tollkeeper", "work"]
            settings = {"TOLLKEEPER_INSPECTABLE": "true"} | self.settings
            working = subprocess.Popen(command, env=clean_environment() | settings, stdout=log, stderr=log)
        try:
            yield working
        finally:
            working.terminate()
            working.wait()


def _family(pid: int) -> Iterator[int]:
    yield pid
    with suppress(OSError):
        for child in children(pid):
            yield from _family(child)


@contextmanager
def _running(mailbox: Mailbox) -> Iterator[Mailbox]:
    mailbox.start()
    try:
        yield mailbox
    finally:
        mailbox.stop()


@contextmanager
def _core_files_allowed() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (before[1], before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, before)

"""Watching: Debian's Prometheus asks two nodes and the worker, every query of every dashboard gives data, and every
alert fires in its test and is quiet before.

Alone, against processes that run already:

    python -m proofs.run.watching 127.0.0.1:9464 127.0.0.1:9474 --worker 127.0.0.1:9465
"""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence

import msgspec

from proofs.rig.checks import Check, failed
from proofs.rig.patience import came_true
from proofs.rig.project import PROJECT
from proofs.rig.proof import Run, say
from tools.services.prometheus import RULES, Prometheus

DASHBOARDS = PROJECT / "deploy" / "grafana"
ALERT_TESTS = RULES.with_name("alerts_test.yml")
# What Grafana puts for it, for scrapes every second.
RATE_INTERVAL = ("$__rate_interval", "30s")
ALERT = re.compile(r"^ +- alert: (\w+)$", re.MULTILINE)
OF_CONSOLE = "tollkeeper_console_"
FIGURES = ("alerts", "queries")
SEEN_WITHIN_SECONDS = 60.0


class DashboardQuery(msgspec.Struct, frozen=True):
    dashboard: str
    panel: str
    expression: str


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """Where processes tell their metrics, as host:port."""

    nodes: Sequence[str]
    worker: str
    console: str | None = None

    def targets(self) -> dict[str, Sequence[str]]:
        found: dict[str, Sequence[str]] = {"tollkeeper": self.nodes, "tollkeeper-worker": [self.worker]}
        return found if self.console is None else found | {"tollkeeper-console": [self.console]}


def prometheus_for(watched: Watched) -> Prometheus:
    """To be started before the load, so that it sees it."""
    return Prometheus(watched.targets())


def checks_of_watching(run: Run, prometheus: Prometheus, watched: Watched) -> list[Check]:
    """Ask a Prometheus that has seen calls for everything that the dashboards show, and test the alert rules. Notes
    `queries` and `alerts`."""
    seen = came_true(lambda: _has_seen_all(prometheus), within_seconds=SEEN_WITHIN_SECONDS)
    asked = [query for query in dashboard_queries() if watched.console or OF_CONSOLE not in query.expression]
    empty = _without_data(prometheus, asked)
    run.figures["queries"] = f"{len(asked) - len(empty)}/{len(asked)}"
    tested, wrong = alert_tests()
    alerts = ALERT.findall(RULES.read_text())
    run.figures["alerts"] = f"{len(tested)}/{len(alerts)}"
    return [
        Check("Prometheus reads every process", seen, str(prometheus.query("up"))),
        Check("every query of the dashboards gives data", not empty, "; ".join(_told(query) for query in empty)),
        Check("every alert fires in its test and is quiet before", not wrong and sorted(alerts) == tested, wrong),
    ]


def dashboard_queries() -> Iterator[DashboardQuery]:
    for file in sorted(DASHBOARDS.glob("*.json")):
        for panel in json.loads(file.read_text())["panels"]:
            for target in panel["targets"]:
                yield DashboardQuery(file.stem, panel["title"], target["expr"].replace(*RATE_INTERVAL))


def alert_tests() -> tuple[list[str], str]:
    """The alerts that have a test which passed, and what promtool says where one did not."""
    done = subprocess.run(["promtool", "test", "rules", str(ALERT_TESTS)], capture_output=True, text=True, check=False)
    if done.returncode:
        return [], done.stdout + done.stderr
    return sorted(set(re.findall(r"^        alertname: (\w+)$", ALERT_TESTS.read_text(), re.MULTILINE))), ""


def _has_seen_all(prometheus: Prometheus) -> bool:
    """Every process answers, and twice at least, so that there are rates."""
    up = prometheus.query("up == 1 and count_over_time(up[1m]) >= 5")
    return len(up) == sum(map(len, prometheus.targets.values()))


def _without_data(prometheus: Prometheus, queries: Sequence[DashboardQuery]) -> list[DashboardQuery]:
    """Those that give no series even after a while: the worker's jobs may still be at their first run."""
    left = list(queries)

    def is_done() -> bool:
        left[:] = [query for query in left if not prometheus.query(query.expression)]
        return not left

    came_true(is_done, within_seconds=SEEN_WITHIN_SECONDS)
    return left


def _told(query: DashboardQuery) -> str:
    return f"{query.dashboard}, {query.panel}: {query.expression}"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("nodes", nargs="+", metavar="HOST:PORT")
    parser.add_argument("--worker", required=True, metavar="HOST:PORT")
    parser.add_argument("--console", metavar="HOST:PORT")
    asked = parser.parse_args()
    watched = Watched(nodes=asked.nodes, worker=asked.worker, console=asked.console)
    run = Run(size="small")
    run.expect(*FIGURES)
    with prometheus_for(watched) as prometheus:
        wrong = failed(checks_of_watching(run, prometheus, watched))
    say(" ".join(f"{name}={value}" for name, value in run.figures.items()))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

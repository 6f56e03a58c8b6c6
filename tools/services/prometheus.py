"""A Prometheus of our own (Debian's), with our alert rules, that asks given processes every second."""

import json
import shutil
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.services.process import Server

RULES = Path(__file__).parents[2] / "deploy" / "prometheus" / "alerts.yml"


class Prometheus(Server):
    name = "prometheus"

    def __init__(self, targets: Mapping[str, Sequence[str]]) -> None:
        """`targets`: by the name of a scrape job, the addresses (host:port) of its processes."""
        super().__init__()
        self.targets = targets

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        # JSON is YAML, too.
        jobs = [{"job_name": name, "static_configs": [{"targets": [*each]}]} for name, each in self.targets.items()]
        config = {
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
            "rule_files": ["alerts.yml"],
            "scrape_configs": jobs,
        }
        (self.folder / "prometheus.yml").write_text(json.dumps(config))
        shutil.copy(RULES, self.folder / "alerts.yml")
        for file in self.folder.glob("*.yml"):
            file.chmod(0o644)
        super().start()

    def command(self) -> Sequence[str]:
        own = ["--config.file=prometheus.yml", "--storage.tsdb.path=data", "--log.level=warn"]
        return ["prometheus", *own, f"--web.listen-address=127.0.0.1:{self.port}"]

    def is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The series that an expression gives now. Raise ValueError where it is none."""
        asked = urllib.parse.urlencode({"query": expression})
        try:
            with urllib.request.urlopen(f"{self.url}/api/v1/query?{asked}", timeout=30) as answer:
                told = json.load(answer)
        except urllib.error.HTTPError as problem:
            with problem:
                raise ValueError(f"{expression}: {problem.read().decode(errors='replace')}") from None
        series: list[dict[str, Any]] = told["data"]["result"]
        return series

"""Alerts, their tests, their pages, and what dashboards ask for, compared with the table of metrics."""

import json
import re
from pathlib import Path

import pytest

from proofs.run.watching import ALERT, DASHBOARDS, alert_tests, dashboard_queries
from tollkeeper.metrics.table import TABLE, MetricKind
from tools.services.prometheus import RULES

PROJECT = Path(__file__).parents[2]
PAGES = PROJECT / "docs" / "runbook"
RULES_TEXT = RULES.read_text()
ALERTS = ALERT.findall(RULES_TEXT)
NAME = re.compile(r"\b(?:tollkeeper|process)_[a-z_]+\b")
SECTIONS = ["What it means", "What customers see", "Look at", "Do", "It is over when"]


def told() -> set[str]:
    """Every name that a page of metrics can have."""
    behind = {MetricKind.HISTOGRAM: ("_bucket", "_sum", "_count")}
    return {metric.name + ending for metric in TABLE for ending in behind.get(metric.kind, ("",))}


@pytest.mark.not_quick
def test_every_alert_fires_in_its_test_and_is_quiet_before() -> None:
    tested, wrong = alert_tests()
    assert wrong == ""
    assert tested == sorted(ALERTS)


def test_every_alert_has_its_page_and_every_page_its_alert() -> None:
    assert sorted(ALERTS) == sorted(page.stem for page in PAGES.glob("*.md"))
    assert re.findall(r"^ +runbook: (\S+)$", RULES_TEXT, re.MULTILINE) == [f"docs/runbook/{name}.md" for name in ALERTS]


def test_the_guide_leads_to_every_page() -> None:
    linked = re.findall(r"\(\.\./runbook/(\w+)\.md\)", (PROJECT / "docs" / "guides" / "watching.md").read_text())
    assert linked == ALERTS


@pytest.mark.parametrize("name", ALERTS)
def test_a_page_says_what_it_means_what_to_do_and_when_it_is_over(name: str) -> None:
    text = (PAGES / f"{name}.md").read_text()
    assert text.startswith(f"# {name}\n")
    assert re.findall("^## (.+)$", text, re.MULTILINE) == SECTIONS


def test_alerts_ask_for_metrics_that_there_are() -> None:
    assert set(NAME.findall(RULES_TEXT)) <= told()


@pytest.mark.parametrize("file", sorted(DASHBOARDS.glob("*.json")), ids=lambda file: file.stem)
def test_dashboards_ask_for_metrics_that_there_are(file: Path) -> None:
    assert json.loads(file.read_text())["uid"] == f"tollkeeper-{file.stem}"
    asked = [query for query in dashboard_queries() if query.dashboard == file.stem]
    assert asked
    for query in asked:
        assert NAME.findall(query.expression), query
        assert set(NAME.findall(query.expression)) <= told(), query


def test_what_runbooks_tell_to_type_are_commands_that_there_are() -> None:
    commands = (PROJECT / "docs" / "reference" / "commands.md").read_text()
    for page in PAGES.glob("*.md"):
        for words in re.findall(r"^tollkeeper ((?:[a-z-]+ ?)+)", page.read_text(), re.MULTILINE):
            assert f"`tollkeeper {words.strip()}`" in commands, (page.stem, words)

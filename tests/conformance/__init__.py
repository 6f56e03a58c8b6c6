"""A pytest plugin: which rules of the specification are shown by a passing test.

Tests carry the ids of `rules.toml` beside this file by marker: `@pytest.mark.rule("E1.1")`.
"""

import tomllib
from collections.abc import Generator
from pathlib import Path

import pytest

RULES = Path(__file__).parent / "rules.toml"


def all_rules() -> dict[str, str]:
    """Every rule, id to text, in the order of the file."""
    sections = tomllib.loads(RULES.read_text(encoding="utf-8"))
    return {rule: text for section in sections.values() for rule, text in section.items()}


class Conformance:
    def __init__(self) -> None:
        self.rules = all_rules()
        self.passed: set[str] = set()
        self.failed: set[str] = set()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            unknown = _rules_of(item) - self.rules.keys()
            if unknown:
                raise pytest.UsageError(f"{item.nodeid} names rules that do not exist: {sorted(unknown)}")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if report.failed:
            self.failed |= _rules_of(item)
        elif report.when == "call" and report.passed:
            self.passed |= _rules_of(item)
        return report

    def pytest_unconfigure(self) -> None:
        """Print behind pytest's own summary: the count is the last line."""
        covered = self.passed - self.failed
        for rule, text in self.rules.items():
            print(f"{'covered  ' if rule in covered else 'uncovered'} {rule:7} {text}")
        print(f"covered={len(covered)}/{len(self.rules)}")


def _rules_of(item: pytest.Item) -> set[str]:
    return {rule for marker in item.iter_markers("rule") for rule in marker.args}

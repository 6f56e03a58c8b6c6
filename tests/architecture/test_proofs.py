"""Proofs use the rig, which uses none of them, and never each other."""

import ast
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from proofs import names
from tools.shape import tree_of

PROJECT = Path(__file__).parents[2]
FILES = sorted((PROJECT / "proofs").rglob("*.py"))
LINES_MOST = 300


@cache
def imported(file: Path) -> Sequence[str]:
    return [*_imported(tree_of(file))]


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def test_a_proof_knows_no_other() -> None:
    for file in FILES:
        own = file.relative_to(PROJECT / "proofs").parts[0].removesuffix(".py")
        others = {f"proofs.{name}" for name in names() if name != own}
        assert [module for module in imported(file) if ".".join(module.split(".")[:2]) in others] == [], file
        assert len(file.read_text().splitlines()) <= LINES_MOST, file


def test_proofs_wait_by_the_rig_which_waits_longer_in_ci() -> None:
    bare = {"tools.services.process.wait_until", "tools.services.process.wait_until_async"}
    assert [file for file in FILES if bare & set(imported(file))] == []


def test_tools_know_no_proof() -> None:
    for file in (PROJECT / "tools").rglob("*.py"):
        assert not [module for module in imported(file) if module.split(".")[0] == "proofs"], file

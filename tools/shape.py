"""What is counted on the code: names of types, lines of stored functions, modules that a command loads,
and the CPU that it takes."""

import ast
import resource
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import tollkeeper
from tools.migration import FUNCTIONS
from tools.node import clean_environment

SOURCE = Path(tollkeeper.__file__).parent
# How a stored function begins to say why it is longer than others may be.
WHY_LONG = "-- One function because "
RUN = """
import atexit, sys
atexit.register(lambda: print(*sorted(sys.modules), file=sys.stderr))
from tollkeeper.__main__ import main
main()
"""
LOADED_WITHIN_SECONDS = 60


@cache
def tree_of(file: Path) -> ast.Module:
    """A file of Python, read once: reading all of them takes seconds."""
    return ast.parse(file.read_text())


def doubled_names() -> dict[str, list[str]]:
    """Types of the same name, each with the files that define it: an underscore before a name makes no other of it. The
    simulator's are named as the vendors name theirs."""
    homes: dict[str, list[str]] = defaultdict(list)
    for file in sorted(SOURCE.rglob("*.py")):
        for name in types_in(tree_of(file)):
            homes[name.strip("_")].append(str(file.relative_to(SOURCE)))
    return {name: files for name, files in homes.items() if len(files) > 1}


def types_in(tree: ast.Module) -> Iterator[str]:
    """Classes wherever they stand, and what a module names like one: aliases, type variables, options of commands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield node.name
    for line in tree.body:
        if (
            isinstance(line, ast.Assign)
            and isinstance(name := line.targets[0], ast.Name)
            and _is_cased_like_a_type(name.id)
        ):
            yield name.id


def _is_cased_like_a_type(name: str) -> bool:
    word = name.lstrip("_")
    return word[:1].isupper() and not word.isupper()


def longest_sql(*, with_reason: bool) -> int:
    """Lines of the longest stored function, of those that say why they are long or of those that do not."""
    texts = [file.read_text().splitlines() for file in FUNCTIONS.glob("*.sql")]
    return max(len(lines) for lines in texts if any(line.startswith(WHY_LONG) for line in lines) is with_reason)


def loaded_by(*arguments: str) -> set[str]:
    """The modules that a command has loaded when it ends."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, *arguments],
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=LOADED_WITHIN_SECONDS,
    )
    return set(done.stderr.split())


def cpu_seconds_of(*arguments: str) -> float:
    """The CPU that a command takes, in this process's children: no other may end meanwhile."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "tollkeeper", *arguments],
        env=clean_environment(),
        stdout=subprocess.DEVNULL,
        check=True,
        timeout=LOADED_WITHIN_SECONDS,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)

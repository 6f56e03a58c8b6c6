"""Sentences that say "only" are true: who knows ASGI's messages, turns refusals into HTTP, names adapters, has SQL."""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tools.shape import tree_of

SOURCE = Path(__file__).parents[2] / "src" / "tollkeeper"
# The demo is no part of the service: it starts stores of its own, and writes a past into them.
FILES = [file for file in sorted(SOURCE.rglob("*.py")) if file.relative_to(SOURCE).parts[0] != "demo"]

ASGI_MESSAGE = re.compile(r"(http|lifespan|websocket)(\.[a-z]+)+|more_body")
# What of a refusal becomes a status, a header or a body.
OF_REFUSALS = {"should_retry", "deprecated_error"}
WORDED = {"shapes.error", "style.error", "style.status", "refusal.retry_after_seconds"}

SQL = re.compile(
    r"\s*(select\s+\S|insert\s+into\s|update\s+\S+\s+set\s|delete\s+from\s|with\s+(recursive\s+)?\w+\s+as\s"
    r"|(create|alter|drop)\s+(or\s+replace\s+)?(unique\s+)?(table|function|role|index|schema|view|trigger)\s"
    r"|(grant|revoke)\s+\S|truncate\s+\S|lock\s+table\s|(un)?listen\s|set\s+(local|role|session)\s|copy\s+\S+\s)"
)
REDIS_SCRIPT = re.compile(r"redis\.(call|pcall)\(")
# What tells people what is wrong with a database is no adapter, and `demo` must be able to tell it without `app`.
NO_ADAPTERS = {"tollkeeper.storage.postgres.trouble", "tollkeeper.storage.postgres.out_of_range"}


def texts(file: Path) -> set[str]:
    """Every text in a file's code, comments and docstrings aside."""
    nodes = list(ast.walk(tree_of(file)))
    said = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    return {
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said
    }


def imports(file: Path) -> Iterator[str]:
    """The modules that a file names, wherever in it."""
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def room(file: Path) -> str:
    return file.relative_to(SOURCE).parts[0]


def has_sql(file: Path) -> bool:
    return any(SQL.match(text) or REDIS_SCRIPT.search(text) for text in texts(file))


def knows_messages(file: Path) -> bool:
    return any(ASGI_MESSAGE.fullmatch(text) for text in texts(file))


def words_refusals(file: Path) -> bool:
    read = [
        node for node in ast.walk(tree_of(file)) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
    ]
    return any(node.attr in OF_REFUSALS or ast.unparse(node) in WORDED for node in read)


@pytest.mark.parametrize(
    ("knows", "only"),
    [
        pytest.param(knows_messages, "asgi.py", id="ASGI's messages"),
        pytest.param(words_refusals, "refusals.py", id="refusals as HTTP"),
    ],
)
def test_only_one_file_knows(knows: Callable[[Path], bool], only: str) -> None:
    [file] = [file for file in FILES if knows(file)]
    assert file.name == only
    assert re.search("only file of the (gateway|service)", ast.get_docstring(tree_of(file)) or "")


def test_of_the_console_one_file_reads_a_field_of_asgi_messages() -> None:
    console = [file for file in FILES if room(file) == "console"]
    named = [
        file.name
        for file in console
        if any(isinstance(node, ast.Name) and node.id == "Message" for node in ast.walk(tree_of(file)))
    ]
    assert named == ["counting.py"]


def test_the_console_has_statuses_of_its_own_for_none_of_the_gateways_refusals() -> None:
    """But for a store that is away, which both can meet."""
    of_gateway = {
        alias.name
        for file in FILES
        if room(file) == "console"
        for node in ast.walk(tree_of(file))
        if isinstance(node, ast.ImportFrom) and node.module == "tollkeeper.core.errors"
        for alias in node.names
    }
    assert of_gateway == {"StoreUnavailable"}


def test_only_storage_has_sql_and_redis() -> None:
    assert {room(file) for file in FILES if has_sql(file)} == {"storage"}
    assert {room(file) for file in FILES if any(name.split(".")[0] == "redis" for name in imports(file))} == {"storage"}


def test_only_app_names_adapters() -> None:
    named = {
        (room(file), name)
        for file in FILES
        for name in imports(file)
        if name.startswith("tollkeeper.storage") and name not in NO_ADAPTERS
    }
    assert {where for where, _ in named} == {"app", "storage"}


def test_the_demos_exceptions_are_those_that_are_named() -> None:
    """Also its own: where it has SQL, a sentence in `storage` and in ARCHITECTURE says so."""
    demo = sorted((SOURCE / "demo").rglob("*.py"))
    assert {file.name for file in demo if has_sql(file)} == {"moved_clock.py", "past_ledger.py", "site.py"}
    for told in ("storage", "app"):
        assert "`demo`" in (ast.get_docstring(tree_of(SOURCE / told / "__init__.py")) or "")

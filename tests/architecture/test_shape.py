"""The shape of the code: sizes, and what must not appear in it."""

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "tollkeeper"
FILES = sorted(SOURCE.rglob("*.py"))

LINES_MOST = 300
FUNCTION_LINES_MOST = 60
# Long because they are tables: one entry for each refusal, and for each setting.
TABLES = {"core/errors.py", "settings/values.py"}
# Where a process must survive whatever one call, job or row does; the database tells "away" from "wrong" and re-raises.
BROAD_EXCEPT_ALLOWED = {"edge/calls.py", "edge/respond.py", "steady.py", "storage/batch.py", "storage/database.py"}

SQL = sorted((SOURCE / "storage" / "functions").glob("*.sql"))
SQL_LINES_MOST = 80
WHY_LONG = "-- One function because "
LUA = sorted(SOURCE.rglob("*.lua"))
LUA_FUNCTION = re.compile(r"^(?:local )?function .*?^end$", re.MULTILINE | re.DOTALL)

named = pytest.mark.parametrize("file", FILES, ids=[str(file.relative_to(SOURCE)) for file in FILES])


def functions(file: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    tree = ast.parse(file.read_text())
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


@named
def test_files_and_functions_stay_small(file: Path) -> None:
    assert len(file.read_text().splitlines()) <= LINES_MOST or str(file.relative_to(SOURCE)) in TABLES
    for function in functions(file):
        assert (function.end_lineno or 0) - function.lineno < FUNCTION_LINES_MOST, function.name


@named
def test_every_module_opens_with_its_promise(file: Path) -> None:
    assert ast.get_docstring(ast.parse(file.read_text()))


@named
def test_exceptions_are_caught_by_name(file: Path) -> None:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ExceptHandler):
            broad = node.type is None or (isinstance(node.type, ast.Name) and node.type.id.endswith("Exception"))
            assert not broad or str(file.relative_to(SOURCE)) in BROAD_EXCEPT_ALLOWED


@named
def test_there_are_no_floats_in_the_core_of_money(file: Path) -> None:
    if file.name not in {"money.py", "balance.py", "prices.py", "quote.py", "charge.py", "lots.py"}:
        return
    for node in ast.walk(ast.parse(file.read_text())):
        assert not (isinstance(node, ast.Constant) and isinstance(node.value, float))
        assert not (isinstance(node, ast.Name) and node.id == "float")
        assert not isinstance(node, ast.Div)


@pytest.mark.parametrize("file", SQL, ids=lambda file: file.stem)
def test_stored_functions_stay_small_or_say_why_not(file: Path) -> None:
    lines = file.read_text().splitlines()
    assert (len(lines) > SQL_LINES_MOST) == any(line.startswith(WHY_LONG) for line in lines)


@pytest.mark.parametrize("file", LUA, ids=lambda file: file.stem)
def test_functions_in_lua_stay_small(file: Path) -> None:
    assert len(file.read_text().splitlines()) <= LINES_MOST
    for function in LUA_FUNCTION.findall(file.read_text()):
        assert len(function.splitlines()) < FUNCTION_LINES_MOST, function.partition("\n")[0]

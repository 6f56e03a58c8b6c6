"""The shape of the code: sizes, and what must not appear in it."""

import ast
import re
from pathlib import Path

import pytest

from tools.shape import WHY_LONG, tree_of

SOURCE = Path(__file__).parents[2] / "src" / "tollkeeper"
FILES = sorted(SOURCE.parent.rglob("*.py"))

LINES_MOST = 300
FUNCTION_LINES_MOST = 60
# Long because they are tables: one entry for each refusal, and for each setting.
TABLES = {"core/errors.py", "settings/values.py"}
# Where a process must survive whatever one call, job or row does; the database tells "away" from "wrong" and re-raises.
BROAD_EXCEPT_ALLOWED = {
    "console/admin/application.py",
    "console/respond.py",
    "console/staff/acting.py",
    "edge/calls.py",
    "edge/respond.py",
    "server/cycle.py",
    "server/worker.py",
    "steady.py",
    "storage/postgres/batch.py",
    "storage/postgres/database.py",
}

WITHOUT_SUBJECT = re.compile(r"(Of|Those|Likewise)\b")

SQL = sorted((SOURCE / "storage" / "postgres" / "functions").glob("*.sql"))
SQL_LINES_MOST = 80
LUA = sorted(SOURCE.rglob("*.lua"))
LUA_FUNCTION = re.compile(r"^(?:local )?function .*?^end$", re.MULTILINE | re.DOTALL)


def _place(file: Path) -> str:
    return str(file.relative_to(SOURCE if SOURCE in file.parents else SOURCE.parent))


def _in_rooms() -> dict[str, list[Path]]:
    """All files, by the room that they are in: a test for each file would take longer to be listed than to be run."""
    rooms: dict[str, list[Path]] = {}
    for file in FILES:
        rooms.setdefault(_place(file.parent) if file.parent != SOURCE else "", []).append(file)
    return rooms


ROOMS = _in_rooms()
each_room = pytest.mark.parametrize("room", ROOMS)


@each_room
def test_files_and_functions_stay_small(room: str) -> None:
    for file in ROOMS[room]:
        assert len(file.read_text().splitlines()) <= LINES_MOST or _place(file) in TABLES, file
        for node in ast.walk(tree_of(file)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert (node.end_lineno or 0) - node.lineno < FUNCTION_LINES_MOST, f"{node.name} of {file}"


@each_room
def test_every_module_opens_with_its_promise(room: str) -> None:
    assert [file for file in ROOMS[room] if not ast.get_docstring(tree_of(file))] == []


@each_room
def test_docstrings_name_their_subject(room: str) -> None:
    """A sentence that begins so is the end of one: what it is about stands nowhere."""
    for file in ROOMS[room]:
        nodes = ast.walk(tree_of(file))
        documented = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
        said = {node.name: ast.get_docstring(node) or "" for node in documented}
        assert {name: text for name, text in said.items() if WITHOUT_SUBJECT.match(text)} == {}, file


@each_room
def test_exceptions_are_caught_by_name(room: str) -> None:
    for file in ROOMS[room]:
        for node in ast.walk(tree_of(file)):
            if isinstance(node, ast.ExceptHandler):
                broad = node.type is None or (isinstance(node.type, ast.Name) and node.type.id.endswith("Exception"))
                assert not broad or _place(file) in BROAD_EXCEPT_ALLOWED, file


def test_there_are_no_floats_in_the_core_of_money() -> None:
    assert ROOMS["core/money"]
    for file in ROOMS["core/money"]:
        for node in ast.walk(tree_of(file)):
            assert not (isinstance(node, ast.Constant) and isinstance(node.value, float)), file
            assert not (isinstance(node, ast.Name) and node.id == "float"), file
            assert not isinstance(node, ast.Div), file


def test_stored_functions_stay_small_or_say_why_not() -> None:
    assert SQL
    for file in SQL:
        lines = file.read_text().splitlines()
        assert (len(lines) > SQL_LINES_MOST) == any(line.startswith(WHY_LONG) for line in lines), file


@pytest.mark.parametrize("file", LUA, ids=lambda file: file.stem)
def test_functions_in_lua_stay_small(file: Path) -> None:
    assert len(file.read_text().splitlines()) <= LINES_MOST
    for function in LUA_FUNCTION.findall(file.read_text()):
        assert len(function.splitlines()) < FUNCTION_LINES_MOST, function.partition("\n")[0]

"""A dependency that brings code which Python runs at every start: no process of the service starts beside it."""

import os
import socket
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.node import clean_environment, own_deployment

SOURCE = Path(__file__).parents[2] / "src"
EVIL = "import os; os.environ['STOLEN'] = str(os.environ)"
PRECEDENCE = (
    "import os; var = 'SETUPTOOLS_USE_DISTUTILS'; enabled = os.environ.get(var, 'local') == 'local'; "
    "enabled and __import__('_distutils_hack').add_shim(); "
)
FINDER = "__editable___ours_1_0_finder"
IN_ORDINARY_INSTALLS = {
    "distutils-precedence.pth": PRECEDENCE,
    "_virtualenv.pth": "import _virtualenv",
    "__editable__.ours-1.0.pth": f"import {FINDER}; {FINDER}.install()",
    "easy-install.pth": "/somewhere/imported\n# import nothing\n",
}


class Environment:
    """A fresh virtual environment that finds this project and what it needs, and executes none of their files."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder / "venv", with_pip=False, symlinks=True)
        self.python = folder / "venv" / "bin" / "python"
        [self.site_packages] = (folder / "venv" / "lib").glob("python*/site-packages")
        needed = [SOURCE, *(Path(path) for path in sys.path if path.endswith("site-packages"))]
        (self.site_packages / "needed.pth").write_text("\n".join(map(str, needed)) + "\n")
        (folder / "journal").mkdir(mode=0o700)
        self.settings = own_deployment() | {
            "TOLLKEEPER_DATABASE_URL": "postgresql://nobody@127.0.0.1:9/nothing",
            "TOLLKEEPER_REDIS_URL": "redis://127.0.0.1:9/0",
            "TOLLKEEPER_JOURNAL_FOLDER": str(folder / "journal"),
        }

    def run(self, *command: str, **settings: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.python, "-m", "tollkeeper", *command],
            env=clean_environment() | self.settings | settings | {"COLUMNS": "200"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return Environment(tmp_path)


@pytest.fixture
def taken_port() -> Iterator[str]:
    """A `serve` that gets as far as its port ends by itself."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield str(server.getsockname()[1])


@pytest.mark.parametrize("command", ["serve", "work", "front", "console"])
def test_nothing_starts_where_unknown_code_ran_first(environment: Environment, command: str) -> None:
    (environment.site_packages / "zz_evil.pth").write_text(f"/a/path\n{EVIL}\n")
    ended = environment.run(command)
    assert ended.returncode == 1
    assert str(environment.site_packages / "zz_evil.pth") in ended.stderr
    assert "TOLLKEEPER_STARTUP_FILES=zz_evil.pth" in ended.stderr
    assert "secrets for stolen" in ended.stderr


def test_an_operator_can_name_what_is_wanted(environment: Environment, taken_port: str) -> None:
    (environment.site_packages / "agent.pth").write_text(EVIL)
    wanted = {"TOLLKEEPER_STARTUP_FILES": "other.pth, agent.pth", "TOLLKEEPER_PORT": taken_port}
    assert f"Port {taken_port}" in environment.run("serve", **wanted).stderr


def test_what_ordinary_installs_have_is_known(environment: Environment, taken_port: str) -> None:
    for name, content in IN_ORDINARY_INSTALLS.items():
        (environment.site_packages / name).write_text(content)
    (environment.site_packages / "_virtualenv.py").write_text("")
    (environment.site_packages / "_distutils_hack.py").write_text("def add_shim(): pass")
    (environment.site_packages / f"{FINDER}.py").write_text("def install(): pass")
    ended = environment.run("serve", TOLLKEEPER_PORT=taken_port)
    assert f"Port {taken_port}" in ended.stderr, ended.stderr


@pytest.mark.parametrize("name", list(IN_ORDINARY_INSTALLS))
def test_a_known_name_does_not_excuse_other_code(environment: Environment, name: str) -> None:
    (environment.site_packages / name).write_text(EVIL)
    ended = environment.run("serve")
    assert ended.returncode == 1
    assert name in ended.stderr


@pytest.mark.parametrize("name", ["sitecustomize", "usercustomize"])
def test_modules_that_python_imports_at_its_start_are_noticed(
    environment: Environment, name: str, taken_port: str
) -> None:
    (environment.site_packages / f"{name}.py").write_text("")
    # Those of a user are imported where a user's own packages are.
    config = environment.python.parents[1] / "pyvenv.cfg"
    config.write_text(config.read_text().replace("site-packages = false", "site-packages = true"))
    settings = {"TOLLKEEPER_PORT": taken_port, "PYTHONUSERBASE": os.devnull}
    ended = environment.run("serve", **settings)
    assert ended.returncode == 1
    assert f"the module {name}" in ended.stderr
    allowed = environment.run("serve", TOLLKEEPER_STARTUP_FILES=f"{name}", **settings)
    assert f"the module {name}" not in allowed.stderr

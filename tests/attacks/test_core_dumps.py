"""Memory holds prompts, keys and peppers: no process of the service may leave a copy of it on a disk."""

import io
import resource
import subprocess
import sys
import wave
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from tests.client import ask
from tests.conftest import Stores, variables
from tests.customers import Customers, a_model_id
from tollkeeper.app.office import office
from tollkeeper.core.calls.multipart_form import content_type, written
from tollkeeper.core.catalog.models import Kind
from tollkeeper.ports import NewPrice
from tollkeeper.settings import load
from tools.accounts import add_accounts
from tools.node import Node, children, clean_environment
from tools.services.process import wait_until
from tools.simulator import Simulator

BOUNDARY = "a-boundary-of-this-test"
NO_CORE = ["0", "0"]
# PR_CAPBSET_DROP of CAP_SYS_PTRACE, CAP_SYS_ADMIN and CAP_PERFMON: nothing that is executed afterwards can have them.
WITHOUT_PTRACE = """#!{python}
import ctypes, os, sys
for capability in (19, 21, 38):
    ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)
os.execv("{python}", ["{python}", *sys.argv[1:]])
"""
DUMPABLE = """
import ctypes
from tollkeeper.core_dumps import forbid_core_dumps
forbid_core_dumps(inspectable={inspectable})
print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))
"""


@pytest.fixture
def dumps_allowed() -> Iterator[None]:
    """What this process starts may write core files of any size, unless it forbids them itself."""
    before = resource.getrlimit(resource.RLIMIT_CORE)
    assert before[1] != 0, "run the tests where core files are not forbidden for good (ulimit -Hc)"
    resource.setrlimit(resource.RLIMIT_CORE, (before[1], before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_CORE, before)


@pytest.fixture
def plain_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Python for whatever is started from here on. Where this user is root, without root's right to look into every
    process, which would hide who else may."""
    wrapper = tmp_path / "python"
    wrapper.write_text(WITHOUT_PTRACE.format(python=sys.executable))
    wrapper.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(wrapper))
    return wrapper


@pytest.fixture
async def own_variables(stores: Stores) -> dict[str, str]:
    return await variables(stores)


def core_limits(pid: int) -> list[str]:
    """Soft and hard."""
    for line in Path(f"/proc/{pid}/limits").read_text().splitlines():
        if line.startswith("Max core file size"):
            return line.split()[4:6]
    raise AssertionError("the system does not tell")


def family(pid: int) -> list[int]:
    """A process and all that descend from it."""
    return [pid, *(member for child in children(pid) for member in family(child))]


def is_readable(pid: int, python: Path) -> bool:
    """Whether another process of the same user may look into it."""
    code = f"open('/proc/{pid}/environ', 'rb').read()"
    looked = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    assert looked.returncode == 0 or "PermissionError" in looked.stderr, looked.stderr
    return looked.returncode == 0


def program(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()


def a_wav() -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setparams((1, 2, 8_000, 0, "NONE", ""))
        writer.writeframes(bytes(16_000))
    return file.getvalue()


@pytest.mark.usefixtures("dumps_allowed")
async def test_no_process_of_a_running_node_can_write_a_core_file(
    own_variables: dict[str, str], plain_python: Path
) -> None:
    settings = own_variables | {"TOLLKEEPER_WORKERS": "2", "TOLLKEEPER_INSPECTABLE": "false"}
    with Simulator(key="sk-of-the-provider") as simulator, Node(settings) as node:
        await add_accounts(settings, simulator.base, "sk-of-the-provider", 1)
        async with office(load(settings)) as desk:
            model, customers = a_model_id(), Customers(desk)
            await customers.a_model(model_id=model, kind=Kind.TRANSCRIPTION, price=NewPrice(model=Decimal(50)))
            customer = await customers.a_customer()
        wait_until(lambda: model in ask(node, "/v1/models", key=customer.key).text.decode())
        # Its length is measured by a process of its own, which stays.
        body = b"".join(written([("model", model)], a_wav(), "a.wav", "audio/wav", BOUNDARY))
        headers = {"Content-Type": content_type(BOUNDARY)}
        path = "/v1/audio/transcriptions"
        assert ask(node, path, method="POST", key=customer.key, headers=headers, body=body).status == 200
        assert node.process is not None
        members = family(node.process.pid)
        assert any("tollkeeper.media.measure" in program(pid) for pid in members)
        assert len(members) >= 4
        assert {pid: core_limits(pid) for pid in members} == dict.fromkeys(members, NO_CORE)
        assert [program(pid) for pid in members if is_readable(pid, plain_python)] == []


@pytest.mark.usefixtures("dumps_allowed")
@pytest.mark.parametrize("inspectable", [False, True])
def test_neither_can_the_jobs_beside_the_calls(
    own_variables: dict[str, str], tmp_path: Path, plain_python: Path, inspectable: bool
) -> None:
    settings = clean_environment() | own_variables | {"TOLLKEEPER_INSPECTABLE": str(inspectable).lower()}
    with (tmp_path / "log").open("wb") as log:
        working = subprocess.Popen([sys.executable, "-m", "tollkeeper", "work"], env=settings, stderr=log)
    try:
        wait_until(lambda: b"jobs of" in (tmp_path / "log").read_bytes())
        assert core_limits(working.pid) == NO_CORE
        assert is_readable(working.pid, plain_python) == inspectable
    finally:
        working.terminate()
        working.wait()


@pytest.mark.usefixtures("dumps_allowed")
def test_nor_a_command_that_asks_for_a_secret(own_variables: dict[str, str]) -> None:
    asking = subprocess.Popen(
        [sys.executable, "-m", "tollkeeper", "provider", "add", "a", "https://example.com/v1"],
        env=clean_environment() | own_variables,
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        # It waits for the key.
        wait_until(lambda: core_limits(asking.pid) == NO_CORE)
    finally:
        asking.communicate()


@pytest.mark.parametrize(("inspectable", "mark"), [(False, "0"), (True, "1")])
def test_the_system_is_told_that_memory_is_not_to_be_dumped(inspectable: bool, mark: str) -> None:
    code = DUMPABLE.format(inspectable=inspectable)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == mark

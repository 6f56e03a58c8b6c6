"""Worker processes: begun, followed, renewed, stopped. Each node here is a real one, of a small application."""

import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.server import small_node
from tollkeeper.server.workers import WorkerProcess
from tools.node import children
from tools.services.process import free_port, wait_until

pytestmark = pytest.mark.not_quick


class SmallNode:
    def __init__(self, folder: Path, workers: int, trouble: str, port: int) -> None:
        self.port = port
        self.folder = folder
        self.log = folder / "log"
        command = [sys.executable, small_node.__file__, str(self.port), str(workers), trouble]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stderr=log, cwd=folder)

    def answer(self) -> tuple[int, str] | None:
        """The process that answers, and what application it has."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/", timeout=5) as answer:
                pid, made = answer.read().decode().split()
                return int(pid), made
        except OSError:
            return None

    def pids(self) -> set[int]:
        """Of those that answer, by some connections."""
        return {found[0] for found in (self.answer() for _ in range(20)) if found is not None}

    def is_running(self) -> None:
        assert self.process.poll() is None, self.log.read_text()

    def ended(self) -> int:
        return self.process.wait(30)


@contextmanager
def a_node(folder: Path, workers: int = 1, trouble: str = "none", port: int | None = None) -> Iterator[SmallNode]:
    node = SmallNode(folder, workers, trouble, port or free_port())
    try:
        yield node
    finally:
        if node.process.poll() is None:
            node.process.terminate()
            node.ended()


def test_workers_share_a_port_and_end_when_told(tmp_path: Path) -> None:
    with a_node(tmp_path, workers=2) as node:
        wait_until(lambda: len(node.pids()) == 2)
        node.process.send_signal(signal.SIGTERM)
        assert node.ended() == 0
        assert node.answer() is None


def test_a_worker_that_dies_is_followed_by_another(tmp_path: Path) -> None:
    with a_node(tmp_path) as node:
        wait_until(lambda: node.answer() is not None)
        (first,) = node.pids()
        os.kill(first, signal.SIGKILL)
        # Whoever calls now waits for the next.
        found = node.answer()
        assert found is not None
        assert found[0] != first
        assert "worker 1 died (signal 9)" in node.log.read_text()


def test_a_worker_that_dies_is_followed_where_its_main_process_was_started_deaf(tmp_path: Path) -> None:
    with a_node(tmp_path, trouble="deaf") as node:
        wait_until(lambda: node.answer() is not None)
        (first,) = node.pids()
        os.kill(first, signal.SIGKILL)
        wait_for_another(node, {first})
        node.process.send_signal(signal.SIGTERM)
        assert node.ended() == 0


def test_a_worker_whose_end_nobody_was_told_is_signalled_in_vain() -> None:
    process = multiprocessing.get_context("fork").Process(target=os.getpid)
    process.start()
    assert process.pid is not None
    os.waitpid(process.pid, 0)
    ready, _ = multiprocessing.Pipe(duplex=False)
    WorkerProcess(process, ready).signal(signal.SIGTERM)


def test_a_node_whose_workers_cannot_begin_ends(tmp_path: Path) -> None:
    with a_node(tmp_path, workers=2, trouble="begin") as node:
        assert node.ended() == 1
        assert "no worker takes calls" in node.log.read_text()


def test_a_node_with_a_worker_that_still_begins_does_not_end(tmp_path: Path) -> None:
    with a_node(tmp_path, workers=2, trouble="uneven") as node:
        wait_until(lambda: node.answer() is not None)
        (first,) = node.pids()
        (beginner,) = set(children(node.process.pid)) - {first}
        os.kill(first, signal.SIGKILL)
        follower = wait_for_another(node, {first, beginner})
        # It never took calls.
        os.kill(follower, signal.SIGKILL)
        wait_for_another(node, {first, beginner, follower})
        (node.folder / "go").touch()
        wait_until(lambda: len(node.pids()) == 2)


def wait_for_another(node: SmallNode, known: set[int]) -> int:
    found: set[int] = set()

    def is_there() -> bool:
        found.update(set(children(node.process.pid)) - known)
        return bool(found)

    wait_until(is_there, node.is_running)
    return found.pop()


def test_renewed_workers_have_what_is_made_anew(tmp_path: Path) -> None:
    with a_node(tmp_path) as node:
        wait_until(lambda: node.answer() is not None)
        (first,) = node.pids()
        node.process.send_signal(signal.SIGHUP)
        wait_until(lambda: first not in children(node.process.pid))
        assert (node.answer() or (0, ""))[1] == "renewed"
        node.process.send_signal(signal.SIGTERM)
        assert node.ended() == 0


def test_a_worker_that_cannot_be_begun_now_is_begun_later(tmp_path: Path) -> None:
    with a_node(tmp_path, workers=2) as node:
        wait_until(lambda: len(node.pids()) == 2)
        with no_process_begun(node):
            os.kill(min(node.pids()), signal.SIGKILL)
        assert node.answer() is not None
        wait_until(lambda: len(node.pids()) == 2, node.is_running)
        node.process.send_signal(signal.SIGTERM)
        assert node.ended() == 0


def test_a_worker_that_cannot_be_renewed_now_is_renewed_later(tmp_path: Path) -> None:
    with a_node(tmp_path) as node:
        wait_until(lambda: node.answer() is not None)
        with no_process_begun(node):
            node.process.send_signal(signal.SIGHUP)
        wait_until(lambda: (node.answer() or (0, ""))[1] == "renewed", node.is_running)


def test_each_death_is_noted_also_where_a_renewed_worker_took_the_place_of_a_dead_one(tmp_path: Path) -> None:
    with a_node(tmp_path) as node:
        wait_until(lambda: node.answer() is not None)
        (first,) = node.pids()
        with no_process_begun(node):
            os.kill(first, signal.SIGKILL)
        # It is there before the next try to follow the first.
        node.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "worker 1 is renewed" in node.log.read_text(), node.is_running)
        (second,) = node.pids()
        os.kill(second, signal.SIGKILL)
        wait_until(lambda: (node.answer() or (second, ""))[0] != second, node.is_running)
        assert node.log.read_text().count("worker 1 died (signal 9)") == 2


@contextmanager
def no_process_begun(node: SmallNode) -> Iterator[None]:
    """What is done within needs a process, and its main process has tried once to begin it."""
    soft, hard = resource.prlimit(node.process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(node.process.pid, resource.RLIMIT_NOFILE, (1, hard))
    yield
    wait_until(lambda: "no process can be begun" in node.log.read_text(), node.is_running)
    resource.prlimit(node.process.pid, resource.RLIMIT_NOFILE, (soft, hard))


def test_two_nodes_on_one_port(tmp_path: Path) -> None:
    """Both could bind it while nobody listened there."""
    with a_node(tmp_path, trouble="slow") as first:
        wait_until(lambda: "begins" in first.log.read_text())
        (tmp_path / "second").mkdir()
        with a_node(tmp_path / "second", port=first.port) as second:
            wait_until(lambda: None not in {first.answer(), first.process.poll() or second.process.poll()})
            said = first.log.read_text() + second.log.read_text()
    assert f"port {first.port} cannot be opened: Address already in use" in said


def test_one_that_cannot_be_renewed_stays(tmp_path: Path) -> None:
    with a_node(tmp_path, trouble="renewal") as node:
        wait_until(lambda: node.answer() is not None)
        node.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "the old one stays" in node.log.read_text())
        found = node.answer()
        assert found is not None
        assert found[1] == "first"
        # Who follows it is not made of what was refused.
        os.kill(found[0], signal.SIGKILL)
        following = node.answer()
        assert following is not None
        assert following[1] == "first"


def test_a_renewed_worker_that_still_begins_hears_that_it_is_to_stop(tmp_path: Path) -> None:
    with a_node(tmp_path, trouble="late") as node:
        wait_until(lambda: node.answer() is not None)
        node.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "is being made" in node.log.read_text(), node.is_running)
        node.process.send_signal(signal.SIGTERM)
        wait_until(lambda: "ends" in node.log.read_text(), node.is_running)
        (tmp_path / "go").touch()
        assert node.ended() == 0
        assert node.log.read_text().count("ends") == 2


def test_workers_stop_when_their_main_process_is_gone(tmp_path: Path) -> None:
    with a_node(tmp_path, workers=2) as node:
        wait_until(lambda: len(node.pids()) == 2)
        pids = node.pids()
        node.process.kill()
        node.process.wait()
        wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))
        assert "the main process is gone" in node.log.read_text()


def test_what_comes_while_a_worker_begins_is_heard_then(tmp_path: Path) -> None:
    with a_node(tmp_path, trouble="slow") as node:
        wait_until(lambda: "begins" in node.log.read_text())
        node.process.send_signal(signal.SIGTERM)
        assert node.ended() == 0
        assert "ends" in node.log.read_text()

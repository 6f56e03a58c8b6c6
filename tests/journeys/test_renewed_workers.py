"""SIGHUP renews the workers of a node, one beside the other: no call fails or is cut, and the port is never closed."""

import os
import signal
import socket
import threading
from http.client import HTTPException
from pathlib import Path

import pytest

from tests.chat import chat, listening, order, read_until
from tests.client import ask
from tests.conftest import ADDRESSES
from tests.customers import Customers
from tests.journeys.test_stopping import MAIN, Town, a_caller, a_node, tell
from tools.node import Node
from tools.services.process import wait_until

# As operators run it: what its processes have open is nobody's to see.
TWO_WORKERS = {"TOLLKEEPER_WORKERS": "2", "TOLLKEEPER_LAME_DUCK_SECONDS": "1", "TOLLKEEPER_INSPECTABLE": "false"}

pytestmark = pytest.mark.usefixtures("simulator")


class Caller(threading.Thread):
    """Calls again and again, each time by a connection of its own, and keeps what came of it."""

    def __init__(self, node: Node, key: str, model: str) -> None:
        super().__init__(daemon=True)
        self._node, self._key, self._model = node, key, model
        self._is_over = threading.Event()
        self.statuses: list[int] = []
        self.failures: list[Exception] = []

    def run(self) -> None:
        while not self._is_over.is_set():
            try:
                self.statuses.append(chat(self._node, self._key, self._model, "[[tokens=5]]", headers=MAIN).status)
            except (OSError, HTTPException) as problem:
                self.failures.append(problem)

    def end(self) -> None:
        self._is_over.set()
        self.join()


async def test_workers_are_renewed_under_load(town: Town, townsfolk: Customers) -> None:
    with a_node(town[0] | ADDRESSES | TWO_WORKERS) as node:
        key, model = await a_caller(townsfolk, node)
        first = set(node.workers())
        caller = Caller(node, key, model)
        caller.start()
        body = order(model, "[[tokens=400 chunk_ms=30]]", stream=True)
        with listening(node, key, body, "main.test") as stream:
            received = read_until(stream, b"river")
            tell(node, signal.SIGHUP)
            wait_until(lambda: node.log.read_text().count("is renewed") == 2)
            assert ask(node, "/readyz", headers=MAIN).status == 200, "another worker is there: nobody need go elsewhere"
            received += read_until(stream, b"[DONE]")
        wait_until(lambda: len(node.workers()) == 2)
        caller.end()
        assert first.isdisjoint(node.workers())
    assert b"error" not in received
    assert not caller.failures
    assert set(caller.statuses) == {200}


async def test_settings_hold_for_new_workers_and_bad_ones_leave_the_old_in_place(
    town: Town, townsfolk: Customers, tmp_path: Path
) -> None:
    file = tmp_path / "tollkeeper.toml"
    file.write_text("provider_domain = 'before.example'\n")
    with a_node(town[0] | ADDRESSES | {"TOLLKEEPER_CONFIG": str(file)}) as node:
        key, _ = await a_caller(townsfolk, node)

        def owner() -> str:
            models = ask(node, "/v1/models", key=key, headers=MAIN).json["data"]
            return str(models[0]["owned_by"])

        assert owner() == "before.example"
        file.write_text("provider_domain = 'after.example'\n")
        tell(node, signal.SIGHUP)
        wait_until(lambda: owner() == "after.example")
        wait_until(lambda: len(node.workers()) == 1)
        renewed = node.workers()
        file.write_text("provider_domain = 7\nworkers = 'many'\n")
        tell(node, signal.SIGHUP)
        wait_until(lambda: "the old one stays" in node.log.read_text())
        wait_until(lambda: node.workers() == renewed)
        assert owner() == "after.example"
        assert "a worker cannot begin: " in node.log.read_text()
        # Who tells every process of a node means the main one.
        os.kill(renewed[0], signal.SIGHUP)
        assert owner() == "after.example"
        assert node.workers() == renewed


async def test_a_node_that_is_stopped_meanwhile_ends(town: Town) -> None:
    with a_node(town[0] | ADDRESSES | {"TOLLKEEPER_WORKERS": "1"}) as node:
        (old,) = node.workers()
        tell(node, signal.SIGHUP)
        wait_until(lambda: node.workers() != [old])
        tell(node, signal.SIGTERM)
        assert node.process is not None
        assert node.process.wait(60) == 0
        with socket.socket() as probe:
            assert probe.connect_ex(("127.0.0.1", node.port)) != 0

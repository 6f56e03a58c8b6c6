"""A worker that dies is followed by another, which refuses nobody; one that dies again does not end its node."""

import asyncio
import os
import signal
from concurrent.futures import ThreadPoolExecutor

import asyncpg
import pytest

from tests.chat import chat
from tests.client import ask
from tests.conftest import ADDRESSES
from tests.customers import Customers
from tests.journeys.test_stopping import MAIN, Town, a_caller, a_node
from tools.node import Node
from tools.services.process import READY_WITHIN_SECONDS, NotReadyInTime, wait_until

# Longer than a worker takes to start, and shorter than it waits for its books.
LOCKED_SECONDS = 3.0

pytestmark = pytest.mark.usefixtures("simulator")


def follower_of(dead: int, survivor: int, node: Node) -> int:
    followers: set[int] = set()

    def is_there() -> bool:
        followers.update(set(node.workers()) - {dead, survivor})
        return bool(followers)

    try:
        wait_until(is_there, node.check_alive)
    except TimeoutError:
        raise NotReadyInTime("a worker that follows another", node.log, READY_WITHIN_SECONDS) from None
    return followers.pop()


async def test_a_worker_that_follows_a_dead_one_refuses_nobody(town: Town, townsfolk: Customers) -> None:
    """Whoever calls meanwhile waits until its books are open. These take their time: somebody has locked a table."""
    with ThreadPoolExecutor(3) as callers, a_node(town[0] | ADDRESSES | {"TOLLKEEPER_WORKERS": "1"}) as node:
        key, model = await a_caller(townsfolk, node)
        (worker,) = node.workers()
        database = await asyncpg.connect(town[0]["TOLLKEEPER_DATABASE_URL"])
        try:
            async with database.transaction():
                await database.execute("lock table worker in access exclusive mode")
                os.kill(worker, signal.SIGKILL)
                wait_until(lambda: node.workers() not in ([], [worker]))
                calls = [callers.submit(chat, node, key, model, "[[tokens=5]]", headers=MAIN) for _ in range(3)]
                await asyncio.sleep(LOCKED_SECONDS)
                assert not any(call.done() for call in calls)
        finally:
            await database.close()
        assert [call.result().status for call in calls] == [200, 200, 200]


async def test_a_worker_that_dies_again_does_not_end_its_node(town: Town, townsfolk: Customers) -> None:
    with a_node(town[0] | ADDRESSES | {"TOLLKEEPER_WORKERS": "2"}) as node:
        key, model = await a_caller(townsfolk, node)
        victim, survivor = node.workers()
        for _ in range(3):
            os.kill(victim, signal.SIGKILL)
            victim = follower_of(victim, survivor, node)
        assert node.process is not None
        assert node.process.poll() is None
        assert chat(node, key, model, "[[tokens=5]]", headers=MAIN).status == 200
        assert ask(node, "/livez").status == 200

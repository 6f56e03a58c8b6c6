"""What a quick run leaves out, and what it must not let pass; run by test_quick alone."""

import asyncio
import multiprocessing
import os
import socket
import subprocess
import sys

import pytest

from tests.conftest import Stores


def test_that_needs_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()


def test_with_a_store(stores: Stores) -> None:
    raise AssertionError


@pytest.mark.not_quick
def test_that_says_that_it_is_slow() -> None:
    raise AssertionError


def test_that_runs_a_command() -> None:
    subprocess.run([sys.executable, "--version"], check=True)


async def test_that_runs_a_command_asynchronously() -> None:
    await (await asyncio.create_subprocess_exec(sys.executable, "--version")).wait()


def test_that_forks() -> None:
    child = multiprocessing.get_context("fork").Process(target=int)
    child.start()
    child.join()


def test_that_spawns() -> None:
    os.waitpid(os.posix_spawn(sys.executable, [sys.executable, "--version"], os.environ), 0)


def test_that_connects_to_a_store() -> None:
    port = int(os.environ["DATABASE_URL"].rpartition(":")[2].partition("/")[0])
    socket.create_connection(("127.0.0.1", port)).close()

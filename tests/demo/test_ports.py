"""Where a demo listens, beside others."""

import socket

import pytest

from tollkeeper.demo import ports
from tollkeeper.demo.problem import CannotRun
from tools.services.process import free_port


def test_the_usual_port_is_taken_where_it_is_free() -> None:
    usual = free_port()
    assert ports.choose(None, usual, "--port") == usual


def test_a_second_demo_listens_elsewhere() -> None:
    with socket.create_server(("127.0.0.1", 0)) as first:
        usual = first.getsockname()[1]
        chosen = ports.choose(None, usual, "--port")
        assert chosen != usual
        assert not ports.is_taken(chosen)


def test_a_wanted_port_that_is_taken_is_refused_by_its_number() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        wanted = other.getsockname()[1]
        with pytest.raises(CannotRun, match=f"Port {wanted} is taken.*--port"):
            ports.choose(wanted, 8080, "--port")

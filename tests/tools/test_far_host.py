"""A host of its own: reached over a cable that can be pulled, and put back."""

import socket
from collections.abc import Iterator

import pytest

from tools.services.far_host import FarHost, FarRedis, why_no_far_host

pytestmark = [
    pytest.mark.not_quick,
    pytest.mark.skipif(bool(why_no_far_host()), reason=why_no_far_host() or "it can be had"),
]


@pytest.fixture
def far() -> Iterator[FarHost]:
    with FarHost() as host:
        yield host


def test_what_is_cut_off_is_silent_until_the_cable_is_back(far: FarHost) -> None:
    with FarRedis(far) as redis:
        with socket.create_connection((redis.host, redis.port), timeout=5) as known:
            far.cut()
            known.settimeout(0.5)
            known.sendall(b"PING\r\n")
            with pytest.raises(TimeoutError):
                known.recv(1)
            far.mend()
            known.settimeout(30)
            # What was sent meanwhile is sent again: the connection is the same.
            assert known.recv(7) == b"-NOAUTH"
        assert redis.is_ready()


def test_a_server_on_another_host_is_not_reached_by_the_loopback_address(far: FarHost) -> None:
    with FarRedis(far) as redis, pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", redis.port), timeout=5)

"""Whom the gateway takes for its caller behind each shipped balancer: by the programs themselves, before a node that
notes what reaches it. Callers from outside have an address of their own on this machine."""

import http.client
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.deploy.balancers import Balancer, behind_caddy, behind_haproxy, behind_nginx
from tollkeeper.core.client_ip import client_ip, read_networks, written
from tools.services.haproxy import MAIN_HOST

pytestmark = pytest.mark.not_quick

# Of balancer and console, which run beside each other here.
TRUSTED = read_networks(["127.0.0.1"])
OUTSIDE = "127.44.0.7"
VISITORS = ("203.0.113.5", "203.0.113.6")


class ListeningNode(ThreadingHTTPServer):
    """Well whenever it is asked. It notes whom a gateway would take for the caller."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Asked)
        self.callers: list[str] = []

    @property
    def port(self) -> int:
        return self.server_port


class _Asked(BaseHTTPRequestHandler):
    server: ListeningNode

    def do_GET(self) -> None:
        if self.path != "/readyz":
            hops = self.headers.get_all("x-forwarded-for", [])
            self.server.callers.append(written(client_ip(self.client_address[0], hops, TRUSTED)))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def listening() -> Iterator[ListeningNode]:
    node = ListeningNode()
    thread = threading.Thread(target=node.serve_forever)
    thread.start()
    yield node
    node.shutdown()
    thread.join()
    node.server_close()


@pytest.fixture(params=[behind_haproxy, behind_nginx, behind_caddy], ids=["haproxy", "nginx", "caddy"])
def balancer(request: pytest.FixtureRequest, listening: ListeningNode) -> Iterator[Balancer]:
    with request.param(listening.port) as running:
        yield running


def test_each_visitor_of_the_console_has_an_ip_of_its_own(balancer: Balancer, listening: ListeningNode) -> None:
    for visitor in VISITORS:
        ask(balancer.inside_port, "127.0.0.1", visitor)
    assert listening.callers == list(VISITORS)


def test_nobody_outside_is_taken_for_another(balancer: Balancer, listening: ListeningNode) -> None:
    for claimed in (VISITORS[0], f"{VISITORS[0]}, 127.0.0.1", "127.0.0.1"):
        ask(balancer.public_port, OUTSIDE, claimed, balancer.certificate)
    assert listening.callers == [OUTSIDE] * 3


def test_who_reaches_the_way_of_the_console_and_is_not_it_is_not_believed(
    balancer: Balancer, listening: ListeningNode
) -> None:
    ask(balancer.inside_port, OUTSIDE, VISITORS[0])
    assert listening.callers == [OUTSIDE]


def ask(port: int, own_ip: str, claimed: str, certificate: Path | None = None) -> None:
    """A request from an IP of this machine that says it is for another."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.sock = socket.create_connection(("127.0.0.1", port), 30, source_address=(own_ip, 0))
    if certificate is not None:
        tls = ssl.create_default_context(cafile=str(certificate))
        connection.sock = tls.wrap_socket(connection.sock, server_hostname=MAIN_HOST)
    with closing(connection):
        connection.request("GET", "/v1/models", headers={"Host": MAIN_HOST, "X-Forwarded-For": claimed})
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (200, b"")

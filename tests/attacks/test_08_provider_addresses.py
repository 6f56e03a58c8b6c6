"""An operator enters a provider's address, or its DNS is turned round later, so that the service calls what only it can
reach: a cloud's metadata service, stores on loopback, hosts of the private network."""

import socket
from collections.abc import Callable
from typing import Any

import asyncpg
import pytest

from tests.chat import chat
from tests.client import ask
from tests.command_line import tollkeeper
from tests.conftest import Stores, variables
from tests.customers import Customers
from tests.providers.peers import a_peer, saying
from tollkeeper.accounts.providers.description import BadDescription, check_address
from tollkeeper.app.office import office
from tollkeeper.core.provider_address import Reach, reach_of_host
from tollkeeper.ports import Failure, UpstreamFailed, UpstreamRequest
from tollkeeper.providers.http import HttpUpstream
from tollkeeper.settings import load
from tools.accounts import add_accounts
from tools.node import Node
from tools.services.process import wait_until
from tools.simulator import Simulator

NEVER = """
169.254.169.254 169.254.169.254. 2852039166 0xa9fea9fe 0251.0376.0251.0376 0xa9.254.169.254 169.254.43518
[::ffff:169.254.169.254] [::ffff:a9fe:a9fe] [::169.254.169.254] [64:ff9b::169.254.169.254] [2002:a9fe:a9fe::1]
169.254.170.2 100.100.100.200 168.63.129.16 192.0.0.192 [fd00:ec2::254] [fd20:ce::254]
metadata.google.internal METADATA.google.internal. metadata metadata.goog instance-data \uff11\uff16\uff19.254.169.254
0.0.0.0 0 0x0 0.1.2.3 [::] [::ffff:0.0.0.0] 224.0.0.1 239.1.2.3 [ff02::1] 255.255.255.255 240.0.0.1 4294967295
"""
PRIVATE = """
127.0.0.1 127.1 2130706433 0x7f.1 0177.0.0.1 [::1] [::ffff:127.0.0.1] [::ffff:7f00:1] localhost LOCALHOST. a.localhost
10.0.0.7 172.16.0.1 172.31.255.255 192.168.1.1 012.0.0.7 [::ffff:10.0.0.7] [2002:0a00:0007::1] [64:ff9b::10.0.0.7]
100.64.0.1 100.127.255.255 169.254.1.1 [fe80::1] [fe80::1%eth0] [fc00::1] [fd12:3456::1] [fec0::1]
ollama printer.local vllm.svc.cluster.local db.internal router.lan nas.home.arpa 192.0.2.7 198.18.0.1 [2001:db8::1]
"""
PUBLIC = "api.openai.com 8.8.8.8 172.32.0.1 100.128.0.1 [2606:4700::1111] [64:ff9b::8.8.8.8] 1.example 0x7f.example"


@pytest.mark.parametrize(
    ("hosts", "reach"),
    [(NEVER, Reach.NEVER), (PRIVATE, Reach.PRIVATE), (PUBLIC, Reach.PUBLIC)],
    ids=["never", "private", "public"],
)
def test_an_address_is_judged_by_what_it_means(hosts: str, reach: Reach) -> None:
    named = hosts.split()
    assert {host: reach_of_host(host) for host in named} == dict.fromkeys(named, reach)


@pytest.fixture
async def own_variables(stores: Stores) -> dict[str, str]:
    return await variables(stores)


ENTERED = [
    (True, "http://169.254.169.254/latest", "never a provider"),
    (True, "http://[::ffff:169.254.169.254]/v1", "never a provider"),
    (True, "https://metadata.google.internal./v1", "never a provider"),
    (True, "http://0.0.0.0:8080/v1", "never a provider"),
    (True, "http://2852039166/v1", "never a provider"),
    (True, "https://2130706433/v1", "four decimal numbers"),
    (True, "https://me:word@api.example/v1", "no user or password"),
    (False, "https://127.0.0.1:9000/v1", "TOLLKEEPER_PRIVATE_PROVIDERS"),
    (False, "http://localhost:9000/v1", "TOLLKEEPER_PRIVATE_PROVIDERS"),
    (False, "https://10.0.0.7/v1", "TOLLKEEPER_PRIVATE_PROVIDERS"),
    (False, "https://[fd12:3456::1]/v1", "TOLLKEEPER_PRIVATE_PROVIDERS"),
    (False, "http://api.example/v1", "plain http"),
]


@pytest.mark.parametrize(("private_allowed", "base_url", "told"), ENTERED)
def test_such_an_address_is_not_taken(private_allowed: bool, base_url: str, told: str) -> None:
    with pytest.raises(BadDescription, match=told):
        check_address(base_url, insecure_http=True, private_allowed=private_allowed)


@pytest.mark.parametrize(("private_allowed", "base_url", "told"), [ENTERED[0], ENTERED[7]])
def test_such_an_address_cannot_be_entered(
    own_variables: dict[str, str], private_allowed: bool, base_url: str, told: str
) -> None:
    settings = own_variables | {"TOLLKEEPER_PRIVATE_PROVIDERS": str(private_allowed).lower()}
    done = tollkeeper(settings, "provider", "add", "evil", base_url, "--insecure-http", stdin="sk-x\n")
    assert (done.returncode, told in done.stderr) == (1, True)


def turned_round(to: str, port: int) -> Callable[..., Any]:
    """A name server that an attacker owns."""
    found = [
        (
            socket.AF_INET6 if ":" in to else socket.AF_INET,
            socket.SOCK_STREAM,
            6,
            "",
            (to, port, 0, 0)[: 4 if ":" in to else 2],
        )
    ]

    def getaddrinfo(*_: object, **__: object) -> Any:
        return found

    return getaddrinfo


@pytest.mark.parametrize(
    ("to", "private_allowed"), [("127.0.0.1", False), ("::1", False), ("169.254.169.254", True), ("224.0.0.1", True)]
)
async def test_a_name_that_stands_for_another_address_by_now_is_not_connected(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, to: str, private_allowed: bool
) -> None:
    upstream = HttpUpstream(connect_seconds=5, idle_seconds=5, private_allowed=private_allowed)
    async with a_peer(saying(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")) as peer:
        monkeypatch.setattr(socket, "getaddrinfo", turned_round(to, peer.port))
        request = UpstreamRequest(f"https://api.example:{peer.port}/v1", (), b"{}", 5)
        try:
            with pytest.raises(UpstreamFailed) as failed:
                await upstream.send(request)
        finally:
            await upstream.close()
        assert failed.value.failure is Failure.UNREACHABLE
        assert peer.connections == []
    assert f"a provider account is not called: {to} is" in caplog.text


async def test_an_address_in_numbers_is_not_asked_for_through_a_proxy_either() -> None:
    async with a_peer(saying(b"HTTP/1.1 200 OK\r\n\r\n")) as proxy:
        through = f"http://127.0.0.1:{proxy.port}"
        upstream = HttpUpstream(connect_seconds=5, idle_seconds=5, private_allowed=True, proxy_url=through)
        try:
            with pytest.raises(UpstreamFailed):
                await upstream.send(UpstreamRequest("http://169.254.169.254/v1", (), b"{}", 5))
        finally:
            await upstream.close()
        assert proxy.connections == []


async def test_accounts_that_are_there_already_are_not_called_and_the_operator_is_told_why(
    own_variables: dict[str, str],
) -> None:
    settings = own_variables | {"TOLLKEEPER_PRIVATE_PROVIDERS": "false"}
    with Simulator(key="sk-x") as simulator, Node(settings) as node:
        await add_accounts(settings, simulator.base, "sk-x", 1)
        async with office(load(settings)) as desk:
            customers = Customers(desk)
            model, customer = await customers.a_model(), await customers.a_customer()
        wait_until(lambda: model in ask(node, "/v1/models", key=customer.key).text.decode())
        answer = chat(node, customer.key, model, "Hello")
        assert answer.status == 503, answer.text
        assert "a provider account is not called: over plain http" in node.log.read_text()
        assert "not called: over plain http" in tollkeeper(settings, "provider", "list").stdout
        connection = await asyncpg.connect(load(settings).database_url, server_settings={"search_path": "tollkeeper"})
        try:
            await connection.execute("update provider_account set base_url = 'https://169.254.169.254/v1'")
        finally:
            await connection.close()
        wait_until(lambda: chat(node, customer.key, model, "Hello").status == 503 and "169.254" in node.log.read_text())
        assert "not called: 169.254.169.254 is an address" in tollkeeper(settings, "provider", "list").stdout

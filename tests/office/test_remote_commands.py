"""Commands from a laptop: the operator API does what they ask, with the key's rights and under the key's name."""

import http.client
import json
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

import asyncpg
import pytest

from tests.command_line import tollkeeper
from tests.office.serving import Served
from tollkeeper.cli.exit_codes import ExitCode
from tollkeeper.cli.operator_api import ask
from tollkeeper.cli.speak import Mistake
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.accounts import CreditWish, credit_account
from tollkeeper.settings import OperatorAccess, Secret
from tools.certificate import write_certificate

pytestmark = pytest.mark.not_quick


@contextmanager
def answering(reply: bytes, certificate: Path | None = None) -> Iterator[str]:
    """Something that reads a request, says this, and closes."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            connection, _ = listening.accept()
            if certificate is not None:
                trusted = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                trusted.load_cert_chain(certificate)
                with suppress(ssl.SSLError, OSError):
                    trusted.wrap_socket(connection, server_side=True).close()
                return
            with connection:
                connection.recv(65_536)
                connection.sendall(reply)

        thread = Thread(target=answer)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        thread.join()


def test_a_command_needs_an_operator_key_and_nothing_else(served: Served) -> None:
    done = tollkeeper(served.remote(Scope.SUPPORT), "account", "create", "Ada / Bob & Söhne")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("account ")
    listed = tollkeeper(served.remote(Scope.READ), "audit", "list", "--action", "account.create", "--json")
    newest = json.loads(listed.stdout)["data"][0]
    assert newest["actor"] == "operator:key-of-support"


def test_a_key_may_do_what_its_scopes_say(served: Served) -> None:
    done = tollkeeper(served.remote(Scope.READ), "account", "create", "Ada")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("The operator key may not do this.")


@pytest.mark.parametrize(
    "typed",
    [
        ["account", "disable", "77", "--reason", "a slip"],
        ["account", "create", "Ada", "--group", "nobody"],
        ["account", "create", "A\u202ea"],
        ["account", "disable", "77", "--reason", " "],
        ["audit", "list", "--after", "what"],
        ["operator-key", "create", "key-of-read", "--scope", "read"],
        ["operator-key", "create", "far", "--scope", "read", "--network", "10.0.0.1/8"],
        ["operator-key", "revoke", "nobody", "--reason", "a slip"],
    ],
    ids=" ".join,
)
def test_a_refusal_reads_the_same_as_where_the_database_is(served: Served, typed: list[str]) -> None:
    here, there = tollkeeper(served.settings, *typed), tollkeeper(served.remote(Scope.EVERYTHING), *typed)
    assert (there.returncode, there.stdout) == (here.returncode, here.stdout) == (1, "")
    assert there.stderr.removesuffix("\n").removesuffix(" Nothing was done.") == here.stderr.removesuffix(
        "\n"
    ).removesuffix(" Nothing was done.")


def test_the_key_in_use_is_shown_and_can_be_revoked(served: Served) -> None:
    created = tollkeeper(served.remote(Scope.EVERYTHING), "operator-key", "create", "gone", "--scope", "read")
    laptop = served.remote(Scope.READ) | {"TOLLKEEPER_OPERATOR_KEY": created.stdout.splitlines()[1]}
    shown = json.loads(tollkeeper(laptop, "operator-key", "show", "--json").stdout)
    assert (shown["name"], shown["scopes"]) == ("gone", ["read"])
    done = tollkeeper(served.remote(Scope.EVERYTHING), "operator-key", "revoke", "gone", "--reason", "left us")
    assert done.stdout == "operator key gone is revoked\n"
    refused = tollkeeper(laptop, "operator-key", "show")
    assert refused.returncode == 1
    assert "was revoked" in refused.stderr
    assert "gone" in tollkeeper(served.remote(Scope.EVERYTHING), "operator-key", "list").stdout


def test_the_audit_trail_is_read_in_pages_from_afar(served: Served) -> None:
    laptop = served.remote(Scope.READ)
    page = json.loads(tollkeeper(laptop, "audit", "list", "--limit", "2", "--json").stdout)
    behind = json.loads(tollkeeper(laptop, "audit", "list", "--after", page["next"], "--json").stdout)
    assert [row["id"] for row in page["data"]] == [behind["data"][0]["id"] + 2, behind["data"][0]["id"] + 1]
    assert f"--after {page['next']}" in tollkeeper(laptop, "audit", "list", "--limit", "2").stdout
    assert tollkeeper(laptop, "audit", "verify").stdout == "The audit trail is whole.\n"


def test_what_needs_the_stores_says_so(served: Served) -> None:
    done = tollkeeper(served.remote(Scope.EVERYTHING), "books", "check")
    assert done.returncode == 1
    assert done.stderr.startswith("This command works on the stores themselves")


def test_nobody_there_is_told_with_the_address(served: Served) -> None:
    laptop = served.remote(Scope.READ) | {"TOLLKEEPER_OPERATOR_URL": "http://127.0.0.1:9"}
    done = tollkeeper(laptop, "audit", "verify")
    assert done.returncode == 3
    assert done.stderr.startswith("The operator API at http://127.0.0.1:9 cannot be reached (")
    assert "Nothing was done." in done.stderr


@pytest.mark.parametrize(
    ("reply", "code", "words"),
    [
        (b"", 3, "did not answer, and whether it was done is not known"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{", 3, "whether it was done is not known"),
        (b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n", 3, "whether it was done is not known"),
        (b"HTTP/1.1 302 Found\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n", 1, "it answered 302"),
        (b"HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\nno", 1, "There is no operator API at http://127.0.0.1"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}", 1, "in a form that this command does not know"),
    ],
    ids=["nothing", "half", "502", "302", "404", "another form"],
)
def test_answers_of_others_are_told_with_what_is_known(served: Served, reply: bytes, code: int, words: str) -> None:
    with answering(reply) as address:
        done = tollkeeper(
            served.remote(Scope.SUPPORT) | {"TOLLKEEPER_OPERATOR_URL": address}, "account", "create", "Ada"
        )
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert served.keys[Scope.SUPPORT] not in done.stderr


def test_a_certificate_that_nobody_signed_is_not_trusted(served: Served, tmp_path: Path) -> None:
    with answering(b"", write_certificate(tmp_path / "own.pem", ["localhost"])) as address:
        place = address.replace("http://127.0.0.1", "https://localhost")
        done = tollkeeper(served.remote(Scope.READ) | {"TOLLKEEPER_OPERATOR_URL": place}, "audit", "verify")
    assert done.returncode == 3
    assert "its certificate is not valid" in done.stderr


async def test_money_that_is_sent_again_says_that_it_was_there_before(served: Served) -> None:
    account = int(tollkeeper(served.remote(Scope.SUPPORT), "account", "create", "Ada").stdout.split()[1])
    access = OperatorAccess(served.base, Secret(served.keys[Scope.MONEY]))
    wish = CreditWish(once="invoice 17", reason="paid", account=account, usd="10")
    first, again = [await ask(access, credit_account, wish) for _ in range(2)]
    assert (first.was_before, again.was_before) == (False, True)
    assert (first.lot, first.expires_at) == (again.lot, again.expires_at)


@pytest.mark.parametrize("once", ["", "Rechnung №5"])
async def test_an_id_that_is_no_header_is_refused_before_anything_is_sent(served: Served, once: str) -> None:
    access = OperatorAccess("http://127.0.0.1:9", Secret(served.keys[Scope.MONEY]))
    with pytest.raises(Mistake, match="1 to 255 printable ASCII characters"):
        await ask(access, credit_account, CreditWish(once=once, reason="paid", account=1, usd="10"))


async def test_money_that_may_have_moved_is_told_with_the_id_to_repeat_it_with(served: Served) -> None:
    wish = CreditWish(once="invoice 18", reason="paid", account=1, usd="10")
    with answering(b"") as address:
        access = OperatorAccess(address, Secret(served.keys[Scope.MONEY]))
        with pytest.raises(Mistake, match="the same id, 'invoice 18'") as told:
            await ask(access, credit_account, wish)
    assert told.value.code is ExitCode.STORE


def test_a_refused_body_leaves_the_connection_to_the_next_request(served: Served) -> None:
    """Over one connection: what is refused before its body was read, then something that is answered."""
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=20)
    key = {"authorization": f"Bearer {served.keys[Scope.READ]}"}
    body = json.dumps({"name": "A" * 100_000})
    asked = [
        ("POST", "/admin/v1/accounts", {}, 401),
        ("POST", "/admin/v1/accounts", key, 403),
        ("POST", "/admin/v1/nowhere", key, 404),
        ("PUT", "/admin/v1/accounts", key, 405),
        ("GET", "/admin/v1/audit", key, 200),
    ]
    connection.connect()
    first = connection.sock
    for method, path, headers, status in asked:
        connection.request(method, path, None if method == "GET" else body, headers)
        answer = connection.getresponse()
        answer.read()
        assert (answer.status, connection.sock) == (status, first), path
    connection.close()


def test_a_body_that_is_too_much_to_read_ends_the_connection_and_says_so(served: Served) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as connection:
        head = f"POST /admin/v1/accounts HTTP/1.1\r\nhost: x\r\ncontent-length: {10**9}\r\n\r\n"
        connection.sendall(head.encode() + b"x" * 300_000)
        said = connection.recv(65_536).lower()
    assert said.startswith(b"http/1.1 401")
    assert b"connection: close" in said


def test_a_body_that_never_comes_is_not_waited_for(served: Served) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as connection:
        connection.sendall(b"POST /admin/v1/accounts HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n")
        said = connection.recv(65_536).lower()
    assert said.startswith(b"http/1.1 401")
    assert b"connection: close" in said


async def test_a_broken_chain_is_exit_code_1_here_and_from_afar(served: Served) -> None:
    """The last test of this file: it leaves the trail broken."""
    database = await asyncpg.connect(
        served.settings["TOLLKEEPER_DATABASE_URL"], server_settings={"search_path": "tollkeeper"}
    )
    row = await database.fetchval(
        "update audit set actor = 'nobody' where id = (select min(id) from audit) returning id"
    )
    await database.close()
    for settings in (served.settings, served.remote(Scope.READ)):
        done = tollkeeper(settings, "audit", "verify")
        assert (done.returncode, done.stdout) == (1, "")
        assert f"row {row} does not follow" in done.stderr

"""Odd host names, caches that are led to keep a private answer (cache deception), and a gateway pointed at itself."""

import pytest

from tests.chat import chat
from tests.client import Answer, ask
from tests.conftest import Stores, variables
from tests.customers import ACTOR, Customers
from tollkeeper.app.office import office
from tollkeeper.ports import NewProviderAccount
from tollkeeper.settings import load
from tools.front import BEHIND_A_FRONT, Front
from tools.node import Node
from tools.services.process import wait_until

# Host headers, and the status each gets from a node whose names are configured.
HOSTS = {
    "evil.example": 404,
    "main.test.evil.example": 404,
    "evil.example:80": 404,
    "localhost": 404,
    "127.0.0.1": 404,
    "[::1]:8080": 404,
    "169.254.169.254": 404,
    "main.test:99999999": 400,
    "main.test:": 400,
    "main.test:x": 400,
    "main.test@evil.example": 400,
    "evil.example/main.test": 400,
    "main.test/../evil": 400,
    "main.test?x": 400,
    "main.test#x": 400,
    "main.test, evil.example": 400,
    "main.test evil.example": 400,
    "main.test\\evil.example": 400,
    "<script>alert(1)</script>": 400,
    "${jndi:ldap://evil.example}": 400,
    "{{7*7}}": 400,
    "main.test\t": 200,
    "MAIN.TEST": 200,
    "main.test:8443": 200,
}
DECEPTIONS = (
    "/v1/models/x.css",
    "/v1/models.css",
    "/v1/models;x.css",
    "/v1/models%2fx.css",
    "/v1/models%3fx.css",
    "/v1/models%23x.css",
    "/v1/models%0ax.css",
    "/v1/models/..%2fstatic.js",
    "/static/..%2fv1/models",
    "/static/../v1/models",
    "/v2/account/balance/logo.png",
    "/v2/account/balance.js",
    "/v2/token/balance%00.css",
    "//v1/models",
    "/v1//models",
    "/v1/models/",
    "/v1/./models",
    "/V1/models",
)


@pytest.mark.parametrize(("host", "status"), HOSTS.items(), ids=list(HOSTS))
async def test_an_odd_host_is_refused_and_not_repeated(
    addressed_node: Node, townsfolk: Customers, host: str, status: int
) -> None:
    key = (await townsfolk.a_customer()).key
    answer = ask(addressed_node, "/v1/models", key=key, headers={"Host": host})
    assert answer.status == status
    assert answer.headers["cache-control"] == "no-store"
    if status != 200:
        assert host not in repr(answer)


@pytest.mark.parametrize("name", ["X-Forwarded-Host", "X-Host", "Forwarded", "X-Original-URL", "X-Rewrite-URL"])
async def test_no_other_header_stands_in_for_host_or_path(
    addressed_node: Node, townsfolk: Customers, name: str
) -> None:
    key = (await townsfolk.a_customer()).key
    asked = {"Host": "main.test", name: "host=billing.test:8443" if name == "Forwarded" else "billing.test:8443"}
    assert ask(addressed_node, "/v1/models", key=key, headers=asked).status == 200
    asked |= {"Host": "evil.example", name: "main.test"}
    assert ask(addressed_node, "/v1/models", key=key, headers=asked).status == 404
    asked |= {"Host": "main.test", name: "/v1/models"}
    assert ask(addressed_node, "/v1/nothing", key=key, headers=asked).status == 404


@pytest.mark.parametrize("path", DECEPTIONS)
async def test_a_path_dressed_up_as_a_file_tells_nothing_and_is_not_kept(
    node: Node, townsfolk: Customers, path: str
) -> None:
    key = (await townsfolk.a_customer()).key
    answer = ask(node, path, key=key)
    assert (answer.status, answer.headers["cache-control"]) == (404, "no-store")
    # Behind the list's own path stands the name of a model: there is none of that name.
    is_of_a_model = path.startswith("/v1/models/") and path != "/v1/models/"
    assert answer.error["code"] == ("model_not_found" if is_of_a_model else "endpoint_not_found")


async def test_a_query_dressed_up_as_a_file_does_not_make_an_answer_last(node: Node, townsfolk: Customers) -> None:
    key = (await townsfolk.a_customer()).key
    answer = ask(node, "/v2/account/balance?x.css", key=key)
    assert (answer.status, answer.headers["cache-control"]) == (200, "no-store")


@pytest.mark.usefixtures("simulator")
async def test_no_answer_for_a_key_may_be_kept(node: Node, townsfolk: Customers) -> None:
    customer, model = await townsfolk.a_customer(), await townsfolk.a_model()
    wait_until(lambda: model in ask(node, "/v1/models", key=customer.key).text.decode())
    key = customer.key

    def post(path: str, body: object) -> Answer:
        return ask(node, path, method="POST", key=key, body=body)

    answers = [
        (200, chat(node, key, model, "[[tokens=2]]")),
        (200, chat(node, key, model, "[[tokens=2]]", stream=True)),
        (400, post("/v1/chat/completions", b"{")),
        (400, ask(node, "/v1/models", key=key, headers={"Host": "a@b"})),
        (401, ask(node, "/v1/models", key="sk-unknown")),
        (404, chat(node, key, "no-such-model", "hello")),
        (405, post("/v1/models", {})),
        (413, post("/api/token", b"x" * 5_000)),
        (200, post("/api/token", {"api_key": key})),
        (200, post("/api/token", {"api_key": "sk-unknown"})),
        (204, ask(node, "/v1/models", method="OPTIONS")),
        (200, ask(node, "/livez")),
        (200, ask(node, "/readyz")),
    ]
    assert [answer.status for _, answer in answers] == [status for status, _ in answers]
    assert [answer.headers.get("cache-control") for _, answer in answers] == ["no-store"] * len(answers)


async def test_a_call_that_comes_back_through_the_front_is_refused_at_one_hop(stores: Stores) -> None:
    settings = await variables(stores) | BEHIND_A_FRONT
    async with office(load(settings)) as desk:
        customers = Customers(desk)
        customer, model = await customers.a_customer(), await customers.a_model()
        with Node(settings) as node, Front(node) as front:
            account = NewProviderAccount(
                name="itself", vendor="openai", base_url=f"{front.base}/v1", secret=customer.key
            )
            await desk.providers.add(account, actor=ACTOR)
            wait_until(lambda: model in ask(front, "/v1/models", key=customer.key).text.decode())
            answer = chat(front, customer.key, model, "hello")
            assert (answer.status, answer.error["code"]) == (400, "loop_detected")

            def calls() -> list[object]:
                return [line["code"] for line in node.call_lines() if line["path"] == "/v1/chat/completions"]

            wait_until(lambda: len(calls()) == 2)
            # The log has our own words alone: the outer call was rejected by a provider, which was the inner one.
            assert sorted(map(str, calls())) == ["loop_detected", "provider_rejected"]

            def remained() -> float:
                balance = ask(front, "/v2/account/balance", key=customer.key).json["balance"]
                return float(balance["remained_cash"])

            # The hold is given back by a settlement that nobody waits for.
            wait_until(lambda: remained() == 10.0)

"""What an operator's OpenTelemetry collector is told of calls, over real sockets, and that it hears no word of them."""

import re
import secrets
import time
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec
import pytest

from tests.canary import Canary
from tests.chat import PATH, Headers, chat, listening, order, read_until, request_id_in
from tests.client import Answer, ask
from tests.conftest import Stores, variables
from tests.customers import ACTOR, Customer, Customers, a_model_id
from tollkeeper.app.office import office
from tollkeeper.core.limits.windows import Rates
from tollkeeper.core.pool.choice import PoolPlace
from tollkeeper.ports import NewProviderAccount
from tollkeeper.settings import Settings, load
from tools.accounts import without_limits
from tools.node import Node, tollkeeper
from tools.otlp import OtlpServer, SeenSpan, total
from tools.services.process import free_port, wait_until
from tools.simulator import Simulator

pytestmark = pytest.mark.not_quick

# What nobody may find in anything that is sent: in keys, prompts, answers and names of models.
CANARY = f"canary{secrets.token_hex(8)}"
PROVIDER_KEY = f"sk-{CANARY}-of-the-provider"
HEADER_SECRET = f"{CANARY} of the collector"
PARENT_TRACE, PARENT_SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SOON = {
    "TOLLKEEPER_OTEL_SECONDS": "0.2",
    "TOLLKEEPER_CUT_SECONDS": "1",
    "TOLLKEEPER_NODE_NAME": "traced",
    "TOLLKEEPER_WORKERS": "2",
    "TOLLKEEPER_OTEL_HEADERS": f"x-collector-key={HEADER_SECRET.replace(' ', '%20')}",
}


class TracedSite(msgspec.Struct):
    """A deployment of its own, whose node tells a collector of its calls."""

    settings: dict[str, str]
    customers: Customers
    customer: Customer
    node: Node
    collector: OtlpServer
    first: Simulator
    # One that nothing comes of; it notes what it was sent.
    broken: Canary

    async def a_model(self, *providers: str, name: str | None = None) -> str:
        """Served by these, each to be asked before the next. `name`: what they call it."""
        model = a_model_id()
        bases = {"first": self.first.base, "broken": f"http://127.0.0.1:{self.broken.port}/v1"}
        for tier, provider in enumerate(providers, start=1):
            account = NewProviderAccount(
                name=f"{provider}-{model}",
                vendor="openai",
                base_url=bases[provider],
                secret=PROVIDER_KEY,
                place=PoolPlace(tier=tier),
                models={model: name or model},
            )
            await self.customers.desk.providers.add(account, actor=ACTOR)
        # Last: a node that knows the model has heard of its accounts too.
        await self.customers.a_model(model_id=model)
        self.wait_until_known(model)
        return model

    def wait_until_known(self, model: str) -> None:
        """By both worker processes, which are asked in turn, as it happens."""
        for _ in range(6):
            wait_until(lambda: model in ask(self.node, "/v1/models", key=self.customer.key).text.decode())

    def chat(self, model: str, text: str, *, headers: Headers = None, **fields: object) -> Answer:
        return chat(self.node, self.customer.key, model, f"{CANARY} {text}", headers=headers, **fields)

    def spans(self, request_id: str, count: int) -> list[SeenSpan]:
        """Of a call, once there are so many."""
        wait_until(lambda: len(self.collector.of_call(request_id)) >= count, within_seconds=20)
        found = self.collector.of_call(request_id)
        assert len(found) == count
        return found


@pytest.fixture(scope="module")
async def site(stores: Stores) -> AsyncIterator[TracedSite]:
    settings = await variables(stores)
    await without_limits(settings["TOLLKEEPER_DATABASE_URL"])
    with ExitStack() as stack:
        collector = stack.enter_context(OtlpServer())
        first = stack.enter_context(Simulator(name="first", key=PROVIDER_KEY))
        broken = stack.enter_context(Canary())
        async with office(load(settings)) as desk:
            customers = Customers(desk)
            customer = await customers.a_customer()
            node = stack.enter_context(Node(settings | SOON | {"TOLLKEEPER_OTEL_ENDPOINT": collector.url}))
            yield TracedSite(settings, customers, customer, node, collector, first, broken)


@pytest.fixture(scope="module")
async def model(site: TracedSite) -> str:
    return await site.a_model("first")


def seen_by_caller(answer: Answer) -> str:
    return answer.headers["x-request-id"]


async def test_a_whole_answer_is_a_span_with_one_attempt_below(site: TracedSite) -> None:
    model = await site.a_model("first", name="name-at-the-provider")
    before = time.time()
    answer = site.chat(model, "[[tokens=20 delay_ms=30]]")
    own, attempt = site.spans(seen_by_caller(answer), 2)
    assert (own.name, own.kind, own.parent_id, own.status) == (f"chat {model}", "SERVER", "", "UNSET")
    assert own.trace_id == seen_by_caller(answer).replace("-", "")
    usage = answer.json["usage"]
    assert own.attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": model,
        "gen_ai.response.model": model,
        "gen_ai.usage.input_tokens": usage["prompt_tokens"],
        "gen_ai.usage.cache_read.input_tokens": 0,
        "gen_ai.usage.output_tokens": 20,
        "tollkeeper.endpoint": PATH,
        "http.response.status_code": 200,
        "tollkeeper.request_id": seen_by_caller(answer),
        "tollkeeper.address": "main",
        "tollkeeper.ending": "completed",
    }
    assert (attempt.name, attempt.kind, attempt.trace_id) == ("chat name-at-the-provider", "CLIENT", own.trace_id)
    assert attempt.attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "name-at-the-provider",
        "http.response.status_code": 200,
        "server.address": "127.0.0.1",
        "server.port": site.first.port,
        "tollkeeper.provider_account": f"first-{model}",
    }
    assert before - 1 < own.begun_ns / 1e9 <= attempt.begun_ns / 1e9 < attempt.ended_ns / 1e9 <= own.ended_ns / 1e9
    assert 0.03 <= attempt.seconds <= own.seconds < 10
    assert own.ended_ns / 1e9 < time.time()
    assert own.resource["service.name"] == "tollkeeper"
    assert own.resource["tollkeeper.node"] == "traced"


async def test_a_stream_has_the_time_to_its_first_chunk(site: TracedSite, model: str) -> None:
    answer = site.chat(model, "[[tokens=20 first_chunk_ms=30]]", stream=True)
    own, attempt = site.spans(seen_by_caller(answer), 2)
    first_chunk = own.attributes["gen_ai.response.time_to_first_chunk"]
    assert isinstance(first_chunk, float)
    assert 0.03 <= first_chunk <= own.seconds
    assert own.attributes["gen_ai.usage.output_tokens"] == 20
    assert attempt.status == "UNSET"


async def test_a_call_that_failed_over_has_a_span_for_each_attempt(site: TracedSite) -> None:
    model = await site.a_model("broken", "first")
    answer = chat(site.node, site.customer.key, model, CANARY, headers=_traced("01"))
    assert answer.status == 200
    own, failed, good = site.spans(seen_by_caller(answer), 3)
    assert (own.status, own.attributes.get("error.type")) == ("UNSET", None)
    assert (failed.kind, failed.status, failed.attributes["error.type"]) == ("CLIENT", "ERROR", "broken")
    assert failed.attributes["tollkeeper.provider_account"] == f"broken-{model}"
    assert "http.response.status_code" not in failed.attributes
    assert (good.kind, good.status) == ("CLIENT", "UNSET")
    assert failed.ended_ns <= good.begun_ns
    # The provider was sent the order, and nothing of the caller's trace.
    [sent] = [sent for sent in site.broken.heard if model.encode() in sent]
    assert b"traceparent" not in sent.lower()
    assert PARENT_TRACE.encode() not in sent


async def test_a_refusal_by_a_provider_is_told_by_its_status(site: TracedSite, model: str) -> None:
    answer = site.chat(model, "[[status=503]]")
    assert answer.status == 503
    own, attempt = site.spans(seen_by_caller(answer), 2)
    assert (own.status, own.status_text, own.attributes["http.response.status_code"]) == ("ERROR", "", 503)
    assert own.attributes["tollkeeper.ending"] == "refused"
    assert "gen_ai.response.model" not in own.attributes
    assert "gen_ai.usage.input_tokens" not in own.attributes
    assert (attempt.status, attempt.attributes["error.type"]) == ("ERROR", "503")


async def test_a_call_without_quota_or_beyond_a_limit_is_a_span_alone(site: TracedSite, model: str) -> None:
    await site.customers.desk.groups.add("slow", Rates(key_rate=1, standard_rate=1), actor=ACTOR)
    poor, slow = await site.customers.a_customer(usd=None), await site.customers.a_customer(group="slow")
    wait_until(lambda: ask(site.node, "/v2/token/balance", key=slow.key).status in {200, 429}, within_seconds=40)
    short = chat(site.node, poor.key, model, CANARY)
    wait_until(lambda: chat(site.node, slow.key, model, CANARY).status == 429, within_seconds=20)
    limited = chat(site.node, slow.key, model, CANARY)
    unknown = chat(site.node, site.customer.key, CANARY, "hello")
    stranger = chat(site.node, f"sk-{CANARY}", model, "hello")
    # A limit that is known to be reached is told before the model is looked up.
    for answer, status, named in (
        (short, 403, {f"chat {model}"}),
        (limited, 429, {"chat", f"chat {model}"}),
        (unknown, 404, {"chat"}),
        (stranger, 401, {"chat"}),
    ):
        [span] = site.spans(seen_by_caller(answer), 1)
        assert answer.status == status
        assert (span.kind, span.status) == ("SERVER", "UNSET")
        assert span.name in named
        assert span.attributes["http.response.status_code"] == status
        assert span.attributes["error.type"] == answer.error["code"]
        assert span.attributes["gen_ai.provider.name"] == "tollkeeper"


async def test_a_caller_who_left_was_sent_no_status(site: TracedSite, model: str) -> None:
    asked = order(model, f"{CANARY} [[tokens=400 chunk_ms=20]]", stream=True)
    with listening(site.node, site.customer.key, asked) as connection:
        request_id = request_id_in(read_until(connection, b"data: "))
    own, attempt = site.spans(request_id, 2)
    assert (own.status, own.attributes["error.type"]) == ("UNSET", "client_left")
    assert own.attributes["tollkeeper.ending"] == "client_left"
    assert "http.response.status_code" not in own.attributes
    assert attempt.status == "UNSET"


async def test_a_call_that_is_cut_is_told_with_what_came_after(site: TracedSite, model: str) -> None:
    answer = site.chat(model, "[[tokens=20 delay_ms=1500]]")
    assert answer.status == 524
    own, attempt = site.spans(seen_by_caller(answer), 2)
    assert (own.status, own.attributes["error.type"], own.attributes["tollkeeper.ending"]) == (
        "ERROR",
        answer.error["code"],
        "cut",
    )
    assert own.attributes["gen_ai.usage.output_tokens"] == 20
    assert own.seconds < 1.5 < attempt.seconds


def _traced(flags: str) -> dict[str, str]:
    return {"traceparent": f"00-{PARENT_TRACE}-{PARENT_SPAN}-{flags}"}


async def test_a_callers_trace_is_the_parent(site: TracedSite, model: str) -> None:
    answer = site.chat(model, "[[tokens=2]]", headers=_traced("01"))
    own, attempt = site.spans(seen_by_caller(answer), 2)
    assert (own.trace_id, own.parent_id) == (PARENT_TRACE, PARENT_SPAN)
    assert attempt.trace_id == PARENT_TRACE


async def test_a_trace_that_its_caller_does_not_record_is_not_recorded_here(site: TracedSite, model: str) -> None:
    unrecorded = [seen_by_caller(site.chat(model, "[[tokens=2]]", headers=_traced("00"))) for _ in range(8)]
    recorded = [seen_by_caller(site.chat(model, "[[tokens=2]]")) for _ in range(8)]
    for request_id in recorded:
        site.spans(request_id, 2)
    assert [site.collector.of_call(request_id) for request_id in unrecorded] == [[]] * 8


async def test_a_traceparent_that_cannot_be_read_is_none(site: TracedSite, model: str) -> None:
    answer = site.chat(model, "[[tokens=2]]", headers={"traceparent": f"00-{CANARY}-{PARENT_SPAN}-01"})
    own, _ = site.spans(seen_by_caller(answer), 2)
    assert (own.trace_id, own.parent_id) == (seen_by_caller(answer).replace("-", ""), "")


async def test_histograms_have_every_call_of_both_processes(site: TracedSite) -> None:
    model = await site.a_model("first")
    for _ in range(12):
        assert site.chat(model, "[[tokens=20]]").status == 200
    assert site.chat(model, "[[tokens=20]]", stream=True, headers=_traced("00")).status == 200
    of_model = {"gen_ai_request_model": model, "gen_ai_operation_name": "chat", "gen_ai_provider_name": "openai"}

    def counted(name: str, **attributes: object) -> int:
        return total(site.collector.histograms(), name, **of_model, **attributes)

    wait_until(lambda: counted("gen_ai.server.request.duration") == 13, within_seconds=20)
    assert counted("gen_ai.client.operation.duration") == 13
    assert counted("gen_ai.client.token.usage", gen_ai_token_type="input") == 13
    assert counted("gen_ai.client.token.usage", gen_ai_token_type="output") == 13
    assert counted("gen_ai.server.time_to_first_token") == 1
    tokens = [
        histogram.total
        for histogram in site.collector.histograms()
        if histogram.attributes.get("gen_ai.token.type") == "output"
        and histogram.attributes["gen_ai.request.model"] == model
    ]
    assert sum(tokens) == 13 * 20
    instances = {histogram.resource["service.instance.id"] for histogram in site.collector.histograms()}
    assert len(instances) == 2


# Last: everything above was said with canaries.
async def test_no_word_key_or_header_of_anybody_is_in_what_was_sent(site: TracedSite) -> None:
    assert len(site.collector.spans()) > 20
    everything = b"\n".join(request.body for request in site.collector.requests)
    for untold in (CANARY, site.customer.key, site.customer.key[3:], PROVIDER_KEY, "a customer"):
        assert untold.encode() not in everything
    assert all(span.events == 0 and not span.status_text for span in site.collector.spans())
    # The collector's own secret goes to the collector, in a header, and is nowhere else.
    assert {request.headers["x-collector-key"] for request in site.collector.requests} == {HEADER_SECRET}
    assert CANARY not in site.node.log.read_text()


@pytest.fixture
def deaf() -> Iterator[OtlpServer]:
    with OtlpServer(is_held=True) as server:
        yield server


def dropped(node: Node) -> int:
    """Calls whose spans nobody took, as Prometheus is told it."""
    address = f"http://127.0.0.1:{node.settings['TOLLKEEPER_METRICS_PORT']}/metrics"
    with urllib.request.urlopen(address, timeout=10) as answer:
        found = re.search(r"^tollkeeper_traces_dropped_total\{.*\} (\d+)$", answer.read().decode(), re.MULTILINE)
    return int(found[1]) if found else -1


async def test_a_collector_that_is_away_or_does_not_answer_stops_no_call_and_no_stop(
    site: TracedSite, model: str, deaf: OtlpServer
) -> None:
    failing = OtlpServer(status=500)
    with failing:
        for endpoint in (f"http://127.0.0.1:{free_port()}", deaf.url, failing.url):
            own = {
                "TOLLKEEPER_OTEL_ENDPOINT": endpoint,
                "TOLLKEEPER_OTEL_SECONDS": "0.1",
                "TOLLKEEPER_METRICS_PORT": str(free_port()),
            }
            with Node(site.settings | own) as node:
                wait_until(lambda node=node: model in ask(node, "/v1/models", key=site.customer.key).text.decode())  # type: ignore[misc]
                answers = [chat(node, site.customer.key, model, "[[tokens=5]]") for _ in range(20)]
                assert [answer.status for answer in answers] == [200] * 20
                wait_until(lambda node=node: dropped(node) > 0, within_seconds=20)  # type: ignore[misc]
                began = time.monotonic()
                node.stop()
                assert time.monotonic() - began < 15
                assert node.process is not None
                assert node.process.returncode == 0
    assert deaf.requests
    assert failing.requests


def test_without_the_extra_the_node_says_what_to_install(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "opentelemetry").mkdir()
    (tmp_path / "opentelemetry" / "__init__.py").write_text("")
    given = {
        "TOLLKEEPER_DATABASE_URL": settings.database_url.reveal(),
        "TOLLKEEPER_REDIS_URL": settings.redis_url.reveal(),
        "TOLLKEEPER_PEPPERS": settings.peppers.reveal(),
        "TOLLKEEPER_ENVELOPE_KEYS": settings.envelope_keys.reveal(),
        "TOLLKEEPER_JOURNAL_FOLDER": settings.journal_folder,
        "TOLLKEEPER_OTEL_ENDPOINT": "http://127.0.0.1:4318",
        "PYTHONPATH": str(tmp_path),
    }
    ended = tollkeeper(given, "serve")
    assert ended.returncode == 1
    assert "pip install 'tollkeeper[otel]'" in ended.stderr
    assert "Traceback" not in ended.stderr

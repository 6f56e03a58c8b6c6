"""What an operator's Prometheus is told of a node, and what its call log says."""

import json
import os
import re
import signal
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chat import PATH, chat
from tests.client import ask
from tests.customers import DEAR_OUTPUT, Customers
from tools.node import Node, children
from tools.services.process import free_port, wait_until

pytestmark = [pytest.mark.usefixtures("simulator"), pytest.mark.not_quick]

SECRET_WORDS = "nobody may read this but the model"


@pytest.fixture(scope="module")
def watched_node(town: tuple[dict[str, str], Customers]) -> Iterator[Node]:
    own = {"TOLLKEEPER_METRICS_PORT": str(free_port()), "TOLLKEEPER_WORKERS": "2", "TOLLKEEPER_NODE_NAME": "watched"}
    with Node(town[0] | own) as running:
        yield running


def scraped(node: Node) -> str:
    address = f"http://127.0.0.1:{node.settings['TOLLKEEPER_METRICS_PORT']}/metrics"
    try:
        with urllib.request.urlopen(address, timeout=10) as answer:
            return str(answer.read().decode())
    except OSError:
        return ""


def total(text: str, beginning: str) -> float:
    """The sum over all worker processes of lines that begin so."""
    return sum(float(line.rpartition(" ")[2]) for line in text.splitlines() if line.startswith(beginning))


async def test_calls_of_all_worker_processes_are_counted_once_and_no_word_of_them_is_told(
    watched_node: Node, townsfolk: Customers
) -> None:
    customer, model = await townsfolk.a_customer(), await townsfolk.a_model(price=DEAR_OUTPUT)
    # The node answers as soon as one of its processes does.
    wait_until(lambda: total(scraped(watched_node), "tollkeeper_ready") == 2, within_seconds=60)
    wait_until(lambda: model in ask(watched_node, "/v1/models", key=customer.key).text.decode(), within_seconds=20)
    for _ in range(6):
        assert chat(watched_node, customer.key, model, f"{SECRET_WORDS} [[tokens=20]]").status == 200
    assert ask(watched_node, PATH, method="POST", key=customer.key, body=b"{").status == 400
    assert chat(watched_node, customer.key, model, f"{SECRET_WORDS} [[tokens=20]]", stream=True).status == 200

    output = f'tollkeeper_tokens_total{{model="{model}",kind="output"'
    wait_until(lambda: total(scraped(watched_node), output) == 7 * 20, within_seconds=20)
    text = scraped(watched_node)
    calls = 'tollkeeper_calls_total{endpoint="/v1/chat/completions",outcome="'
    assert total(text, f'{calls}answered"') == 7
    assert total(text, f'{calls}refused"') == 1
    assert total(text, "tollkeeper_first_byte_seconds_count") == 1
    assert total(text, "tollkeeper_call_own_seconds_count") == 7
    assert total(text, "tollkeeper_ready") == 2
    assert total(text, "tollkeeper_limiter_alone") == 0
    assert total(text, f'tollkeeper_charged_usd_total{{model="{model}"') > 0
    assert total(text, 'tollkeeper_provider_account_state{provider_account="simulator-1",state="well"') == 2
    for untold in (SECRET_WORDS, customer.key):
        assert untold not in text
    assert not re.search(r"(account_id|key_id|customer)=", text)


async def test_the_call_log_says_what_a_call_came_to_and_no_word_of_it(
    watched_node: Node, townsfolk: Customers
) -> None:
    customer, model = await townsfolk.a_customer(), await townsfolk.a_model(price=DEAR_OUTPUT)
    wait_until(lambda: model in ask(watched_node, "/v1/models", key=customer.key).text.decode(), within_seconds=20)
    answer = chat(watched_node, customer.key, model, f"{SECRET_WORDS} [[tokens=20]]", stream=True)
    request_id = answer.headers["x-request-id"]

    def lines() -> list[dict[str, object]]:
        return [line for line in watched_node.call_lines() if line["request_id"] == request_id]

    wait_until(lambda: bool(lines()), within_seconds=20)
    [line] = lines()
    assert (line["model"], line["ending"], line["output_units"], line["attempts"]) == (model, "completed", 20, 1)
    assert str(line["provider_account"]).startswith("simulator-")
    assert line["charged_usd"] == line["cost_usd"]
    assert 0 < float(str(line["first_byte_milliseconds"])) <= float(str(line["milliseconds"]))
    assert 0 < float(str(line["own_milliseconds"])) <= float(str(line["milliseconds"]))
    assert 0 < float(str(line["hold_milliseconds"])) < float(str(line["own_milliseconds"]))
    assert SECRET_WORDS not in json.dumps(line)


def test_a_worker_process_that_follows_a_dead_one_counts_under_its_number(watched_node: Node) -> None:
    assert watched_node.process is not None
    victims = [pid for pid in children(watched_node.process.pid) if _is_worker(pid)]
    before = {line for line in scraped(watched_node).splitlines() if line.startswith("process_start_time_seconds")}
    assert len(before) == 2
    os.kill(victims[0], signal.SIGKILL)

    def starts() -> set[str]:
        return {line for line in scraped(watched_node).splitlines() if line.startswith("process_start_time_seconds")}

    wait_until(lambda: len(starts()) == 2 and len(starts() & before) == 1, within_seconds=60)
    assert {line.partition(" ")[0] for line in starts()} == {line.partition(" ")[0] for line in before}


def test_a_node_that_was_told_to_stop_says_so_beside_not_being_ready(town: tuple[dict[str, str], Customers]) -> None:
    own = {"TOLLKEEPER_METRICS_PORT": str(free_port()), "TOLLKEEPER_NODE_NAME": "told", "TOLLKEEPER_WORKERS": "1"}
    # No test waits for the end of it.
    node = Node(town[0] | own | {"TOLLKEEPER_LAME_DUCK_SECONDS": "600"})
    try:
        node.start()
        wait_until(lambda: total(scraped(node), "tollkeeper_ready") == 1)
        assert total(scraped(node), "tollkeeper_stopping") == 0
        assert node.process is not None
        node.process.send_signal(signal.SIGTERM)
        wait_until(lambda: total(scraped(node), "tollkeeper_stopping") == 1)
        assert "tollkeeper_ready{" in scraped(node)
        assert total(scraped(node), "tollkeeper_ready") == 0
    finally:
        node.kill()
        node.__exit__()


def _is_worker(pid: int) -> bool:
    """The other children of a node look after its shared memory."""
    return b"resource_tracker" not in Path(f"/proc/{pid}/cmdline").read_bytes()

"""Guessing keys: neither words nor time nor another door tell how near a guess was, and guesses get an IP banned."""

import statistics
import time
from collections.abc import Callable
from uuid import uuid4

from tests.attacks.conftest import INVALID_CALLS
from tests.client import Answer, ask
from tests.customers import Customer, Customers
from tools.node import Node
from tools.services.process import wait_until

ROUNDS = 60
# Medians of the same thing differ by less, on any machine; a comparison letter by letter would not show at all in one.
RATIO_MOST = 3


def guesses(key: str) -> dict[str, str]:
    """Keys that are not this one, from near to far."""
    other = "A" if key[-1] != "A" else "B"
    return {
        "all but the last letter": key[:-1] + other,
        "one letter less": key[:-1],
        "one letter more": key + other,
        "half": key[: len(key) // 2] + "x" * (len(key) - len(key) // 2),
        "the beginning": key[:5] + "x" * (len(key) - 5),
        "the end": "x" * (len(key) - 9) + key[-9:],
        "another case": key.swapcase(),
        "nothing of it": "sk-" + "x" * (len(key) - 3),
        "not a key": "hello",
        "very long": key + "x" * 3_000,
        "a wildcard": key[:-1] + "%",
    }


def by_header(node: Node, key: str) -> Answer:
    return ask(node, "/v1/models", key=key)


def by_body(node: Node, key: str) -> Answer:
    return ask(node, "/api/token", method="POST", body={"api_key": key})


def told(answers: list[Answer]) -> set[tuple[int, bytes, frozenset[str]]]:
    return {(answer.status, answer.text, frozenset(answer.headers)) for answer in answers}


async def test_every_wrong_key_is_told_the_same(node: Node, townsfolk: Customers) -> None:
    customer = await townsfolk.a_customer()
    tried = guesses(customer.key)
    for door in (by_header, by_body):
        assert door(node, customer.key).status == 200
        assert len(told([door(node, guess) for guess in tried.values()])) == 1, door


async def test_a_key_that_was_just_right_is_not_found_by_a_part_of_it(node: Node, townsfolk: Customers) -> None:
    """A key that is remembered is remembered whole."""
    customer = await townsfolk.a_customer()
    for _ in range(3):
        assert by_header(node, customer.key).status == 200
        assert {by_header(node, guess).status for guess in guesses(customer.key).values()} == {401}


def median_ms(door: Callable[[Node, str], Answer], node: Node, near: str, far: str) -> tuple[float, float]:
    """Of guesses that are near and far, in turns, so that both have the same weather."""
    took: dict[str, list[float]] = {near: [], far: []}
    for _ in range(ROUNDS):
        for guess, times in took.items():
            begun = time.perf_counter()
            door(node, guess)
            times.append(1_000 * (time.perf_counter() - begun))
    return statistics.median(took[near]), statistics.median(took[far])


async def test_time_does_not_tell_how_near_a_guess_was(node: Node, townsfolk: Customers) -> None:
    customer = await townsfolk.a_customer()
    tried = guesses(customer.key)
    for door in (by_header, by_body):
        near, far = median_ms(door, node, tried["all but the last letter"], tried["nothing of it"])
        print(f"{door.__name__}: near {near:.2f} ms, far {far:.2f} ms")
        assert max(near, far) <= RATIO_MOST * min(near, far)


async def test_guesses_by_either_door_ban_the_guesser(
    proxied_node: Node, guarded: tuple[dict[str, str], Customers]
) -> None:
    bystander: Customer = await guarded[1].a_customer()
    for number, path in enumerate(("/v1/models", "/api/token")):
        mine = {"X-Forwarded-For": f"198.51.100.{100 + number}"}
        for _ in range(INVALID_CALLS + 1):
            guess = f"sk-{uuid4().hex}{uuid4().hex}"[:52]
            if path == "/api/token":
                ask(proxied_node, path, method="POST", headers=mine, body={"api_key": guess})
            else:
                ask(proxied_node, path, key=guess, headers=mine)
        wait_until(lambda sent=mine: ask(proxied_node, "/v1/models", headers=sent).status == 403, within_seconds=40)  # type: ignore[misc]
    elsewhere = {"X-Forwarded-For": "198.51.100.99"}
    assert ask(proxied_node, "/v1/models", key=bystander.key, headers=elsewhere).status == 200

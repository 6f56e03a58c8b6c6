"""Times in the shipped files fit each other: nothing is killed that still has calls, no balancer notices too late."""

import re

import msgspec
import pytest

from tests.deploy.shipped import BOOKS_SECONDS, DEPLOY, compose, manifests, pods, seconds, unit
from tollkeeper.cli.process import KILL_AFTER_SECONDS
from tollkeeper.settings import Settings

USUAL = {field.name: field.default for field in msgspec.structs.fields(Settings)}
LAME_DUCK, DRAIN = USUAL["lame_duck_seconds"], USUAL["drain_seconds"]


def test_compose_waits_for_the_gateway() -> None:
    gateway = compose()["services"]["gateway"]
    settings = gateway["environment"]
    stopping = settings["TOLLKEEPER_LAME_DUCK_SECONDS"] + settings["TOLLKEEPER_DRAIN_SECONDS"]
    assert seconds(gateway["stop_grace_period"]) > stopping + BOOKS_SECONDS


@pytest.mark.parametrize(
    ("name", "needed"),
    [
        ("console", KILL_AFTER_SECONDS),
        ("worker", BOOKS_SECONDS),
        # Its calls are the gateway's.
        ("caddy", USUAL["longest_seconds"] + BOOKS_SECONDS),
    ],
)
def test_compose_waits_for_whatever_ends_in_order(name: str, needed: float) -> None:
    assert seconds(compose()["services"][name]["stop_grace_period"]) > needed


def test_kubernetes_waits_for_the_gateway() -> None:
    [settings] = [manifest["data"] for manifest in manifests() if manifest["kind"] == "ConfigMap"]
    pod = dict(pods())["gateway"]
    container = pod["containers"][0]
    before = float(container["lifecycle"]["preStop"]["exec"]["command"][1])
    lame_duck = float(settings["TOLLKEEPER_LAME_DUCK_SECONDS"])
    stopping = before + lame_duck + float(settings["TOLLKEEPER_DRAIN_SECONDS"]) + BOOKS_SECONDS
    assert pod["terminationGracePeriodSeconds"] > stopping
    probe = container["readinessProbe"]
    assert lame_duck > probe["periodSeconds"] * probe["failureThreshold"]


@pytest.mark.parametrize("name", ["serve", "front"])
def test_systemd_waits_for_its_calls(name: str) -> None:
    allowed = seconds(unit(DEPLOY / "systemd" / f"tollkeeper-{name}.service")["Service"]["TimeoutStopSec"])
    assert allowed > LAME_DUCK + DRAIN + (BOOKS_SECONDS if name == "serve" else 0)


def test_haproxy_notices_before_the_port_closes() -> None:
    text = (DEPLOY / "haproxy" / "haproxy.cfg").read_text()
    [(every, soon, fall)] = re.findall(r"default-server check inter (\S+) fastinter (\S+) fall (\d)", text)
    assert seconds(every) + seconds(soon) * (int(fall) - 1) < LAME_DUCK / 2


def test_balancers_are_more_patient_than_any_call_and_less_with_idle_connections() -> None:
    haproxy, nginx = (DEPLOY / "haproxy/haproxy.cfg").read_text(), (DEPLOY / "nginx/tollkeeper.conf").read_text()
    silence = [
        *re.findall(r"timeout (?:client|server) (\S+)", haproxy),
        *re.findall(r"proxy_read_timeout (\S+);", nginx),
    ]
    assert len(silence) == 5
    assert min(map(seconds, silence)) > USUAL["longest_seconds"]
    idle = [*re.findall(r"timeout http-keep-alive (\S+)", haproxy), *re.findall(r"keepalive_timeout (\S+);", nginx)]
    assert len(idle) == 3
    assert max(map(seconds, idle)) < USUAL["idle_seconds"]

"""Everything that is shipped runs without root, without a writable root, and without rights that it does not need."""

from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from tests.deploy.shipped import DEPLOY, MANIFESTS, UNITS, compose, manifests, pods, unit
from tollkeeper.core.client_ip import read_networks

KUBERNETES = "1.32"
HARDENED = {
    "NoNewPrivileges": "yes",
    "ProtectSystem": "strict",
    "ProtectHome": "yes",
    "PrivateTmp": "yes",
    "PrivateDevices": "yes",
    "RestrictNamespaces": "yes",
    "User": "tollkeeper",
    "LimitCORE": "0",
}
OURS = {name: service for name, service in compose()["services"].items() if "tollkeeper" in service["image"]}


@pytest.mark.parametrize("manifest", list(manifests()), ids=lambda each: f"{each['kind']}-{each['metadata']['name']}")
def test_manifests_are_what_kubernetes_takes(manifest: dict[str, Any]) -> None:
    kubernetes_validate.validate(manifest, KUBERNETES, strict=True)


def test_kustomize_is_told_of_every_manifest() -> None:
    told = yaml.safe_load((DEPLOY / "kubernetes" / "kustomization.yaml").read_text())["resources"]
    assert sorted(told) == [file.name for file in MANIFESTS]


@pytest.mark.parametrize(("name", "pod"), list(pods()))
def test_pods_are_confined(name: str, pod: dict[str, Any]) -> None:
    assert pod["securityContext"]["runAsNonRoot"] is True, name
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    for container in pod["containers"]:
        own = container["securityContext"]
        assert own["readOnlyRootFilesystem"] is True
        assert own["allowPrivilegeEscalation"] is False
        assert own["capabilities"] == {"drop": ["ALL"]}
        assert container["resources"]["limits"]["memory"]


def test_the_worker_is_probed_where_no_store_is_asked() -> None:
    probe = dict(pods())["worker"]["containers"][0]["livenessProbe"]
    assert probe["httpGet"] == {"path": "/livez", "port": "metrics"}
    worker = compose()["services"]["worker"]
    port = worker["environment"]["TOLLKEEPER_WORK_METRICS_PORT"]
    assert f"http://127.0.0.1:{port}/livez" in worker["healthcheck"]["test"][-1]


def test_what_takes_calls_is_probed_and_kept_available() -> None:
    budgets = {each["metadata"]["name"] for each in manifests() if each["kind"] == "PodDisruptionBudget"}
    assert budgets == {"gateway", "console"}
    for name in budgets:
        container = dict(pods())[name]["containers"][0]
        assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
        assert container["livenessProbe"]["httpGet"]["path"] == "/livez"


@pytest.mark.parametrize(("name", "service"), list(OURS.items()), ids=list(OURS))
def test_containers_of_compose_are_confined(name: str, service: dict[str, Any]) -> None:
    assert service["read_only"] is True, name
    assert service["user"] == "10001:10001"
    assert service["cap_drop"] == ["ALL"]
    assert name == "migrate" or service["healthcheck"].get("test"), "one that is switched off is none"


def test_nothing_but_the_balancer_is_open_to_the_outside() -> None:
    assert [name for name, service in compose()["services"].items() if "ports" in service] == ["caddy"]
    assert compose()["networks"]["stores"] == {"internal": True}


def test_compose_trusts_the_balancer_and_the_console_and_no_other_address() -> None:
    services, inside = compose()["services"], compose()["networks"]["inside"]["ipam"]["config"][0]
    fixed = {
        name: ip_address(service["networks"]["inside"]["ipv4_address"])
        for name, service in services.items()
        if isinstance(service["networks"], dict)
    }
    assert set(fixed) == {"caddy", "console"}
    for name in ("gateway", "console"):
        trusted = read_networks(services[name]["environment"]["TOLLKEEPER_TRUSTED_PROXIES"].split(", "))
        assert sorted(trusted) == sorted(ip_network(address) for address in fixed.values())
    # Docker gives nobody else one of them.
    given, all_of_it = ip_network(inside["ip_range"]), ip_network(inside["subnet"])
    assert all(address in all_of_it and address not in given for address in fixed.values())
    assert ip_address(inside["gateway"]) not in fixed.values()


@pytest.mark.parametrize("file", UNITS, ids=lambda file: file.stem)
def test_units_are_hardened(file: Path) -> None:
    service = dict(unit(file)["Service"])
    assert {name: service.get(name) for name in HARDENED} == HARDENED
    allowed = service["CapabilityBoundingSet"]
    assert allowed == ("CAP_NET_BIND_SERVICE" if "front" in file.name else "")


def test_the_image_is_of_no_root() -> None:
    lines = (DEPLOY / "Containerfile").read_text().splitlines()
    last_stage = lines[max(number for number, line in enumerate(lines) if line.startswith("FROM ")) :]
    assert "USER 10001:10001" in last_stage
    assert any(line.startswith("HEALTHCHECK ") for line in last_stage)
    assert 'ENTRYPOINT ["tollkeeper"]' in last_stage

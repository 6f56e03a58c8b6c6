"""What only a cluster does with the manifests: scale, watch, and keep pods from each other."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.shipped import DEPLOY, manifests, pods
from tollkeeper.metrics.table import CALLS_UNDER_WAY
from tollkeeper.settings import BadSettings, Settings, load
from tools.node import fresh_secrets

WATCHED = {"gateway": "metrics_port", "worker": "work_metrics_port", "console": "console_metrics_port"}
# As alerts name them.
JOBS = {"gateway": "tollkeeper", "worker": "tollkeeper-worker", "console": "tollkeeper-console"}
POD_IP = "10.244.7.3"
OF_POD = {"metadata.name": "a-pod", "status.podIP": POD_IP}
SECRET = {
    "TOLLKEEPER_DATABASE_URL": "postgresql://tollkeeper@db/tollkeeper",
    "TOLLKEEPER_REDIS_URL": "redis://redis:6379/0",
}
PROXIES = "TOLLKEEPER_TRUSTED_PROXIES"


def of_kind(kind: str) -> dict[str, dict[str, Any]]:
    """Their specifications, by name."""
    return {each["metadata"]["name"]: each.get("spec", each) for each in manifests() if each["kind"] == kind}


def environment(name: str) -> dict[str, str]:
    """What the process in a pod of this workload is told."""
    told: dict[str, str]
    [told] = [manifest["data"] for manifest in manifests() if manifest["kind"] == "ConfigMap"]
    container = dict(pods())[name]["containers"][0]
    own = {
        each["name"]: each.get("value") or OF_POD[each["valueFrom"]["fieldRef"]["fieldPath"]]
        for each in container.get("env", [])
    }
    return fresh_secrets() | SECRET | told | own


def settings(name: str) -> Settings:
    return load(environment(name) | {PROXIES: "10.244.7.0/28"})


def port(name: str, named: str) -> int:
    [found] = [each for each in dict(pods())[name]["containers"][0]["ports"] if each["name"] == named]
    number: int = found["containerPort"]
    return number


def test_what_is_scaled_by_itself_has_no_number_that_an_apply_would_set_again() -> None:
    scaled = [spec["scaleTargetRef"] for spec in of_kind("HorizontalPodAutoscaler").values()]
    assert [(target["kind"], target["name"]) for target in scaled] == [("StatefulSet", "gateway")]
    for target in scaled:
        assert "replicas" not in of_kind(target["kind"])[target["name"]]


def test_the_autoscaler_goes_by_a_metric_that_there_is() -> None:
    [spec] = of_kind("HorizontalPodAutoscaler").values()
    named = [each["pods"]["metric"]["name"] for each in spec["metrics"] if each["type"] == "Pods"]
    assert named == [CALLS_UNDER_WAY.name]


def test_the_adapter_has_the_autoscalers_metric_by_the_labels_that_prometheus_gives_pods() -> None:
    [rule] = yaml.safe_load((DEPLOY / "prometheus" / "adapter.yml").read_text())["rules"]
    assert rule["name"]["as"] == CALLS_UNDER_WAY.name
    assert re.fullmatch(rule["name"]["matches"], CALLS_UNDER_WAY.name)
    assert rule["seriesQuery"].startswith(f"{CALLS_UNDER_WAY.name}{{")
    [scraped] = yaml.safe_load((DEPLOY / "prometheus" / "kubernetes.yml").read_text())["scrape_configs"]
    given = {each.get("target_label") for each in scraped["relabel_configs"]}
    assert set(rule["resources"]["overrides"]) == {"namespace", "pod"} <= given
    # All worker processes of a pod.
    assert rule["metricsQuery"].startswith("sum by (<<.GroupBy>>)")


@pytest.mark.not_quick
def test_an_upgrade_applies_the_migration_alone_by_its_label_with_namespace_and_image() -> None:
    guide = (DEPLOY.parent / "docs" / "guides" / "deploy.md").read_text()
    [(folder, name, value)] = re.findall(r"kubectl apply --kustomize (\S+) --selector (\S+)=(\S+)", guide)
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is Kubernetes' own, and there is none on this machine")
    built = subprocess.run(
        ["kubectl", "kustomize", str(DEPLOY.parent / folder)], capture_output=True, check=True
    ).stdout
    chosen = [each for each in yaml.safe_load_all(built) if each["metadata"].get("labels", {}).get(name) == value]
    [(job, pod)] = [(each["metadata"], each["spec"]["template"]["spec"]) for each in chosen]
    assert (job["name"], job["namespace"]) == ("migrate", "tollkeeper")
    assert pod["containers"][0]["image"].startswith("registry.example.com/tollkeeper:")


def test_the_journal_of_a_node_that_was_scaled_away_is_kept() -> None:
    policy = of_kind("StatefulSet")["gateway"]["persistentVolumeClaimRetentionPolicy"]
    assert policy == {"whenScaled": "Retain", "whenDeleted": "Retain"}


@pytest.mark.parametrize("name", list(WATCHED))
def test_metrics_are_told_on_the_pods_own_address_and_its_declared_port(name: str) -> None:
    chosen = settings(name)
    assert chosen.metrics_host == POD_IP
    assert getattr(chosen, WATCHED[name]) == port(name, "metrics") > 0


@pytest.mark.parametrize("name", list(WATCHED))
def test_only_prometheus_reaches_the_metrics_and_only_balancer_and_console_the_calls(name: str) -> None:
    policies = [
        spec
        for spec in of_kind("NetworkPolicy").values()
        if spec["podSelector"]["matchLabels"] == {"app.kubernetes.io/name": name}
    ]
    assert [policy["policyTypes"] for policy in policies] == [["Ingress"]]
    allowed = {
        each["port"]: [_who(peer) for peer in rule["from"]] for rule in policies[0]["ingress"] for each in rule["ports"]
    }
    calls = {"gateway": ["ingress-nginx", "console"], "console": ["ingress-nginx"]}
    assert allowed == {"metrics": ["monitoring"]} | ({"http": calls[name]} if name in calls else {})
    assert all(port(name, named) for named in allowed)


def _who(peer: dict[str, Any]) -> str:
    """The namespace, or the pods of our own, that a rule lets in."""
    [(_, selector)] = peer.items()
    [who] = selector["matchLabels"].values()
    return str(who)


@pytest.mark.not_quick
def test_prometheus_finds_the_pods_by_their_ports_and_under_the_names_that_alerts_know(tmp_path: Path) -> None:
    """By promtool itself. Debian's has no discovery of pods: what that would find is written in its place."""
    if shutil.which("promtool") is None:
        pytest.skip("promtool is Prometheus's own; tools/install-services installs it")
    config = yaml.safe_load((DEPLOY / "prometheus" / "kubernetes.yml").read_text())
    [scraped] = config["scrape_configs"]
    [found] = scraped.pop("kubernetes_sd_configs")
    assert found == {"role": "pod", "namespaces": {"names": ["tollkeeper"]}}
    scraped["static_configs"] = [
        {
            "targets": [f"{POD_IP}:{each['containerPort']}"],
            "labels": {
                "__meta_kubernetes_namespace": "tollkeeper",
                "__meta_kubernetes_pod_name": f"{name}-0",
                "__meta_kubernetes_pod_label_app_kubernetes_io_name": name,
                "__meta_kubernetes_pod_container_port_name": each["name"],
            },
        }
        for name, pod in pods()
        for each in pod["containers"][0].get("ports", [])
    ]
    file = tmp_path / "prometheus.yml"
    file.write_text(yaml.safe_dump(config | {"rule_files": []}))
    command = ["promtool", "check", "service-discovery", "--timeout=3s", str(file), scraped["job_name"]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    labels = [each["labels"] for each in json.loads(done.stdout) if each.get("labels")]
    told = {each["job"]: (each["instance"], each["namespace"], each["pod"]) for each in labels}
    assert told == {JOBS[name]: (f"{POD_IP}:{port(name, 'metrics')}", "tollkeeper", f"{name}-0") for name in WATCHED}


def test_nothing_starts_before_it_is_said_who_is_trusted() -> None:
    for name, _ in pods():
        with pytest.raises(BadSettings, match=rf"{PROXIES}: 'FILL-IN'"):
            load(environment(name))
        assert settings(name).trusted_proxies == ("10.244.7.0/28",)

"""The files of deploy/, read."""

import configparser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

DEPLOY = Path(__file__).parents[2] / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
MANIFESTS = sorted(file for file in (DEPLOY / "kubernetes").glob("*.yaml") if file.name != "kustomization.yaml")
# What stopping may take beyond the calls under way (`cli/process`).
BOOKS_SECONDS = 30


def compose() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yml").read_text())
    return read


def manifests() -> Iterator[dict[str, Any]]:
    """Every object for the cluster."""
    for file in MANIFESTS:
        yield from yaml.safe_load_all(file.read_text())


def pods() -> Iterator[tuple[str, dict[str, Any]]]:
    """The name of each workload, and the specification of its pods."""
    for manifest in manifests():
        if "template" in manifest.get("spec", {}):
            yield manifest["metadata"]["name"], manifest["spec"]["template"]["spec"]


def unit(file: Path) -> configparser.ConfigParser:
    """A unit of systemd; where a key stands twice, its last value."""
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(file)
    return parser


def seconds(text: str | int) -> float:
    """`665s`, `500ms` or `665`."""
    written = str(text)
    if written.endswith("ms"):
        return float(written[:-2]) / 1_000
    return float(written.removesuffix("s"))

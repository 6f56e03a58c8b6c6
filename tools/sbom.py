"""`make sbom`: what is installed with Tollkeeper and what of others is inside its wheel, as a CycloneDX 1.6 document.

Rules of this file
1. It is made of the locks and a table in the repository alone, so that every machine writes the same bytes.
2. A package has the hashes of all of its files that the lock allows: which of them is installed depends on the machine.
"""

import base64
import hashlib
import json
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from tollkeeper import __version__
from tools.dependencies import OURSELVES, PROJECT, Locked, locked, table

# What `make assets` takes for the console's pages.
ASSETS = PROJECT / "tools" / "assets"
FILE = PROJECT / "dist" / "tollkeeper.cdx.json"
OUR_LICENCE = "Apache-2.0"
# A name space of our own for the serial number, which is the same as long as the content is.
SPACE = uuid.UUID("5b0f7f0e-6f4e-5c33-9d0f-1a0c7c2b8d55")


def sbom() -> bytes:
    """The document."""
    packages, assets = locked(), list(_assets())
    known = table()
    itself = {
        "type": "application",
        "bom-ref": OURSELVES,
        "name": OURSELVES,
        "version": __version__,
        "purl": _purl(OURSELVES, __version__),
        "licenses": _licences(OUR_LICENCE),
    }
    content = {
        "metadata": {"component": itself},
        "components": [
            _component(package, known.licences[package.name]) | _inside(known.bundled.get(package.name, {}))
            for package in packages
        ]
        + assets,
        "dependencies": _dependencies(packages, [asset["bom-ref"] for asset in assets]),
    }
    serial = uuid.uuid5(SPACE, hashlib.sha256(msgspec.json.encode(content)).hexdigest())
    head = {"bomFormat": "CycloneDX", "specVersion": "1.6", "serialNumber": f"urn:uuid:{serial}", "version": 1}
    return msgspec.json.format(msgspec.json.encode(head | content), indent=2) + b"\n"


def _component(package: Locked, licence: str) -> dict[str, Any]:
    purl = _purl(package.name, package.version)
    component = {
        "type": "library",
        "bom-ref": purl,
        "name": package.name,
        "version": package.version,
        "purl": purl,
        "licenses": _licences(licence),
        "hashes": [{"alg": "SHA-256", "content": digest} for digest in package.hashes],
    }
    # A package that is only installed under a condition may be absent where this runs.
    return component | ({"properties": [{"name": "python:marker", "value": package.when}]} if package.when else {})


def _assets() -> Iterator[dict[str, Any]]:
    """Scripts, styles and fonts of others that browsers load from our wheel. What only comes with one of them is in
    the lock and not in the wheel."""
    asked = json.loads((ASSETS / "package.json").read_text())["dependencies"]
    packages = json.loads((ASSETS / "package-lock.json").read_text())["packages"]
    for name in asked:
        found = packages[f"node_modules/{name}"]
        purl = f"pkg:npm/{quote(name)}@{found['version']}"
        algorithm, _, digest = found["integrity"].partition("-")
        yield {
            "type": "library",
            "bom-ref": purl,
            "name": name,
            "version": found["version"],
            "purl": purl,
            # As its authors write it: not all of them use a name of SPDX.
            "licenses": [{"license": {"name": found["license"]}}],
            "hashes": [{"alg": algorithm.upper().replace("SHA", "SHA-"), "content": base64.b64decode(digest).hex()}],
            "properties": [{"name": "tollkeeper:within", "value": "the wheel, as an asset of the console"}],
        }


def _inside(libraries: Mapping[str, str]) -> dict[str, Any]:
    """Libraries of others in the package's wheels: their versions are the wheel's affair."""
    found = [{"type": "library", "name": name, "licenses": _licences(each)} for name, each in libraries.items()]
    return {"components": found} if found else {}


def _licences(licence: str) -> list[dict[str, Any]]:
    """One licence by its id; several as an expression."""
    return [{"expression": licence}] if " " in licence else [{"license": {"id": licence}}]


def _dependencies(packages: Sequence[Locked], assets: Sequence[str]) -> list[dict[str, Any]]:
    refs = {OURSELVES: OURSELVES} | {package.name: _purl(package.name, package.version) for package in packages}
    wanted: dict[str, list[str]] = {name: [] for name in refs}
    for package in packages:
        for parent in package.via:
            wanted[parent].append(refs[package.name])
    wanted[OURSELVES] += assets
    return [
        *({"ref": refs[name], "dependsOn": needs} for name, needs in wanted.items()),
        *({"ref": asset, "dependsOn": []} for asset in assets),
    ]


def _purl(name: str, version: str) -> str:
    return f"pkg:pypi/{name}@{version}"


def main() -> int:
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(sbom())
    print(f"{file}: {len(locked())} packages, and {len(list(_assets()))} inside our own wheel")
    return 0


if __name__ == "__main__":
    sys.exit(main())

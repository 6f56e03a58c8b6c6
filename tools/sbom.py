"""`make sbom`: what is installed with Tollkeeper, as a CycloneDX 1.6 document.

Rules of this file
1. It is made of the lock and a table in the repository alone, so that every machine writes the same bytes.
2. A package has the hashes of all of its files that the lock allows: which of them is installed depends on the machine.
"""

import hashlib
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from tollkeeper import __version__
from tools.dependencies import OURSELVES, PROJECT, Locked, locked, table

FILE = PROJECT / "dist" / "tollkeeper.cdx.json"
OUR_LICENCE = "Apache-2.0"
# A name space of our own for the serial number, which is the same as long as the content is.
SPACE = uuid.UUID("5b0f7f0e-6f4e-5c33-9d0f-1a0c7c2b8d55")


def sbom() -> bytes:
    """The document."""
    packages = locked()
    licences = table().licences
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
        "components": [_component(package, licences[package.name]) for package in packages],
        "dependencies": _dependencies(packages),
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


def _licences(licence: str) -> list[dict[str, Any]]:
    """One licence by its id; several as an expression."""
    return [{"expression": licence}] if " " in licence else [{"license": {"id": licence}}]


def _dependencies(packages: Sequence[Locked]) -> list[dict[str, Any]]:
    refs = {OURSELVES: OURSELVES} | {package.name: _purl(package.name, package.version) for package in packages}
    wanted: dict[str, list[str]] = {name: [] for name in refs}
    for package in packages:
        for parent in package.via:
            wanted[parent].append(refs[package.name])
    return [{"ref": refs[name], "dependsOn": needs} for name, needs in wanted.items()]


def _purl(name: str, version: str) -> str:
    return f"pkg:pypi/{name}@{version}"


def main() -> int:
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(sbom())
    print(f"{file}: {len(locked())} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main())

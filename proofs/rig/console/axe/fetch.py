"""Fetch axe-core at the version of package-lock.json, and write down whose it is: a part of `make assets`."""

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
TAKEN = {"axe.min.js": "axe.min.js", "LICENCE": "LICENSE", "LICENCE-3RD-PARTY": "LICENSE-3RD-PARTY.txt"}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in ("package.json", "package-lock.json", ".npmrc"):
            shutil.copy(HERE / name, folder)
        subprocess.run(["npm", "ci", "--silent"], cwd=folder, check=True)
        package = Path(folder) / "node_modules" / "axe-core"
        for name, source in TAKEN.items():
            shutil.copy(package / source, HERE / name)
        told = json.loads((package / "package.json").read_text())
        print(f"axe-core {told['version']}, {told['license']}")


if __name__ == "__main__":
    main()

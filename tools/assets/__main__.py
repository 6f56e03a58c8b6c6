"""Fetch the packages, take from them what the console serves, and write down whose it is."""

import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from tools.assets.icons import ICONS

HERE = Path(__file__).parent
ASSETS = HERE.parents[1] / "src" / "tollkeeper" / "console" / "assets"
TAKEN = {
    "tabler.css": "@tabler/core/dist/css/tabler.min.css",
    "simplewebauthn.js": "@simplewebauthn/browser/dist/bundle/index.umd.min.js",
    "inter.woff2": "@fontsource-variable/inter/files/inter-latin-wght-normal.woff2",
}
SOURCE_MAP = re.compile(r"\n?/[*/]# sourceMappingURL=.*?(\*/)?\s*$")
DRAWING = re.compile(r"<svg[^>]*>(.*)</svg>", re.DOTALL)
BACKGROUND = '<path stroke="none" d="M0 0h24v24H0z" fill="none" />'


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in ("package.json", "package-lock.json", ".npmrc"):
            shutil.copy(HERE / name, folder)
        subprocess.run(["npm", "ci", "--silent"], cwd=folder, check=True)
        modules = Path(folder) / "node_modules"
        for name, source in TAKEN.items():
            _take(modules / source, ASSETS / name)
        (ASSETS / "icons.svg").write_text(_sprite(modules / "@tabler" / "icons" / "icons"))
        (ASSETS / "LICENCES.md").write_text(_licences(modules))


def _take(source: Path, target: Path) -> None:
    if target.suffix == ".woff2":
        target.write_bytes(source.read_bytes())
    else:
        target.write_text(SOURCE_MAP.sub("\n", source.read_text()))


def _sprite(folder: Path) -> str:
    """One file with every icon, each by its name."""
    lines = ['<svg xmlns="http://www.w3.org/2000/svg">']
    for name in sorted(ICONS.split()):
        found = DRAWING.search((folder / "outline" / f"{name}.svg").read_text())
        assert found is not None
        paths = " ".join(found[1].replace(BACKGROUND, "").split())
        lines.append(f'<symbol id="{name}" viewBox="0 0 24 24">{paths}</symbol>')
    return "\n".join([*lines, "</svg>", ""])


def _licences(modules: Path) -> str:
    lines = ["# Whose these files are", "", "| package | version | licence |", "|---|---|---|"]
    asked = json.loads((HERE / "package.json").read_text())["dependencies"]
    for name in asked:
        found = json.loads((modules / name / "package.json").read_text())
        lines.append(f"| `{name}` | {found['version']} | {found['license']} |")
    for name in asked:
        for text in (modules / name / "LICENSE", modules / name / "LICENSE.md"):
            if text.exists():
                lines += ["", f"## {name}", "", "```", text.read_text().strip(), "```"]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()

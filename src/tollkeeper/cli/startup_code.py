"""Code that Python runs before ours: executable lines of `.pth` files, `sitecustomize` and `usercustomize`.

Malware that comes with a package puts itself there, because it then runs in every process whether or not the package is
used. When it is noticed here it has run already; refusing to serve is how somebody hears of it.

Rules of this file
1. A line of a `.pth` file is code if it begins with `import` (the module `site` of the standard library executes it).
2. A file is known by its name and what stands in it: those of venvs, setuptools and editable installs.
3. A `sitecustomize` beside the standard library itself is the interpreter's own, as on Debian and Ubuntu.
4. Any other must be named in the settings by an operator who has looked at it.
"""

import re
import site
import sys
import sysconfig
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import msgspec

from tollkeeper.cli.speak import Mistake

IS_CODE = ("import ", "import\t")
CUSTOM_MODULES = ("sitecustomize", "usercustomize")
SHOWN_CHARACTERS = 80

_PRECEDENCE = (
    r"import os; var = 'SETUPTOOLS_USE_DISTUTILS'; enabled = os\.environ\.get\(var, '(local|stdlib)'\) == 'local'; "
    r"enabled and __import__\('_distutils_hack'\)\.add_shim\(\);"
)
KNOWN = (
    (re.compile(r"distutils-precedence\.pth"), re.compile(_PRECEDENCE)),
    (re.compile(r"_virtualenv\.pth"), re.compile(r"import _virtualenv")),
    (re.compile(r"__editable__\..+\.pth"), re.compile(r"import (__editable___\w+_finder); ?\1\.install\(\)")),
)


class StartupCode(msgspec.Struct, frozen=True):
    """A file with code that ran before ours."""

    path: Path
    code: str


def refuse_unknown_startup_code(allowed: Collection[str]) -> None:
    """End this command if anything unknown ran before it."""
    if found := unknown_startup_code(allowed):
        raise Mistake(_in_words(found))


def unknown_startup_code(allowed: Collection[str]) -> list[StartupCode]:
    """Files that nobody knows, by this process's own interpreter. `allowed` are names of files or modules."""
    folders = [*site.getsitepackages(), *([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])]
    found = (*_in_folders(map(Path, folders)), *_modules())
    return [each for each in found if each.path.name not in allowed and each.path.stem not in allowed]


def _in_words(found: Collection[StartupCode]) -> str:
    """For people: what was found, and what to do."""
    lines = [f"  {each.path}: {each.code[:SHOWN_CHARACTERS]}" for each in found]
    names = ",".join(each.path.name for each in found)
    return (
        "Code that is not known ran before Tollkeeper did, in this very process:\n"
        + "\n".join(lines)
        + "\nNothing was started. Find out what put it there: a package that you installed, or a monitoring agent.\n"
        f"If it is yours and wanted, set TOLLKEEPER_STARTUP_FILES={names}\n"
        "If you do not know it, take this machine's secrets for stolen: change them, and install anew from the locks."
    )


def _in_folders(folders: Iterable[Path]) -> Iterator[StartupCode]:
    for folder in folders:
        for file in sorted(folder.glob("*.pth")):
            for line in file.read_text(errors="replace").removeprefix("\ufeff").splitlines():
                if line.startswith(IS_CODE) and not _is_known(file.name, line.strip()):
                    yield StartupCode(file, line)
                    break


def _is_known(name: str, line: str) -> bool:
    return any(names.fullmatch(name) and lines.fullmatch(line) for names, lines in KNOWN)


def _modules() -> Iterator[StartupCode]:
    own = Path(sysconfig.get_path("stdlib"))
    for name in CUSTOM_MODULES:
        file = getattr(sys.modules.get(name), "__file__", None)
        if file is not None and Path(file).parent != own:
            yield StartupCode(Path(file), f"the module {name}")

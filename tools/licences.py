"""The licences of what is installed with Tollkeeper, in one text that goes along with a release and with the image.

It is made of the lock and the table in requirements/dependencies.toml, as the SBOM is, with the licence files that the
installed packages bring.
"""

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution

from tollkeeper import __version__
from tools.dependencies import PROJECT, locked, table

RULE = "=" * 100
# How packages call the files with their terms.
TERMS = ("licen", "copying", "notice", "copyright")
HEAD = f"""Tollkeeper {__version__} is under the Apache License 2.0. Wheel and sdist contain nothing of others but
what is named under "Fonts and scripts". The packages below are installed beside it, from wheels that their authors
publish.

PyAV's wheel (av) contains FFmpeg, linked with x264 and x265, which are under the GPL, version 2 or later; together with
the parts under the LGPL 3 that makes it GPL, version 3 or later. Whoever runs it has no duties by that. Whoever passes
it on, in an image for example, passes on the licence and offers the sources of what is named below.
"""


def licences(extra: str | None = None) -> str:
    """What is installed, by name, version and licence; then the terms themselves. `extra`: with its packages too."""
    known, packages = table(), [*locked(), *(locked(extra) if extra else ())]
    lines = [f"{package.name} {package.version}: {known.licences[package.name]}" for package in packages]
    inside = [
        f"  in {package}: {library} ({licence})"
        for package, libraries in known.bundled.items()
        for library, licence in libraries.items()
    ]
    own = [f"Tollkeeper\n\n{(PROJECT / 'LICENSE').read_text()}"]
    terms = [f"{name}\n\n{text}" for package in packages for name, text in _terms(package.name)]
    return f"\n{RULE}\n".join([HEAD, "\n".join([*lines, "", *inside, ""]), _third_parties(), *own, *terms])


def _third_parties() -> str:
    """What is in our own wheel and is not ours: said beside it."""
    notes = sorted((PROJECT / "src").rglob("LICENCES.md"))
    return "Fonts and scripts\n\n" + "\n".join(note.read_text() for note in notes)


def _terms(package: str) -> Iterator[tuple[str, str]]:
    try:
        files = distribution(package).files or []
    except PackageNotFoundError:
        # Of another system than this one.
        return
    for file in files:
        is_of_metadata = ".dist-info" in str(file.parent)
        if is_of_metadata and file.suffix != ".py" and any(term in file.name.lower() for term in TERMS):
            yield f"{package}: {file.name}", file.read_text(encoding="utf-8")

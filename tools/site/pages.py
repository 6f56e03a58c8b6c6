"""Which files make the site, where each lies in it, and their links from there.

Rules of this file
1. Pages are written to be read in the repository. Here their links are made to fit the site.
2. A link to a file that is no part of the site (a test, a module) becomes plain text: there is nothing to show for it.
3. Chinese pages are a site of their own in `zh`; what is not translated is linked to in English.
"""

import posixpath
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

import msgspec

ENGLISH, CHINESE = "en", "zh"
# Of the root of the repository.
PROJECT_PAGES = ("README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
ASSETS = frozenset({".png", ".svg", ".json", ".css", ".js", ".yaml"})
# Code between fences.
_CODE = re.compile(r"(^```.*?^```[ \t]*$)", re.MULTILINE | re.DOTALL)
# A list may follow a line of text at once in the repository; the site's reader of Markdown wants a blank line.
_LIST_AFTER_TEXT = re.compile(r"^(?![*\-|#>\s]|\d+\. )(?P<line>.+)\n(?=[*\-] |1\. )", re.MULTILINE)
# Code within a line comes first: a link in it is shown and not meant.
_LINK = re.compile(
    r"(?P<code>`(?:[^`\n]|\n(?!\n))+`)|(?P<picture>!?)\[(?P<text>(?:[^][]|\[[^][]*\])*)\]\((?P<to>[^)\s]+)\)"
)
_HTML_PICTURE = re.compile(r'(?P<before><img [^>]*src=")(?P<to>[^"]+)')
# Chinese has no spaces between words: the end of a line would become one.
_CHINESE_LINES = re.compile(r"(?<=[\u3000-\u9fff\uff00-\uffef])\n(?=[\u3000-\u9fff\uff00-\uffef])")


class SiteFile(msgspec.Struct, frozen=True):
    """A file of the repository and its place in the site."""

    source: PurePosixPath
    language: str
    # Within the tree of its language.
    place: PurePosixPath

    @property
    def address(self) -> str:
        """From the root of the whole site, as it is built."""
        built = self.place.with_suffix(".html") if self.place.suffix == ".md" else self.place
        return str(built if self.language == ENGLISH else PurePosixPath(CHINESE) / built)


def site_files(root: Path) -> Mapping[PurePosixPath, SiteFile]:
    """Everything that goes into the site, by its path in the repository."""
    return {file.source: file for file in _found(root)}


def write_tree(root: Path, files: Mapping[PurePosixPath, SiteFile], language: str, to: Path) -> None:
    """The pages of a language with what they show, at their places."""
    for file in files.values():
        if file.language == language:
            target = to / file.place
            target.parent.mkdir(parents=True, exist_ok=True)
            if file.place.suffix == ".md":
                target.write_text(fitting(file, (root / file.source).read_text("utf-8"), files), "utf-8")
            else:
                shutil.copyfile(root / file.source, target)


def fitting(file: SiteFile, text: str, files: Mapping[PurePosixPath, SiteFile]) -> str:
    """The page with the links that it has in the site. What stands in code blocks stays."""
    parts = _CODE.split(text)
    return "".join(part if number % 2 else _relinked(file, part, files) for number, part in enumerate(parts))


def _relinked(file: SiteFile, text: str, files: Mapping[PurePosixPath, SiteFile]) -> str:
    def link(found: re.Match[str]) -> str:
        if found["code"]:
            return found[0]
        to = _to(file, found["to"], files)
        return found["text"] if to is None else f"{found['picture']}[{found['text']}]({to})"

    def picture(found: re.Match[str]) -> str:
        return found["before"] + (_to(file, found["to"], files) or found["to"])

    if file.language == CHINESE:
        text = _CHINESE_LINES.sub("", text)
    relinked = _HTML_PICTURE.sub(picture, _LINK.sub(link, text))
    return _LIST_AFTER_TEXT.sub("\\g<line>\n\n", relinked)


def _to(file: SiteFile, to: str, files: Mapping[PurePosixPath, SiteFile]) -> str | None:
    """Where a link of `file` leads in the site; None where it leads out of it."""
    path, _, anchor = to.partition("#")
    if "://" in to or to.startswith("mailto:") or not path:
        return to
    source = PurePosixPath(posixpath.normpath(file.source.parent / path))
    target = files.get(source) or files.get(source / "README.md")
    if target is None:
        return None
    if target.language == file.language:
        found = posixpath.relpath(target.place, file.place.parent)
    else:
        found = posixpath.relpath(target.address, PurePosixPath(file.address).parent)
    return f"{found}#{anchor}" if anchor else found


def _found(root: Path) -> Iterator[SiteFile]:
    for name in PROJECT_PAGES:
        yield SiteFile(PurePosixPath(name), ENGLISH, PurePosixPath("project") / name.lower())
    docs = root / "docs"
    for path in sorted(docs.rglob("*")):
        place = PurePosixPath(path.relative_to(docs).as_posix())
        if path.name == "README.md":
            place = place.with_name("index.md")
        if path.suffix == ".md" or path.suffix in ASSETS:
            source = PurePosixPath(path.relative_to(root).as_posix())
            chinese = place.parts[0] == CHINESE
            language = CHINESE if chinese else ENGLISH
            yield SiteFile(source, language, place.relative_to(CHINESE) if chinese else place)

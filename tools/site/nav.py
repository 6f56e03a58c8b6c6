"""The order of the site's pages, as docs/site.toml has it.

Rules of this file
1. A page that is named must exist; a pattern takes what there is and is named nowhere.
2. A page that no section takes is an error: nobody would find it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

import msgspec

# As zensical reads it: a page, or the title of a group with what is in it.
NavItem = str | dict[str, "list[NavItem]"]


class SiteError(Exception):
    """What is wrong with the pages, one sentence a line."""


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    title: str
    pages: Sequence["str | Section"]


def sections_of(toml: bytes) -> Mapping[str, Sequence[Section]]:
    """The sections by language."""
    return msgspec.toml.decode(toml, type=dict[str, list[Section]])


def nav_of(sections: Sequence[Section], pages: Iterable[str]) -> list[NavItem]:
    """The tree of pages. Raise SiteError for a named page that is missing and for a page that is not in it."""
    left = sorted(set(pages) - (named := set(_named(sections))))
    missing = sorted(named - set(pages))
    tree = [{section.title: _items(section, left)} for section in sections]
    problems = [f"docs/site.toml names {page}, which does not exist." for page in missing]
    problems += [f"{page} is in no section of docs/site.toml." for page in left]
    if problems:
        raise SiteError("\n".join(problems))
    return [section for section in tree if all(section.values())]


def _named(sections: Iterable[Section]) -> Iterator[str]:
    for section in sections:
        for page in section.pages:
            if isinstance(page, Section):
                yield from _named((page,))
            elif "*" not in page:
                yield page


def _items(section: Section, left: list[str]) -> list[NavItem]:
    """What a section has. Pages that a pattern takes leave `left`."""
    found: list[NavItem] = []
    for page in section.pages:
        if isinstance(page, Section):
            if below := _items(page, left):
                found.append({page.title: below})
        elif "*" in page:
            taken = [name for name in left if PurePosixPath(name).match(page) and name.count("/") == page.count("/")]
            left[:] = [name for name in left if name not in taken]
            found += taken
        else:
            found.append(page)
    return found

"""Build the site: a tree of pages and a configuration for each language, zensical over both, then all links checked."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import msgspec

from tools.site.links import problems
from tools.site.nav import NavItem, SiteError, nav_of, sections_of
from tools.site.pages import CHINESE, ENGLISH, SiteFile, site_files, write_tree

ROOT = Path(__file__).parents[2]
STYLE = Path(__file__).parent / "site.css"
# The console's own.
MARK = ROOT / "src" / "tollkeeper" / "console" / "assets" / "mark.svg"
FEATURES = (
    *("navigation.tabs", "navigation.sections", "navigation.indexes", "navigation.prune", "navigation.top"),
    "navigation.footer",
    *("content.code.copy", "search.highlight", "toc.follow"),
)
EXTENSIONS: dict[str, object] = {
    "admonition": {},
    "attr_list": {},
    "md_in_html": {},
    "tables": {},
    "toc": {"permalink": True},
    "pymdownx.details": {},
    # As GitHub has them. No diagrams are drawn by a script: it would come from another server.
    "pymdownx.superfences": {"custom_fences": []},
    "pymdownx.highlight": {"pygments_lang_class": True},
    "pymdownx.tabbed": {"alternate_style": True},
}
WORDS = {
    ENGLISH: ("Tollkeeper", "A model gateway that keeps honest books", "Dark", "Light"),
    CHINESE: ("Tollkeeper 文档", "账目分明的大模型网关", "深色", "浅色"),
}


def build(to: Path) -> int:
    """The whole site. How many pages it has. Raise SiteError with everything that is wrong with it."""
    files = site_files(ROOT)
    sections = sections_of((ROOT / "docs" / "site.toml").read_bytes())
    shutil.rmtree(to, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="tollkeeper-site-") as made:
        for language in (ENGLISH, CHINESE):
            work = Path(made) / language
            write_tree(ROOT, files, language, work / "docs")
            _add_look(work / "docs")
            nav = nav_of(sections[language], _pages(files, language))
            (work / "mkdocs.yml").write_bytes(_configuration(language, nav))
            _run_zensical(work)
            # English first: Chinese is a folder in it.
            shutil.copytree(work / "site", to if language == ENGLISH else to / CHINESE)
    if wrong := problems(to):
        raise SiteError("\n".join(wrong))
    return len(list(to.rglob("*.html")))


def _pages(files: Mapping[PurePosixPath, SiteFile], language: str) -> list[str]:
    return [str(file.place) for file in files.values() if file.language == language and file.place.suffix == ".md"]


def _add_look(docs: Path) -> None:
    (docs / "look").mkdir()
    for file in (STYLE, MARK):
        shutil.copyfile(file, docs / "look" / file.name)


def _run_zensical(work: Path) -> None:
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--config-file", "mkdocs.yml"]
    done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
    if done.returncode or not (work / "site" / "index.html").exists():
        raise SiteError(f"{done.stdout}\n{done.stderr}".strip())


def _configuration(language: str, nav: list[NavItem]) -> bytes:
    """JSON, which is YAML too."""
    name, about, dark, light = WORDS[language]
    other = "zh/index.html" if language == ENGLISH else "../index.html"
    alternate = [{"name": "English", "lang": "en", "link": other}, {"name": "中文", "lang": "zh", "link": other}]
    alternate[0 if language == ENGLISH else 1]["link"] = "index.html"
    palette = [
        {"scheme": "default", "toggle": {"icon": "lucide/sun", "name": dark}, "media": "(prefers-color-scheme: light)"},
        {"scheme": "slate", "toggle": {"icon": "lucide/moon", "name": light}, "media": "(prefers-color-scheme: dark)"},
    ]
    settings: dict[str, object] = {
        "site_name": name,
        "site_description": about,
        "copyright": "Tollkeeper, Apache-2.0",
        "docs_dir": "docs",
        "site_dir": "site",
        # So that it can be read from a folder, and links between languages stay as they are written.
        "use_directory_urls": False,
        "theme": {
            "language": language,
            "font": False,
            "features": list(FEATURES),
            "palette": palette,
            "logo": "look/mark.svg",
            "favicon": "look/mark.svg",
        },
        "extra": {"alternate": alternate, "generator": False},
        "extra_css": ["look/site.css"],
        "plugins": {"search": {"lang": [language]}},
        "markdown_extensions": EXTENSIONS,
        "nav": nav,
    }
    return msgspec.json.format(msgspec.json.encode(settings))

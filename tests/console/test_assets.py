"""What browsers load beside pages."""

import re
from pathlib import Path

import pytest

from tollkeeper.console.assets import FOLDER

# What makes HTML, or a script, from a text.
SINKS = re.compile(
    r"\b(?:innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|parseFromString|setHTMLUnsafe|srcdoc"
    r"|document\.writeln?|eval\s*\(|Function\s*\(|set(?:Timeout|Interval)\s*\(\s*[\"'`])"
)
SCRIPTS = sorted(FOLDER.glob("*.js"), key=lambda file: file.name)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda file: file.name)
def test_no_script_makes_html_from_text(script: Path) -> None:
    assert SINKS.findall(script.read_text()) == []

"""The documentation site itself."""

from pathlib import Path

import pytest

from tools.site.build import build


@pytest.mark.not_quick
def test_the_site_is_built_and_every_link_of_it_leads_somewhere(tmp_path: Path) -> None:
    pages = build(tmp_path / "site")
    assert pages > 100
    assert (tmp_path / "site" / "zh" / "start.html").exists()

"""A folder as the log site."""

from pathlib import Path

import pytest

from tollkeeper.log_site.folder import FolderSite
from tollkeeper.ports.usage import LogSiteFailed


async def test_a_folder_that_cannot_be_had_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(LogSiteFailed, match="did not take usage-1"):
        await FolderSite(tmp_path / "file").put("a", "usage-1", tmp_path / "file")

"""A bucket as the log site."""

import pytest

from tollkeeper.log_site.s3 import Bucket, S3Site
from tollkeeper.ports.usage import LogSiteFailed
from tools.services.process import free_port

SECRET = "a-secret-of-the-bucket"


@pytest.mark.not_quick
async def test_a_bucket_that_cannot_be_had_says_so_without_its_secret() -> None:
    nowhere = Bucket(
        name="none", prefix="", endpoint=f"http://127.0.0.1:{free_port()}", region="r", key_id="me", secret=SECRET
    )
    with pytest.raises(LogSiteFailed, match="s3://none/ did not read its manifest") as problem:
        await S3Site(nowhere).manifest()
    assert SECRET not in str(problem.value)

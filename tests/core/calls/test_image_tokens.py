"""What is held for images that are priced by token."""

import pytest

from tollkeeper.core.calls.image_tokens import output_tokens_each

# As OpenAI tells them for its images.
KNOWN = {
    ("1024x1024", "low"): 272,
    ("1024x1536", "low"): 408,
    ("1536x1024", "low"): 400,
    ("1024x1024", "medium"): 1_056,
    ("1024x1536", "medium"): 1_584,
    ("1536x1024", "medium"): 1_568,
    ("1024x1024", "high"): 4_160,
    ("1024x1536", "high"): 6_240,
    ("1536x1024", "high"): 6_208,
}


@pytest.mark.parametrize(("size", "quality"), KNOWN)
def test_no_image_has_more_tokens_than_are_held_for_it(size: str, quality: str) -> None:
    known = KNOWN[size, quality]
    assert known <= output_tokens_each(size, quality) <= known + known // 7 + 80


@pytest.mark.parametrize(("size", "quality"), [("auto", "auto"), ("auto", "high"), ("", "hd"), ("1x", "new")])
def test_what_is_left_to_the_provider_is_held_for_at_its_dearest(size: str, quality: str) -> None:
    assert output_tokens_each(size, quality) == output_tokens_each("1536x1024", "high")


def test_larger_ones_have_more_by_their_area() -> None:
    assert output_tokens_each("2048x2048", "high") >= 4 * 4_160

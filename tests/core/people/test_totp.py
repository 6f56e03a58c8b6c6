import pytest

from tollkeeper.core.people.totp import (
    is_of_app,
    is_recovery,
    link_for_app,
    matching_step,
    mint_recovery_code,
    mint_secret,
    plain,
)

# RFC 6238, appendix B: the secret "12345678901234567890", SHA-1, and the last six digits of its codes.
SECRET = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"


@pytest.mark.parametrize(
    ("now_seconds", "code"),
    [(59, "287082"), (1111111109, "081804"), (1111111111, "050471"), (1234567890, "005924"), (2000000000, "279037")],
)
def test_codes_are_those_of_the_standard(now_seconds: int, code: str) -> None:
    assert matching_step(SECRET, code, now_seconds=now_seconds, last_step=None) == now_seconds // 30


@pytest.mark.parametrize(("steps", "fits"), [(-2, False), (-1, True), (0, True), (1, True), (2, False)])
def test_a_clock_may_be_wrong_by_one_step(steps: int, fits: bool) -> None:
    found = matching_step(SECRET, "050471", now_seconds=1111111111 + 30 * steps, last_step=None)
    assert found == (1111111111 // 30 if fits else None)


@pytest.mark.parametrize(("last", "fits"), [(-1, True), (0, False), (1, False)])
def test_codes_of_a_step_that_was_used_and_of_earlier_ones_are_spent(last: int, fits: bool) -> None:
    step = 1111111111 // 30
    found = matching_step(SECRET, "050471", now_seconds=1111111111, last_step=step + last)
    assert found == (step if fits else None)


def test_secrets_and_recovery_codes_are_minted_by_chance_alone() -> None:
    assert mint_secret(lambda characters: characters[-1]) == "7" * 32
    code = mint_recovery_code(lambda characters: characters[0])
    assert code == "2222-2222-2222-2222"
    assert is_recovery(plain(code.lower().replace("-", " ")))


@pytest.mark.parametrize("code", ["", "12345", "1234567", "12345a", "12345\u0660"])
def test_what_has_not_six_digits_is_no_code_of_an_app(code: str) -> None:
    assert not is_of_app(code)


def test_an_app_is_told_whose_secret_it_is() -> None:
    link = link_for_app(SECRET, email="ada@example.com", issuer="tollkeeper.example")
    assert link.startswith("otpauth://totp/tollkeeper.example:ada%40example.com?secret=" + SECRET)

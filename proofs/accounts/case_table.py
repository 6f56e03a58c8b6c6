"""The numbers of the partner plan, reckoned by hand and written down: nothing here is computed by the product.

One USD is 500,000 quota tokens, each of 1,000,000 units. Cash is topped-up USD × 0.5 × 5 % in micro-USD, rounded half
up; a gift is 5 % of the topped-up quota, for each side. In a month nobody gets more than 500 USD in cash and 100 USD in
gifts, given and received together.
"""

import msgspec


class Amount(msgspec.Struct, frozen=True):
    """What one top-up brings: units of quota, micro-USD of cash for the inviter, units for each side of a gift."""

    usd: str
    quota: int
    cash: int
    gift: int
    # What they are before the month's caps, where those bite.
    full_cash: int | None = None
    full_gift: int | None = None


AMOUNTS = (
    Amount("0.000001", 500_000, 0, 25_000),
    Amount("0.000019", 9_500_000, 0, 475_000),
    # 0.5 micro-USD, rounded half up.
    Amount("0.00002", 10_000_000, 1, 500_000),
    Amount("0.000059", 29_500_000, 1, 1_475_000),
    Amount("0.00006", 30_000_000, 2, 1_500_000),
    Amount("0.01", 5_000_000_000, 250, 250_000_000),
    Amount("0.33", 165_000_000_000, 8_250, 8_250_000_000),
    Amount("0.99", 495_000_000_000, 24_750, 24_750_000_000),
    Amount("1", 500_000_000_000, 25_000, 25_000_000_000),
    Amount("2.50", 1_250_000_000_000, 62_500, 62_500_000_000),
    Amount("10", 5_000_000_000_000, 250_000, 250_000_000_000),
    Amount("19.99", 9_995_000_000_000, 499_750, 499_750_000_000),
    Amount("99.99", 49_995_000_000_000, 2_499_750, 2_499_750_000_000),
    # 30,864,197.275 micro-USD.
    Amount("1234.567891", 617_283_945_500_000, 30_864_197, 30_864_197_275_000),
    # Gifts of just 100 USD, and of a little more.
    Amount("2000", 1_000_000_000_000_000, 50_000_000, 50_000_000_000_000),
    Amount("2000.02", 1_000_010_000_000_000, 50_000_500, 50_000_000_000_000, full_gift=50_000_500_000_000),
    # Cash of just 500 USD, and of a little more.
    Amount("20000", 10_000_000_000_000_000, 500_000_000, 50_000_000_000_000, full_gift=500_000_000_000_000),
    Amount(
        "20000.04",
        10_000_020_000_000_000,
        500_000_000,
        50_000_000_000_000,
        full_cash=500_001_000,
        full_gift=500_001_000_000_000,
    ),
)

# When these top-ups are made, for how many months they last, and until which day: the calendar's, not 30 days each.
TOPPED_UP_ON = "2028-01-31"
CASH_FROM = "2028-02-14"
TERMS_MONTHS = {9: "2028-10-31", 3: "2028-04-30", 1: "2028-02-29"}


class Step(msgspec.Struct, frozen=True):
    """One more top-up by an invited guest, with the inviter's gift code: what it brings on top of those before."""

    at: str
    usd: str
    # Micro-USD for the inviter; units for the inviter, who gives, and for the guest.
    cash: int
    given: int
    received: int


MONTHS: dict[str, tuple[Step, ...]] = {
    "gifts fill a month, and begin again in the next": (
        # 70 USD, then 30 of 40, then nothing of 40.
        Step("2028-03-05 12:00:00", "1400", 35_000_000, 35_000_000_000_000, 35_000_000_000_000),
        Step("2028-03-06 12:00:00", "800", 20_000_000, 15_000_000_000_000, 15_000_000_000_000),
        Step("2028-03-07 12:00:00", "800", 20_000_000, 0, 0),
        Step("2028-03-31 23:59:00", "10", 250_000, 0, 0),
        Step("2028-04-01 00:00:05", "10", 250_000, 250_000_000_000, 250_000_000_000),
    ),
    "cash fills a month, and begins again in the next": (
        # 300 USD, then 175, then 25 of 50, then nothing.
        Step("2028-05-02 00:00:00", "12000", 300_000_000, 50_000_000_000_000, 50_000_000_000_000),
        Step("2028-05-02 00:01:00", "7000", 175_000_000, 0, 0),
        Step("2028-05-30 00:00:00", "2000", 25_000_000, 0, 0),
        Step("2028-05-31 23:59:00", "1", 0, 0, 0),
        Step("2028-06-01 00:00:05", "20000", 500_000_000, 50_000_000_000_000, 50_000_000_000_000),
        Step("2028-06-02 00:00:00", "1", 0, 0, 0),
        Step("2028-07-02 00:00:00", "1", 25_000, 25_000_000_000, 25_000_000_000),
    ),
    "a cap is met to its last unit": (
        # 99.999999 USD of gifts, then the millionth that is left, then nothing. Cash: 49,999,999.5, rounded half up.
        Step("2028-08-01 00:00:05", "1999.99998", 50_000_000, 49_999_999_500_000, 49_999_999_500_000),
        Step("2028-08-01 00:01:00", "0.00002", 1, 500_000, 500_000),
        Step("2028-08-01 00:02:00", "0.00002", 1, 0, 0),
    ),
}

# One after the other in one month: A's code for B, B's for C, A's for C; each time 1,200 USD, so 60 for each side. What
# A, B and C have of gifts afterwards: given and received count together.
CHAIN_AT, CHAIN_USD = "2028-09-05 12:00:00", "1200"
CHAIN = (
    ("A", "B", (30_000_000_000_000, 30_000_000_000_000, 0)),
    ("B", "C", (30_000_000_000_000, 50_000_000_000_000, 30_000_000_000_000)),
    ("A", "C", (50_000_000_000_000, 50_000_000_000_000, 50_000_000_000_000)),
)


class Standing(msgspec.Struct, frozen=True):
    """Cash of an inviter whose guest topped up 10 USD: granted, pending, available, paid and revoked micro-USD."""

    at: str
    act: str
    cash: tuple[int, int, int, int, int]


CASH_LIFE = (
    Standing("2028-10-01 00:00:00", "top up", (250_000, 250_000, 0, 0, 0)),
    Standing("2028-10-14 23:59:00", "withdraw too early", (250_000, 250_000, 0, 0, 0)),
    Standing("2028-10-15 00:01:00", "wait", (250_000, 0, 250_000, 0, 0)),
    Standing("2028-10-15 00:02:00", "withdraw", (250_000, 0, 0, 250_000, 0)),
    Standing("2028-10-15 00:03:00", "top up", (500_000, 250_000, 0, 250_000, 0)),
    Standing("2028-10-15 00:04:00", "revoke the newest", (500_000, 0, 0, 250_000, 250_000)),
    Standing("2028-10-15 00:05:00", "revoke the oldest", (500_000, 0, -250_000, 250_000, 500_000)),
)

"""What a provider says when it rejects: read whatever it is, short, and without the key that it was asked with."""

from tollkeeper.core.pool.provider_errors import MESSAGE_CHARACTERS_MOST, read_rejection
from tools.fuzz.target import Grown, Target
from tools.fuzz.vendors import SECRET

# What of a rejection is read.
SIZE_BYTES_MOST = 64 * 1024
KEY_LIKE = "sk-proj-4f9aQ2"
BEGIN, END = b'{"error":{"message":"', b'"}}'


def check(data: bytes) -> None:
    for secret in (SECRET, KEY_LIKE):
        told = read_rejection(data, secret)
        for word in (told.message, told.param, told.code):
            assert word is None or (0 < len(word) <= MESSAGE_CHARACTERS_MOST and secret not in word)
    # Nothing to be taken out is no reason to fail.
    read_rejection(data, "")


def work(data: bytes) -> None:
    read_rejection(data, SECRET)


TARGET = Target(
    check=check,
    work=work,
    seeds=(
        b'{"error":{"message":"Invalid value: n must be 1 (see https://vendor.test/x).","param":"n","code":"invalid_n"}}',
        BEGIN
        + b"Incorrect key "
        + SECRET.encode()
        + b" or "
        + KEY_LIKE.encode()
        + b" of org-A1b2c3, a@b.example"
        + END,
        BEGIN
        + b"From 10.0.0.1, 2001:db8::1 and host.internal at projects/p1, 123e4567-e89b-12d3-a456-426614174000"
        + END,
        b'{"error":{"message":"x","param":"messages[0].content","code":400}}',
    ),
    words=(
        SECRET.encode(),
        b"sk-",
        b"org-",
        b"https://",
        b"@",
        b".com",
        b"::",
        b"AIza",
        b"projects/",
        b"wrkspc_",
        b"user_",
    ),
    grown=tuple(
        Grown(fragment, BEGIN, END)
        for fragment in (
            *(
                b"a",
                b"a.",
                b"a-",
                b"aaaa.com",
                b"a@",
                b"a@b.",
                b"1.",
                b"1.1.1.",
                b":",
                b"::",
                b"1:",
                b"f:",
                b"sk-",
                b"_sk-",
            ),
            *(b"key-", b"key_a", b"user_a-", b"projects/", b"project 1", b"AIza", b"12345678-", b"https://", b"a.com@"),
            *(b"\\u2026", b"0123456789abcdef:", b"\\n", b"w", b"wrkspc_", b"a+", b"a.a@a.a."),
        )
    ),
    size_bytes_most=SIZE_BYTES_MOST,
)

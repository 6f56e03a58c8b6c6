import gzip
import random
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter, process_time, sleep

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from tollkeeper.core.calls import tokens
from tollkeeper.core.calls.tokens import CUT_CHARACTERS, TokenCounter, count

CORPUS = {
    "english": "The keeper doesn't let anyone pass; they've all paid, and she'll count it twice. I'M SURE it's fine! ",
    "code": "def f(x: int) -> dict:\n    return {'a': x ** 2, \"b\": 0x1F}  # HTTPServer2\n\n\tif (a&&b){c++;}\r\n",
    "chinese": "守门人数着每一个令牌\uff0c从不出错。他说\uff1a“请付过路费\uff01”2024年12月31日",
    "japanese": "門番はトークンを一つずつ数えます。カタカナとひらがな、そして漢字Abc。",
    "korean": "문지기는 토큰을 하나하나 셉니다. ",
    "thai": "ผู้เฝ้าประตูนับโทเค็นทุกตัว",
    "arabic": "حارس البوابة يعدّ كل رمز، ولا يخطئ أبدًا ١٢٣٤٥. ",
    "hindi": "द्वारपाल हर टोकन गिनता है। ",
    "russian": "Привратник считает КАЖДЫЙ токен. ",
    "emoji": "👩‍👩‍👧‍👦🎉🇪🇺❤️‍🔥 ok 👍🏽",
    "digits": "1 12 123 1234 12345678901234567890 3.14159 1,000,000 ½²③Ⅷ",
    "whitespace": "a  b   c\t\td \n\n\n  e\r\n\r\n   \n f \u00a0\u2003\u3000g\u2028h\x85i\x1cj   ",
    "addresses": "https://main.example/v1/chat/completions?a=1&b=%20#top //x/\n/ ///\n\n/",
    "looks special": "<|endoftext|><|endofprompt|> <|im_start|>system<|fim_prefix|>",
    "marks": "e\u0301tude n\u0303 \u0301\u0301 a\u200db\ufeff \U00010348 ǅ \u02bcn İı DON'T don'\u017f x'LL",
    "base64": "SGVsbG8sIHdvcmxkIQ0KVGhpcyBpcyBiYXNlNjQu9j4AAQSkZJRgABAQEASABIAAD/2wBD",
    "json": '{"a":[1,2.5e-10,null,true],"b\\u00e9":"\\n","c":{}}',
}
HOSTILE = {
    "one letter": "a",
    "alphabet": "abcdefghijklmnopqrstuvwxyz",
    "cases": "aA",
    "digits": "0123456789",
    "arabic digits": "٠١٢٣٤٥٦٧٨٩",
    "chinese": "门人数着每一个令牌从不出错",
    "thai": "ผู้เฝ้าประตู",
    "spaces": " ",
    "mixed whitespace": " \t",
    "dashes": "-",
    "emoji": "🎉👩",
}
text = st.one_of(
    st.text(max_size=200),
    st.text(alphabet=" \n\r\t'/.,!aAbszZ019é漢عé\u0301🎉_", max_size=200),
    st.lists(st.sampled_from(list(CORPUS.values())), max_size=4).map("".join),
)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tiktoken.Encoding]:
    """tiktoken's own encoding. It would download its ranks; ours has the same file, and tiktoken checks the hash."""
    package = find_spec("bpe_openai")
    assert package is not None
    assert package.origin is not None
    ranks = gzip.decompress((Path(package.origin).parent / "data" / "o200k_base.tiktoken.gz").read_bytes())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path_factory.mktemp("ranks")))
        patch.setattr("tiktoken.load.read_file", lambda _: ranks)
        yield tiktoken.get_encoding("o200k_base")


def counted_in_parts(parts: Iterator[str]) -> TokenCounter:
    counter = TokenCounter()
    for part in parts:
        counter.feed(part)
    return counter


def cut(whole: str, dice: random.Random, *, longest: int = 40) -> Iterator[str]:
    place = 0
    while place < len(whole):
        length = dice.randint(1, longest)
        yield whole[place : place + length]
        place += length


@pytest.mark.parametrize("sample", CORPUS.values(), ids=CORPUS)
def test_the_count_is_tiktokens(reference: tiktoken.Encoding, sample: str) -> None:
    for written in (sample, sample * 40, sample.upper(), sample[::-1], sample.replace(" ", "")):
        assert count(written) == len(reference.encode_ordinary(written))


@given(written=text)
def test_the_count_of_any_text_is_tiktokens(reference: tiktoken.Encoding, written: str) -> None:
    assert count(written) == len(reference.encode_ordinary(written))


@pytest.mark.parametrize("broken", ["\ud800", "a\udfffb", "\ud83d\ude00"], ids=["first", "second", "both"])
def test_half_a_surrogate_pair_counts_as_tiktoken_counts_it(reference: tiktoken.Encoding, broken: str) -> None:
    assert count(broken) == len(reference.encode_ordinary(broken))
    assert counted_in_parts(iter(broken)).total == count(broken)


def test_what_looks_like_a_special_token_is_text() -> None:
    assert count("<|endoftext|>") == 7


@given(written=text, seed=st.integers(0, 2**32))
def test_a_text_in_parts_counts_as_the_whole(written: str, seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        # Folding at every turn tries every kind of place, not only the one that happens to lie at 4,096.
        patch.setattr(tokens, "FOLD_CHARACTERS", 1)
        counter = counted_in_parts(cut(written, random.Random(seed)))  # noqa: S311
    assert counter.total == count(written)


@pytest.mark.parametrize("seed", range(8))
def test_a_long_answer_in_parts_counts_as_the_whole(seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311
    samples = [sample for name, sample in CORPUS.items() if name != "thai"]
    answer = "".join(dice.choice(samples) for _ in range(2_000))
    assert counted_in_parts(cut(answer, dice, longest=dice.choice([1, 8, 400, 20_000]))).total == tokens._count(answer)
    assert count(answer) == tokens._count(answer)


@pytest.mark.not_quick
@pytest.mark.parametrize("sample", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("repeated", [True, False], ids=["repeated", "shuffled"])
def test_text_without_a_place_to_cut_is_miscounted_by_a_few_tokens_a_cut(sample: str, repeated: bool) -> None:
    dice = random.Random(7)  # noqa: S311
    hostile = sample * (160_000 // len(sample)) if repeated else "".join(dice.choices(sample, k=160_000))
    over = counted_in_parts(cut(hostile, dice)).total - tokens._count(hostile)
    cuts = len(hostile) // CUT_CHARACTERS
    assert -cuts <= over <= 4 * cuts


def _cpu_seconds(written: str) -> float:
    """Of this process: what others do on the machine does not count."""
    started = process_time()
    count(written)
    return process_time() - started


@pytest.mark.not_quick
@pytest.mark.parametrize("sample", [*HOSTILE.values(), CORPUS["english"]], ids=[*HOSTILE, "english"])
def test_the_time_grows_with_the_text_and_not_faster(sample: str) -> None:
    seconds = []
    for characters in (60_000, 600_000):
        written = (sample * (1 + characters // len(sample)))[:characters]
        seconds.append(min(_cpu_seconds(written) for _ in range(3)))
    print(f"{seconds[0] * 1e3:.1f} ms, and {seconds[1] * 1e3:.1f} ms for ten times as much")
    # Ten times the text in ten times the time; a square would be a hundred times.
    assert seconds[1] < max(40 * seconds[0], 0.2)


@pytest.mark.not_quick
def test_other_threads_run_while_a_long_text_is_counted() -> None:
    hostile = "-" * 400_000
    with ThreadPoolExecutor(1) as pool:
        started = ticked = perf_counter()
        counting = pool.submit(count, hostile)
        longest_wait = 0.0
        while not counting.done():
            sleep(0.001)
            longest_wait, ticked = max(longest_wait, perf_counter() - ticked), perf_counter()
        took = perf_counter() - started
    print(f"waited {longest_wait * 1e3:.0f} ms at most of {took * 1e3:.0f} ms")
    assert longest_wait < took / 2


@pytest.mark.not_quick
@pytest.mark.parametrize("sample", [*HOSTILE.values(), CORPUS["english"]], ids=[*HOSTILE, "english"])
def test_memory_stays_flat_however_long_the_stream_is(sample: str) -> None:
    part = (sample * 8)[:8]
    counter = TokenCounter()
    count("")
    tracemalloc.start()
    try:
        for _ in range(50_000):
            counter.feed(part)
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most_bytes < 16 * CUT_CHARACTERS

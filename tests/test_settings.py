from pathlib import Path

import pytest

from tollkeeper.settings import BadSettings, Secret, headers_in, keys_by_version, load, operator_access
from tools.node import fresh_secrets

NEEDED = {
    "TOLLKEEPER_DATABASE_URL": "postgresql://a@b/c",
    "TOLLKEEPER_REDIS_URL": "redis://b:1/0",
} | fresh_secrets()


def test_defaults_stand_where_nothing_is_said() -> None:
    settings = load(NEEDED)
    assert (settings.port, settings.workers, settings.main_hosts) == (8080, 1, ())


def test_variables_win_over_the_file_and_the_file_over_defaults(tmp_path: Path) -> None:
    file = tmp_path / "tollkeeper.toml"
    file.write_text('port = 1234\nworkers = 3\nmain_hosts = ["one.example", "two.example"]\n')
    settings = load(NEEDED | {"TOLLKEEPER_CONFIG": str(file), "TOLLKEEPER_WORKERS": "5"})
    assert (settings.port, settings.workers) == (1234, 5)
    assert settings.main_hosts == ("one.example", "two.example")


def test_lists_are_written_with_commas() -> None:
    assert load(NEEDED | {"TOLLKEEPER_AGENT_HOSTS": "a.example, b.example,"}).agent_hosts == ("a.example", "b.example")


def test_an_address_of_the_database_may_name_several_servers() -> None:
    several = "postgresql://a:b@one:1,[::1]:2,three/c?sslmode=require"
    settings = load(NEEDED | {"TOLLKEEPER_DATABASE_URL": several})
    assert settings.database_url.reveal() == several
    # What a standby that is added finds in the journal is still this deployment's.
    alone = load(NEEDED | {"TOLLKEEPER_DATABASE_URL": "postgresql://a:b@one:1/c?sslmode=require"})
    assert settings.journal == alone.journal


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("PORT", "eighty", "TOLLKEEPER_PORT"),
        ("PORT", "0", ">= 1"),
        ("CELL", "ab", "TOLLKEEPER_CELL"),
        ("COLOUR", "blue", "TOLLKEEPER_COLOUR is not a setting"),
        ("DATABASE_URL", "mysql://x", "must begin with postgresql://"),
        ("REDIS_URL", "b:1", "must begin with redis://"),
        ("PEPPERS", "secret", "VERSION:BASE64"),
        ("OTEL_ENDPOINT", "collector:4318", "TOLLKEEPER_OTEL_ENDPOINT"),
        ("OTEL_ENDPOINT", "http://me:secret@collector:4318", "TOLLKEEPER_OTEL_ENDPOINT"),
        ("OTEL_HEADERS", "a=b,secret", "item 2 does not read name=value"),
        ("OTEL_HEADERS", "a=b%0d%0ac: d", "item 1 does not read name=value"),
        ("OTEL_SAMPLE_RATIO", "1.5", "<= 1"),
        ("PEPPERS", "0:" + "A" * 44, "VERSION:BASE64"),
        ("PEPPERS", "1:***", "not base64"),
        ("PEPPERS", "1:c2hvcnQ=", "at least 32"),
        ("ENVELOPE_KEYS", "1:" + "QUJD" * 11, "exactly 32"),
        ("CONFIG", "/nowhere/tollkeeper.toml", "cannot be read"),
        ("PEPPERS", f"1:{'A' * 43}=,1:{'B' * 43}=", "twice"),
        ("PEPPERS", f"mark:{'A' * 43}=", "VERSION:BASE64"),
        ("PEPPERS", f"mark:c2hvcnQ=,1:{'A' * 43}=", "the mark has 5 bytes"),
        ("PEPPERS", f"mark:***,1:{'A' * 43}=", "the mark is not base64"),
        ("PEPPERS", f"mark:{'A' * 43}=,mark:{'A' * 43}=,1:{'A' * 43}=", "twice"),
        ("PEPPER_IN_USE", "2", "version 2 is not listed in TOLLKEEPER_PEPPERS"),
        ("ENVELOPE_KEY_IN_USE", "7", "version 7 is not listed in TOLLKEEPER_ENVELOPE_KEYS"),
        ("REDIS_URL", "redis://host:port/0", "port is not a number"),
        ("REDIS_URL", "redis+cluster://one:1,two", "must read host:port"),
        ("REDIS_URL", "redis+sentinel://one:1,two:2", "name the service"),
        ("REDIS_URL", "redis+sentinel://one:1/main/x", "number of a database"),
        ("TRUSTED_PROXIES", "10.0.0.1/8", "has host bits set"),
        ("TRUSTED_PROXIES", "balancer", "does not appear to be"),
        ("DATABASE_URL", "postgresql://user:hunter2@host:port/x", "port is not a number"),
        ("DATABASE_URL", "postgresql://user:hunter2@one:1,two:port/x", "must read host:port"),
        ("DATABASE_URL", "postgresql://user:hunter2@one:1,/x", "must read host:port"),
        ("MAIN_HOSTS", "https://api.example/", "not a host name"),
        ("SMTP_URL", "mail.example", "must begin with smtp://"),
        ("SMTP_URL", "smtp://user:hunter2@mail.example", "MAIL_FROM must name a sender"),
        ("CONSOLE_URL", "console.example", "TOLLKEEPER_CONSOLE_URL"),
        ("LOG_SITE", "/var/logs", "TOLLKEEPER_LOG_SITE"),
        ("LOG_SITE", "s3://bucket/logs", "LOG_SITE_KEY_ID and TOLLKEEPER_LOG_SITE_SECRET must be set"),
    ],
)
def test_a_bad_value_is_told_with_what_to_change(name: str, value: str, told: str) -> None:
    with pytest.raises(BadSettings) as problem:
        load(NEEDED | {f"TOLLKEEPER_{name}": value})
    assert told in str(problem.value)


def test_a_broken_file_is_told(tmp_path: Path) -> None:
    file = tmp_path / "tollkeeper.toml"
    file.write_text("port = ")
    with pytest.raises(BadSettings, match="not valid TOML"):
        load(NEEDED | {"TOLLKEEPER_CONFIG": str(file)})


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(BadSettings) as problem:
        load({"TOLLKEEPER_PORT": "x"})
    told = str(problem.value)
    assert all(name in told for name in ("DATABASE_URL", "REDIS_URL", "PEPPERS", "ENVELOPE_KEYS", "PORT"))


@pytest.mark.parametrize("name", ["DATABASE_URL", "REDIS_URL", "PEPPERS", "ENVELOPE_KEYS"])
def test_a_bad_secret_is_not_repeated_in_the_complaint(name: str) -> None:
    with pytest.raises(BadSettings) as problem:
        load(NEEDED | {f"TOLLKEEPER_{name}": "hunter2:hunter3"})
    assert "hunter" not in str(problem.value)


def test_a_host_cannot_stand_for_two_addresses() -> None:
    with pytest.raises(BadSettings, match="already stands in main_hosts"):
        load(NEEDED | {"TOLLKEEPER_MAIN_HOSTS": "a.example", "TOLLKEEPER_AGENT_HOSTS": "b.example,A.example"})


def test_a_file_that_is_not_text_is_told(tmp_path: Path) -> None:
    file = tmp_path / "tollkeeper.toml"
    file.write_bytes(b"port = 1 # \xff")
    with pytest.raises(BadSettings, match="not valid TOML"):
        load(NEEDED | {"TOLLKEEPER_CONFIG": str(file)})


def test_secrets_do_not_show() -> None:
    settings = load(NEEDED)
    shown = (
        f"{settings!r} {settings.peppers} {settings.database_url!s} {settings.redis_url:>5} {settings.envelope_keys}"
    )
    assert settings.peppers.reveal() == NEEDED["TOLLKEEPER_PEPPERS"]
    assert isinstance(settings.peppers, Secret)
    for name in ("DATABASE_URL", "REDIS_URL", "PEPPERS", "ENVELOPE_KEYS"):
        assert NEEDED[f"TOLLKEEPER_{name}"] not in shown


def test_keys_are_parsed_by_version() -> None:
    parsed = keys_by_version("1:" + "QUJD" * 12 + ", 2:" + "REVG" * 12, least_bytes=32)
    assert parsed == {1: b"ABC" * 12, 2: b"DEF" * 12}


def test_without_a_word_the_journal_is_in_no_folder_that_everybody_may_write_to(tmp_path: Path) -> None:
    own = load(NEEDED | {"STATE_DIRECTORY": f"{tmp_path}/state:{tmp_path}/other"})
    assert own.journal.parent == tmp_path / "state"
    assert load(NEEDED | {"STATE_DIRECTORY": str(tmp_path), "TOLLKEEPER_JOURNAL_FOLDER": "/a"}).journal.parent == Path(
        "/a"
    )
    anywhere = load(NEEDED | {"HOME": "/nonexistent"}).journal.parent
    assert anywhere not in {Path("/var/tmp"), Path("/var/tmp/tollkeeper")}  # noqa: S108 (that is what is tested)


def test_journals_of_earlier_versions_are_looked_for_where_those_kept_them() -> None:
    former = load(NEEDED | {"TOLLKEEPER_JOURNAL_FOLDER": "/a"}).former_journal
    assert former is not None
    assert former.parent == Path("/var/tmp/tollkeeper")  # noqa: S108 (where it was)
    kept = load(NEEDED | {"TOLLKEEPER_JOURNAL_FOLDER": "/var/tmp/tollkeeper"})  # noqa: S108 (where it was)
    assert kept.former_journal is None


def test_headers_for_the_collector_are_written_as_opentelemetry_writes_them() -> None:
    assert headers_in("Authorization=Basic%20YTpi, x-scope=tenant one,") == {
        "authorization": "Basic YTpi",
        "x-scope": "tenant one",
    }
    assert headers_in("") == {}


OPERATOR_KEY = "op-" + "a" * 48


@pytest.mark.parametrize(
    "url", ["https://console.example/", "http://localhost:8090", "http://127.0.0.1:8090", "http://[::1]:1"]
)
def test_a_command_line_needs_an_address_and_an_operator_key_and_nothing_else(url: str) -> None:
    access = operator_access({"TOLLKEEPER_OPERATOR_URL": url, "TOLLKEEPER_OPERATOR_KEY": OPERATOR_KEY})
    assert access is not None
    assert (access.url, access.key.reveal()) == (url.rstrip("/"), OPERATOR_KEY)
    assert OPERATOR_KEY not in repr(access)


def test_the_operator_key_may_stand_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "laptop.toml"
    file.write_text(f'operator_url = "https://console.example"\noperator_key = "{OPERATOR_KEY}"\n')
    assert operator_access({"TOLLKEEPER_CONFIG": str(file)}) is not None
    assert operator_access(NEEDED) is None


@pytest.mark.parametrize(
    ("url", "key", "told"),
    [
        ("https://console.example", "", "TOLLKEEPER_OPERATOR_KEY is not set"),
        ("", OPERATOR_KEY, "TOLLKEEPER_OPERATOR_URL is not set"),
        ("http://console.example", OPERATOR_KEY, "must begin with https://"),
        ("http://127.0.0.1.example", OPERATOR_KEY, "must begin with https://"),
        ("https://me:secret@console.example", OPERATOR_KEY, "TOLLKEEPER_OPERATOR_URL"),
        ("https://", OPERATOR_KEY, "TOLLKEEPER_OPERATOR_URL"),
        ("https://console.example:x", OPERATOR_KEY, "this is no address"),
        ("https://console.example", "sk-hunter2", "TOLLKEEPER_OPERATOR_KEY is no operator key"),
    ],
)
def test_an_address_or_operator_key_that_cannot_be_used_is_told(url: str, key: str, told: str) -> None:
    with pytest.raises(BadSettings) as problem:
        operator_access({"TOLLKEEPER_OPERATOR_URL": url, "TOLLKEEPER_OPERATOR_KEY": key})
    assert told in str(problem.value)
    assert "hunter2" not in str(problem.value)

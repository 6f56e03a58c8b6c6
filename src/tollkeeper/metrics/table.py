"""Every metric there is: its name, kind, meaning and labels, in one table.

Rules of this file
1. Names are Prometheus's: base units, `_total` behind counters, seconds and USD and bytes.
2. A label has few values, and no caller can make one up: endpoints of our table, models of the catalog, provider
   accounts of the pool. Never a customer, a key, an IP, or a word that somebody sent.
3. A metric `of_process` has a label `worker`: the number of the worker process on its node. The process that follows a
   dead one takes its number over, so that Prometheus sees a counter that begins anew, as it expects.
"""

from enum import StrEnum

import msgspec


class MetricKind(StrEnum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    kind: MetricKind
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    of_process: bool = True


# A call: from half a millisecond to its time limit.
CALL_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 100.0, 600.0)
# Our own part of it.
OWN_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)
ROW_BUCKETS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)


def _counter(name: str, told: str, *labels: str, of_process: bool = True) -> Metric:
    return Metric(name=name, kind=MetricKind.COUNTER, help=told, labels=labels, of_process=of_process)


def _gauge(name: str, told: str, *labels: str, of_process: bool = True) -> Metric:
    return Metric(name=name, kind=MetricKind.GAUGE, help=told, labels=labels, of_process=of_process)


def _histogram(name: str, told: str, buckets: tuple[float, ...], *labels: str) -> Metric:
    return Metric(name=name, kind=MetricKind.HISTOGRAM, help=told, labels=labels, buckets=buckets)


# Every process --------------------------------------------------------------------------------------------------------
BUILD_INFO = _gauge("tollkeeper_build_info", "Always 1: which part runs here, and its version.", "part", "version")
PROCESS_CPU = _counter("process_cpu_seconds_total", "Time on a core, of the process and the system for it.")
PROCESS_MEMORY = _gauge("process_resident_memory_bytes", "Memory that the process occupies.")
PROCESS_DESCRIPTORS = _gauge("process_open_fds", "Open descriptors: connections and files.")
PROCESS_START = _gauge("process_start_time_seconds", "When the process began, in Unix time.")

# The gateway: calls ---------------------------------------------------------------------------------------------------
CALLS = _counter(
    "tollkeeper_calls_total",
    "Calls that were answered, by outcome: answered, refused (the caller's mistake), limited (429), quota (403), left "
    "(the caller hung up), cut (524, or the time limit), provider (no provider account answered well), failed (our own "
    "fault). Endpoints that are not relayed are `other`.",
    "endpoint",
    "outcome",
)
CALL_SECONDS = _histogram(
    "tollkeeper_call_seconds",
    "From a call's head to the end of its answer, of those that were answered.",
    CALL_BUCKETS,
    "endpoint",
)
FIRST_BYTE_SECONDS = _histogram(
    "tollkeeper_first_byte_seconds",
    "From a call's head to the first piece of its answer, of those that go out in pieces.",
    CALL_BUCKETS,
    "endpoint",
)
OWN_SECONDS = _histogram(
    "tollkeeper_call_own_seconds",
    "Our own part of a call that had a hold: all of it, but for the wait for its body and the provider's part.",
    OWN_BUCKETS,
    "endpoint",
)
PROVIDER_SECONDS = _histogram(
    "tollkeeper_call_provider_seconds",
    "The provider's part of a call that had a hold: all attempts, each from its sending to the end of its answer.",
    CALL_BUCKETS,
    "endpoint",
)
CALLS_UNDER_WAY = _gauge("tollkeeper_calls_under_way", "Calls that hold quota and have not come to their end.")
ENDINGS = _counter("tollkeeper_endings_total", "Calls that were settled, by how they ended.", "ending")
ATTEMPTS = _counter(
    "tollkeeper_attempts_total",
    "Orders sent to a provider account, by outcome: refused, too_long, how it failed, or else how its call ended.",
    "provider_account",
    "outcome",
)

# The gateway: money ---------------------------------------------------------------------------------------------------
TOKENS = _counter(
    "tollkeeper_tokens_total",
    "Model tokens that were charged: input (cached ones included), cached (of the input), output.",
    "model",
    "kind",
)
MEDIA_UNITS = _counter(
    "tollkeeper_media_units_total",
    "What was charged and is no token: images, characters of speech, seconds of transcripts.",
    "model",
    "unit",
)
CHARGED = _counter("tollkeeper_charged_usd_total", "What customers were charged.", "model")
COST = _counter(
    "tollkeeper_provider_cost_usd_total",
    "What attempts cost us, at the account's share of the list price.",
    "provider_account",
)

# The gateway: its stores ----------------------------------------------------------------------------------------------
READY = _gauge("tollkeeper_ready", "1 while this process takes calls: database in reach, ledger begun, not stopping.")
STOPPING = _gauge("tollkeeper_stopping", "1 from SIGTERM on: this process ends its calls, and is not ready for more.")
DATABASE_FRESH = _gauge(
    "tollkeeper_database_fresh", "1 while what is known of the database is two seconds old at most."
)
LIMITER_ALONE = _gauge(
    "tollkeeper_limiter_alone", "1 while rate limits are judged without Redis, by this process's share."
)
LIMITER_REFUSALS = _counter(
    "tollkeeper_limiter_refusals_total", "Places that a rate limit refused, by what it counts.", "measure"
)
BATCH_ROWS = _histogram(
    "tollkeeper_batch_rows", "Rows that went to the database in one statement.", ROW_BUCKETS, "queue"
)
QUEUE_ROWS = _gauge(
    "tollkeeper_queue_rows", "Rows that wait for the database, or were sent and have no answer.", "queue"
)
QUEUE_SECONDS = _gauge("tollkeeper_queue_oldest_seconds", "How long the oldest of these rows has waited.", "queue")
JOURNAL_CALLS = _gauge(
    "tollkeeper_journal_calls", "Calls in the journal that the database does not know to be settled; long streams too."
)
JOURNAL_FAILURES = _counter(
    "tollkeeper_journal_failures_total",
    "Times that the journal could not be written, or no room be had for it. New calls are refused until it can.",
)
CALL_LOG_DROPPED = _counter("tollkeeper_call_log_dropped_total", "Lines of the call log that nobody took in time.")
TRACES_DROPPED = _counter(
    "tollkeeper_traces_dropped_total",
    "Calls that were to be traced and whose spans the OpenTelemetry collector did not take; only where one is set.",
)

# The gateway: the pool ------------------------------------------------------------------------------------------------
ACCOUNT_STATE = _gauge(
    "tollkeeper_provider_account_state",
    "1 for the state that the account is in: well; out (all its models, for this process); partly (some models); held "
    "(paused, draining or suspended).",
    "provider_account",
    "state",
)
ACCOUNT_CALLS = _gauge(
    "tollkeeper_provider_account_calls_under_way", "Calls that the account is answering.", "provider_account"
)

# The console ----------------------------------------------------------------------------------------------------------
PAGES = _counter(
    "tollkeeper_console_requests_total", "Requests of the console, by the class of their status.", "status"
)
PAGE_SECONDS = _histogram("tollkeeper_console_request_seconds", "How long the console took to answer.", CALL_BUCKETS)

# The worker: what only the database knows. Several workers tell the same. ---------------------------------------------
STORE_ANSWERED = _gauge(
    "tollkeeper_store_answered", "1 where the database answered when these were asked for.", of_process=False
)
OPEN_HOLDS = _gauge("tollkeeper_open_holds", "Holds that are open, of all nodes.", of_process=False)
OLDEST_HOLD = _gauge("tollkeeper_oldest_open_hold_seconds", "How old the oldest open hold is.", of_process=False)
OVERDUE_HOLDS = _gauge(
    "tollkeeper_overdue_holds", "Open holds that are a minute past their deadline.", of_process=False
)
BOOKS_CLEAN = _gauge(
    "tollkeeper_books_clean", "1 where the last check that could be made found the books clean.", of_process=False
)
BOOKS_CHECKED = _gauge(
    "tollkeeper_books_checked_timestamp_seconds",
    "When the last check of the books that could be made ended, in Unix time.",
    of_process=False,
)
JOB_EVERY = _gauge("tollkeeper_job_every_seconds", "How often the job is due.", "name", of_process=False)
JOB_ENDED = _gauge(
    "tollkeeper_job_ended_timestamp_seconds", "When the job's last run ended, in Unix time.", "name", of_process=False
)
JOB_WENT_WELL = _gauge("tollkeeper_job_went_well", "1 where the job's last run went well.", "name", of_process=False)
JOB_RUNS = _counter("tollkeeper_job_runs_total", "Runs of the job.", "name", of_process=False)
JOB_FAILURES = _counter("tollkeeper_job_failures_total", "Runs of the job that failed.", "name", of_process=False)
MAILS_WAITING = _gauge("tollkeeper_mails_waiting", "Mails in the outbox.", of_process=False)
OLDEST_MAIL = _gauge(
    "tollkeeper_oldest_mail_seconds", "How long the oldest mail in the outbox has waited.", of_process=False
)
WEBHOOKS_FAILING = _gauge(
    "tollkeeper_webhooks_failing",
    "Webhooks whose receivers took nothing for a quarter of an hour, or that were switched off for it.",
    of_process=False,
)
WEBHOOK_DELIVERIES_WAITING = _gauge(
    "tollkeeper_webhook_deliveries_waiting", "Events that a webhook has not taken yet.", of_process=False
)

TABLE: tuple[Metric, ...] = tuple(value for value in list(globals().values()) if isinstance(value, Metric))

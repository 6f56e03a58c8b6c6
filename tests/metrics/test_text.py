"""The page that Prometheus reads."""

import shutil
import subprocess

import pytest

from tollkeeper.metrics import table
from tollkeeper.metrics.series import Distribution
from tollkeeper.metrics.text import lines_of, page


def test_a_histogram_counts_what_is_up_to_each_bound() -> None:
    seen = Distribution((1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 9.0):
        seen.note(value)
    told = lines_of([(table.BATCH_ROWS, ("holds",), seen)], 3)["tollkeeper_batch_rows"].splitlines()
    assert told == [
        'tollkeeper_batch_rows_bucket{queue="holds",worker="3",le="1"} 2',
        'tollkeeper_batch_rows_bucket{queue="holds",worker="3",le="2"} 3',
        'tollkeeper_batch_rows_bucket{queue="holds",worker="3",le="+Inf"} 4',
        'tollkeeper_batch_rows_sum{queue="holds",worker="3"} 12',
        'tollkeeper_batch_rows_count{queue="holds",worker="3"} 4',
    ]


def test_a_metric_of_several_processes_stands_on_the_page_once() -> None:
    told = page([lines_of([(table.CALLS_UNDER_WAY, (), worker)], worker) for worker in range(2)])
    assert told.count("# TYPE tollkeeper_calls_under_way gauge") == 1
    assert 'tollkeeper_calls_under_way{worker="0"} 0\ntollkeeper_calls_under_way{worker="1"} 1\n' in told


def test_a_name_that_an_operator_gave_cannot_end_its_label() -> None:
    [line] = lines_of([(table.ACCOUNT_CALLS, ('a"} 1\nb\\',), 1)], 0).values()
    assert line == r'tollkeeper_provider_account_calls_under_way{provider_account="a\"} 1\nb\\",worker="0"} 1'


def test_what_is_of_no_process_has_no_worker() -> None:
    assert lines_of([(table.OPEN_HOLDS, (), 2)], 0) == {"tollkeeper_open_holds": "tollkeeper_open_holds 2"}


def test_names_are_given_once() -> None:
    names = [metric.name for metric in table.TABLE]
    assert len(names) == len(set(names))


@pytest.mark.not_quick
def test_prometheus_finds_nothing_wrong_with_names_and_helps() -> None:
    if shutil.which("promtool") is None:
        pytest.skip("promtool is Prometheus's own; tools/install-services installs it")
    samples = [
        (metric, ("x",) * len(metric.labels), Distribution(metric.buckets) if metric.buckets else 0.5)
        for metric in table.TABLE
    ]
    text = page([lines_of(samples, 0)])
    checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")

"""When the owner of a run counts as gone."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, cast

import pytest
from attr import evolve

from agentctl.store import lease

if TYPE_CHECKING:
    import sqlite3

NOW = 1_000_000
LATER = NOW + 1
CHILD = """
from agentctl.store import lease
print(lease.this_process().started, flush=True)
input()
"""


def row(owner: lease.Owner, *, expires_at: int = NOW) -> sqlite3.Row:
    """Return a lease as it is read from the database."""
    held = {"host": owner.host, "boot": owner.boot, "pid": owner.pid, "started": owner.started}
    return cast("sqlite3.Row", {**held, "expires_at": expires_at})


linux_only = pytest.mark.skipif(
    not lease.this_process().boot, reason="processes are recognised through /proc"
)


@linux_only
def test_a_process_that_runs_is_alive_even_after_its_lease_expired() -> None:
    own = lease.this_process()
    assert lease.is_alive(row(own), own, LATER)


@linux_only
def test_a_process_id_that_was_given_out_again_is_not_the_owner() -> None:
    own = lease.this_process()
    assert not lease.is_alive(row(evolve(own, started=own.started - 1)), own, NOW - 1)


@linux_only
def test_a_process_that_ended_and_was_not_waited_for_is_gone() -> None:
    own = lease.this_process()
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    with child, child.stdin, child.stdout:
        held = row(evolve(own, pid=child.pid, started=int(child.stdout.readline())))
        assert lease.is_alive(held, own, NOW)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert not lease.is_alive(held, own, NOW)


def test_where_processes_cannot_be_told_apart_only_the_expiry_counts() -> None:
    own = evolve(lease.this_process(), boot="", started=0)
    assert lease.is_alive(row(own), own, NOW - 1)
    assert not lease.is_alive(row(own), own, LATER)


def test_the_owner_on_another_machine_has_until_its_lease_expires() -> None:
    own = lease.this_process()
    other = row(evolve(own, host="elsewhere"))
    assert lease.is_alive(other, own, NOW - 1)
    assert not lease.is_alive(other, own, LATER)

# SPDX-License-Identifier: GPL-2.0-or-later
"""Booting: a command's output and exit code, and every way in which a guest can fail."""

import contextlib
import os
import signal
import subprocess
import time

import pytest

from ringsteplib import paths
from ringsteplib.errors import Bad, BrokenMachine, CannotTell


def test_output_and_exit_code_come_through(ringstep):
    done = ringstep("boot", "--", "sh", "-c", "nproc; exit 7")
    assert (done.code, done.out) == (7, "4\n")


def test_false_is_1_and_text_stays_as_it_is(ringstep):
    done = ringstep("boot", "--", "sh", "-c", "printf 'a\\tb c\\nd'; false")
    assert (done.code, done.out) == (1, "a\tb c\nd")


def test_a_panic(ringstep):
    done = ringstep("boot", "--", "sh", "-c", "echo c > /proc/sysrq-trigger")
    assert done.code == 1
    assert "kernel panics in user space" in done.err and "sysrq triggered crash" in done.err


def test_a_hang_is_found_in_virtual_time(ringstep):
    done = ringstep("boot", "--limit", "3", "--", "sleep", "100000")
    assert done.code == 1 and "limit of virtual time" in done.err


def test_a_broken_init(boot):
    outcome, _ = boot("true", parameters=("rdinit=/bin/false",))
    with pytest.raises(CannotTell, match="init is broken"):
        outcome.check()


def test_a_kernel_that_hangs_before_user_space(boot):
    outcome, _ = boot("true", parameters=("init_on_alloc=0", "root=/dev/none", "rdinit=/nothing",
                                          "rootwait"), limit_ns=3 * 10**9)
    with pytest.raises(CannotTell, match="before user space"):
        outcome.check()


def test_a_kernel_that_is_none(ringstep, tmp_path):
    (tmp_path / "bzImage").write_bytes(b"no kernel" * 1000)
    done = ringstep("boot", "--kernel", tmp_path / "bzImage", "--", "true")
    assert done.code in (3, 125) and "next:" in done.err


def test_fewer_cpus_than_asked(boot):
    outcome, _ = boot("true", parameters=("maxcpus=2",))
    with pytest.raises(BrokenMachine, match="2 of 4 CPUs"):
        outcome.check()


def test_fewer_queues_than_asked(boot):
    outcome, _ = boot("true", peer={}, parameters=("ringstep.queues=5",))
    with pytest.raises(BrokenMachine, match="4 of 5 queue pairs"):
        outcome.check()


@pytest.mark.parametrize("vcpus", [1, 2, 16])
def test_other_numbers_of_cpus(boot, vcpus):
    outcome, files = boot("nproc", vcpus=vcpus, peer={})
    outcome.check()
    assert files["output.txt"] == b"%d\n" % vcpus


def test_the_guest_ends_without_a_word(boot):
    outcome, _ = boot("poweroff -f")
    with pytest.raises(Bad, match="without an exit code"):
        outcome.check()


@pytest.mark.parametrize("victim,number,says", [
    ("qemu", signal.SIGKILL, "killed by SIGKILL"),
    ("ringstep", signal.SIGINT, "interrupted"),
    ("ringstep", signal.SIGTERM, "interrupted"),
    ("ringstep", signal.SIGKILL, ""),
])
def test_nothing_is_left_behind(tmp_path, victim, number, says):
    command = subprocess.Popen([paths.CHECKOUT / "scripts/ringstep", "boot", "--", "sleep", "100000"],
                               cwd=tmp_path, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               text=True)
    qemu = wait_for(lambda: qemu_of(command.pid))
    folder = os.readlink(f"/proc/{qemu}/cwd")
    os.kill(qemu if victim == "qemu" else command.pid, number)
    _, err = command.communicate(timeout=60)
    assert says in err
    assert wait_for(lambda: not os.path.exists(f"/proc/{qemu}"))
    if victim == "qemu" or number != signal.SIGKILL:
        assert command.returncode == 125
        assert not os.path.exists(folder)


def qemu_of(pid):
    """The QEMU that process PID has started, or None; others may run beside it."""
    children = f"/proc/{pid}/task/{pid}/children"
    for child in open(children).read().split() if os.path.exists(children) else ():
        with contextlib.suppress(OSError):
            if "qemu-system" in os.readlink(f"/proc/{child}/exe"):
                return int(child)
    return None


def wait_for(condition, patience=60):
    end = time.monotonic() + patience
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    return None

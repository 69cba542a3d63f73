# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs with a QEMU that is a shell script: results, and each fault by its own message."""

import array
import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ringsteplib import metrics, process, verify
from ringsteplib.errors import Bad, BrokenMachine, CannotTell, Usage
from ringsteplib.disk import Disk
from ringsteplib.machine import Machine
from ringsteplib.outcome import Outcome, parse_results
from ringsteplib.profile import Profile
from ringsteplib.run import run

BOOTED = "echo '[    0.1] Run /init as init process' > console.txt\n"


def outcome(tmp_path, machine):
    folder = tmp_path / "run"
    folder.mkdir(exist_ok=True)
    return run(machine, folder)


def test_results_are_parsed():
    found = parse_results("metric a 5\ncounter b.c 1.5\ntext error: x y\nexit 3\nmetric late 1\n")
    assert found.metrics == {"a": 5, "late": 1} and found.counters == {"b.c": 1.5}
    assert found.texts == ["error: x y"] and found.code == 3


def test_an_unfinished_line_is_no_result():
    assert parse_results("metric a 1\nmetric b 12").metrics == {"a": 1}
    assert parse_results("exit").code is None


def test_a_bug_of_ours_is_no_bad_kernel(ringstep, monkeypatch):
    monkeypatch.setattr(metrics, "of_outcome", lambda _: 1 / 0)
    code, _, err = ringstep("run", "iowq-echo")
    assert code == 125 and "internal error" in err


def test_metrics_are_exact(tmp_path, fake_machine):
    found, counters = metrics.of_outcome(outcome(tmp_path, fake_machine()))
    assert found["requests_per_s"] == 3000
    assert (found["latency_p50_ns"], found["latency_max_ns"], found["latency_mean_ns"]) == \
        (200, 300, 200)
    assert counters == {"switches": 7}


def test_latencies_of_a_large_sample():
    found = metrics.latencies(array.array("Q", range(1000, 0, -1)))
    assert found["latency_p999_ns"] == 999 and found["latency_p95_ns"] == 950


@pytest.mark.parametrize("script,kind,says", [
    ("echo 'Kernel panic - not syncing: VFS: Unable to mount root fs' > console.txt",
     CannotTell, "panics before user space"),
    (BOOTED + "echo 'Kernel panic - not syncing: sysrq triggered crash' >> console.txt",
     Bad, "panics in user space"),
    (BOOTED + "echo 'Kernel panic - not syncing: No working init found.' >> console.txt",
     CannotTell, "init is broken"),
    ("echo limit > results.txt; exit 3", CannotTell, "hangs before user space"),
    (BOOTED + "exit 3", Bad, "hangs in user space"),
    ("echo \"Property 'lockstep.foo' not found\" >&2; exit 1", BrokenMachine,
     "Property 'lockstep.foo' not found"),
    ("echo 'qemu: -netdev ringstep,id=n0,depth=x: ringstep: depth must be 1' >&2; exit 1", Usage,
     "[peer]: depth must be 1"),
    ("echo 'qemu: -blockdev ringstep,a=b: Parameter c' >&2; exit 1", Usage, "[disk]: Parameter c"),
    ("kill -KILL $$", CannotTell, "killed by SIGKILL"),
    ("kill -SEGV $$", BrokenMachine, "crashed with SIGSEGV"),
    ("printf 'text error: 2 of 4 CPUs came up\\nexit 3\\n' > results.txt", BrokenMachine,
     "2 of 4 CPUs came up"),
    (BOOTED, Bad, "without an exit code"),
])
def test_each_fault_has_its_message(tmp_path, fake_machine, script, kind, says):
    with pytest.raises(kind) as caught:
        outcome(tmp_path, fake_machine(script)).check()
    assert type(caught.value) is kind
    assert says in caught.value.message
    assert caught.value.next_step


def test_a_guest_exit_code_of_3_is_no_broken_machine(tmp_path, fake_machine):
    found = outcome(tmp_path, fake_machine("echo 'exit 3' > results.txt"))
    found.check()
    assert found.results.code == 3


def test_no_results_at_all(tmp_path):
    with pytest.raises(CannotTell, match="nothing was printed"):
        Outcome.read(tmp_path, 0, 1.0).check()


def test_a_driver_that_fails_is_a_complaint(tmp_path):
    (tmp_path / "console.txt").write_text(
        "[    0.1] a 0000:00:01.0: probe with driver a failed with error -71\n[    0.2] b: fine\n")
    assert len(Outcome.read(tmp_path, 0, 1.0).complaints()) == 1


def test_kernel_complaints_are_found(tmp_path):
    (tmp_path / "console.txt").write_text("[ 1.0] WARNING: CPU: 0 PID: 1 at x\n[ 1.1] fine\n")
    assert len(Outcome.read(tmp_path, 0, 1.0).complaints()) == 1


def test_the_digest_follows_every_input(fake_machine):
    machine = fake_machine()
    digests = {machine.digest()}
    for change in ({"seed": 2}, {"vcpus": 2}, {"memory_mib": 256}, {"quantum": 100},
                   {"command": "false"}, {"parameters": ("a=1",)}, {"peer": {"depth": "1"}},
                   {"disk": Disk()}, {"disk": Disk(options={"size": "2G"})},
                   {"profile": Profile("none", "", {"ipi-ps": 1})},
                   {"coherence": "off"}, {"coherence": "full"}):
        digests.add(dataclasses.replace(machine, **change).digest())
    assert len(digests) == 13
    machine.parts.kernel.image.write_bytes(b"other")
    assert machine.digest() not in digests


def test_the_digest_does_not_follow_where_things_are(tmp_path, fake_machine, monkeypatch):
    machine = fake_machine()
    before = machine.digest()
    moved = tmp_path / "elsewhere"
    (tmp_path / "parts").rename(moved)
    parts = dataclasses.replace(
        machine.parts, firmware=moved / "firmware", initramfs=moved / "initramfs",
        kernel=dataclasses.replace(machine.parts.kernel, image=moved / "kernel"))
    monkeypatch.chdir("/")
    assert Machine(parts, machine.profile, command="true").digest() == before


def test_the_line_names_no_file_outside_the_run_folder(fake_machine):
    disk = Disk(image=Path("/etc/image"))
    for word in fake_machine(peer={"connections": "8"}, disk=disk).arguments():
        assert not word.startswith("/") and "=/" not in word and ":/" not in word


def test_coherence_is_a_plugin_in_the_run_folder(tmp_path, fake_machine):
    machine = fake_machine(coherence="full")
    machine.prepare(tmp_path)
    line = machine.arguments()
    assert line[line.index("-plugin") + 1] == "./coherence.so,level=full"
    assert (tmp_path / "coherence.so").is_symlink()
    assert "-plugin" not in fake_machine(coherence="off").arguments()
    assert "-plugin" not in fake_machine(clock="icount").arguments()


def test_qemu_has_no_input_and_its_own_folder(tmp_path, fake_machine):
    found = outcome(tmp_path, fake_machine("cat > console.txt; pwd >> console.txt"))
    assert found.console.strip() == str(tmp_path / "run")


def test_the_vcpus_are_summed_up():
    found = metrics.of_vcpus({"vcpu0_local_ps": 100, "vcpu1_local_ps": 100, "vcpu0_idle_ps": 50,
                              "vcpu0_ipi_ps": 20, "vcpu1_instructions": 7, "other": 9})
    assert found == {"guest_instructions": 7, "cpu_use_percent": 75.0, "vm_events_percent": 10.0}


def test_run_prints_and_writes_the_result(ringstep, tmp_path):
    code, out, _ = ringstep("run", "iowq-echo", "--json", tmp_path / "a.json")
    assert code == 0 and "requests_per_s" in out and "digest" in out
    code, out, err = ringstep("run", "iowq-echo", "--json", tmp_path / "b.json")
    assert code == 0 and "cached" in err
    one, two = (json.loads((tmp_path / f"{name}.json").read_text()) for name in "ab")
    assert not one["host"]["cached"] and two["host"]["cached"]
    del one["host"], two["host"]
    assert one == two
    assert one.keys() == {"schema", "bench", "arm", "seed", "profile", "digest", "metrics",
                          "counters"}
    assert one["schema"] == "ringstep.run/1"


def test_run_fails_when_the_guest_does(ringstep):
    code, _, err = ringstep("run", "iowq-echo", script=BOOTED + "echo 'exit 1' > results.txt")
    assert code == 1 and "exit code 1" in err


def test_run_fails_when_clients_get_wrong_bytes(ringstep):
    script = BOOTED + "printf 'metric requests 3\\ncounter peer_payload_errors 4\\nexit 0\\n' > results.txt"
    code, _, err = ringstep("run", "iowq-echo", script=script)
    assert code == 1 and "4 replies with other bytes" in err


def test_requirements_serve_git_bisect(ringstep):
    assert ringstep("run", "iowq-echo", "--require", "requests_per_s>=2999")[0] == 0
    code, _, err = ringstep("run", "iowq-echo", "--require", "requests_per_s>=3001")
    assert code == 1 and "requests_per_s is 3000" in err
    assert ringstep("run", "iowq-echo", "--require", "nothing>=1")[0] == 2


def test_boot_passes_output_and_exit_code_through(ringstep):
    code, out, _ = ringstep("boot", "--", "sh", "-c", "nproc; exit 7",
                            script="echo 4 > output.txt; echo exit 7 > results.txt")
    assert (code, out) == (7, "4\n")


def test_dry_run_shows_the_line_and_runs_nothing(ringstep):
    code, out, _ = ringstep("run", "iowq-echo", "--dry-run", script="touch /nowhere; exit 9")
    assert code == 0 and "-append" in out and "io_uring.iowq_free_batch=8" in out


def test_compare_prints_the_same_table_twice(ringstep, tmp_path):
    script = """
case "$*" in *free_batch=8*) n=120;; *) n=100;; esac
seed=$(echo "$*" | sed 's/.*seed=\\([0-9]*\\),queues.*/\\1/')
printf "metric requests $((n + seed))\\nmetric window_ns 1000000\\nexit 0\\n" > results.txt
"""
    words = ["compare", "iowq-echo", "--seeds", "1-3", "-j2", "--json", tmp_path / "c.json"]
    code, first, _ = ringstep(*words, script=script)
    assert code == 0
    code, second, _ = ringstep(*words, "--force", script=script)
    assert code == 0 and first == second
    assert "+19.6%" in first and "55,886" in first and "digest" in first
    found = json.loads((tmp_path / "c.json").read_text())
    assert found["schema"] == "ringstep.compare/1" and found["seeds"] == [1, 2, 3]
    assert found["arms"]["before"]["requests_per_s"] == {"mean": 102000, "sd": 1000}
    assert found["change"]["requests_per_s"]["percent"] == pytest.approx(19.607843)


def test_compare_tells_a_regression_when_asked(ringstep):
    script = """
case "$*" in *free_batch=8*) n=100;; *) n=120;; esac
printf "metric requests $n\\nmetric window_ns 1000000\\nexit 0\\n" > results.txt
"""
    words = ["compare", "iowq-echo", "--seeds", "1-2"]
    assert ringstep(*words, script=script)[0] == 0
    code, _, err = ringstep(*words, "--fail-on-regression", script=script)
    assert code == 1 and "requests_per_s" in err


def test_compare_stops_at_the_first_failure(ringstep, children):
    begin = time.monotonic()
    code, _, err = ringstep("compare", "iowq-echo", "--seeds", "1-4", "-j2", script="""
case "$*" in *free_batch=8*) exit 1;; *) exec sleep 60;; esac""")
    assert code == 3 and "QEMU ended with status 1" in err
    assert time.monotonic() - begin < 30 and children() == []


def test_verify_finds_the_first_difference(ringstep):
    code, out, _ = ringstep("verify", "iowq-echo")
    assert code == 0 and "bit for bit" in out
    code, _, err = ringstep("verify", "iowq-echo",
                            script="printf 'one\\n%s\\n' $$ > console.txt; echo exit 0 > results.txt")
    assert code == 3 and "console.txt differs first at byte" in err and "(line 2)" in err


def test_verify_loads_and_pins_the_second_run(tmp_path, fake_machine, monkeypatch):
    seen = []
    monkeypatch.setattr(verify, "run", lambda machine, folder, affinity=None:
                        seen.append(affinity) or run(machine, folder, affinity))
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    verify.verify(fake_machine(), tmp_path / "one", tmp_path / "two")
    assert seen == [None, {max(os.sched_getaffinity(0))}]


def test_what_a_run_started_is_stopped_with_it(tmp_path, fake_machine, children):
    outcome(tmp_path, fake_machine("sleep 300 & echo exit 0 > results.txt"))
    assert children() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_signal_leaves_an_orphan(tmp_path, number):
    program = f"""
import sys
sys.path[:0] = {sys.path!r}
from ringsteplib import process
process.install_signal_handlers()
child = process.start(["sleep", "300"])
print(child.pid, flush=True)
try:
    child.wait()
finally:
    process.stop(child)
"""
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
    child = int(parent.stdout.readline())
    parent.send_signal(number)
    parent.wait(timeout=20)
    assert gone(child)


def gone(pid, patience=5):
    """Has the process ended (a zombie counts as ended)?"""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        try:
            with open(f"/proc/{pid}/stat") as f:
                if f.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


def test_an_interrupted_command_says_so(ringstep, monkeypatch):
    monkeypatch.setattr(process, "start", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
    code, _, err = ringstep("run", "iowq-echo")
    assert code == 125 and "interrupted" in err


def test_a_full_disk_is_named(ringstep, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Machine, "prepare", full)
    code, _, err = ringstep("run", "iowq-echo")
    assert code == 125 and "disk is full" in err and "next:" in err

# SPDX-License-Identifier: GPL-2.0-or-later
"""The monitor, and QEMU's other devices: neither may show the guest anything of the host."""

import contextlib
import json
import shutil
import subprocess
import time

import pytest

WORK = "spin --threads 4 --count 3000000; syscalls --threads 4 --rounds 300; cat /proc/interrupts"
DISKS = ("for d in /dev/nvme0n1 /dev/vda; do "
         "dd if=$d of=/dev/null bs=4k count=200 iflag=direct; "
         "dd if=/dev/zero of=$d bs=4k count=100 seek=50 oflag=direct; md5sum $d; done; "
         "cat /proc/interrupts")
DISK_DEVICES = ("-drive", "file=nvme.img,format=raw,if=none,id=nvme",
                "-device", "nvme,drive=nvme,serial=1",
                "-drive", "file=virtio.img,format=raw,if=none,id=virtio",
                "-device", "virtio-blk-pci,drive=virtio")


class Qmp:
    """QEMU with a machine protocol on its standard input and output."""

    def __init__(self, machine, folder, *extra):
        machine.prepare(folder)
        self.process = subprocess.Popen(
            [machine.parts.qemu, *machine.arguments(), "-qmp", "stdio", *extra], cwd=folder,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.execute("qmp_capabilities")

    def execute(self, command):
        """The answer; EOFError when QEMU has come to its end."""
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps({"execute": command}) + "\n")
            self.process.stdin.flush()
            for line in self.process.stdout:
                if "return" in (answer := json.loads(line)):
                    return answer["return"]
        raise EOFError(f"QEMU is gone; it was asked to {command}")

    def wait(self):
        for _ in self.process.stdout:
            pass
        return self.process.wait()


@pytest.fixture
def qmp():
    """Start a machine; it is gone after the test."""
    with contextlib.ExitStack() as stack:

        def start(*arguments):
            guest = Qmp(*arguments)
            stack.callback(guest.process.kill)
            return guest

        yield start


@pytest.fixture
def folder(tmp_path):
    def make(name):
        path = tmp_path / name
        path.mkdir()
        return path

    return make


def files(path):
    return {name: (path / name).read_bytes()
            for name in ("console.txt", "output.txt", "results.txt")}


def test_stop_and_cont_change_nothing(machine, qmp, folder):
    straight, stopped = folder("straight"), folder("stopped")
    assert qmp(machine(WORK), straight).wait() == 0

    guest = qmp(machine(WORK), stopped, "-S")
    assert guest.execute("query-status")["status"] == "prelaunch"
    guest.execute("cont")
    with contextlib.suppress(EOFError):
        while True:
            guest.execute("stop")
            assert len(guest.execute("query-cpus-fast")) == 4
            guest.execute("cont")
            time.sleep(0.05)
    assert guest.wait() == 0
    assert files(straight) == files(stopped)


def test_quit(machine, qmp, folder):
    guest = qmp(machine("sleep 100"), folder("run"))
    guest.execute("quit")
    assert guest.wait() == 0


def test_disks_are_exact(machine, qmp, folder):
    """Reads, writes and interrupts of NVMe and virtio-blk, one of the runs with interruptions."""
    one, two = folder("one"), folder("two")
    (one / "nvme.img").write_bytes(bytes(range(256)) * (16 * 2**20 // 256))
    shutil.copy(one / "nvme.img", one / "virtio.img")
    for image in ("nvme.img", "virtio.img"):
        shutil.copy(one / image, two / image)
    assert qmp(machine(DISKS), one, *DISK_DEVICES).wait() == 0
    guest = qmp(machine(DISKS), two, *DISK_DEVICES)
    with contextlib.suppress(EOFError):
        while True:
            guest.execute("query-block")
            time.sleep(0.02)
    assert guest.wait() == 0
    assert files(one) == files(two)
    assert (one / "nvme.img").read_bytes() == (two / "virtio.img").read_bytes()
    assert (one / "output.txt").read_bytes().count(b"records out") == 4

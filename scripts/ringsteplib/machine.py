# SPDX-License-Identifier: GPL-2.0-or-later
"""The virtual machine: what it consists of, its QEMU command line, its digest.

QEMU runs in a folder of its own and sees nothing else of the host. All names on its command line
are relative to that folder, so the line is the same wherever it runs, and is a part of the digest:
  kernel, firmware      links into the cache
  coherence.so          a link to the plugin, where there is one
  disk.img              a link to the disk's image, where there is one
  initrd                the initramfs and, appended to it, the command to run
  console.txt           the guest's console        output.txt   what the command prints
  results.txt           marks and results          latency.bin  each request's latency
"""

import os
import shlex
from dataclasses import dataclass
from pathlib import Path

from . import digest, newc
from .build_kernel import Kernel
from .disk import Disk
from .errors import Usage
from .profile import Profile

MAX_VCPUS = 16
MAX_QUEUES = 16
COHERENCE = ("off", "atomic", "full")  # which accesses can wait for a cache line
# What drives time: lockstep and, for comparison only, QEMU as it is: counting instructions, or on the host's
# clock with one thread for all vCPUs or one for each.
LOCKSTEP, ICOUNT, SINGLE, MULTI = CLOCKS = ("lockstep", "icount", "single", "multi")
MAC = "52:54:00:12:34:56"
CPU = "max,-rdrand,-rdseed,-fsrm,-monitor"
MACHINE = "q35,accel=tcg,vmport=off,smbus=off,sata=off,usb=off,hpet=off,graphics=off"
HOST_CLOCK_MACHINE = MACHINE.replace("accel=tcg,", "")  # -accel says it, with an option
PLAIN_ICOUNT = "shift=1,sleep=off"  # with shift=0, no four CPUs come up
# No time is spent on what is known: the virtual TSC runs at 1 GHz, and
# vCPUs that come up one after the other do not spin for each other.
KERNEL_PARAMETERS = ("console=ttyS0", "nokaslr", "tsc=reliable", "no_timer_check",
                     "cpu_init_udelay=0", "tsc_early_khz=1000000", "cpuhp.parallel=0",
                     "panic=-1", "random.trust_cpu=off")
VIRTUAL_TSC = ("tsc=reliable", "tsc_early_khz=1000000")

# What the guest's init runs as /ringstep/cmd. The output gets a serial port of its own, where the
# kernel has one, so that no kernel message stands between.
COMMAND_SCRIPT = """\
if stty -F /dev/ttyS1 raw -echo 2>/dev/null; then exec >/dev/ttyS1 2>&1; fi
{command}
"""


@dataclass(frozen=True)
class Parts:
    """What was built: the files of which a machine consists."""

    qemu: Path
    qemu_identity: str
    coherence: Path
    firmware: Path
    initramfs: Path
    kernel: Kernel


@dataclass(frozen=True)
class Machine:
    parts: Parts
    profile: Profile
    vcpus: int = 4
    memory_mib: int = 512
    seed: int = 1
    quantum: int = 200
    coherence: str = "atomic"
    limit_ns: int = 120 * 10**9
    command: str | None = None  # of the guest's shell; None: an interactive one
    peer: dict | None = None  # options of the simulated client; None: no network at all
    disk: Disk | None = None
    parameters: tuple = ()  # of the kernel, beside our own
    clock: str = LOCKSTEP  # of CLOCKS

    def __post_init__(self):
        if not 1 <= self.vcpus <= MAX_VCPUS:
            raise Usage(f"{self.vcpus} vCPUs", f"a machine has 1 to {MAX_VCPUS}")

    @property
    def queues(self):
        return min(self.vcpus, MAX_QUEUES)

    def initrd(self):
        """The bytes of the initramfs with the command appended."""
        data = self.parts.initramfs.read_bytes()
        if self.command is None:
            return data
        script = COMMAND_SCRIPT.format(command=self.command)
        padding = b"\0" * (-len(data) % 4)
        return data + padding + newc.archive({"ringstep/cmd": script.encode()})

    def command_line(self):
        """The kernel's command line."""
        wrong = VIRTUAL_TSC if self.clock in (SINGLE, MULTI) else ()
        words = [*(word for word in KERNEL_PARAMETERS if word not in wrong), *self.parts.kernel.parameters,
                 f"ringstep.vcpus={self.vcpus}"]
        if self.peer is not None:
            words.append(f"ringstep.queues={self.queues}")
        if self.disk:
            words.append(f"ringstep.disk_queues={min(self.disk.queues, self.vcpus)}")
        return " ".join([*words, *self.parameters])

    def arguments(self):
        """QEMU's arguments; every file name is relative to the run folder."""
        return [
            "-L", "firmware", *self._machine(), "-cpu", CPU, "-smp", str(self.vcpus),
            "-m", str(self.memory_mib), *self._clock(),
            "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
            "-seed", "1", "-rtc", "base=2026-01-01,clock=vm",
            *self._coherence(),
            "-kernel", "kernel", "-initrd", "initrd", "-append", self.command_line(),
            *self._serial(),
            "-device", f"ringstep-ctl,results=results.txt,seed={self.seed},queues={self.queues}",
            *self._network(),
            *(self.disk.arguments(self.seed) if self.disk else []),
        ]

    def digest(self):
        """SHA-256 over everything that the results follow from."""
        return digest.of_value({
            "qemu": self.parts.qemu_identity,
            "firmware": digest.of_tree(self.parts.firmware),
            "kernel": self.parts.kernel.identity,
            "initrd": digest.of_bytes(self.initrd()),
            "arguments": self.arguments(),
            **({"disk": self.disk.identity()} if self.disk else {}),
            "profile": self.profile.name,
            "seed": self.seed,
        })

    def prepare(self, folder):
        """Put into FOLDER what QEMU reads."""
        os.symlink(self.parts.kernel.image.absolute(), folder / "kernel")
        os.symlink(self.parts.firmware, folder / "firmware")
        if self._has_plugin():
            os.symlink(self.parts.coherence, folder / "coherence.so")
        (folder / "initrd").write_bytes(self.initrd())
        if self.disk:
            self.disk.prepare(folder)

    def shell_lines(self):
        """How to start this machine by hand, for --dry-run."""
        script = [f"# digest {self.digest()}",
                  f"ln -sfn {shlex.quote(str(self.parts.kernel.image.absolute()))} kernel",
                  f"ln -sfn {shlex.quote(str(self.parts.firmware))} firmware",
                  f"cp {shlex.quote(str(self.parts.initramfs))} initrd"]
        if self._has_plugin():
            script.append(f"ln -sfn {shlex.quote(str(self.parts.coherence))} coherence.so")
        if self.disk:
            script += self.disk.shell_lines()
        if self.command is not None:
            script += ["mkdir -p ringstep && cat > ringstep/cmd <<'END'",
                       COMMAND_SCRIPT.format(command=self.command) + "END",
                       "echo ringstep/cmd | cpio --quiet -o -H newc >> initrd"]
        return "\n".join([*script, shlex.join([str(self.parts.qemu), *self.arguments()])])

    def _machine(self):
        if self.clock in (SINGLE, MULTI):
            return ["-machine", HOST_CLOCK_MACHINE, "-accel", f"tcg,thread={self.clock}"]
        return ["-machine", MACHINE]

    def _clock(self):
        if self.clock == ICOUNT:
            return ["-icount", PLAIN_ICOUNT]
        if self.clock != LOCKSTEP:
            return []
        options = ["lockstep,id=lockstep", f"quantum={self.quantum}", f"limit-ns={self.limit_ns}",
                   *(f"{key}={value}" for key, value in sorted(self.profile.costs.items()))]
        return ["-object", ",".join(options)]

    def _has_plugin(self):
        return self.clock == LOCKSTEP and self.coherence != "off"

    def _coherence(self):
        if not self._has_plugin():
            return []
        return ["-plugin", f"./coherence.so,level={self.coherence}"]

    def _serial(self):
        if self.command is None:
            return ["-serial", "mon:stdio"]
        return ["-serial", "file:console.txt", "-serial", "file:output.txt"]

    def _network(self):
        if self.peer is None:
            return []
        options = [f"{key}={value}" for key, value in sorted(self.peer.items())]
        netdev = ",".join(["ringstep,id=n0", f"queues={self.queues}", f"seed={self.seed}", *options])
        vectors = 2 * self.queues + 2
        return ["-netdev", netdev, "-device",
                f"virtio-net-pci,netdev=n0,mq=on,vectors={vectors},mac={MAC},romfile="]

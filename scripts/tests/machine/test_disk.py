# SPDX-License-Identifier: GPL-2.0-or-later
"""The disk as the guest sees it: latency, throughput, data, and one output for one digest."""

import random

import pytest

from ringsteplib import disk
from ringsteplib.errors import BrokenMachine
from ringsteplib.profile import Profile
from ringsteplib.verify import busy_host

# Nothing but instructions takes time, so that the ways through the guest are as equal as can be
INSTRUCTIONS = Profile("instructions", "", {"insn-ps": 400})
QUANTUM_NS = 80  # 200 of them
# A timer's tick in the guest; some reads have one on their way
TICK_NS = 5000

# A read's way through the guest's block layer and back, the disk's time aside
GUEST_NS = 6000

WORK = """
disk --write --requests 400 --depth 16 --flush-every 3 &
disk --requests 400 --depth 16 --length 65536
wait
disk --requests 2000 --depth 64 &
usleep 3000
echo 1 > /sys/class/nvme/nvme0/reset_controller
wait
cat /proc/interrupts /proc/stat /proc/uptime
"""


@pytest.mark.parametrize("device,name", [("nvme", "nvme0n1"), ("virtio-blk", "vda")])
def test_each_read_takes_the_same_time(boot, device, name):
    outcome, _ = boot(f"disk --device /dev/{name} --requests 3000",
                      disk=disk.parse({"size": "1G", "read-ns": "20000", "device": device}),
                      profile=INSTRUCTIONS)
    outcome.check()
    found = outcome.results.metrics
    middle = found["disk_latency_p50_ns"]
    assert 20000 < middle < 20000 + GUEST_NS
    assert found["disk_latency_p99_ns"] - middle <= QUANTUM_NS
    assert found["disk_latency_p999_ns"] - middle <= TICK_NS
    # a read whose end finds the CPU awake for a tick saves the way out of idle
    assert middle - found["disk_latency_min_ns"] <= TICK_NS


@pytest.mark.parametrize("device,name", [("nvme", "nvme0n1"), ("virtio-blk", "vda")])
def test_throughput_is_channels_by_service_time(boot, device, name):
    """5 channels of 40 us: 125,000 reads a second."""
    outcome, _ = boot(
        f"disk --device /dev/{name} --requests 10000 --depth 32",
        disk=disk.parse({"size": "1G", "read-ns": "40000", "channels": "5", "device": device}))
    outcome.check()
    found = outcome.results.metrics
    assert 0.99 <= 10000 * 40000 / 5 / found["window_ns"] <= 1


def test_fio_reads_where_the_seed_says(boot):
    def blocks(seed):
        outcome, files = boot("fio-job --filename=/dev/nvme0n1 --rw=randread --direct=1 --number_ios=50 "
                              "--write_iolog=/tmp/log; grep read /tmp/log",
                              disk=disk.parse({"size": "1G"}), seed=seed)
        outcome.check()
        assert outcome.results.metrics["requests"] == 50
        return [line.split()[-2] for line in files["output.txt"].decode().splitlines()]

    assert len(set(blocks(1))) > 40
    assert blocks(1) == blocks(1)
    assert blocks(1) != blocks(2)


def test_equal_runs_are_equal(boot):
    """Writes, reads, flushes, garbage collection, and a controller that is reset under way."""
    options = {"size": "64M", "model": "ssd", "buffer": "64K", "gc-bytes": "256K"}
    outcome, first = boot(WORK, disk=disk.parse(options))
    outcome.check()
    with busy_host(4):
        _, second = boot(WORK, disk=disk.parse(options))
    assert first == second
    _, other = boot(WORK, disk=disk.parse(options), seed=2)
    assert first["results.txt"] != other["results.txt"], "the ssd model draws from the seed"


def test_an_image_is_read_and_not_written(boot, tmp_path):
    image = tmp_path / "image"
    content = random.Random(1).randbytes(1 << 20)
    image.write_bytes(content)
    outcome, files = boot("head -c 8 /dev/nvme0n1 > /tmp/before\n"
                          "printf overwritten | dd of=/dev/nvme0n1 conv=fsync\n"
                          "echo 3 > /proc/sys/vm/drop_caches\n"
                          "cat /tmp/before; head -c 11 /dev/nvme0n1; tail -c 64 /dev/nvme0n1",
                          disk=disk.parse({"image": str(image)}))
    outcome.check()
    assert content[:8] + b"overwritten" + content[-64:] in files["output.txt"]
    assert image.read_bytes() == content


def test_fewer_queues_than_asked(boot):
    outcome, _ = boot("true", disk=disk.parse({"size": "1M"}),
                      parameters=("ringstep.disk_queues=5",))
    with pytest.raises(BrokenMachine, match="4 of 5 queue pairs"):
        outcome.check()


@pytest.mark.parametrize("vcpus,queues,found", [(1, 4, 1), (4, 1, 1), (16, 16, 16)])
@pytest.mark.parametrize("device,name", [("nvme", "nvme0n1"), ("virtio-blk", "vda")])
def test_other_numbers_of_queues(boot, device, name, vcpus, queues, found):
    outcome, files = boot(f"ls /sys/block/{name}/mq | wc -l", vcpus=vcpus,
                          disk=disk.parse({"size": "1M", "device": device,
                                           "queues": str(queues)}))
    outcome.check()
    assert int(files["output.txt"]) == found


def test_a_disk_from_the_command_line(ringstep):
    done = ringstep("boot", "--set", "disk.size=8M", "--", "cat", "/sys/block/nvme0n1/size")
    assert (done.code, done.out.strip()) == (0, "16384")
    done = ringstep("boot", "--set", "disk.size=1001", "--", "true")
    assert done.code == 2 and "size must be a multiple of 512" in done.err

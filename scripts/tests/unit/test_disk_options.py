# SPDX-License-Identifier: GPL-2.0-or-later
"""The disk of a machine: what its options become, and its image as a part of the digest."""

import os

import pytest

from ringsteplib import benchmark, disk, settings
from ringsteplib.errors import Usage

FILE = """
[benchmark]
profile = bare
guest = disk

[disk]
size = 64M
queues = 2
image = pictures/disk.img

[arms]
before =
after =
"""


def test_no_options_are_no_disk():
    assert disk.parse({}) is None


def test_options_become_arguments():
    found = disk.parse({"size": "1G", "read-ns": "9000"}).arguments(seed=3)
    assert found == ["-blockdev", "ringstep,node-name=disk,discard=unmap,seed=3,read-ns=9000,size=1G",
                     "-device", "nvme,drive=disk,serial=ringstep,max_ioqpairs=4,msix_qsize=5"]
    found = disk.parse({"size": "1G", "device": "virtio-blk", "queues": "16"}).arguments(seed=1)
    assert found[3] == "virtio-blk-pci,drive=disk,num-queues=16,vectors=17"


@pytest.mark.parametrize("options,says", [
    ({"device": "nvmf"}, "did you mean 'nvme'"),
    ({"queues": "0"}, "1 to 16"), ({"queues": "17"}, "1 to 16"), ({"queues": "-1"}, "1 to 16"),
    ({"image": "/nonexistent"}, "make one"),
])
def test_wrong_options_are_refused(options, says):
    with pytest.raises(Usage) as caught:
        disk.parse(options)
    assert says in caught.value.next_step


def test_a_benchmark_has_a_disk(tmp_path):
    bench = benchmark.parse(FILE, tmp_path / "x.ini")
    bench = bench.changed(settings.parse(["disk.size=1M", "disk.model=ssd"]))
    assert bench.disk == {"size": "1M", "queues": "2", "model": "ssd",
                          "image": str(tmp_path / "pictures/disk.img")}


def test_the_digest_follows_the_content_of_the_image(tmp_path, fake_machine):
    image = tmp_path / "image"
    image.write_bytes(b"one")
    digests = {fake_machine(disk=disk.Disk(image=image)).digest()}
    image.write_bytes(b"two")
    os.utime(image, ns=(1, 1))
    digests.add(fake_machine(disk=disk.Disk(image=image)).digest())
    assert len(digests) == 2
    moved = image.rename(tmp_path / "moved")
    assert fake_machine(disk=disk.Disk(image=moved)).digest() in digests


def test_an_image_that_changes_meanwhile_spoils_the_run(tmp_path, ringstep):
    image = tmp_path / "image"
    image.write_bytes(b"one")
    code, _, err = ringstep("run", "iowq-echo", "--set", f"disk.image={image}",
                            script=f"echo longer > {image}; echo 'exit 0' > results.txt")
    assert code == 125 and "has changed while it ran" in err


def test_qemu_finds_the_image_in_its_folder(tmp_path, fake_machine):
    image = tmp_path / "image"
    image.write_bytes(b"content")
    folder = tmp_path / "run"
    folder.mkdir()
    machine = fake_machine(disk=disk.Disk(image=image))
    machine.prepare(folder)
    assert (folder / disk.IMAGE).read_bytes() == b"content"
    assert f"ln -sfn {image} {disk.IMAGE}" in machine.shell_lines()

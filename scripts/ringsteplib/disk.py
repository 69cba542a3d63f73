# SPDX-License-Identifier: GPL-2.0-or-later
"""The disk of a machine: a controller of QEMU's over our block device, whose timing is modelled.

  device                nvme (default) or virtio-blk
  queues                pairs of queues for I/O, 1 to 16 (default: 4)
  image                 what is on it at first: a raw file, which is only read
  all else              options of -blockdev ringstep: size, model, channels, read-ns, ...
"""

import functools
import os
import shlex
from dataclasses import dataclass, field
from pathlib import Path

from . import digest
from .errors import Usage, unknown

DEVICES = ("nvme", "virtio-blk")
MAX_QUEUES = 16
IMAGE = "disk.img"  # the link in the run's folder


@dataclass(frozen=True)
class Disk:
    device: str = "nvme"
    queues: int = 4
    image: Path | None = None
    options: dict = field(default_factory=dict)  # as QEMU has them

    def arguments(self, seed):
        """QEMU's arguments; every file name is relative to the run folder."""
        options = [f"{key}={value}" for key, value in sorted(self.options.items())]
        if self.image:
            options += ["image.driver=file", f"image.filename={IMAGE}"]
        back_end = ["ringstep,node-name=disk,discard=unmap", f"seed={seed}", *options]
        return ["-blockdev", ",".join(back_end), "-device", self._front_end()]

    def identity(self):
        """What the disk's behaviour follows from, beside the arguments."""
        return _content(self.image, *_stamp(self.image)) if self.image else None

    def prepare(self, folder):
        """Put into FOLDER what QEMU reads."""
        if self.image:
            os.symlink(self.image.absolute(), folder / IMAGE)

    def shell_lines(self):
        """The same by hand."""
        return [f"ln -sfn {shlex.quote(str(self.image.absolute()))} {IMAGE}"] if self.image else []

    def _front_end(self):
        if self.device == "nvme":
            return (f"nvme,drive=disk,serial=ringstep,max_ioqpairs={self.queues},"
                    f"msix_qsize={self.queues + 1}")
        return f"virtio-blk-pci,drive=disk,num-queues={self.queues},vectors={self.queues + 1}"


def parse(section):
    """The disk that SECTION, {name: value}, describes; no disk if it is empty."""
    if not section:
        return None
    options = dict(section)
    device = options.pop("device", DEVICES[0])
    if device not in DEVICES:
        raise unknown("device of the disk", device, DEVICES)
    queues = options.pop("queues", "4")
    if not queues.isdecimal() or not 1 <= int(queues) <= MAX_QUEUES:
        raise Usage(f"the disk has {queues} queues", f"it can have 1 to {MAX_QUEUES}")
    return Disk(device, int(queues), _image(options.pop("image", None)), options)


def _image(name):
    if name is None:
        return None
    path = Path(name).expanduser()
    if not path.is_file():
        raise Usage(f"there is no image {name}", "make one, for example with mkfs.ext4")
    return path


def _stamp(path):
    """What changes with a file's content."""
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


@functools.lru_cache
def _content(path, *_stamp):
    """Hash of a file, which may be large: read once for each state of it."""
    return digest.of_file(path)

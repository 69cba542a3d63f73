# SPDX-License-Identifier: GPL-2.0-or-later
"""Reproducible cpio archives in the "newc" format that the kernel unpacks as initramfs.

The bytes depend on names, modes and contents only: members are sorted by path,
inode numbers count up from 1, and owner, times and devices of the host never
get in.  The format is described in the kernel's
Documentation/driver-api/early-userspace/buffer-format.rst.
"""

import stat
from dataclasses import dataclass

TRAILER = "TRAILER!!!"
BLOCK = 512


@dataclass(frozen=True)
class Member:
    """One file, folder, symbolic link or device node."""

    path: str  # relative to the root, without a leading slash
    mode: int  # file type and permissions, as in st_mode
    data: bytes = b""  # contents, or the target of a symbolic link
    device: tuple[int, int] = (0, 0)  # major, minor of a device node


def folder(path: str) -> Member:
    return Member(path, stat.S_IFDIR | 0o755)


def regular(path: str, data: bytes, executable: bool = False) -> Member:
    return Member(path, stat.S_IFREG | (0o755 if executable else 0o644), data)


def symlink(path: str, target: str) -> Member:
    return Member(path, stat.S_IFLNK | 0o777, target.encode())


def char_device(path: str, mode: int, major: int, minor: int) -> Member:
    return Member(path, stat.S_IFCHR | mode, device=(major, minor))


def archive(members: list[Member]) -> bytes:
    """The archive of `members` and of the folders that they need.

    The result is padded to a multiple of 512 bytes: archives can be appended to
    one another, and a later member replaces an earlier one of the same path.
    """
    table: dict[str, Member] = {}
    for member in members:
        if member.path in table:
            raise ValueError(f"two members have the path {member.path}")
        table[member.path] = member
    for path in list(table):
        while "/" in path:
            path = path.rpartition("/")[0]
            table.setdefault(path, folder(path))

    out = bytearray()
    for inode, path in enumerate(sorted(table), 1):
        _append(out, table[path], inode)
    _append(out, Member(TRAILER, 0), 0)
    out += bytes(-len(out) % BLOCK)
    return bytes(out)


def _append(out: bytearray, member: Member, inode: int) -> None:
    name = member.path.encode() + b"\0"
    links = 2 if stat.S_ISDIR(member.mode) else 1
    fields = (
        inode, member.mode, 0, 0, links, 0, len(member.data),
        0, 0, *member.device, len(name), 0,
    )  # fmt: skip
    out += b"070701" + b"".join(b"%08X" % field for field in fields) + name
    out += bytes(-len(out) % 4)
    out += member.data
    out += bytes(-len(out) % 4)

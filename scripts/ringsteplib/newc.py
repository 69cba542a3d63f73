# SPDX-License-Identifier: GPL-2.0-or-later
"""A small cpio archive (newc format) with what one run adds to the initramfs."""

_DIRECTORY, _FILE = 0o040755, 0o100755


def archive(files):
    """The archive of FILES, {path: bytes}; every folder of a path comes before it."""
    members, folders = [], set()
    for path in sorted(files):
        parts = path.split("/")
        for depth in range(1, len(parts)):
            folder = "/".join(parts[:depth])
            if folder not in folders:
                folders.add(folder)
                members.append((folder, _DIRECTORY, b""))
        members.append((path, _FILE, files[path]))
    members.append(("TRAILER!!!", 0, b""))
    return b"".join(_member(number, *member) for number, member in enumerate(members, 1))


def _member(number, name, mode, data):
    encoded = name.encode() + b"\0"
    # inode, mode, uid, gid, links, mtime, size, device (2), raw device (2), length of name, checksum
    fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(encoded), 0)
    header = b"070701" + b"".join(b"%08X" % field for field in fields)
    return _padded(header + encoded) + _padded(data)


def _padded(data):
    return data + b"\0" * (-len(data) % 4)

# SPDX-License-Identifier: GPL-2.0-or-later
"""Hashes of files, folders and plain values."""

import hashlib
import json
import os


def of_bytes(data):
    return hashlib.sha256(data).hexdigest()


def of_file(path):
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def of_value(value):
    """Hash of a value made of dicts, lists, strings and numbers; the order of keys is no matter."""
    return of_bytes(json.dumps(value, sort_keys=True, separators=(",", ":")).encode())


def of_tree(folder, skip=()):
    """Hash of the names, modes and contents of all files below FOLDER, not of where it is."""
    return of_value([[name, _mode(path), _content(path)] for name, path in files(folder, skip)])


def files(folder, skip=()):
    """(relative name, path) of every file below FOLDER, sorted, less the names in SKIP."""
    found = []
    for top, folders, names in os.walk(folder):
        folders[:] = [d for d in folders if d not in skip and d != "__pycache__"]
        for name in names:
            path = os.path.join(top, name)
            if name not in skip:
                found.append((os.path.relpath(path, folder), path))
    return sorted(found)


def _mode(path):
    return "x" if os.access(path, os.X_OK) else "-"


def _content(path):
    return os.readlink(path) if os.path.islink(path) else of_file(path)

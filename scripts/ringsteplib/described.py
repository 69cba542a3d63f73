# SPDX-License-Identifier: GPL-2.0-or-later
"""What is described in one small file each: benchmarks and profiles."""

from pathlib import Path

from .errors import Usage, unknown


def names(folder, suffix):
    """Those that come with ringstep."""
    return sorted(path.stem for path in folder.glob(f"*{suffix}"))


def find(kind, name, folder, suffix):
    """The file of the KIND called NAME, or the file NAME itself (any name with a slash or SUFFIX)."""
    if "/" in name or name.endswith(suffix):
        path = Path(name).expanduser()
        if not path.is_file():
            known = ", ".join(names(folder, suffix))
            raise Usage(f"there is no {kind} file {name}", f"give a file, or a name: {known}")
        return path
    path = folder / f"{name}{suffix}"
    if not path.is_file():
        raise unknown(kind, name, names(folder, suffix))
    return path

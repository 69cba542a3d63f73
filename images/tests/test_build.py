# SPDX-License-Identifier: GPL-2.0-or-later
"""images/build: the same inputs give the same bytes, and bad ones a message that names them."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

IMAGES = Path(__file__).resolve().parent.parent
BUSYBOX = Path("/bin/busybox")

# A 64-bit ELF file with one program header, of the type in %b.
ELF = b"\x7fELF\x02\x01" + bytes(26) + (64).to_bytes(8, "little") + bytes(14) + b"\x38\0\x01\0" + bytes(6)
INTERP, LOAD = b"\x03\0\0\0", b"\x01\0\0\0"


def program(folder, name, data=ELF + LOAD + bytes(52)):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(data)
    path.chmod(0o755)
    return path


def build(out, *folders, images=IMAGES, busybox=BUSYBOX, umask=0o022):
    command = [images / "build", "--out", out, "--busybox", busybox]
    for folder in folders:
        command += ["--bin", folder]
    return subprocess.run(command, capture_output=True, text=True, umask=umask)


@pytest.fixture
def programs(tmp_path):
    program(tmp_path / "bin", "alpha")
    program(tmp_path / "bin", "omega")
    return tmp_path / "bin"


def listing(archive, *options):
    """The archive's members as GNU cpio reads them, a line each."""
    command = ["cpio", "--quiet", "-it", *options]
    with archive.open("rb") as source:
        return subprocess.run(command, stdin=source, capture_output=True, text=True, check=True).stdout.splitlines()


def line_of(archive, name):
    """What cpio -tvn says of one member."""
    (line,) = (line for line in listing(archive, "-vn") if line.endswith(name) or f" {name} -> " in line)
    return line


def test_same_bytes_from_anywhere(tmp_path, programs):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    os.umask(0o077)
    try:
        shutil.copytree(IMAGES, elsewhere / "images", copy_function=shutil.copy)
        for name in ("omega", "alpha"):  # another order, other inodes, other times
            program(elsewhere / "programs", name)
    finally:
        os.umask(0o022)
    assert build(tmp_path / "a", programs).returncode == 0
    second = build(tmp_path / "b", elsewhere / "programs", images=elsewhere / "images", umask=0o077)
    assert second.returncode == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_what_cpio_sees(tmp_path, programs):
    assert build(tmp_path / "out", programs).returncode == 0
    paths = listing(tmp_path / "out")
    assert paths == sorted(paths)
    assert line_of(tmp_path / "out", " init").startswith("-rwxr-xr-x")
    assert line_of(tmp_path / "out", " bin/alpha").split()[:4] == ["-rwxr-xr-x", "1", "0", "0"]
    assert line_of(tmp_path / "out", " dev/console").startswith("crw-------")
    assert line_of(tmp_path / "out", "bin/sh").endswith(" -> busybox")


def test_programs_stand_before_applets(tmp_path, programs):
    program(programs, "ls")
    assert build(tmp_path / "out", programs).returncode == 0
    assert line_of(tmp_path / "out", " bin/ls").startswith("-rwxr-xr-x")


def test_archives_can_be_appended(tmp_path, programs):
    assert build(tmp_path / "out", programs).returncode == 0
    assert (tmp_path / "out").stat().st_size % 512 == 0


@pytest.mark.parametrize(
    "prepare, message",
    [
        (lambda bin: shutil.rmtree(bin), "no such folder of programs"),
        (lambda bin: [path.unlink() for path in bin.iterdir()], "no programs in it"),
        (lambda bin: program(bin, "shared", ELF + INTERP + bytes(52)), "bin/shared: linked dynamically"),
    ],
)
def test_bad_programs(tmp_path, programs, prepare, message):
    prepare(programs)
    result = build(tmp_path / "out", programs)
    assert result.returncode == 1
    assert message in result.stderr
    assert list(tmp_path.glob("*out*")) == []


def test_bad_busybox(tmp_path, programs):
    result = build(tmp_path / "out", programs, busybox=tmp_path / "none")
    assert result.returncode == 1
    assert "install the package busybox-static" in result.stderr

# SPDX-License-Identifier: GPL-2.0-or-later
"""The files that users write: profiles, benchmarks, seed lists, switches, the lock file."""

import re

import pytest

from ringsteplib import benchmark, compare, paths, profile, settings, sources, switches
from ringsteplib.errors import Usage

MINIMAL = """
[benchmark]
name = x
profile = bare
guest = server {duration_ms}
    --more
[guest]
duration_ms = 5
[arms]
before = io_uring.a=0
after = io_uring.a=1 b=2
[metrics]
requests_per_s = higher: echoes
[published]
metric = requests_per_s
before = 10.5
source = a list, 2025
"""


PROFILE = "version = 1\ninsn-ps = 400\n"


def test_profile_lines():
    found = profile.parse("p", "# SPDX-License-Identifier: x\n#\n# A host. More.\n\n" + PROFILE
                          + "ipi-ps = 1500000   # measured\nmmio-ps=0\n")
    assert found.costs == {"insn-ps": 400, "ipi-ps": 1500000, "mmio-ps": 0}
    assert found.description == "A host"


@pytest.mark.parametrize("line,says", [
    ("ipi-ps = 1.5", "p:3: not"), ("ipi-ps = -5", "p:3: not"), ("ipi-ps 3", "p:3: not"), ("= 3", "p:3: not"),
    ("insn-ps = 1", "p:3: insn-ps is there twice"), ("a,b = 1", "p:3: not"),
    ("ipi-ns = 1", "p:3: unknown cost 'ipi-ns'"), ("ipi-ps = 1000000001", "from 0 to 1000000000"),
    ("ipi-ps = " + 5000 * "9", "p:3: not"), ("string-bytes = 24", "power of two"),
    ("string-bytes = 0", "from 1 to 4096"), ("version = 1", "version is there twice")])
def test_a_wrong_profile_line_is_named(line, says):
    with pytest.raises(Usage, match=says):
        profile.parse("p", PROFILE + line, "p")


@pytest.mark.parametrize("text,says", [
    ("", "no version"), ("insn-ps = 400", "no version"), ("version = 1", "no insn-ps"),
    ("version = 2\ninsn-ps = 400", "version 2"), ("version = 1\ninsn-ps = 0", "from 1 to 1000000")])
def test_a_profile_that_is_not_whole_is_refused(text, says):
    with pytest.raises(Usage, match=says):
        profile.parse("p", text, "p")


def test_a_profile_that_is_not_text_is_refused(tmp_path):
    (tmp_path / "x.profile").write_bytes(b"\xff\xfe")
    with pytest.raises(Usage, match="not text"):
        profile.load(str(tmp_path / "x.profile"))


def test_costs_are_those_of_the_machine():
    source = (paths.QEMU_DEVICE / "lockstep/object.c").read_text()
    table = re.search(r"options\[\] = \{(.*?)\n\};", source, re.S)[1]
    options = {f"{name}-ps" for name in re.findall(r'EVENT_OPTION\("([a-z-]+)"', table)}
    options |= set(re.findall(r'\{ "([a-z-]+)"', table)) - {"quantum", "limit-ns"}
    assert set(profile.COSTS) == options


def test_every_profile_of_ours_is_read():
    for name in profile.names():
        found = profile.load(name)
        assert found.description and found.costs is not None


def test_benchmark_file():
    found = benchmark.parse(MINIMAL, "x.ini")
    assert found.command_line() == "server 5 --more"
    assert found.parameters("after") == ("io_uring.a=1", "b=2")
    assert found.metrics == [benchmark.Shown("requests_per_s", "higher", "echoes")]
    assert found.published == {"metric": "requests_per_s", "before": 10.5, "source": "a list, 2025"}


@pytest.mark.parametrize("old,new,says", [
    ("before = io_uring.a=0\n", "", "needs before and after"),
    ("guest = server", "host = server", "'guest'"),
    ("higher:", "bigger:", "'bigger' is none of"),
    ("profile = bare", "profile = bare\nvcpus = x", "invalid literal"),
    ("[arms]", "[arms", "contains parsing errors"),
])
def test_a_wrong_benchmark_file_is_named(old, new, says):
    with pytest.raises(Usage) as caught:
        benchmark.parse(MINIMAL.replace(old, new), "x.ini")
    assert caught.value.message.startswith("x.ini: ")
    assert says in caught.value.message


def test_every_benchmark_of_ours_is_read():
    assert {"iowq-echo", "hybrid-echo"} <= set(benchmark.names())
    for name in benchmark.names():
        found = benchmark.load(name)
        assert found.name == name and found.description
        assert found.profile in profile.names()


def test_unknown_names_list_the_known_ones():
    with pytest.raises(Usage, match="unknown benchmark") as caught:
        benchmark.load("iowq-ecko")
    assert "did you mean 'iowq-echo'" in caught.value.next_step
    assert "hybrid-echo" in caught.value.next_step


def test_seed_lists():
    assert compare.parse_seeds("1-3,7") == [1, 2, 3, 7]
    assert compare.seeds_text([1, 2, 3, 7, 9, 10]) == "1-3,7,9-10"
    for wrong in ("", "3-1", "1,1", "a", "1-"):
        with pytest.raises(Usage):
            compare.parse_seeds(wrong)


def test_switches_become_kernel_parameters():
    assert switches.parameter("iowq_hybrid=1") == "io_uring.iowq_hybrid=1"
    assert switches.parameter("tcp.x=1") == "tcp.x=1"
    for wrong in ("iowq_hybrid", "iowq_hybrid=", "nothing=1", "a.b=1 init=/bin/sh"):
        with pytest.raises(Usage):
            switches.parameter(wrong)


def test_settings_change_what_they_name():
    own = settings.parse(["iowq_hybrid=1", "guest.duration_ms=9", "peer.depth=2", "tcp.x=1",
                          "machine.vcpus=2", "profile.ipi-ps=7", "peer.depth=4"])
    assert own.parameters == ("io_uring.iowq_hybrid=1", "tcp.x=1")
    assert own.machine() == {"vcpus": 2}
    bench = benchmark.parse(MINIMAL, "x.ini").changed(own)
    assert bench.command_line() == "server 9 --more"
    assert bench.peer == {"depth": "4"}
    costs = profile.parse("p", PROFILE + "ipi-ps = 1\nhlt-ps = 2").changed(own.of("profile"))
    assert costs.costs == {"insn-ps": 400, "ipi-ps": 7, "hlt-ps": 2}
    assert costs.name == "p+ipi-ps=7", "a report never shows the profile's own name for it"


@pytest.mark.parametrize("text", ["guest.duration=9", "machine.cpus=2", "machine.vcpus=0",
                                  "machine.vcpus=17", "machine.coherence=half", "profile.ipi=1",
                                  "profile.ipi-ps=-1", "profile.insn-ps=0", "profile.string-bytes=3", "peer.x="])
def test_settings_that_nothing_has_are_refused(text):
    with pytest.raises(Usage):
        own = settings.parse([text])
        benchmark.parse(MINIMAL, "x.ini").changed(own)
        profile.parse("p", PROFILE).changed(own.of("profile"))
        own.machine()


def test_every_switch_is_in_a_kernel_patch():
    text = "".join(path.read_text()
                   for path in sources.numbered_patches(paths.GUEST_DRIVER / "kernel/patches"))
    for name in switches.SWITCHES:
        assert re.search(rf"^\+module_param\w*\({name}\b", text, re.M)


def test_the_lock_file_pins_everything():
    pins = sources.read_lock()
    assert {"qemu", "lwip", "linux", "meson", "seabios", "qemu-data"} <= pins.keys()
    for pin in pins.values():
        assert re.fullmatch("[0-9a-f]{64}", pin.sha256)
        assert pin.kind in ("source", "binary") and pin.archive in ("debian", "security")
        assert "://" not in pin.file


def test_a_broken_lock_file_is_named(tmp_path):
    path = tmp_path / "lock"
    path.write_text("[qemu]\npackage = qemu\n")
    with pytest.raises(Usage, match="lock"):
        sources.read_lock(path)

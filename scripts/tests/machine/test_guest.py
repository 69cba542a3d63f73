# SPDX-License-Identifier: GPL-2.0-or-later
"""The tests of guest-tests: KTAP programs, on this host where they can, and all in the guest."""

import re
import subprocess

from ringsteplib import paths

EACH = """
for test in /bin/test-*; do
    echo "== ${test#/bin/test-}"
    $test
    echo "== status $?"
done
"""


def test_programs_on_this_host(tmp_path):
    done = subprocess.run(["make", "-s", "-C", paths.GUEST_TESTS, f"O={tmp_path}", "check"],
                          text=True, stdin=subprocess.DEVNULL, capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_programs_in_the_guest(boot):
    outcome, files = boot(EACH, peer={})
    text = files["output.txt"].decode(errors="replace")
    outcome.check()
    ran = re.findall(r"^== (\S+)\n((?:.*\n)*?)== status (\d+)$", text, re.M)
    wanted = {path.stem for path in (paths.GUEST_TESTS / "tests").glob("*.*")}
    assert {name for name, _, _ in ran} == wanted, text
    failed = [name for name, said, status in ran
              if status != "0" or re.search(r"^\s*not ok", said, re.M)
              or not re.search(r"^ok 1", said, re.M)]
    assert not failed, text
    # with our kernel every way to the control device is there
    assert "# SKIP" not in {name: said for name, said, _ in ran}["device"], text

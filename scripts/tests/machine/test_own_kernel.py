# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels that are not ringstep's: without the driver the programs find the device in sysfs."""

from ringsteplib import benchmark

NO_DRIVER = "initcall_blacklist=ringstep_driver_init"


def test_a_benchmark_runs_without_the_driver(boot):
    bench = benchmark.load("iowq-echo")
    command = bench.command_line().replace("--duration-ms 200", "--duration-ms 20")
    outcome, files = boot(f"ls /dev/ringstep; {command}", peer=bench.peer, parameters=(NO_DRIVER,))
    outcome.check()
    assert b"No such file" in files["output.txt"]
    assert outcome.results.code == 0
    assert outcome.results.metrics["requests"] > 0


def test_a_build_folder_of_the_users_own(ringstep, real_parts, tmp_path):
    build = tmp_path / "linux"
    build.mkdir()
    (build / "vmlinux").symlink_to(real_parts.kernel.image)
    (build / ".config").write_text("CONFIG_PVH=y\n")
    done = ringstep("boot", "--kernel", build, "--", "uname", "-r")
    assert done.code == 0 and done.out.strip() == real_parts.kernel.name

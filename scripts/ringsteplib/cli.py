# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line: verbs, options, exit codes."""

import argparse
import errno
import functools
import shlex
import shutil
import sqlite3
import sys
import time
import traceback
from pathlib import Path

from . import (ablate, benchmark, build_image, build_kernel, calibrate, compare, disk, errors, host, measure,
               microbench, parts, perf, process, profile, progress, report, reproduce, run, settings,
               sweep, switches, table, validate, verify)
from .cache import Cache
from .machine import COHERENCE, MAX_VCPUS, Machine
from .store import Store

NS_PER_S = 10**9
BOOT_PROFILE = "bare"
EPILOG = """\
exit codes: 0 good; 1 bad (a failed test, a regression asked for); 2 usage; 3 broken machine;
125 cannot tell (the kernel does not build or boot, the host failed). They fit `git bisect run`.
"""


def main(argv):
    process.install_signal_handlers()
    arguments = parser().parse_args(argv)
    progress.set_quiet(arguments.quiet)
    try:
        return arguments.verb(arguments)
    except errors.Error as error:
        return complain(error)
    except (KeyboardInterrupt, process.Signalled):
        process.stop_all()
        return complain(errors.CannotTell("interrupted; nothing half-done is kept"))
    except sqlite3.Error as error:
        return complain(errors.CannotTell(f"the store of results cannot be used: {error}",
                                          f"is the disk full? else delete {Store.path_in(Cache())}"))
    except OSError as error:
        return complain(_of_the_host(error))
    except Exception as error:  # a bug of ours must not look like a bad kernel to git bisect
        traceback.print_exc()
        return complain(errors.CannotTell(f"internal error: {error!r}", "please report it"))


def complain(error):
    """Say what happened and what to do; return the exit code."""
    print(f"ringstep: error: {error.message}", file=sys.stderr)
    if error.next_step:
        print(f"ringstep: next: {error.next_step}", file=sys.stderr)
    return error.exit_code


def _of_the_host(error):
    if error.errno == errno.ENOSPC:
        return errors.CannotTell(
            f"the disk is full: {error}",
            "free some space (ringstep clean) or set XDG_CACHE_HOME to a larger disk")
    return errors.CannotTell(f"the host failed: {error}")


def parser():
    top = argparse.ArgumentParser(
        prog="ringstep", description="A deterministic machine for measuring Linux kernel changes.",
        epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    top.add_argument("-q", "--quiet", action="store_true", help="no progress on stderr")
    verbs = top.add_subparsers(title="verbs", required=True, metavar="VERB")
    _add_build(verbs)
    _add_boot(verbs)
    _add_list(verbs)
    _add_run(verbs)
    _add_compare(verbs)
    _add_sweep(verbs)
    _add_ablate(verbs)
    _add_reproduce(verbs)
    _add_verify(verbs)
    _add_calibrate(verbs)
    _add_validate(verbs)
    _add_perf(verbs)
    _add_clean(verbs)
    return top


# build

def _add_build(verbs):
    verb = verbs.add_parser("build", help="build what is missing")
    verb.add_argument("part", nargs="?", choices=parts.PARTS, default="all",
                      help="what to build (default: all)")
    verb.add_argument("--debug-kernel", action="store_true", help="with lockdep and KASAN")
    verb.add_argument("--print", action="store_true", help="print the folders of what was built")
    verb.set_defaults(verb=build_verb)


def build_verb(arguments):
    built = parts.build(Cache(), arguments.part, _configuration(arguments))
    if arguments.print:
        for name, path in built.items():
            print(f"{name} {path}")
    return errors.GOOD


# boot

def _add_boot(verbs):
    verb = verbs.add_parser("boot", help="a console, or a command with its exit code passed through")
    _machine_options(verb)
    verb.add_argument("--memory", type=_count(1 << 20), default=512, metavar="MIB", help="default: 512")
    verb.add_argument("--seed", type=int, default=1, metavar="N", help="default: 1")
    verb.add_argument("command", nargs="*", metavar="-- CMD", help="what to run in the guest")
    verb.set_defaults(verb=boot_verb)


def boot_verb(arguments):
    own = settings.parse(arguments.set)
    own.refuse(("guest", "peer"))
    chosen = {"memory_mib": arguments.memory, **_settings(arguments, own, BOOT_PROFILE)}
    cache = Cache()
    machine = Machine(_files(cache, arguments),
                      command=shlex.join(arguments.command) or None, peer={},
                      disk=disk.parse(own.of("disk")), **chosen)
    if arguments.dry_run:
        print(machine.shell_lines())
        return errors.GOOD
    with cache.run_folder() as folder:
        try:
            if machine.command is None:
                progress.say("the guest's console; Ctrl-A X ends the machine")
                outcome = run.interactive(machine, folder)
                return outcome.results.code or errors.GOOD
            outcome = run.run(machine, folder, output=run.to_stdout,
                              host_limit_s=arguments.host_limit)
        finally:
            if arguments.keep:
                measure.keep_folder(folder)
        outcome.check()
        for text in outcome.results.texts:
            progress.say(f"guest: {text}")
        return outcome.results.code


# list

def _add_list(verbs):
    verb = verbs.add_parser("list", help="benchmarks, profiles and switches")
    verb.set_defaults(verb=list_verb)


def list_verb(_arguments):
    print("benchmarks:")
    for name in benchmark.names():
        print(f"  {name:<18} {benchmark.load(name).description}")
    print("profiles:")
    for name in profile.names():
        print(f"  {name:<18} {profile.load(name).description}")
    print("switches:")
    for name, text in switches.SWITCHES.items():
        print(f"  {name:<18} {text}")
    return errors.GOOD


# run

def _add_run(verbs):
    verb = verbs.add_parser("run", help="one run of a benchmark")
    _bench_options(verb)
    verb.add_argument("--arm", default="after", metavar="A", help="before or after (default)")
    verb.add_argument("--seed", type=int, default=1, metavar="N", help="default: 1")
    verb.add_argument("--json", metavar="FILE", help="write the result there, too (-: stdout only)")
    verb.add_argument("--require", action="append", default=[], metavar="METRIC>=VALUE",
                      help="exit 1 when it does not hold (also <=); can be repeated")
    verb.add_argument("--force", action="store_true", help="run even if the result is known")
    verb.set_defaults(verb=run_verb)


def run_verb(arguments):
    bench = benchmark.load(arguments.bench)
    requirements = [measure.Requirement.parse(text) for text in arguments.require]
    chosen = _bench_settings(bench, arguments)
    cache = Cache()
    machine = _of_arm(bench, arguments.arm, _files(cache, arguments), chosen)
    if arguments.dry_run:
        print(machine.shell_lines())
        return errors.GOOD
    measurement = _runner(cache, arguments).measure(machine)
    if arguments.json != "-":
        print(table.of_run(bench, arguments.arm, machine, measurement), end="")
    if arguments.json:
        report.write(arguments.json, report.of_run(bench, arguments.arm, machine, measurement))
    for requirement in requirements:
        requirement.check(measurement)
    return errors.GOOD


# compare

def _add_compare(verbs):
    verb = verbs.add_parser("compare", help="both arms of a benchmark under several seeds")
    _bench_options(verb, kernels=True)
    _ensemble_options(verb)
    verb.add_argument("--json", metavar="FILE", help="write the result there, too (-: stdout only)")
    verb.add_argument("--fail-on-regression", action="store_true",
                      help="exit 1 when a metric is worse after, its interval excluding zero")
    verb.set_defaults(verb=compare_verb)


def compare_verb(arguments):
    bench = benchmark.load(arguments.bench)
    seeds = compare.parse_seeds(arguments.seeds)
    cache = Cache()
    machine_of = _machines_of_arms(cache, bench, arguments)
    if arguments.dry_run:
        for arm in benchmark.ARMS:
            print(machine_of(arm, seeds[0]).shell_lines())
        return errors.GOOD
    begin = time.monotonic()
    result = compare.compare(bench, seeds, machine_of, _runner(cache, arguments).measure,
                             arguments.jobs)
    if arguments.json != "-":
        print(table.render(result), end="")
    if arguments.json:
        report.write(arguments.json, report.of_comparison(result, time.monotonic() - begin))
    worse = result.regressions()
    if worse and arguments.fail_on_regression:
        raise errors.Bad(f"worse after the change: {', '.join(worse)}")
    return errors.GOOD


def _machines_of_arms(cache, bench, arguments):
    """Machine of (arm, seed). One kernel: its switches make the arms. Two: the kernels do."""
    chosen = _bench_settings(bench, arguments)
    kernels = [build_kernel.own(path) for path in arguments.kernel or []]
    if len(kernels) > 2:
        raise errors.Usage("more than two --kernel", "one for both arms, or one for each")
    if len(kernels) == 2:
        files_of = dict(zip(benchmark.ARMS, (parts.collect(cache, kernel) for kernel in kernels)))
        return lambda arm, seed: Machine(files_of[arm], **{**chosen, "seed": seed})
    files = parts.collect(cache, kernels[0] if kernels else None, _configuration(arguments))
    return lambda arm, seed: _of_arm(bench, arm, files, chosen, seed=seed)


# sweep

def _add_sweep(verbs):
    verb = verbs.add_parser("sweep", help="a benchmark at every point of a grid of settings")
    _bench_options(verb)
    verb.add_argument("--vary", action="append", default=[], required=True, metavar="KEY=LIST",
                      help="values of a setting (see --set), separated by commas; can be repeated")
    verb.add_argument("--arm", choices=benchmark.ARMS, help="only one (default: both, compared)")
    _ensemble_options(verb, seeds="1-3")
    verb.add_argument("--metric", action="append", default=[], metavar="NAME",
                      help="what the table shows; can be repeated (default: the first one of BENCH)")
    verb.add_argument("--csv", metavar="FILE", help="write every run there, too (-: stdout only)")
    verb.add_argument("--json", metavar="FILE", help="write every run there, too (-: stdout only)")
    verb.set_defaults(verb=sweep_verb)


def sweep_verb(arguments):
    bench = benchmark.load(arguments.bench)
    axes = [sweep.Axis.parse(text) for text in arguments.vary]
    arms = [arguments.arm] if arguments.arm else list(benchmark.ARMS)
    seeds = compare.parse_seeds(arguments.seeds)
    points = sweep.points(axes)
    chosen = {point: _bench_settings(bench, arguments, sweep.texts(axes, point)) for point in points}
    cache = Cache()
    files = _files(cache, arguments)

    def machine_of(point, arm, seed):
        return _of_arm(bench, arm, files, chosen[point], seed=seed)

    if arguments.dry_run:
        print(machine_of(points[0], arms[0], seeds[0]).shell_lines())
        return errors.GOOD
    begin = time.monotonic()
    result = sweep.sweep(bench, axes, arms, seeds, machine_of, _runner(cache, arguments).measure,
                         arguments.jobs)
    if "-" not in (arguments.csv, arguments.json):
        print(sweep.render(result, _shown(result, arguments.metric or [bench.metrics[0].name])), end="")
    if arguments.csv:
        report.write_text(arguments.csv, sweep.to_csv(result))
    if arguments.json:
        report.write(arguments.json, report.of_sweep(result, time.monotonic() - begin))
    return errors.GOOD


def _shown(result, metrics):
    for name in metrics:
        if name not in result.names():
            raise errors.unknown("metric", name, result.names())
    return metrics


# ablate

def _add_ablate(verbs):
    verb = verbs.add_parser("ablate", help="which costs make a change's effect: the comparison without "
                                           "each group of costs, and with each alone")
    _bench_options(verb)
    _ensemble_options(verb)
    verb.add_argument("--metric", metavar="NAME", help="the effect on what (default: the first one of BENCH)")
    verb.add_argument("--json", metavar="FILE", help="write the result there, too (-: stdout only)")
    verb.set_defaults(verb=ablate_verb)


def ablate_verb(arguments):
    bench = benchmark.load(arguments.bench)
    metric = arguments.metric or bench.metrics[0].name
    seeds = compare.parse_seeds(arguments.seeds)
    chosen = _bench_settings(bench, arguments)
    cache = Cache()
    files = _files(cache, arguments)

    def machine_of(costs, arm, seed):
        return _of_arm(bench, arm, files, chosen, profile=costs, seed=seed)

    if arguments.dry_run:
        for variant in ablate.variants(chosen["profile"], chosen["coherence"]):
            print(f"# {variant.title}\n{machine_of(variant.profile, benchmark.ARMS[0], seeds[0]).shell_lines()}")
        return errors.GOOD
    result = ablate.ablate(bench, metric, chosen["profile"], chosen["coherence"], seeds, machine_of,
                           _runner(cache, arguments).measure, arguments.jobs)
    if arguments.json != "-":
        print(ablate.render(result), end="")
    if arguments.json:
        report.write(arguments.json, ablate.document(result, host.description()))
    return errors.GOOD


# reproduce

def _add_reproduce(verbs):
    verb = verbs.add_parser("reproduce", help="every published figure, ours beside it")
    _machine_options(verb)
    _ensemble_options(verb)
    verb.add_argument("--json", metavar="FILE", help="write a results file, too (-: stdout only)")
    verb.add_argument("--check", metavar="FILE",
                      help="run again what a results file has, and compare bit by bit")
    verb.add_argument("--bench", action="append", metavar="BENCH", help="only this one; can be repeated")
    verb.set_defaults(verb=reproduce_verb)


def reproduce_verb(arguments):
    benches = _published(arguments.bench)
    chosen = {name: _bench_settings(bench, arguments) for name, bench in benches.items()}
    seeds = compare.parse_seeds(arguments.seeds)
    runs = _recorded(arguments.check, benches) if arguments.check else []
    arguments.force = arguments.force or bool(runs)
    cache = Cache()
    files = _files(cache, arguments)
    measure_one = _runner(cache, arguments).measure

    def machine_of(name, arm, seed):
        return _of_arm(benches[name], arm, files, chosen[name], seed=seed)

    if arguments.dry_run:
        for name in benches:
            print(machine_of(name, benchmark.ARMS[0], seeds[0]).shell_lines())
        return errors.GOOD
    if arguments.check:
        found = reproduce.check(runs, machine_of, lambda machines: compare.measure_all(
            "check", machines, measure_one, arguments.jobs))
        print(found.verdict(arguments.check), end="")
        return errors.GOOD
    results = [compare.compare(bench, seeds, functools.partial(machine_of, name), measure_one,
                               arguments.jobs) for name, bench in benches.items()]
    if arguments.json != "-":
        print(reproduce.render(results), end="")
    if arguments.json:
        report.write(arguments.json, reproduce.document(results, host.description()))
    return errors.GOOD


def _recorded(path, benches):
    """The runs of BENCHES in the results file PATH; one of no benchmark at all is an error."""
    runs = reproduce.read(path)
    _published({run["bench"]: None for run in runs})
    found = [run for run in runs if run["bench"] in benches]
    if not found:
        raise errors.Usage(f"{path} has no run of {', '.join(benches)}")
    return found


def _published(names):
    """The benchmarks called NAMES (none: all) that reproduce a published figure."""
    benches = {bench.name: bench for bench in reproduce.benchmarks()}
    for name in names or ():
        if name not in benches:
            raise errors.unknown("benchmark with a published figure", name, benches)
    return {name: bench for name, bench in benches.items() if name in (names or benches)}


# verify

def _add_verify(verbs):
    verb = verbs.add_parser("verify", help="the same run twice, the second on a busy host: any "
                                           "difference is an error")
    _bench_options(verb)
    verb.add_argument("--arm", default="after", metavar="A", help="before or after (default)")
    verb.add_argument("--seed", type=int, default=1, metavar="N", help="default: 1")
    verb.set_defaults(verb=verify_verb)


def verify_verb(arguments):
    bench = benchmark.load(arguments.bench)
    chosen = _bench_settings(bench, arguments)
    cache = Cache()
    machine = _of_arm(bench, arguments.arm, _files(cache, arguments), chosen)
    if arguments.dry_run:
        print(machine.shell_lines())
        return errors.GOOD
    with cache.run_folder() as first, cache.run_folder() as second:
        differences, _ = verify.verify(machine, first, second)
        if differences or arguments.keep:
            for folder in (first, second):
                measure.keep_folder(folder)
    if differences:
        raise errors.BrokenMachine(
            "two runs of one digest differ\n" + "\n".join(map(str, differences)),
            f"this is a bug of ringstep; the digest is {machine.digest()}")
    print(f"{bench.name}: two runs, one result, bit for bit\n  digest {machine.digest()}")
    return errors.GOOD


# calibrate, validate

def _add_calibrate(verbs):
    verb = verbs.add_parser("calibrate", help="a profile of this host, from micro-benchmarks")
    verb.add_argument("--out", metavar="FILE", help="write the profile there (default: only show it)")
    verb.add_argument("--base", default=BOOT_PROFILE, metavar="P",
                      help=f"where costs come from that cannot be measured (default: {BOOT_PROFILE})")
    verb.add_argument("--max-spread", type=_count(), default=30, metavar="PERCENT",
                      help="the most that the middle half of the rounds may spread (default: 30)")
    _micro_options(verb)
    verb.set_defaults(verb=calibrate_verb)


def calibrate_verb(arguments):
    base = profile.load(arguments.base)
    cache = Cache()
    files = parts.collect(cache)
    program = build_image.programs(cache) / "micro"
    entries, names = _possible(program)

    def in_machine(found):
        progress.say(f"the same in a machine, {len(names)} operations")
        return microbench.in_machine(cache, files, found, program, names, microbench.host_cpus(),
                                     COHERENCE[1])

    found = calibrate.calibrate(
        Path(arguments.out).stem if arguments.out else "host",
        _on_host(program, names, arguments), in_machine, base, arguments.max_spread)
    text = calibrate.profile_text(found, host.line())
    print(calibrate.render(found, entries))
    print(text, end="")
    if arguments.out:
        report.write_text(arguments.out, text)
    return errors.GOOD


def _add_validate(verbs):
    verb = verbs.add_parser("validate", help="what a profile predicts for other operations than those "
                                             "that it was calibrated with, against this host")
    verb.add_argument("--profile", required=True, metavar="P", help="a name, or a file of calibrate's")
    verb.add_argument("--coherence", choices=COHERENCE, default=COHERENCE[1],
                      help=f"default: {COHERENCE[1]}")
    verb.add_argument("--json", metavar="FILE", help="write the result there, too (-: stdout only)")
    _micro_options(verb)
    verb.set_defaults(verb=validate_verb)


def validate_verb(arguments):
    chosen = profile.load(arguments.profile)
    cache = Cache()
    files = parts.collect(cache)
    program = build_image.programs(cache) / "workload"
    entries, names = _possible(program)
    vcpus = min(microbench.host_cpus(), MAX_VCPUS)
    on_host = _on_host(program, names, arguments)
    progress.say(f"the same in a machine, {len(names)} operations")
    found = validate.Validation(
        chosen, arguments.coherence, vcpus, on_host,
        microbench.in_machine(cache, files, chosen, program, names, vcpus, arguments.coherence))
    if arguments.json != "-":
        print(f"measured on: {host.line()}")
        print(validate.render(found, entries), end="")
    if arguments.json:
        report.write(arguments.json, validate.document(found, host.description()))
    return errors.GOOD


def _micro_options(verb):
    verb.add_argument("--passes", type=_count(1000), default=microbench.PASSES, metavar="N",
                      help=f"so often through the whole table (default: {microbench.PASSES})")


def _possible(program):
    """The table of PROGRAM, and those of it for which this host has CPUs enough."""
    entries = microbench.entries(program)
    names = [entry.name for entry in entries if entry.cpus <= microbench.host_cpus()]
    if len(names) < len(entries):
        progress.warn(f"this host has {microbench.host_cpus()} CPU: what needs two is left out")
    return entries, names


def _on_host(program, names, arguments):
    progress.say(f"{len(names)} operations on this host, which should do nothing else")
    readings = microbench.on_host(program, names, arguments.passes)
    for name, reading in readings.items():
        if reading.refused:
            progress.warn(f"this host refuses {name}: {reading.refused}")
    return readings


# perf, clean

def _add_perf(verbs):
    verb = verbs.add_parser("perf", help="speed of the machine against QEMU as it is")
    verb.add_argument("--repeat", type=_count(), default=3, metavar="N", help="runs of each (default: 3)")
    verb.set_defaults(verb=perf_verb)


def perf_verb(arguments):
    cache = Cache()
    built = parts.collect(cache)
    print(perf.render_modes(perf.by_mode(cache, built, arguments.repeat)), flush=True)
    print(perf.render_vcpus(*perf.by_vcpus(cache, built, arguments.repeat)), end="")
    return errors.GOOD


def _add_clean(verbs):
    verb = verbs.add_parser("clean", help="empty the cache: all that was fetched and built")
    verb.add_argument("--results", action="store_true", help="only the results of runs")
    verb.set_defaults(verb=clean_verb)


def clean_verb(arguments):
    cache = Cache()
    if arguments.results:
        Store.path_in(cache).unlink(missing_ok=True)
    else:
        shutil.rmtree(cache.root, ignore_errors=True)
    return errors.GOOD


# options that verbs share

def _machine_options(verb, kernels=False):
    verb.add_argument("--kernel", metavar="PATH", action="append" if kernels else "store",
                      help="a bzImage, a vmlinux or a build folder of your own"
                           + ("; twice: the kernels before and after" if kernels else ""))
    verb.add_argument("--debug-kernel", action="store_true",
                      help="ringstep's kernel with lockdep and KASAN")
    verb.add_argument("--set", action="append", default=[], metavar="SWITCH=V",
                      help="a switch of the kernel, or MODULE.NAME, guest.NAME, peer.OPTION, "
                           "disk.OPTION, profile.COST, machine.NAME; can be repeated")
    verb.add_argument("--profile", metavar="P", help="what the events of the host cost")
    verb.add_argument("--vcpus", type=_count(MAX_VCPUS), metavar="N", help=f"1 to {MAX_VCPUS}")
    verb.add_argument("--quantum", type=_count(), default=200, metavar="N",
                      help="instructions between two choices of a vCPU (default: 200)")
    verb.add_argument("--coherence", choices=COHERENCE, default=COHERENCE[1],
                      help="which accesses can wait for a cache line: none, those of atomic "
                           "instructions (default), or all")
    verb.add_argument("--limit", type=float, default=60, metavar="S",
                      help="virtual seconds after which the guest hangs (default: 60)")
    verb.add_argument("--host-limit", type=float, default=3600, metavar="S",
                      help="host seconds after which a run is given up (default: 3600)")
    verb.add_argument("--dry-run", action="store_true", help="show the QEMU line, run nothing")
    verb.add_argument("--keep", action="store_true", help="leave the run's folder here")


def _count(most=10**9):
    """The type of a number from 1 to MOST on the command line."""

    def count(text):
        if not text.isdecimal() or not 1 <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"'{text}' is no number from 1 to {most}")
        return int(text)

    return count


def _bench_options(verb, kernels=False):
    verb.add_argument("bench", metavar="BENCH", help="a name of `ringstep list`, or an .ini file")
    _machine_options(verb, kernels)


def _ensemble_options(verb, seeds="1-5"):
    verb.add_argument("--seeds", default=seeds, metavar="LIST", help=f"such as 1-10 (default: {seeds})")
    verb.add_argument("-j", "--jobs", type=_count(64), default=1, metavar="N",
                      help="machines at once (default: 1)")
    verb.add_argument("--force", action="store_true", help="run even if the results are known")


def _configuration(arguments):
    return "debug" if arguments.debug_kernel else "release"


def _files(cache, arguments):
    """What the machine consists of, built when it is missing."""
    kernel = build_kernel.own(arguments.kernel) if arguments.kernel else None
    return parts.collect(cache, kernel, _configuration(arguments))


def _settings(arguments, own, default_profile, vcpus=4):
    """What the options say about the machine; checked before anything is built."""
    costs = profile.load(arguments.profile or default_profile).changed(own.of("profile"))
    return {"quantum": arguments.quantum, "coherence": arguments.coherence, "limit_ns": int(arguments.limit * NS_PER_S),
            "vcpus": arguments.vcpus or vcpus, "seed": getattr(arguments, "seed", None),
            "profile": costs, "parameters": own.parameters, **own.machine()}


def _runner(cache, arguments):
    return measure.Runner(cache, Store(cache), arguments.force, arguments.keep,
                          arguments.host_limit)


def _bench_settings(bench, arguments, point=()):
    """The machine of BENCH, as the options and the POINT of a sweep change it."""
    own = settings.parse([*arguments.set, *point])
    bench = bench.changed(own)
    return {"memory_mib": bench.memory_mib, "command": bench.command_line(), "peer": bench.peer,
            "disk": disk.parse(bench.disk),
            **_settings(arguments, own, bench.profile, bench.vcpus)}


def _of_arm(bench, arm, files, chosen, **more):
    """The machine for one ARM of BENCH, with what was CHOSEN."""
    return Machine(files, **{**chosen, **more,
                             "parameters": bench.parameters(arm) + chosen["parameters"]})

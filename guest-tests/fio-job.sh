#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# fio-job: runs a job of fio's and reports its figures.
#
#   fio-job FIO-OPTION...
#
# The job's random numbers follow from the machine's seed, so that its blocks differ from seed to
# seed. The window that it marks is all of fio's run, the ramp included; the metrics leave the
# ramp out, as fio does:
#   metric requests, window_ns	reads, or writes where the job has no reads, and in what time
#   metric latency_mean_ns, latency_p50_ns, latency_p99_ns	of these, from when fio queues one to
#			when it sees its completion; the quantiles are fio's, within 1 %
#   counter io_uring_*	of /proc/ringstep_io_uring, over the window

folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
counters=/proc/ringstep_io_uring
seed=$(ringstep-ctl read seed 2> "$folder/errors") || seed=1

copy_counters()
{
	if [ -r $counters ]; then
		cat $counters
	fi > "$folder/$1"
}

copy_counters before
ringstep-ctl begin
# randrepeat=0: with 1, the default, fio 3.33 draws the blocks from a seed of its own. The two together ask the
# kernel for no randomness, which comes late after a boot.
fio --name=job --randrepeat=0 --randseed="$seed" --group_reporting --eta=never --disk_util=0 \
	--clat_percentiles=0 --lat_percentiles=1 --percentile_list=50:99 --output="$folder/report" \
	--output-format=json "$@" || exit
ringstep-ctl end
copy_counters after

# The report has one key in a line. What it says of reads comes first.
awk '
/^      "read" : / || /^      "write" : / { inside = 1; latency = 0; next }
/^      "/ { inside = 0 }
!inside || done { next }
/"runtime" :/ { runtime = int($3) }
/"total_ios" :/ { ios = int($3) }
/"lat_ns" :/ { latency = ios > 0 }
!latency { next }
/"mean" :/ { mean = int($3) }
/"50.000000" :/ { p50 = int($3) }
/"99.000000" :/ {
	printf "metric requests %d\nmetric window_ns %d000000\n", ios, runtime
	printf "metric latency_mean_ns %d\n", mean
	printf "metric latency_p50_ns %d\nmetric latency_p99_ns %d\n", p50, $3
	done = 1
}
' "$folder/report" | ringstep-ctl write

awk '
NR == FNR { before[$1] = $2; next }
{ printf "counter io_uring_%s %d\n", $1, $2 - before[$1] }
' "$folder/before" "$folder/after" | ringstep-ctl write

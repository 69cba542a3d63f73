#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# test-sqpoll-read: sqpoll-read reads a disk, or a file where there is none, and says what is wrong.

file=/dev/ram0
log=${TMPDIR:-/tmp}/sqpoll-read.$$
own=${TMPDIR:-/tmp}/sqpoll-read.data.$$
trap 'rm -f $log $own' EXIT
export RINGSTEP_DEVICE=none

if [ ! -w $file ]; then
	file=$own
	dd if=/dev/zero of=$own bs=4096 count=64 2> /dev/null
fi

echo "KTAP version 1"
echo "1..3"
failed=0
number=0

# says TEXT NAME: is this in the last command's output?
says()
{
	number=$((number + 1))
	if grep -q -e "$1" "$log"; then
		echo "ok $number $2"
	else
		echo "not ok $number $2"
		sed 's/^/# /' "$log"
		failed=1
	fi
}

sqpoll-read --file $file --depth 8 --warmup-ms 1 --duration-ms 20 > "$log" 2>&1
says '^metric requests [1-9]' "it reads"
says '^metric latency_p99_ns [1-9]' "it reports latencies"

sqpoll-read --file /nonexistent > "$log" 2>&1
says 'sqpoll-read: /nonexistent: No such file' "a file that is not there"

exit $failed

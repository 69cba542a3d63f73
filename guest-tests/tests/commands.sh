#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# test-commands: every program explains itself and names a mistake on its command line with exit code 2.

programs="echo-server idle nop-async pingpong ringstep-ctl spin syscalls window"
number=0
failed=0
export RINGSTEP_DEVICE=none

# check CODE TEXT WORD...: does the command end like this, with this text in its output?
check()
{
	expected=$1
	text=$2
	shift 2
	output=$("$@" 2>&1)
	code=$?
	number=$((number + 1))
	case $code:$output in
	$expected:*"$text"*)
		echo "ok $number $*"
		;;
	*)
		echo "not ok $number $*"
		echo "# exit code $code, expected $expected; expected '$text' in: $output"
		failed=1
		;;
	esac
}

set -- $programs
echo "KTAP version 1"
echo "1..$((2 * $# + 11))"
for program in $programs; do
	check 0 "usage: $program " "$program" --help
	check 2 "$program: unknown option '--nonsense'" "$program" --nonsense
done
check 2 "--count needs a value" spin --count
check 2 "--count: 'ten' is not a number from 1" spin --count=ten
check 2 "--threads: '17' is not a number from 1 to 16" spin --threads 17
check 2 "unexpected word 'word'" spin word
check 2 "there is no mode 'telepathy'" pingpong --mode telepathy
check 2 "--async takes no value" echo-server --async=yes
check 2 "'metric' takes 2 words" ringstep-ctl metric a
check 2 "unknown command 'launch'" ringstep-ctl launch
check 2 "no command" ringstep-ctl
check 1 "no control device" ringstep-ctl begin
check 1 "no control device" ringstep-ctl read seed
exit $failed

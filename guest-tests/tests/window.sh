#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# test-window: window names what is wrong with a server, ends it, and reports what was counted.

number=0
failed=0
log=${TMPDIR:-/tmp}/window.$$
trap 'rm -f $log' EXIT
export RINGSTEP_DEVICE=none

echo "KTAP version 1"
echo "1..7"

# ends CODE TEXT NAME: did the last command end like this, with this text in its output?
ends()
{
	code=$?
	number=$((number + 1))
	if [ $code = "$1" ] && grep -q -e "$2" "$log"; then
		echo "ok $number $3"
	else
		echo "not ok $number $3"
		echo "# exit code $code, expected $1; expected the text '$2' in:"
		sed 's/^/# /' "$log"
		failed=1
	fi
}

run()
{
	window "$@" > "$log" 2>&1
}

run --port 7301 -- no-such-server
ends 1 "cannot run 'no-such-server': No such file" "a server that is not there"

run --port 7301 -- sh -c 'exit 5'
ends 1 "'sh' ended with exit code 5 before it listened" "a server that ends at once"

run --port 7301 -- sh -c 'kill -SEGV $$'
ends 1 "'sh' was killed by signal 11 .* before it listened" "a server that crashes"

run --port 7301 --listen-timeout-ms 50 -- sleep 100
ends 1 "'sleep' does not listen on port 7301 after 50 ms" "a server that never listens"

run --port 7302 --warmup-ms 0 --duration-ms 5000 -- timeout -s KILL 0.3 echo-server --port 7302
ends 1 "'timeout' .* in the window" "a server that ends in the window"

run --port 7303 --warmup-ms 1 --duration-ms 20 -- echo-server --port 7303 --async
ends 0 "^counter server_threads 1$" "a good server"

run --port 7303
ends 2 "no server to run" "no server"

exit $failed

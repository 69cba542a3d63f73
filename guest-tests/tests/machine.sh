#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# test-machine: the guest has the CPUs and the queue pairs that the control device states, and CPUs that run
# at the same time.

number=0
failed=0

# ok STATUS NAME: the result of a test, from a command's status.
ok()
{
	number=$((number + 1))
	if [ "$1" = 0 ]; then
		echo "ok $number $2"
	else
		echo "not ok $number $2"
		failed=1
	fi
}

# same NAME GOT EXPECTED
same()
{
	[ "$2" = "$3" ]
	ok $? "$1: $2 of $3"
}

echo "KTAP version 1"
if ! ringstep-ctl read vcpus > /dev/null 2>&1; then
	echo "1..0 # SKIP there is no control device"
	exit 0
fi
echo "1..5"

same "CPUs" "$(nproc)" "$(ringstep-ctl read vcpus)"

queues=$(ringstep-ctl read queues)
set -- /sys/class/net/eth0/queues/tx-*
[ -e "$1" ] || set --
[ -e /sys/class/net/eth0 ] || queues=0
same "transmit queues" $# "$queues"
set -- /sys/class/net/eth0/queues/rx-*
[ -e "$1" ] || set --
same "receive queues" $# "$queues"

# Without a device, the programs print their results.
export RINGSTEP_DEVICE=none
spin --threads 1 > /tmp/one
spin --threads "$(nproc)" > /tmp/all
read -r _ _ one < /tmp/one
read -r _ _ all < /tmp/all
[ $((all * 100)) -le $((one * 102)) ]
ok $? "$(nproc) spinning threads take $all ns, one takes $one ns: at most 1.02 times"

for mode in pipe futex pause busy; do
	pingpong --mode $mode --rounds 100 > /dev/null || break
done
ok $? "two CPUs hand over in each way"

exit $failed

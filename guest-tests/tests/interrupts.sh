#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# test-interrupts: window's names and sums for what /proc/interrupts can look like. Replaces that file for a
# moment: for a guest, not for a host.

log=/tmp/interrupts.log
fake=/tmp/interrupts.fake
number=0
failed=0
export RINGSTEP_DEVICE=none

table()
{
	cat <<-END
		           CPU0       CPU1
		  1:          $1          0   IO-APIC   1-edge      i8042
		 24:          0          $1  PCI-MSIX-0000:00:02.0   1-edge      virtio0-input.0
		 25:          $1         $1  PCI-MSIX-0000:00:02.0   2-edge      Odd Name/With:Signs
		 26:          $1          0  IO-APIC   9-fasteoi   a-name-that-is-much-longer-than-the-sixty-three-characters-of-a-counter
		 27:          7          7  PCI-MSI 1-edge      quiet
		 28:          $1          0
		RES:          $1         $1   Rescheduling interrupts
		ERR:          $1
		MIS
	END
}

# counted LINE: is this line in window's output?
counted()
{
	number=$((number + 1))
	if grep -qx -e "counter $1" $log; then
		echo "ok $number $1"
	else
		echo "not ok $number $1"
		failed=1
	fi
}

table 100 > $fake
echo "KTAP version 1"
if ! mount -o bind $fake /proc/interrupts 2>/dev/null; then
	echo "1..0 # SKIP cannot replace /proc/interrupts"
	exit 0
fi
echo "1..8"
(sleep 0.5; table 105 > $fake) &
window --port 7304 --warmup-ms 0 --duration-ms 1000 -- echo-server --port 7304 > $log
wait
umount /proc/interrupts

counted "irq_i8042 5"
counted "irq_virtio0_input.0 5"
counted "irq_name_with_signs 10"
counted "irq_a_name_that_is_much_longer_than_the_sixty_three_characters_ 5"
counted "irq_28 5"
counted "irq_res 10"
counted "irq_err 5"

number=$((number + 1))
if [ "$(grep -c irq_ $log)" = $((number - 1)) ]; then
	echo "ok $number nothing else"
else
	echo "not ok $number nothing else"
	failed=1
fi
[ $failed = 0 ] || sed 's/^/# /' $log
exit $failed

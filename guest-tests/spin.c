// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * spin: threads on CPUs of their own, each with the same fixed number of instructions. On a machine whose
 * CPUs run at the same time, four of them take as long as one.
 */
#include <stdio.h>

#include "lib/options.h"
#include "lib/ringstep.h"
#include "lib/threads.h"

static uint64_t threads = 4, count = 10000000;

static const struct option_spec specs[] = {
	OPTION_NUMBER("threads", &threads, 1, MAX_THREADS, "threads"),
	OPTION_NUMBER("count", &count, 1, UINT64_MAX, "turns of the loop, each two instructions"),
	OPTION_END
};

static void spin(unsigned int number)
{
	uint64_t left = count;

	(void)number;
	asm volatile("1: dec %0\n\tjnz 1b" : "+r" (left) : : "cc");
}

int main(int argc, char **argv)
{
	options_parse_all(argc, argv, specs, "[OPTION]...");
	ringstep_metric("elapsed_ns", threads_run(threads, spin));
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * share: threads on CPUs of their own, each of which increments a counter: all the same one, one of their own in a
 * cache line that they share, or one in a line of their own. What the cache line costs is the difference.
 */
#include <stdio.h>

#include "lib/options.h"
#include "lib/ringstep.h"
#include "lib/threads.h"

#define LINE 64

static uint64_t threads = 4, count = 20000, stride;
static bool plain;

static const struct option_spec specs[] = {
	OPTION_NUMBER("threads", &threads, 1, MAX_THREADS, "threads"),
	OPTION_NUMBER("count", &count, 1, UINT64_MAX, "increments by each thread"),
	OPTION_NUMBER("stride", &stride, 0, LINE,
		      "bytes between the threads' counters: 0 for one counter, 8 for false sharing, 64 for none"),
	OPTION_FLAG("plain", &plain, "without LOCK"),
	OPTION_END
};

static _Alignas(LINE) char counters[MAX_THREADS * LINE];

static void increment(unsigned int number)
{
	uint64_t *counter = (uint64_t *)(counters + number * stride);
	uint64_t left = count;

	if (plain)
		asm volatile("1: incq %1\n\tdec %0\n\tjnz 1b" : "+r" (left), "+m" (*counter) : : "cc");
	else
		asm volatile("1: lock incq %1\n\tdec %0\n\tjnz 1b" : "+r" (left), "+m" (*counter) : : "cc");
}

int main(int argc, char **argv)
{
	options_parse_all(argc, argv, specs, "[OPTION]...");
	ringstep_metric("elapsed_ns", threads_run(threads, increment));
	return 0;
}

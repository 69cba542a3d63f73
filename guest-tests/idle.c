// SPDX-License-Identifier: GPL-2.0-or-later
/* idle: threads that mostly sleep; a timer wakes each of them at a fixed period. */
#include <stdatomic.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>

#include "lib/options.h"
#include "lib/ringstep.h"
#include "lib/threads.h"

static uint64_t threads = 4, wakeups = 1000, period_us = 1000;

static const struct option_spec specs[] = {
	OPTION_NUMBER("threads", &threads, 1, MAX_THREADS, "threads"),
	OPTION_NUMBER("wakeups", &wakeups, 1, 1ULL << 40, "of each thread"),
	OPTION_NUMBER("period-us", &period_us, 1, 1000000, "from one to the next"),
	OPTION_END
};

static _Atomic uint64_t latest, lateness;

static void doze(unsigned int number)
{
	uint64_t due = now_ns(), sum = 0, most = 0, old;

	(void)number;
	prctl(PR_SET_TIMERSLACK, 1UL);
	for (uint64_t i = 0; i < wakeups; i++) {
		struct timespec until;
		uint64_t late;

		due += period_us * 1000;
		until.tv_sec = due / 1000000000;
		until.tv_nsec = due % 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		late = now_ns() - due;
		sum += late;
		if (late > most)
			most = late;
	}
	atomic_fetch_add(&lateness, sum);
	old = atomic_load(&latest);
	while (old < most && !atomic_compare_exchange_weak(&latest, &old, most))
		;
}

int main(int argc, char **argv)
{
	options_parse_all(argc, argv, specs, "[OPTION]...");
	ringstep_metric("elapsed_ns", threads_run(threads, doze));
	ringstep_metric("wakeups", wakeups * threads);
	ringstep_metric("lateness_mean_ns", lateness / (wakeups * threads));
	ringstep_metric("lateness_max_ns", latest);
	return 0;
}

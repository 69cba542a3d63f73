/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Micro-benchmarks: a table of operations, each timed in rounds. The same executable runs on a host,
 * where it measures that host, and in a guest, where it measures what the machine's model says.
 *
 * Each round is a line on standard output:
 *
 *	NAME COUNT NS [EVENT=COUNT]...	operations, their time, and in a guest the events of the vCPUs
 *	NAME refused WHY		the system does not let it be done
 */
#ifndef RINGSTEP_BENCH_H
#define RINGSTEP_BENCH_H

#include <stdint.h>

struct bench {
	const char *name;
	const char *what;		/* an operation is */
	unsigned int cpus;		/* that it needs, 1 or 2 */
	uint64_t count;			/* operations of a round on a host, at least 100: some ms */
	uint64_t (*run)(uint64_t count);	/* returns the time in ns */
};

/* A program that is such a table. */
int bench_main(int argc, char **argv, const struct bench *table, unsigned int entries);

/* What run() returns when the system forbids it, errno says why. */
#define BENCH_REFUSED	UINT64_MAX

/* Ends the program: `what` has failed for the reason that errno has. */
[[gnu::noreturn]]
void bench_fail(const char *what);

/* Keeps the compiler from leaving out what makes `value`. */
static inline void bench_use(uint64_t value)
{
	asm volatile("" : : "r" (value) : "memory");
}

/* What one side of a conversation reads from and writes to. */
struct ends {
	int in, out;
};

/*
 * The time in ns of `count` round trips of 8 bytes between this process, on CPU 0, and another one on CPU
 * number `cpu`.
 */
uint64_t bench_ping_pong(struct ends self, struct ends other, unsigned int cpu, uint64_t count);

#endif

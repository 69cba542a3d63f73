/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that each have a CPU of their own and start together. */
#ifndef RINGSTEP_THREADS_H
#define RINGSTEP_THREADS_H

#include <stdint.h>

#define MAX_THREADS	16

/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t now_ns(void);

/*
 * Runs `work` in `count` threads, number i pinned to CPU i, and returns the time in ns from
 * the first one's start to the last one's end. A CPU that does not exist ends the program.
 */
uint64_t threads_run(unsigned int count, void (*work)(unsigned int number));

#endif

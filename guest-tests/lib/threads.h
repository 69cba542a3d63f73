/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that each have a CPU of their own and start together. */
#ifndef RINGSTEP_THREADS_H
#define RINGSTEP_THREADS_H

#include <stdint.h>

#define MAX_THREADS	16

/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t now_ns(void);

/*
 * Pins the calling thread to the CPU of this number, counted from 0 among those on which the
 * program was allowed to run at its start. One that does not exist ends the program.
 */
void pin_to_cpu(unsigned int number);

/*
 * Runs `work` in `count` threads, each pinned to the CPU of its number, and returns the time in ns
 * from the first one's start to the last one's end.
 */
uint64_t threads_run(unsigned int count, void (*work)(unsigned int number));

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
/* Threads that each have a CPU of their own and start together. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compiler.h"
#include "threads.h"

struct thread {
	pthread_t id;
	unsigned int number;
	void (*work)(unsigned int number);
	uint64_t begin, end;
};

static pthread_barrier_t start;
static cpu_set_t allowed;

[[gnu::constructor]]
static void find_cpus(void)
{
	sched_getaffinity(0, sizeof(allowed), &allowed);
}

uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

void pin_to_cpu(unsigned int number)
{
	cpu_set_t cpus;
	int cpu = 0;

	for (unsigned int left = number; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed) && !left--)
			break;
	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	if (cpu == CPU_SETSIZE || sched_setaffinity(0, sizeof(cpus), &cpus)) {
		fprintf(stderr, "%s: cannot run on CPU number %u of those allowed: %s\n",
			program_invocation_short_name, number,
			cpu == CPU_SETSIZE ? "there are not so many" : strerror(errno));
		exit(1);
	}
}

static void *thread_main(void *data)
{
	struct thread *thread = data;

	pin_to_cpu(thread->number);
	pthread_barrier_wait(&start);
	thread->begin = now_ns();
	thread->work(thread->number);
	thread->end = now_ns();
	return NULL;
}

uint64_t threads_run(unsigned int count, void (*work)(unsigned int number))
{
	struct thread threads[MAX_THREADS];
	uint64_t begin = UINT64_MAX, end = 0;
	int err = 0;

	pthread_barrier_init(&start, NULL, count);
	for (unsigned int i = 0; !err && i < count; i++) {
		threads[i] = (struct thread) { .number = i, .work = work };
		err = pthread_create(&threads[i].id, NULL, thread_main, &threads[i]);
	}
	if (err) {
		fprintf(stderr, "%s: thread: %s\n", program_invocation_short_name, strerror(err));
		exit(1);
	}
	for (unsigned int i = 0; i < count; i++) {
		pthread_join(threads[i].id, NULL);
		begin = min(begin, threads[i].begin);
		end = max(end, threads[i].end);
	}
	pthread_barrier_destroy(&start);
	return end - begin;
}

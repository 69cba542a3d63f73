// SPDX-License-Identifier: GPL-2.0-or-later
/* Micro-benchmarks: a table of operations, each timed in rounds. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "compiler.h"
#include "options.h"
#include "ringstep.h"
#include "threads.h"

#define MAX_EVENTS	64

static uint64_t rounds = 5, percent = 100;
static bool list;

static const struct option_spec specs[] = {
	OPTION_NUMBER("rounds", &rounds, 1, 1000, "rounds of each"),
	OPTION_NUMBER("percent", &percent, 1, 10000, "of the usual number of operations"),
	OPTION_FLAG("list", &list, "say what there is: NAME, CPUS, what an operation is"),
	OPTION_END
};

struct events {
	unsigned int kinds;
	struct event {
		char name[32];
		uint64_t count;
	} event[MAX_EVENTS];
};

void bench_fail(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
	exit(1);
}

static struct event *find_event(struct events *events, const char *name)
{
	for (unsigned int i = 0; i < events->kinds; i++)
		if (!strcmp(events->event[i].name, name))
			return &events->event[i];
	if (events->kinds == MAX_EVENTS)
		return NULL;
	snprintf(events->event[events->kinds].name, sizeof(events->event[0].name), "%s", name);
	return &events->event[events->kinds++];
}

/* What the vCPUs have done together; nothing without a control device. */
static void read_events(struct events *events)
{
	static char text[1 << 16];
	char *rest = text, *line;

	events->kinds = 0;
	if (ringstep_read(text, sizeof(text)) < 0)
		return;
	while ((line = strsep(&rest, "\n"))) {
		unsigned long long value;
		struct event *event;
		char name[32];

		if (sscanf(line, "vcpu%*u_%31s %llu", name, &value) != 2)
			continue;
		event = find_event(events, name);
		if (event)
			event->count += value;
	}
}

static void print_events(const struct events *before, const struct events *after)
{
	for (unsigned int i = 0; i < after->kinds && i < before->kinds; i++) {
		uint64_t count = after->event[i].count - before->event[i].count;

		if (count)
			printf(" %s=%llu", after->event[i].name, (unsigned long long)count);
	}
}

static void run(const struct bench *bench)
{
	static struct events before, after;
	uint64_t count = max(bench->count * percent / 100, 1);

	for (uint64_t round = 0; round < rounds; round++) {
		uint64_t ns;

		memset(&before, 0, sizeof(before));
		memset(&after, 0, sizeof(after));
		pin_to_cpu(0);
		read_events(&before);
		ns = bench->run(count);
		if (ns == BENCH_REFUSED) {
			printf("%s refused %s\n", bench->name, strerror(errno));
			return;
		}
		read_events(&after);
		printf("%s %llu %llu", bench->name, (unsigned long long)count, (unsigned long long)ns);
		print_events(&before, &after);
		putchar('\n');
		fflush(stdout);
	}
}

static bool chosen(const struct bench *bench, int words, char **word)
{
	for (int i = 0; i < words; i++)
		if (!strcmp(word[i], bench->name))
			return true;
	return !words;
}

int bench_main(int argc, char **argv, const struct bench *table, unsigned int entries)
{
	int first = options_parse(argc, argv, specs, "[OPTION]... [NAME]...");

	for (unsigned int i = 0; i < entries; i++) {
		if (!chosen(&table[i], argc - first, argv + first))
			continue;
		if (list)
			printf("%s %u %s\n", table[i].name, table[i].cpus, table[i].what);
		else
			run(&table[i]);
	}
	return 0;
}

static void pass(struct ends ends, bool first, uint64_t count)
{
	uint64_t token = 1;

	while (count--) {
		if (first && write(ends.out, &token, sizeof(token)) != sizeof(token))
			bench_fail("write");
		if (read(ends.in, &token, sizeof(token)) != sizeof(token))
			bench_fail("read");
		if (!first && write(ends.out, &token, sizeof(token)) != sizeof(token))
			bench_fail("write");
	}
}

uint64_t bench_ping_pong(struct ends self, struct ends other, unsigned int cpu, uint64_t count)
{
	uint64_t begin, end;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child < 0)
		bench_fail("fork");
	if (!child) {
		pin_to_cpu(cpu);
		pass(other, false, count + 1);
		_exit(0);
	}
	pass(self, true, 1);		/* the other one is there, on its CPU */
	begin = now_ns();
	pass(self, true, count);
	end = now_ns();
	waitpid(child, NULL, 0);
	return end - begin;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test-device: the control device tells the truth about the machine, takes what it should and refuses the
 * rest, through its driver and through sysfs alike.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/compiler.h"
#include "../lib/ktap.h"
#include "../lib/ringstep.h"

#define TESTS	7

static const char * const good_lines[] = {
	"metric test.number 18446744073709551615",
	"metric test.fraction 0.125",
	"metric a23456789012345678901234567890123456789012345678901234567890_63 1",
	"counter test.count 3",
	"text anything, up to the end of the line",
};

static const char * const bad_lines[] = {
	"", " ", "nonsense", "Metric a 1", "metric", "metric a", "metric a b", "metric a -1",
	"metric a 1 2", "metric a 1.", "metric A 1", "metric a/b 1", "metric  1", "metric a 1 ",
	"metric a234567890123456789012345678901234567890123456789012345678901_64 1",
	"counter a", "ready", "ready 0", "ready 65536", "ready -1", "ready x", "begin 1", "end",
	"exit", "exit 128", "exit -1", "exit x", "exit 0 0", "text bell\a",
};

static char state[1 << 16];

static uint64_t value_of(const char *name)
{
	uint64_t value;

	return ringstep_lookup(state, name, &value) ? UINT64_MAX : value;
}

/* Every CPU has the same counters, at least those without which nothing can be said. */
static bool counters_of_each_cpu(void)
{
	static const char * const names[] = { "instructions", "local_ps", "idle_ps" };
	uint64_t vcpus = value_of("vcpus");

	for (unsigned int cpu = 0; cpu < vcpus; cpu++) {
		for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
			char name[64];

			snprintf(name, sizeof(name), "vcpu%u_%s", cpu, names[i]);
			if (value_of(name) == UINT64_MAX) {
				ktap_note("there is no %s", name);
				return false;
			}
		}
	}
	return true;
}

static bool takes_good_lines(void)
{
	bool good = true;

	for (size_t i = 0; i < ARRAY_SIZE(good_lines); i++) {
		int err = ringstep_line("%s", good_lines[i]);

		if (err) {
			ktap_note("'%s': %s", good_lines[i], strerror(-err));
			good = false;
		}
	}
	return good;
}

static bool refuses_bad_lines(void)
{
	bool good = true;

	for (size_t i = 0; i < ARRAY_SIZE(bad_lines); i++) {
		int err = ringstep_line("%s", bad_lines[i]);

		if (err != -EINVAL) {
			ktap_note("'%s': %s", bad_lines[i], err ? strerror(-err) : "taken");
			good = false;
		}
	}
	return good;
}

/* A message may fill the device's page, and no more; its last line must be whole. */
static bool message_limits(void)
{
	static char text[RINGSTEP_MESSAGE_MAX + 1];

	memset(text, 'x', sizeof(text));
	memcpy(text, "text ", 5);
	text[RINGSTEP_MESSAGE_MAX - 1] = '\n';
	return !ringstep_write(text, RINGSTEP_MESSAGE_MAX) &&
	       ringstep_write(text, RINGSTEP_MESSAGE_MAX - 1) == -EINVAL &&
	       ringstep_write(text, 0) == -EINVAL &&
	       ringstep_write(text, sizeof(text)) == -EINVAL;
}

static void test(const char *way)
{
	uint64_t then;
	int length;

	setenv("RINGSTEP_DEVICE", way, 1);
	ringstep_close();
	length = ringstep_read(state, sizeof(state));
	if (length == -ENODEV) {
		for (int i = 0; i < TESTS; i++)
			ktap_skip(way, "there is no such way to the device");
		return;
	}
	if (!ktap_ok(length > 0, "%s: reads", way))
		ktap_note("%s", strerror(-length));
	ktap_ok(value_of("vcpus") == (uint64_t)sysconf(_SC_NPROCESSORS_ONLN), "%s: CPUs", way);
	ktap_ok(counters_of_each_cpu(), "%s: counters of each CPU", way);
	then = value_of("time_ps");
	ringstep_read(state, sizeof(state));
	ktap_ok(value_of("time_ps") > then && value_of("seed") != UINT64_MAX,
		"%s: seed, and time that passes", way);
	ktap_ok(takes_good_lines(), "%s: good lines", way);
	ktap_ok(refuses_bad_lines(), "%s: bad lines", way);
	ktap_ok(message_limits(), "%s: length of a message", way);
}

int main(void)
{
	ktap_plan(2 * TESTS);
	test("driver");
	test("sysfs");
	return ktap_end();
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Test results in KTAP, the kernel's test protocol (Documentation/dev-tools/ktap.rst).
 *
 *	ktap_plan(2);
 *	ktap_ok(fd >= 0, "the device opens");
 *	ktap_skip("the device sends", "no network");
 *	return ktap_end();
 */
#ifndef RINGSTEP_KTAP_H
#define RINGSTEP_KTAP_H

#include <stdbool.h>

void ktap_plan(unsigned int tests);

/* A test's result; returns whether it passed. */
[[gnu::format(printf, 2, 3)]]
bool ktap_ok(bool passed, const char *format, ...);

void ktap_skip(const char *test, const char *reason);

/* A line that explains the next result. */
[[gnu::format(printf, 1, 2)]]
void ktap_note(const char *format, ...);

/* Ends the program where `result` is a negative errno: there is nothing to test. */
void ktap_must(const char *what, int result);

/* The program's exit code: 0 if as many tests passed as were planned. */
int ktap_end(void);

#endif

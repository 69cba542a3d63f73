// SPDX-License-Identifier: GPL-2.0-or-later
/* Test results in KTAP. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ktap.h"

static unsigned int planned, done, failed;

void ktap_plan(unsigned int tests)
{
	planned = tests;
	setlinebuf(stdout);
	printf("KTAP version 1\n1..%u\n", tests);
}

bool ktap_ok(bool passed, const char *format, ...)
{
	va_list args;

	if (!passed)
		failed++;
	printf("%sok %u ", passed ? "" : "not ", ++done);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	return passed;
}

void ktap_skip(const char *test, const char *reason)
{
	printf("ok %u %s # SKIP %s\n", ++done, test, reason);
}

void ktap_note(const char *format, ...)
{
	va_list args;

	fputs("# ", stdout);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

void ktap_must(const char *what, int result)
{
	if (result >= 0)
		return;
	printf("Bail out! %s: %s\n", what, strerror(-result));
	exit(1);
}

int ktap_end(void)
{
	if (done != planned)
		ktap_note("%u of %u tests ran", done, planned);
	return failed || done != planned;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Command lines of the guest programs. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

void options_error(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(EXIT_USAGE);
}

bool parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	unsigned long long number;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	number = strtoull(text, &end, 10);
	if (errno || *end || number < min || number > max)
		return false;
	*value = number;
	return true;
}

static void print_help(const struct option_spec *specs, const char *usage)
{
	const struct option_spec *spec;

	printf("usage: %s %s\n", program_invocation_short_name, usage);
	for (spec = specs; spec->name; spec++) {
		const char *kind = spec->number ? " N" : spec->string ? " TEXT" : "";
		int width = 22 - (int)strlen(spec->name);

		printf("  --%s%-*s %s", spec->name, width, kind, spec->help);
		if (spec->number)
			printf(" (%llu)", (unsigned long long)*spec->number);
		else if (spec->string && *spec->string)
			printf(" (%s)", *spec->string);
		putchar('\n');
	}
}

static const struct option_spec *find_option(const struct option_spec *specs,
					     const char *name, size_t length)
{
	for (; specs->name; specs++)
		if (strlen(specs->name) == length && !memcmp(specs->name, name, length))
			return specs;
	return NULL;
}

static void set_option(const struct option_spec *spec, const char *value)
{
	if (spec->string) {
		*spec->string = value;
		return;
	}
	if (!parse_number(value, spec->min, spec->max, spec->number))
		options_error("--%s: '%s' is not a number from %llu to %llu",
			      spec->name, value, (unsigned long long)spec->min,
			      (unsigned long long)spec->max);
}

int options_parse(int argc, char **argv, const struct option_spec *specs,
		  const char *usage)
{
	int i;

	for (i = 1; i < argc; i++) {
		const char *name = argv[i] + 2;
		const struct option_spec *spec;
		const char *value;

		if (strncmp(argv[i], "--", 2))
			break;
		if (!*name)
			return i + 1;
		if (!strcmp(name, "help")) {
			print_help(specs, usage);
			exit(0);
		}
		value = strchr(name, '=');
		spec = find_option(specs, name,
				   value ? (size_t)(value - name) : strlen(name));
		if (!spec)
			options_error("unknown option '%s'; --help lists them", argv[i]);
		if (spec->flag) {
			if (value)
				options_error("--%s takes no value", spec->name);
			*spec->flag = true;
			continue;
		}
		if (value)
			value++;
		else if (++i < argc)
			value = argv[i];
		else
			options_error("--%s needs a value", spec->name);
		set_option(spec, value);
	}
	return i;
}

void options_parse_all(int argc, char **argv, const struct option_spec *specs,
		       const char *usage)
{
	int next = options_parse(argc, argv, specs, usage);

	if (next < argc)
		options_error("unexpected word '%s'; --help lists the options", argv[next]);
}

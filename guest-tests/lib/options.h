/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Command lines of the guest programs: a table of options, each with its range,
 * its default (the value already there) and a line of help.
 */
#ifndef RINGSTEP_OPTIONS_H
#define RINGSTEP_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define EXIT_USAGE	2

struct option_spec {
	const char *name;	/* without the leading "--"; NULL ends the table */
	uint64_t *number;	/* exactly one of the three is set */
	bool *flag;
	const char **string;
	uint64_t min, max;	/* of a number */
	const char *help;
};

#define OPTION_NUMBER(_name, _value, _min, _max, _help) \
	{ .name = _name, .number = _value, .min = _min, .max = _max, .help = _help }
#define OPTION_FLAG(_name, _value, _help) \
	{ .name = _name, .flag = _value, .help = _help }
#define OPTION_STRING(_name, _value, _help) \
	{ .name = _name, .string = _value, .help = _help }
#define OPTION_END	{ .name = NULL }

/*
 * Reads "--name value", "--name=value" and flags up to the first word that is no
 * option, or up to "--". Returns the index of the word after them. A mistake is
 * named on stderr and ends the program with EXIT_USAGE.
 */
int options_parse(int argc, char **argv, const struct option_spec *specs,
		  const char *usage);

/* As above, for a program that takes no other words. */
void options_parse_all(int argc, char **argv, const struct option_spec *specs,
		       const char *usage);

/* Says what is wrong with the command line and ends the program. */
[[gnu::noreturn, gnu::format(printf, 1, 2)]]
void options_error(const char *format, ...);

/* A whole decimal number from min to max. */
bool parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *value);

#endif

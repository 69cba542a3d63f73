// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ringstep-ctl: the control device from a shell. Marks, results and the exit code go to the host,
 * the seed, the time and the counters come back.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "lib/compiler.h"
#include "lib/options.h"
#include "lib/ringstep.h"

static const char usage[] =
	"COMMAND\n"
	"  ready PORT            the server listens on PORT: clients may come\n"
	"  begin | end           the measured window\n"
	"  metric NAME VALUE     a result\n"
	"  counter NAME VALUE    a count that explains it\n"
	"  text WORD...          a message to the user\n"
	"  exit CODE             ends the run with CODE (0 to 127)\n"
	"  read [NAME]           the device's state, or one value of it\n"
	"  write                 lines from standard input, as they are";

static const struct option_spec specs[] = { OPTION_END };

/* The words of a command, with the number of words that each needs. */
static const struct {
	const char *name;
	int words;
} commands[] = {
	{ "ready", 2 }, { "begin", 1 }, { "end", 1 }, { "metric", 3 },
	{ "counter", 3 }, { "text", 0 }, { "exit", 2 },
};

static int fail(int err)
{
	if (err == -ENODEV)
		fprintf(stderr, "ringstep-ctl: this machine has no control device (PCI 1234:5253)\n");
	else
		fprintf(stderr, "ringstep-ctl: the control device: %s\n", strerror(-err));
	return 1;
}

static int read_state(const char *name)
{
	static char text[1 << 16];
	uint64_t value;
	int err = ringstep_read(text, sizeof(text));

	if (err < 0)
		return fail(err);
	if (!name) {
		fputs(text, stdout);
		return 0;
	}
	if (ringstep_lookup(text, name, &value)) {
		fprintf(stderr, "ringstep-ctl: the control device has no value '%s'\n", name);
		return 1;
	}
	printf("%llu\n", (unsigned long long)value);
	return 0;
}

static int write_stdin(void)
{
	char text[RINGSTEP_MESSAGE_MAX];
	size_t length = fread(text, 1, sizeof(text), stdin);
	int err = ringstep_write(text, length);

	return err ? fail(err) : 0;
}

static int write_words(int count, char **words)
{
	char line[RINGSTEP_MESSAGE_MAX] = "";
	size_t length = 0;
	int err;

	for (int i = 0; i < count; i++) {
		int n = snprintf(line + length, sizeof(line) - length, "%s%s",
				 i ? " " : "", words[i]);

		length += n;
		if (length >= sizeof(line))
			options_error("the line is too long");
	}
	/* The machine stops at once: what the console has been given must be out. */
	if (!strcmp(words[0], "exit"))
		tcdrain(STDOUT_FILENO);
	err = ringstep_line("%s", line);
	return err ? fail(err) : 0;
}

int main(int argc, char **argv)
{
	int first = options_parse(argc, argv, specs, usage);
	int count = argc - first;
	char **words = argv + first;

	if (!count)
		options_error("no command; --help lists them");
	if (!strcmp(words[0], "read") && count <= 2)
		return read_state(count == 2 ? words[1] : NULL);
	if (!strcmp(words[0], "write") && count == 1)
		return write_stdin();
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strcmp(words[0], commands[i].name))
			continue;
		if (commands[i].words && commands[i].words != count)
			options_error("'%s' takes %d words", words[0], commands[i].words - 1);
		return write_words(count, words);
	}
	options_error("unknown command '%s'; --help lists them", words[0]);
}

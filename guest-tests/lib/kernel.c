// SPDX-License-Identifier: GPL-2.0-or-later
/* The switches and the counters that ringstep's kernel has in io_uring. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "compiler.h"
#include "kernel.h"

#define PARAMETERS	"/sys/module/io_uring/parameters/"

static int open_switch(const char *name, int flags)
{
	char path[128];

	snprintf(path, sizeof(path), PARAMETERS "%s", name);
	return open(path, flags | O_CLOEXEC);
}

/* Reads and closes `fd`, which may be none. */
static void read_text(int fd, char *text, size_t size)
{
	ssize_t length = fd < 0 ? 0 : read(fd, text, size - 1);

	text[max(length, 0)] = '\0';
	if (fd >= 0)
		close(fd);
}

/* The switch that the last of the patches adds stands for all. */
bool kernel_is_ours(void)
{
	return !access(KERNEL_COUNTERS, R_OK) && !access(PARAMETERS "tw_prio", W_OK);
}

bool kernel_set(const char *name, const char *value)
{
	int fd = open_switch(name, O_WRONLY);
	bool good;

	if (fd < 0)
		return false;
	good = write(fd, value, strlen(value)) == (ssize_t)strlen(value);
	close(fd);
	return good;
}

bool kernel_reads(const char *name, const char *value)
{
	char text[64];

	read_text(open_switch(name, O_RDONLY), text, sizeof(text));
	return *text && !strncmp(text, value, strlen(value));
}

void kernel_counters(char *text, size_t size)
{
	read_text(open(KERNEL_COUNTERS, O_RDONLY | O_CLOEXEC), text, size);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* syscalls: threads that do nothing but system calls, each writes to and reads from a socket pair. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/options.h"
#include "lib/ringstep.h"
#include "lib/threads.h"

#define MAX_LENGTH	65536

static uint64_t threads = 4, rounds = 20000, length = 2000;

static const struct option_spec specs[] = {
	OPTION_NUMBER("threads", &threads, 1, MAX_THREADS, "threads"),
	OPTION_NUMBER("rounds", &rounds, 1, 1ULL << 40, "writes and reads of each thread"),
	OPTION_NUMBER("length", &length, 1, MAX_LENGTH, "bytes of each"),
	OPTION_END
};

static void call(unsigned int number)
{
	char buffer[MAX_LENGTH] = "";
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) {
		perror("syscalls: socketpair");
		exit(1);
	}
	for (uint64_t i = 0; i < rounds; i++) {
		if (write(pair[0], buffer, length) != (ssize_t)length ||
		    read(pair[1], buffer, length) != (ssize_t)length) {
			fprintf(stderr, "syscalls: short write or read in thread %u\n", number);
			exit(1);
		}
	}
	close(pair[0]);
	close(pair[1]);
}

int main(int argc, char **argv)
{
	options_parse_all(argc, argv, specs, "[OPTION]...");
	ringstep_metric("elapsed_ns", threads_run(threads, call));
	ringstep_metric("system_calls", 2 * rounds * threads);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test-zc-wait: zc-wait sends each of its messages once and whole, over loopback, whatever part of its
 * buffers it waits for, and it notices that the data is copied there.
 */
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/client.h"
#include "../lib/compiler.h"
#include "../lib/ktap.h"

#define MAX_CONNECTIONS	4

struct test {
	const char *options;
	int connections;
	uint64_t bytes;		/* that have to come */
	int exit_code;
};

static const struct test tests[] = {
	{ "--copies --wait 1 --messages 1000", 1, 1000 * 4096, 0 },
	{ "--copies --wait 8 --messages 1001 --connections 2 --message-size 999", 2, 1001 * 999, 0 },
	{ "--copies --wait 32 --messages 1000 --connections 4", 4, 1000 * 4096, 0 },
	{ "--copies --wait 64 --messages 1000", 1, 1000 * 4096, 0 },
	{ "--copies --wait 1 --buffers 1 --messages 20 --message-size 100000", 1, 2000000, 0 },
	{ "--wait 1 --messages 1000", 1, 0, 1 },
	{ "--wait 65", 0, 0, 2 },
};

static pid_t start(const struct test *test, int port)
{
	char command[256];
	pid_t pid;

	snprintf(command, sizeof(command), "exec zc-wait --port %d %s 2>/dev/null", port,
		 test->options);
	pid = fork();
	if (pid)
		return pid;
	execl("/bin/sh", "sh", "-c", command, NULL);
	_exit(127);
}

/* Takes what comes on all connections until they are closed. */
static uint64_t receive_all(struct pollfd *ends, int open)
{
	static char data[65536];
	uint64_t bytes = 0;

	while (open && poll(ends, MAX_CONNECTIONS, 20000) > 0) {
		for (int i = 0; i < MAX_CONNECTIONS; i++) {
			ssize_t n;

			if (ends[i].fd < 0 || !ends[i].revents)
				continue;
			n = recv(ends[i].fd, data, sizeof(data), 0);
			if (n > 0) {
				bytes += n;
				continue;
			}
			close(ends[i].fd);
			ends[i].fd = -1;
			open--;
		}
	}
	return bytes;
}

static void run(const struct test *test, int port)
{
	struct pollfd ends[MAX_CONNECTIONS];
	pid_t pid = start(test, port);
	uint64_t bytes;
	int status;

	for (int i = 0; i < MAX_CONNECTIONS; i++)
		ends[i] = (struct pollfd) {
			.fd = i < test->connections ? connect_to(port) : -1,
			.events = POLLIN,
		};
	bytes = receive_all(ends, test->connections);
	waitpid(pid, &status, 0);
	if (!ktap_ok(WIFEXITED(status) && WEXITSTATUS(status) == test->exit_code &&
		     (test->exit_code || bytes == test->bytes), "zc-wait %s", test->options))
		ktap_note("status 0x%x, %llu bytes", status, (unsigned long long)bytes);
}

int main(void)
{
	ktap_plan(ARRAY_SIZE(tests));
	for (size_t i = 0; i < ARRAY_SIZE(tests); i++)
		run(&tests[i], 7600 + i);
	return ktap_end();
}

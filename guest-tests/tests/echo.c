// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test-echo: the echo servers return every byte, over loopback, in each of their modes: messages of
 * any length against buffers of any length, clients that leave at once, reset, or do not read for a while.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/client.h"
#include "../lib/compiler.h"
#include "../lib/ktap.h"

#define MAX_WORDS	24
#define CONNECTIONS	20
#define ROUNDS		12
#define BIGGEST		300000
#define MANY		600

/* Each gets a port of its own. Some are for short messages, or would take too long for others. */
static const struct {
	const char *command;
	bool only_short;
} servers[] = {
	{ "echo-server", false },
	{ "echo-server --async", false },
	{ "echo-server --async --workers 4", false },
	{ "echo-server --async --registered-files --workers 20 --length 1024", false },
	{ "echo-server --registered-files", false },
	{ "echo-server --length 1", true },
	{ "echo-server --entries 1 --async --workers 2", false },
	{ "echo-server --flags single-issuer,defer-taskrun", false },
	{ "echo-server --async --flags coop-taskrun", false },
	{ "echo-server --flags sqpoll --entries 4 --registered-files", false },
	{ "epoll-echo", false },
	{ "epoll-echo --length 1 --events 1", true },
	{ "pipeline-echo --length 100", true },
	{ "pipeline-echo --length 1", true },
};

static int next_port = 7100;

static pid_t start(const char *command, int port)
{
	char *words[MAX_WORDS] = { NULL };
	char text[256];
	int count = 0;
	pid_t pid;

	snprintf(text, sizeof(text), "%s --port %d", command, port);
	for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
		words[count++] = word;
	pid = fork();
	if (pid)
		return pid;
	execvp(words[0], words);
	perror(words[0]);
	_exit(127);
}

/* Killed, or gone earlier? */
static bool stop(pid_t pid)
{
	int status;

	kill(pid, SIGTERM);
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM;
}

static uint32_t random_below(uint32_t limit)
{
	static uint32_t state = 1;

	state = state * 1664525 + 1013904223;
	return (uint64_t)state * limit >> 32;
}

/* Sends `length` bytes and receives them at the same time: both sides' buffers may be full. */
static bool echo(int fd, size_t length)
{
	static uint8_t out[BIGGEST], in[BIGGEST];
	size_t sent = 0, received = 0;

	for (size_t i = 0; i < length; i++)
		out[i] = random_below(256);
	memset(in, 0, length);
	while (received < length) {
		struct pollfd ready = {
			.fd = fd,
			.events = POLLIN | (sent < length ? POLLOUT : 0),
		};
		ssize_t n;

		if (poll(&ready, 1, 20000) != 1)
			return false;
		if (ready.revents & POLLOUT) {
			n = send(fd, out + sent, length - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
			if (n < 0 && errno != EAGAIN)
				return false;
			sent += max(n, 0);
		}
		if (ready.revents & (POLLIN | POLLHUP | POLLERR)) {
			n = recv(fd, in + received, length - received, MSG_DONTWAIT);
			if (!n || (n < 0 && errno != EAGAIN))
				return false;
			received += max(n, 0);
		}
	}
	return !memcmp(out, in, length);
}

/* Lengths around the server's buffer and around a segment, and random ones. */
static size_t some_length(int round)
{
	static const size_t lengths[] = { 1, 12, 1023, 1024, 1025, 2000, 2048, 2049, 70000 };

	if (round < (int)ARRAY_SIZE(lengths))
		return lengths[round];
	return 1 + random_below(20000);
}

static bool echo_many(int port, bool long_ones)
{
	int fds[CONNECTIONS], opened = 0;
	bool good = true;

	while (good && opened < CONNECTIONS) {
		fds[opened] = connect_to(port);
		good = fds[opened++] >= 0;
	}
	for (int round = 0; good && round < ROUNDS; round++)
		for (int i = 0; good && i < CONNECTIONS; i++)
			good = echo(fds[i], long_ones ? some_length(round) : 1U + round);
	while (opened)
		close(fds[--opened]);
	return good;
}

static void reset(int fd)
{
	struct linger now = { .l_onoff = 1, .l_linger = 0 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(fd);
}

/* Clients that leave in each possible way; those that stay are still served. */
static bool rude_clients(int port)
{
	int stays = connect_to(port);
	bool good = stays >= 0;

	for (int i = 0; good && i < 3 * CONNECTIONS; i++) {
		int fd = connect_to(port);

		if (i % 4 > 0)
			good = send(fd, "unread", 6, MSG_NOSIGNAL) == 6;
		if (i % 4 > 1)
			good = echo(stays, 1 + i);
		if (i % 2)
			reset(fd);
		else
			close(fd);
	}
	good = good && echo(stays, 5000);
	close(stays);
	return good;
}

/* The client closes its sending side: what it sent still comes back, then the end. */
static bool half_close(int port)
{
	int fd = connect_to(port);
	char text[16] = "";
	bool good;

	good = send(fd, "last words", 10, MSG_NOSIGNAL) == 10 && !shutdown(fd, SHUT_WR) &&
	       recv(fd, text, 10, MSG_WAITALL) == 10 && !strcmp(text, "last words") &&
	       recv(fd, text, 1, 0) == 0;
	close(fd);
	return good;
}

/* More clients than the server takes at once: the rest wait in its backlog. */
static bool too_many_clients(void)
{
	int port = next_port++;
	pid_t pid = start("echo-server --max-connections 2 --async --registered-files", port);
	bool good = true;
	int fds[3];

	for (int i = 0; i < 3; i++)
		fds[i] = connect_to(port);
	good = echo(fds[0], 100) && echo(fds[1], 100);
	good = good && send(fds[2], "later", 5, MSG_NOSIGNAL) == 5;
	close(fds[0]);
	if (good) {
		char text[8] = "";

		good = recv(fds[2], text, 5, MSG_WAITALL) == 5 && !strcmp(text, "later");
	}
	close(fds[1]);
	close(fds[2]);
	return stop(pid) && good;
}

/* All clients send, then all of them receive. */
static bool many_clients(const char *command)
{
	int port = next_port++;
	pid_t pid = start(command, port);
	int fds[MANY], opened = 0;
	bool good = true;

	while (good && opened < MANY) {
		fds[opened] = connect_to(port);
		good = fds[opened++] >= 0;
	}
	for (int i = 0; good && i < MANY; i++)
		good = send(fds[i], "twelve bytes", 12, MSG_NOSIGNAL) == 12;
	for (int i = 0; good && i < MANY; i++) {
		char text[16] = "";

		good = recv(fds[i], text, 12, MSG_WAITALL) == 12 && !strcmp(text, "twelve bytes");
	}
	while (opened)
		close(fds[--opened]);
	return stop(pid) && good;
}

static bool refuses(const char *command)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		close(STDERR_FILENO);
		waitpid(start(command, next_port), &status, 0);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == 2;
}

int main(void)
{
	static const char * const crowded[] = {
		"echo-server --max-connections 6000 --async --registered-files --workers 20 --entries 32",
		"echo-server --max-connections 1000 --wait 8 --flags single-issuer,defer-taskrun",
		"epoll-echo --max-connections 1000",
		"pipeline-echo --max-connections 1000",
	};

	ktap_plan(ARRAY_SIZE(servers) + ARRAY_SIZE(crowded) + 3);
	for (size_t i = 0; i < ARRAY_SIZE(servers); i++) {
		int port = next_port++;
		pid_t pid = start(servers[i].command, port);
		bool many = echo_many(port, !servers[i].only_short);
		bool rude = rude_clients(port);
		bool half = half_close(port);
		bool alive = stop(pid);

		if (!ktap_ok(many && rude && half && alive, "%s", servers[i].command))
			ktap_note("messages %d, rude clients %d, half close %d, alive %d", many,
				  rude, half, alive);
	}
	ktap_ok(too_many_clients(), "more clients than --max-connections");
	for (size_t i = 0; i < ARRAY_SIZE(crowded); i++)
		ktap_ok(many_clients(crowded[i]), "%d clients of %s", MANY, crowded[i]);
	ktap_ok(refuses("echo-server --length 0"), "--length 0 is refused");
	ktap_ok(refuses("echo-server --flags warp"), "--flags warp is refused");
	return ktap_end();
}

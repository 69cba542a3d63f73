// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * epoll-echo: the TCP echo server of echo-server, on epoll and non-blocking sockets, to compare io_uring with.
 *
 * One thread waits for events, level-triggered. It receives once for an event and sends at once
 * what it has received; it waits until it can go on sending where the socket is full. What has been
 * received is sent back whole before the next receive, so messages of any length are echoed.
 *
 * It runs until it is killed.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/compiler.h"
#include "lib/options.h"
#include "lib/server.h"

#define MAX_CONNECTIONS	65536
#define MAX_EVENTS	4096

struct connection {
	int fd;
	uint32_t waits_for;	/* EPOLLIN, or EPOLLOUT while sent < filled */
	unsigned int filled;	/* bytes in the buffer */
	unsigned int sent;	/* of these */
	struct connection *next;	/* of the unused ones */
	char *buffer;
};

static uint64_t port = 7000, length = 2048, max_connections = 1024, max_events = 256;

static const struct option_spec specs[] = {
	OPTION_NUMBER("port", &port, 1, 65535, "TCP port"),
	OPTION_NUMBER("length", &length, 1, 1 << 20, "buffer of a connection, bytes"),
	OPTION_NUMBER("max-connections", &max_connections, 1, MAX_CONNECTIONS,
		      "connections at once"),
	OPTION_NUMBER("events", &max_events, 1, MAX_EVENTS, "events that one wait returns at most"),
	OPTION_END
};

static int epoll, listener;
static struct connection *unused;

static void control(int operation, int fd, uint32_t events, struct connection *c)
{
	struct epoll_event event = { .events = events, .data.ptr = c };

	if (epoll_ctl(epoll, operation, fd, &event))
		die("epoll_ctl", errno);
}

/* The listener's events have no connection. */
static void accept_more(bool more)
{
	control(EPOLL_CTL_MOD, listener, more ? EPOLLIN : 0, NULL);
}

static void allocate_connections(void)
{
	struct connection *connections = calloc(max_connections, sizeof(*connections));
	char *buffers = calloc(max_connections, length);

	if (!buffers || !connections)
		die("memory for the connections", ENOMEM);
	for (uint64_t i = max_connections; i--;) {
		connections[i].buffer = buffers + i * length;
		connections[i].next = unused;
		unused = &connections[i];
	}
	allow_connections(max_connections);
}

static void open_connection(void)
{
	struct connection *c = unused;
	int fd = accept_connection(listener, SOCK_NONBLOCK);

	if (fd < 0)
		return;
	unused = c->next;
	c->fd = fd;
	c->filled = 0;
	c->sent = 0;
	c->waits_for = EPOLLIN;
	control(EPOLL_CTL_ADD, fd, EPOLLIN, c);
	if (!unused)
		accept_more(false);
}

static void close_connection(struct connection *c)
{
	close(c->fd);
	if (!unused)
		accept_more(true);
	c->next = unused;
	unused = c;
}

static void wait_for(struct connection *c, uint32_t events)
{
	if (c->waits_for == events)
		return;
	c->waits_for = events;
	control(EPOLL_CTL_MOD, c->fd, events, c);
}

/* Is there nothing to do but to wait? Else the connection has ended. */
static bool must_wait(ssize_t result)
{
	return result < 0 && (errno == EAGAIN || errno == EINTR);
}

/* False where the connection has ended. */
static bool send_rest(struct connection *c)
{
	while (c->sent < c->filled) {
		ssize_t n = send(c->fd, c->buffer + c->sent, c->filled - c->sent, MSG_NOSIGNAL);

		if (must_wait(n))
			break;
		if (n <= 0)
			return false;
		c->sent += n;
	}
	wait_for(c, c->sent < c->filled ? EPOLLOUT : EPOLLIN);
	return true;
}

static bool receive(struct connection *c)
{
	ssize_t n = recv(c->fd, c->buffer, length, 0);

	if (must_wait(n))
		return true;
	if (n <= 0)
		return false;
	c->filled = n;
	c->sent = 0;
	return send_rest(c);
}

static void ready(struct connection *c)
{
	if (!(c->sent < c->filled ? send_rest(c) : receive(c)))
		close_connection(c);
}

int main(int argc, char **argv)
{
	static struct epoll_event events[MAX_EVENTS];

	options_parse_all(argc, argv, specs, "[OPTION]...");
	allocate_connections();
	epoll = epoll_create1(EPOLL_CLOEXEC);
	if (epoll < 0)
		die("epoll", errno);
	listener = open_listener(port, max_connections);
	control(EPOLL_CTL_ADD, listener, EPOLLIN, NULL);

	for (;;) {
		int count = epoll_wait(epoll, events, max_events, -1);

		if (count < 0 && errno != EINTR)
			die("epoll_wait", errno);
		for (int i = 0; i < count; i++) {
			if (events[i].data.ptr)
				ready(events[i].data.ptr);
			else
				open_connection();
		}
	}
}

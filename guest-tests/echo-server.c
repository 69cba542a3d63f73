// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * echo-server: a TCP echo server on io_uring, with the options of the servers that io_uring changes
 * were published with.
 *
 * Every connection has one request in flight, a receive or a send of at most --length bytes, single
 * shot, on a blocking socket. With --async (IOSQE_ASYNC) each one goes through io-wq. What has been
 * received is sent back whole before the next receive, so messages of any length are echoed.
 *
 * It runs until it is killed.
 */
#include <errno.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/compiler.h"
#include "lib/options.h"
#include "lib/server.h"

#define MAX_CONNECTIONS	65536
#define WAIT_LIMIT_NS	10000000
#define ACCEPT		UINT64_MAX	/* user_data of the accept; else a connection's index */

struct connection {
	int fd;			/* or its index in the registered files */
	unsigned int filled;	/* bytes in the buffer */
	unsigned int sent;	/* of these; while sent < filled, a send is in flight */
	char *buffer;
};

static const char usage[] = "[OPTION]...";

static uint64_t port = 7000, length = 2048, max_connections = 1024, entries = 256, wait_for = 1;
static uint64_t workers, bounded_workers;
static bool async, registered_files;
static const char *flags = "";

static const struct option_spec specs[] = {
	OPTION_NUMBER("port", &port, 1, 65535, "TCP port"),
	OPTION_NUMBER("length", &length, 1, 1 << 20, "buffer of a connection, bytes"),
	OPTION_NUMBER("max-connections", &max_connections, 1, MAX_CONNECTIONS,
		      "connections at once"),
	OPTION_FLAG("async", &async, "IOSQE_ASYNC on every receive and send"),
	OPTION_FLAG("registered-files", &registered_files, "IOSQE_FIXED_FILE"),
	OPTION_NUMBER("workers", &workers, 0, 65535,
		      "unbound io-wq workers at most; sockets use these; 0: no limit"),
	OPTION_NUMBER("bounded-workers", &bounded_workers, 0, 65535,
		      "bound io-wq workers at most; 0: no limit"),
	OPTION_STRING("flags", &flags,
		      "of the ring: defer-taskrun,single-issuer,coop-taskrun,sqpoll"),
	OPTION_NUMBER("entries", &entries, 1, 32768, "submission queue entries"),
	OPTION_NUMBER("wait", &wait_for, 1, MAX_CONNECTIONS,
		      "completions to wait for, 10 ms at most if more than one"),
	OPTION_END
};

static struct io_uring ring;
static struct connection *connections;
static uint64_t *unused;		/* stack of the free indices */
static uint64_t nr_unused;
static bool accepting;
static int listener;

static unsigned int setup_flags;

static void parse_flags(void)
{
	static const struct {
		const char *name;
		unsigned int flag;
	} known[] = {
		{ "defer-taskrun", IORING_SETUP_DEFER_TASKRUN },
		{ "single-issuer", IORING_SETUP_SINGLE_ISSUER },
		{ "coop-taskrun", IORING_SETUP_COOP_TASKRUN },
		{ "sqpoll", IORING_SETUP_SQPOLL },
	};
	char *list = strdup(flags);
	char *word;

	if (!list)
		die("--flags", errno);
	for (word = strtok(list, ","); word; word = strtok(NULL, ",")) {
		size_t i = 0;

		while (i < ARRAY_SIZE(known) && strcmp(word, known[i].name))
			i++;
		if (i == ARRAY_SIZE(known))
			options_error("--flags: unknown flag '%s'", word);
		setup_flags |= known[i].flag;
	}
	free(list);
}

/* The completion queue holds one entry per request that can be in flight: it cannot overflow. */
static void open_ring(void)
{
	struct io_uring_params params = {
		.flags = setup_flags | IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP,
		.cq_entries = max(max_connections + 1, entries),
	};
	unsigned int limits[2] = { bounded_workers, workers };
	int err;

	err = io_uring_queue_init_params(entries, &ring, &params);
	if (err)
		die("io_uring_setup", -err);
	err = io_uring_register_iowq_max_workers(&ring, limits);
	if (err)
		die("limit of io-wq workers", -err);
	if (registered_files) {
		err = io_uring_register_files_sparse(&ring, max_connections);
		if (err)
			die("registered files", -err);
	}
}

static void allocate_connections(void)
{
	char *buffers = calloc(max_connections, length);

	connections = calloc(max_connections, sizeof(*connections));
	unused = calloc(max_connections, sizeof(*unused));
	if (!buffers || !connections || !unused)
		die("memory for the connections", ENOMEM);
	for (uint64_t i = 0; i < max_connections; i++) {
		connections[i].buffer = buffers + i * length;
		unused[i] = max_connections - 1 - i;
	}
	nr_unused = max_connections;

	allow_connections(max_connections);
}

/* A free submission entry; a full queue is handed to the kernel first. */
static struct io_uring_sqe *get_sqe(void)
{
	struct io_uring_sqe *sqe;

	while (!(sqe = io_uring_get_sqe(&ring))) {
		int submitted = io_uring_submit(&ring);

		if (submitted < 0 && submitted != -EINTR && submitted != -EAGAIN)
			die("submission", -submitted);
		io_uring_sqring_wait(&ring);	/* with sqpoll, until its thread has taken some */
	}
	return sqe;
}

static void queue_accept(void)
{
	struct io_uring_sqe *sqe;

	if (accepting || !nr_unused)
		return;
	sqe = get_sqe();
	io_uring_prep_accept(sqe, listener, NULL, NULL, SOCK_CLOEXEC);
	sqe->user_data = ACCEPT;
	accepting = true;
}

/* The connection's next request: the rest of an echo, else a receive. */
static void queue_request(struct connection *c)
{
	struct io_uring_sqe *sqe = get_sqe();

	if (c->sent < c->filled)
		io_uring_prep_send(sqe, c->fd, c->buffer + c->sent, c->filled - c->sent,
				   MSG_NOSIGNAL);
	else
		io_uring_prep_recv(sqe, c->fd, c->buffer, length, 0);
	sqe->user_data = c - connections;
	if (async)
		sqe->flags |= IOSQE_ASYNC;
	if (registered_files)
		sqe->flags |= IOSQE_FIXED_FILE;
}

/* Puts `fd` (-1: nothing) into a slot of the registered files. */
static void update_file(int slot, int fd)
{
	int updated = io_uring_register_files_update(&ring, slot, &fd, 1);

	if (updated != 1)
		die("registered files", updated < 0 ? -updated : EINVAL);
}

static void open_connection(int fd)
{
	uint64_t index = unused[--nr_unused];
	struct connection *c = &connections[index];

	set_nodelay(fd);
	c->fd = fd;
	c->filled = 0;
	c->sent = 0;
	if (registered_files) {
		update_file(index, fd);
		close(fd);
		c->fd = index;
	}
	queue_request(c);
}

static void close_connection(struct connection *c)
{
	if (registered_files)
		update_file(c->fd, -1);
	else
		close(c->fd);
	unused[nr_unused++] = c - connections;
	queue_accept();
}

static void accepted(int result)
{
	accepting = false;
	if (result >= 0)
		open_connection(result);
	else if (result != -EAGAIN && result != -EINTR && result != -ECONNABORTED)
		die("accept", -result);
	queue_accept();
}

static void completed(struct connection *c, int result)
{
	bool sending = c->sent < c->filled;

	if (result == -EAGAIN || result == -EINTR) {
		queue_request(c);
		return;
	}
	if (result <= 0) {	/* closed or reset by the peer */
		close_connection(c);
		return;
	}
	if (sending) {
		c->sent += result;
	} else {
		c->filled = result;
		c->sent = 0;
	}
	queue_request(c);
}

/*
 * A wait for several completions has a limit: when all clients wait for a reply, no more of them
 * may come.
 */
static void submit_and_wait(void)
{
	struct __kernel_timespec limit = { .tv_nsec = WAIT_LIMIT_NS };
	struct io_uring_cqe *cqe;
	int err;

	if (wait_for == 1)
		err = io_uring_submit_and_wait(&ring, 1);
	else
		err = io_uring_submit_and_wait_timeout(&ring, &cqe, wait_for, &limit, NULL);
	if (err < 0 && err != -ETIME && err != -EINTR && err != -EAGAIN)
		die("io_uring_enter", -err);
}

int main(int argc, char **argv)
{
	options_parse_all(argc, argv, specs, usage);
	parse_flags();
	allocate_connections();
	open_ring();
	listener = open_listener(port, max_connections);
	queue_accept();

	for (;;) {
		struct io_uring_cqe *cqe;
		unsigned int head, seen = 0;

		submit_and_wait();
		io_uring_for_each_cqe(&ring, head, cqe) {
			if (cqe->user_data == ACCEPT)
				accepted(cqe->res);
			else
				completed(&connections[cqe->user_data], cqe->res);
			seen++;
		}
		io_uring_cq_advance(&ring, seen);
	}
}

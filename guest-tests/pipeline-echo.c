// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pipeline-echo: a TCP echo server that receives the next message while it sends the last, for short ones.
 *
 * The ring has IORING_SETUP_DEFER_TASKRUN. A connection always has a receive in flight, of one
 * message where --length is its size; what it has received is sent from the same buffer, while the next
 * receive fills the other. A send is done when it has been submitted. A socket that is full would
 * make it wait and the next one pass it, so that is an error here: clients must not have more on its
 * way than fits there.
 *
 * It is one receive, since several are not in order: data wakes all of them, and one that has found
 * nothing often enough is handed to a worker, which reads from the stream whenever it likes.
 *
 * It runs until it is killed.
 */
#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/compiler.h"
#include "lib/options.h"
#include "lib/server.h"

#define MAX_CONNECTIONS	4096
#define ENTRIES		1024UL
/*
 * Of a connection. The completion of a receive cannot come before that of the send that was submitted
 * before it. So there is never more than one send.
 */
#define BUFFERS		2

struct buffer {
	struct connection *connection;
	struct buffer *next;	/* of the free ones */
	unsigned int sending;	/* bytes; 0: it receives */
	char *data;
};

struct connection {
	int fd;
	unsigned int in_flight;
	bool ended;
	struct buffer *free;
	struct connection *next;	/* of the unused ones */
};

static uint64_t port = 7000, length = 64, max_connections = 64, wait_for = 1;

static const struct option_spec specs[] = {
	OPTION_NUMBER("port", &port, 1, 65535, "TCP port"),
	OPTION_NUMBER("length", &length, 1, 4096, "bytes that a receive takes at most"),
	OPTION_NUMBER("max-connections", &max_connections, 1, MAX_CONNECTIONS,
		      "connections at once"),
	OPTION_NUMBER("wait", &wait_for, 1, 1024, "completions to wait for"),
	OPTION_END
};

static struct io_uring ring;
static struct connection *unused;
static int listener;

/* The completion queue has room for all that can be in flight, so that it cannot overflow. */
static void open_ring(void)
{
	struct io_uring_params params = {
		.flags = IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SINGLE_ISSUER |
			 IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP,
		.cq_entries = max(max_connections * BUFFERS + 1, ENTRIES),
	};
	int err = io_uring_queue_init_params(ENTRIES, &ring, &params);

	if (err)
		die("io_uring_setup", -err);
}

static void allocate_connections(void)
{
	struct connection *connections = calloc(max_connections, sizeof(*connections));
	struct buffer *buffers = calloc(max_connections * BUFFERS, sizeof(*buffers));
	char *data = calloc(max_connections * BUFFERS, length);

	if (!connections || !buffers || !data)
		die("memory for the connections", ENOMEM);
	for (uint64_t i = max_connections; i--;) {
		connections[i].next = unused;
		unused = &connections[i];
	}
	for (uint64_t i = 0; i < max_connections * BUFFERS; i++) {
		struct connection *c = &connections[i / BUFFERS];

		buffers[i] = (struct buffer) {
			.connection = c,
			.next = c->free,
			.data = data + i * length,
		};
		c->free = &buffers[i];
	}
	allow_connections(max_connections);
}

/* A free submission entry; a full queue is handed to the kernel first. */
static struct io_uring_sqe *get_sqe(void)
{
	struct io_uring_sqe *sqe;

	while (!(sqe = io_uring_get_sqe(&ring))) {
		int err = io_uring_submit(&ring);

		if (err < 0)
			die("submission", -err);
	}
	return sqe;
}

/* Its completion is the one without a buffer. */
static void queue_accept(void)
{
	struct io_uring_sqe *sqe = get_sqe();

	io_uring_prep_accept(sqe, listener, NULL, NULL, SOCK_CLOEXEC);
	io_uring_sqe_set_data(sqe, NULL);
}

static void queue_receive(struct connection *c)
{
	struct io_uring_sqe *sqe = get_sqe();
	struct buffer *b = c->free;

	if (!b)
		die("a connection has no buffer", ENOBUFS);
	c->free = b->next;
	c->in_flight++;
	b->sending = 0;
	io_uring_prep_recv(sqe, c->fd, b->data, length, 0);
	io_uring_sqe_set_data(sqe, b);
}

static void queue_send(struct buffer *b, unsigned int bytes)
{
	struct io_uring_sqe *sqe = get_sqe();

	b->connection->in_flight++;
	b->sending = bytes;
	io_uring_prep_send(sqe, b->connection->fd, b->data, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
	io_uring_sqe_set_data(sqe, b);
}

static void accepted(int result)
{
	struct connection *c = unused;

	if (result >= 0) {
		unused = c->next;
		set_nodelay(result);
		c->fd = result;
		c->ended = false;
		queue_receive(c);
	} else if (result != -EAGAIN && result != -EINTR && result != -ECONNABORTED) {
		die("accept", -result);
	}
	if (unused)
		queue_accept();
}

/* The last request of a connection that has ended is complete. */
static void close_connection(struct connection *c)
{
	close(c->fd);
	if (!unused)
		queue_accept();
	c->next = unused;
	unused = c;
}

static void release(struct buffer *b)
{
	b->next = b->connection->free;
	b->connection->free = b;
}

static void received(struct buffer *b, int result)
{
	struct connection *c = b->connection;

	if (result > 0) {
		queue_send(b, result);
	} else {
		release(b);
		if (result != -EAGAIN && result != -EINTR)
			c->ended = true;	/* closed or reset by the peer */
	}
	if (!c->ended)
		queue_receive(c);
}

static void sent(struct buffer *b, int result)
{
	if (result == -EAGAIN || (result > 0 && (unsigned int)result < b->sending))
		die("a socket is full", EAGAIN);
	if (result <= 0)
		b->connection->ended = true;
	release(b);
}

static void completed(struct buffer *b, int result)
{
	struct connection *c = b->connection;

	c->in_flight--;
	if (b->sending)
		sent(b, result);
	else
		received(b, result);
	if (!c->in_flight)
		close_connection(c);
}

int main(int argc, char **argv)
{
	options_parse_all(argc, argv, specs, "[OPTION]...");
	allocate_connections();
	open_ring();
	listener = open_listener(port, max_connections);
	queue_accept();

	for (;;) {
		int err = io_uring_submit_and_wait(&ring, wait_for);
		struct io_uring_cqe *cqe;
		unsigned int head, seen = 0;

		if (err < 0 && err != -EINTR && err != -EAGAIN)
			die("io_uring_enter", -err);
		io_uring_for_each_cqe(&ring, head, cqe) {
			struct buffer *b = io_uring_cqe_get_data(cqe);

			if (b)
				completed(b, cqe->res);
			else
				accepted(cqe->res);
			seen++;
		}
		io_uring_cq_advance(&ring, seen);
	}
}

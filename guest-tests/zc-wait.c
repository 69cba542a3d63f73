// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * zc-wait: zero-copy sends that wait for a portion of their buffers to come back.
 *
 * It takes --connections connections and sends messages on them in turn, for as long as they last. A
 * message is a registered buffer of its own, which the kernel gives back with a notification when
 * the receiver has acknowledged all of it. Whenever all buffers are on their way, it waits until --wait of
 * them are back, in a ring with IORING_SETUP_DEFER_TASKRUN. Each message is a segment of its own
 * (MSG_EOR), so that its notification is not chained to others.
 *
 * The kernel may copy the data, as it does on loopback. That is an error, unless --copies allows it.
 */
#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/compiler.h"
#include "lib/options.h"
#include "lib/server.h"

#define MAX_CONNECTIONS	1024
#define MAX_BUFFERS	8192
#define PAGE		4096

/* Newer than the liburing of Debian 12. */
#ifndef IORING_SEND_ZC_REPORT_USAGE
#define IORING_SEND_ZC_REPORT_USAGE	(1U << 3)
#define IORING_NOTIF_USAGE_ZC_COPIED	(1U << 31)
#endif

static uint64_t port = 7000, nr_connections = 1, nr_buffers = 64, message_size = 4096, wait_for = 32;
static uint64_t messages;
static bool copies;

static const struct option_spec specs[] = {
	OPTION_NUMBER("port", &port, 1, 65535, "TCP port"),
	OPTION_NUMBER("connections", &nr_connections, 1, MAX_CONNECTIONS,
		      "connections, all of which have to come"),
	OPTION_NUMBER("buffers", &nr_buffers, 1, MAX_BUFFERS, "buffers, and messages on their way"),
	OPTION_NUMBER("message-size", &message_size, 1, 1 << 20, "bytes"),
	OPTION_NUMBER("wait", &wait_for, 1, MAX_BUFFERS, "buffers to wait for"),
	OPTION_NUMBER("messages", &messages, 0, 1ULL << 40, "messages to send; 0: no end"),
	OPTION_FLAG("copies", &copies, "data may be copied"),
	OPTION_END
};

static struct io_uring ring;
static char *memory;
static unsigned int *unused;	/* stack of the buffers that are back */
static uint64_t nr_unused;
static int *connections;

static void open_ring(void)
{
	struct io_uring_params params = {
		.flags = IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SINGLE_ISSUER |
			 IORING_SETUP_CQSIZE,
		.cq_entries = 2 * nr_buffers,	/* for each: sent, and back */
	};
	struct iovec all = { .iov_base = memory, .iov_len = nr_buffers * message_size };
	int err = io_uring_queue_init_params(nr_buffers, &ring, &params);

	if (err)
		die("io_uring_setup", -err);
	err = io_uring_register_buffers(&ring, &all, 1);
	if (err)
		die("registered buffers", -err);
}

static void allocate_buffers(void)
{
	uint64_t size = (nr_buffers * message_size + PAGE - 1) / PAGE * PAGE;

	memory = aligned_alloc(PAGE, size);
	unused = calloc(nr_buffers, sizeof(*unused));
	connections = calloc(nr_connections, sizeof(*connections));
	if (!memory || !unused || !connections)
		die("memory for the buffers", ENOMEM);
	for (uint64_t i = 0; i < size; i++)
		memory[i] = i;
	while (nr_unused < nr_buffers) {
		unused[nr_unused] = nr_unused;
		nr_unused++;
	}
}

/* All messages that can be on their way fit into a socket: no send waits for room. */
static void accept_connections(void)
{
	int listener = open_listener(port, nr_connections);
	int room = min(4 * nr_buffers * (message_size + PAGE), 1U << 30);

	allow_connections(nr_connections);
	for (uint64_t i = 0; i < nr_connections; i++) {
		while ((connections[i] = accept_connection(listener, 0)) < 0)
			;
		setsockopt(connections[i], SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
	}
	close(listener);
}

static void queue_send(uint64_t number)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
	unsigned int buffer = unused[--nr_unused];

	if (!sqe)
		die("the submission queue is full", ENOBUFS);
	io_uring_prep_send_zc_fixed(sqe, connections[number % nr_connections],
				    memory + buffer * message_size, message_size,
				    MSG_WAITALL | MSG_NOSIGNAL | MSG_EOR,
				    IORING_SEND_ZC_REPORT_USAGE, 0);
	sqe->user_data = buffer;
}

/* Returns the buffers that are back. Notifications may be here already that are not waited for. */
static uint64_t reap(void)
{
	struct io_uring_cqe *cqe;
	unsigned int head, seen = 0;
	uint64_t back = 0;

	io_uring_for_each_cqe(&ring, head, cqe) {
		seen++;
		if (cqe->flags & IORING_CQE_F_NOTIF) {
			if (!copies && ((unsigned int)cqe->res & IORING_NOTIF_USAGE_ZC_COPIED))
				die("the data was copied", EOPNOTSUPP);
			unused[nr_unused++] = cqe->user_data;
			back++;
		} else if (cqe->res != (int)message_size) {
			die("send", cqe->res < 0 ? -cqe->res : EMSGSIZE);
		}
	}
	io_uring_cq_advance(&ring, seen);
	return back;
}

static void check(int result)
{
	if (result < 0 && result != -EINTR)
		die("io_uring_enter", -result);
}

/* Waits until `count` more buffers are back. */
static void wait_for_buffers(uint64_t count)
{
	uint64_t back = reap();	/* and the results of the sends */

	while (back < count) {
		check(io_uring_submit_and_wait(&ring, count - back));
		back += reap();
	}
}

int main(int argc, char **argv)
{
	uint64_t number = 0;

	options_parse_all(argc, argv, specs, "[OPTION]...");
	if (wait_for > nr_buffers)
		options_error("--wait %llu is more than there are buffers",
			      (unsigned long long)wait_for);
	allocate_buffers();
	open_ring();
	accept_connections();

	while (!messages || number < messages) {
		while (nr_unused && (!messages || number < messages))
			queue_send(number++);
		check(io_uring_submit(&ring));
		wait_for_buffers(min(wait_for, nr_buffers - nr_unused));
	}
	wait_for_buffers(nr_buffers - nr_unused);
	return 0;
}

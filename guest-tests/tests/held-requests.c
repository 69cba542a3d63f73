// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test-held-requests: what the reviewers of "batch free work in io-wq" objected to. A worker that holds back
 * requests which are complete, and then blocks in another one, holds back what they refer to: here the last
 * reference to a socket, so that the other end learns late that it was closed. Needs ringstep's kernel.
 */
#include <errno.h>
#include <liburing.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../lib/kernel.h"
#include "../lib/ktap.h"
#include "../lib/threads.h"

#define NSEC_PER_MSEC	1000000ULL
#define SETTLE_MS	20	/* until the worker is where it blocks */
#define BLOCKED_MS	100	/* how long the worker blocks */
#define SOON_MS		10
#define TESTS		3

static const struct {
	const char *batch, *flush;
	bool late;
} trials[TESTS] = {
	{ "0", "none", false },
	{ "8", "none", true },
	{ "8", "sleep", false },
};

static void wait_ms(long ms)
{
	struct timespec time = { .tv_nsec = ms * NSEC_PER_MSEC };

	nanosleep(&time, NULL);
}

static void open_pair(int pair[2])
{
	ktap_must("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, pair) ? -errno : 0);
}

static void close_pair(const int pair[2])
{
	close(pair[0]);
	close(pair[1]);
}

static void give(int fd)
{
	if (write(fd, "x", 1) != 1)
		exit(1);
}

static void *give_later(void *fd)
{
	wait_ms(BLOCKED_MS);
	give(*(int *)fd);
	return NULL;
}

static void queue_receive(struct io_uring *ring, int fd)
{
	static char byte;
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	io_uring_prep_recv(sqe, fd, &byte, 1, 0);
	sqe->flags |= IOSQE_ASYNC;
}

static void queue_send(struct io_uring *ring, int fd)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	io_uring_prep_send(sqe, fd, "x", 1, 0);
	sqe->flags |= IOSQE_ASYNC;
}

static void read_to_the_end(int fd)
{
	char byte;

	while (read(fd, &byte, 1) > 0)
		;
}

/*
 * One worker has three requests before it: a receive that makes it wait until all are queued, a send, and a
 * receive in which it blocks. How long after its close does the other end of the send's socket see the end?
 */
static uint64_t end_seen_after_ns(void)
{
	unsigned int workers[2] = { 1, 1 };
	int first[2], closed[2], blocked[2];
	struct io_uring ring;
	pthread_t helper;
	uint64_t begin, end;

	open_pair(first);
	open_pair(closed);
	open_pair(blocked);
	ktap_must("io_uring_setup", io_uring_queue_init(8, &ring, 0));
	ktap_must("workers", io_uring_register_iowq_max_workers(&ring, workers));
	queue_receive(&ring, first[0]);
	ktap_must("submit", io_uring_submit(&ring));
	wait_ms(SETTLE_MS);
	queue_send(&ring, closed[0]);
	queue_receive(&ring, blocked[0]);
	ktap_must("submit", io_uring_submit(&ring));
	give(first[1]);
	wait_ms(SETTLE_MS);

	ktap_must("thread", -pthread_create(&helper, NULL, give_later, &blocked[1]));
	begin = now_ns();
	close(closed[0]);
	read_to_the_end(closed[1]);
	end = now_ns();

	pthread_join(helper, NULL);
	io_uring_queue_exit(&ring);
	close_pair(first);
	close(closed[1]);
	close_pair(blocked);
	return end - begin;
}

static void test(unsigned int i)
{
	unsigned long long ms;

	kernel_set("iowq_free_batch", trials[i].batch);
	kernel_set("iowq_free_batch_flush", trials[i].flush);
	ms = end_seen_after_ns() / NSEC_PER_MSEC;
	ktap_note("iowq_free_batch=%s iowq_free_batch_flush=%s: after %llu ms",
		  trials[i].batch, trials[i].flush, ms);
	ktap_ok(trials[i].late ? ms >= BLOCKED_MS : ms < SOON_MS,
		"batch %s, flush %s: the end is seen %s", trials[i].batch, trials[i].flush,
		trials[i].late ? "when the worker goes on" : "soon");
}

int main(void)
{
	ktap_plan(TESTS);
	if (!kernel_is_ours()) {
		for (unsigned int i = 0; i < TESTS; i++)
			ktap_skip("held requests", "this kernel has no switches");
		return ktap_end();
	}
	/* a worker that polls instead does not block */
	kernel_set("iowq_hybrid", "0");
	for (unsigned int i = 0; i < TESTS; i++)
		test(i);
	kernel_set("iowq_free_batch", "0");
	kernel_set("iowq_free_batch_flush", "none");
	kernel_set("iowq_hybrid", "1");
	return ktap_end();
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test-held-requests: what the reviewers of "batch free work in io-wq" objected to. A worker that holds back
 * requests which are complete, and then blocks in another one, holds back what they refer to: here the last
 * reference to a socket, so that the other end learns late that it was closed. Needs ringstep's kernel.
 */
#include <fcntl.h>
#include <liburing.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../lib/ktap.h"

#define PARAMETERS	"/sys/module/io_uring/parameters/"
#define NSEC_PER_MSEC	1000000LL
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

static void must(const char *what, int result)
{
	if (result >= 0)
		return;
	printf("Bail out! %s: %s\n", what, strerror(-result));
	exit(1);
}

static bool set(const char *name, const char *value)
{
	char path[128];
	bool good;
	int fd;

	snprintf(path, sizeof(path), PARAMETERS "%s", name);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return false;
	good = write(fd, value, strlen(value)) == (ssize_t)strlen(value);
	close(fd);
	return good;
}

static void wait_ms(long ms)
{
	struct timespec time = { .tv_nsec = ms * NSEC_PER_MSEC };

	nanosleep(&time, NULL);
}

static long long now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000 * NSEC_PER_MSEC + time.tv_nsec;
}

static void open_pair(int pair[2])
{
	must("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
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
static long long end_seen_after_ns(void)
{
	unsigned int workers[2] = { 1, 1 };
	int first[2], closed[2], blocked[2];
	struct io_uring ring;
	pthread_t helper;
	long long begin;

	open_pair(first);
	open_pair(closed);
	open_pair(blocked);
	must("io_uring_setup", io_uring_queue_init(8, &ring, 0));
	must("workers", io_uring_register_iowq_max_workers(&ring, workers));
	queue_receive(&ring, first[0]);
	must("submit", io_uring_submit(&ring));
	wait_ms(SETTLE_MS);
	queue_send(&ring, closed[0]);
	queue_receive(&ring, blocked[0]);
	must("submit", io_uring_submit(&ring));
	give(first[1]);
	wait_ms(SETTLE_MS);

	must("thread", -pthread_create(&helper, NULL, give_later, &blocked[1]));
	begin = now_ns();
	close(closed[0]);
	read_to_the_end(closed[1]);
	begin = now_ns() - begin;

	pthread_join(helper, NULL);
	io_uring_queue_exit(&ring);
	close(first[0]);
	close(first[1]);
	close(closed[1]);
	close(blocked[0]);
	close(blocked[1]);
	return begin;
}

static void test(unsigned int i)
{
	long long ms;

	if (!set("iowq_free_batch", trials[i].batch) || !set("iowq_free_batch_flush", trials[i].flush)) {
		ktap_skip("held requests", "the kernel has no switches");
		return;
	}
	ms = end_seen_after_ns() / NSEC_PER_MSEC;
	ktap_note("iowq_free_batch=%s iowq_free_batch_flush=%s: after %lld ms",
		  trials[i].batch, trials[i].flush, ms);
	ktap_ok(trials[i].late ? ms >= BLOCKED_MS : ms < SOON_MS,
		"batch %s, flush %s: the end is seen %s", trials[i].batch, trials[i].flush,
		trials[i].late ? "when the worker goes on" : "soon");
}

int main(void)
{
	ktap_plan(TESTS);
	/* a worker that polls instead does not block */
	set("iowq_hybrid", "0");
	for (unsigned int i = 0; i < TESTS; i++)
		test(i);
	set("iowq_free_batch", "0");
	set("iowq_free_batch_flush", "none");
	set("iowq_hybrid", "1");
	return ktap_end();
}

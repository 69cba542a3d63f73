// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test-switches: the switches of the io_uring changes really switch, as the kernel's own counters show.
 * Needs ringstep's kernel; elsewhere all of it is skipped.
 */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../lib/compiler.h"
#include "../lib/ktap.h"
#include "../lib/ringstep.h"

#define COUNTERS	"/proc/ringstep_io_uring"
#define PARAMETERS	"/sys/module/io_uring/parameters/"
#define NOPS		4096
#define DEPTH		256
#define RECEIVES	16

/* What is counted here, as a difference over some work. */
struct counts {
	uint64_t batches, freed, polls;
};

static char *read_text(const char *path)
{
	static char text[16384];
	int fd = open(path, O_RDONLY);
	ssize_t length;

	if (fd < 0)
		return NULL;
	length = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[max(length, 0)] = '\0';
	return text;
}

static struct counts counts(void)
{
	struct counts counts = { 0 };
	char *text = read_text(COUNTERS);

	if (!text || ringstep_lookup(text, "iowq_free_batches", &counts.batches) ||
	    ringstep_lookup(text, "iowq_free_batched", &counts.freed) ||
	    ringstep_lookup(text, "iowq_polls", &counts.polls))
		ktap_note(COUNTERS " lacks a counter");
	return counts;
}

static struct counts since(struct counts then)
{
	struct counts now = counts();

	now.batches -= then.batches;
	now.freed -= then.freed;
	now.polls -= then.polls;
	return now;
}

/* Sets a parameter; false where the kernel does not take the value. */
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

static bool reads(const char *name, const char *value)
{
	char path[128];
	char *text;

	snprintf(path, sizeof(path), PARAMETERS "%s", name);
	text = read_text(path);
	return text && !strncmp(text, value, strlen(value));
}

static void must(const char *what, int result)
{
	if (result >= 0)
		return;
	printf("Bail out! %s: %s\n", what, strerror(-result));
	exit(1);
}

static void open_ring(struct io_uring *ring)
{
	unsigned int limits[2] = { 2, 2 };

	must("io_uring_setup", io_uring_queue_init(DEPTH, ring, 0));
	must("workers", io_uring_register_iowq_max_workers(ring, limits));
}

static void reap(struct io_uring *ring, int number)
{
	while (number--) {
		struct io_uring_cqe *cqe;

		must("wait", io_uring_wait_cqe(ring, &cqe));
		must("request", cqe->res);
		io_uring_cqe_seen(ring, cqe);
	}
}

/* More NOPs at once than there are workers: each worker finds several of them. */
static void run_nops(void)
{
	struct io_uring ring;

	open_ring(&ring);
	for (int done = 0; done < NOPS; done += DEPTH) {
		for (int i = 0; i < DEPTH; i++) {
			struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

			io_uring_prep_nop(sqe);
			sqe->flags |= IOSQE_ASYNC;
		}
		must("submission", io_uring_submit(&ring));
		reap(&ring, DEPTH);
	}
	io_uring_queue_exit(&ring);
}

/* Receives that find nothing yet; then the bytes come. */
static bool run_receives(void)
{
	int pairs[RECEIVES][2];
	char bytes[RECEIVES] = "";
	struct io_uring ring;
	bool good = true;

	open_ring(&ring);
	for (int i = 0; i < RECEIVES; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

		must("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]) ? -errno : 0);
		io_uring_prep_recv(sqe, pairs[i][0], &bytes[i], 1, 0);
		sqe->flags |= IOSQE_ASYNC;
	}
	must("submission", io_uring_submit(&ring));
	usleep(20000);
	for (int i = 0; i < RECEIVES; i++)
		must("write", write(pairs[i][1], "x", 1));
	reap(&ring, RECEIVES);
	for (int i = 0; i < RECEIVES; i++) {
		good = good && bytes[i] == 'x';
		close(pairs[i][0]);
		close(pairs[i][1]);
	}
	io_uring_queue_exit(&ring);
	return good;
}

static void test_free_batch(const char *value, uint64_t most)
{
	struct counts before, after;

	set("iowq_free_batch", value);
	before = counts();
	run_nops();
	after = since(before);
	ktap_note("iowq_free_batch=%s: %llu requests freed in %llu batches", value,
		  (unsigned long long)after.freed, (unsigned long long)after.batches);
	if (most == 1)
		ktap_ok(after.freed == after.batches, "iowq_free_batch=%s frees one by one", value);
	else
		ktap_ok(after.freed >= NOPS / 2 && after.freed > after.batches &&
			after.freed <= after.batches * most,
			"iowq_free_batch=%s frees several at once, at most %llu", value,
			(unsigned long long)most);
}

static void test_hybrid(const char *value)
{
	struct counts before, after;
	bool good;

	set("iowq_hybrid", value);
	before = counts();
	good = run_receives();
	after = since(before);
	ktap_note("iowq_hybrid=%s: %llu polls for %d receives", value,
		  (unsigned long long)after.polls, RECEIVES);
	if (*value == '1')
		ktap_ok(good && after.polls >= RECEIVES, "iowq_hybrid=1 polls");
	else
		ktap_ok(good && !after.polls, "iowq_hybrid=0 blocks");
}

static void test_parameter(const char *name, const char * const good[], const char * const bad[])
{
	bool right = true;

	for (; *good; good++)
		right = right && set(name, *good) && reads(name, *good);
	for (; *bad; bad++)
		right = right && !set(name, *bad);
	ktap_ok(right, "%s takes its values and no others", name);
}

int main(void)
{
	static const char * const batches[] = { "8", "2", "1", NULL };
	static const char * const no_batches[] = { "-1", "x", "9999999", NULL };
	static const char * const bools[] = { "0", "1", NULL };
	static const char * const no_bools[] = { "x", NULL };

	ktap_plan(7);
	if (access(COUNTERS, R_OK) || access(PARAMETERS "iowq_hybrid", W_OK)) {
		for (int i = 0; i < 7; i++)
			ktap_skip("switches", "this kernel does not have them");
		return ktap_end();
	}
	test_parameter("iowq_free_batch", batches, no_batches);
	test_parameter("iowq_hybrid", bools, no_bools);
	test_free_batch("1", 1);
	test_free_batch("2", 2);
	test_free_batch("8", 8);
	test_hybrid("0");
	test_hybrid("1");
	set("iowq_free_batch", "0");	/* both as after boot */
	return ktap_end();
}

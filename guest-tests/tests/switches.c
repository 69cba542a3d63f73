// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test-switches: the switches of the io_uring changes really switch, as the kernel's own counters show.
 * Needs ringstep's kernel; elsewhere all of it is skipped.
 */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/compiler.h"
#include "../lib/kernel.h"
#include "../lib/ktap.h"
#include "../lib/ringstep.h"

#define NOPS		4096
#define DEPTH		256
#define RECEIVES	16
#define READS		64
#define BLOCK		4096
#define RAM_DISK	"/dev/ram0"
#define PRIO_TESTS	6

/* What is counted here, as a difference over some work. */
struct counts {
	uint64_t batches, freed, polls;
	uint64_t lazy_adds, local_wakeups;
	uint64_t lists, fifo_lists;
	uint64_t submit_tws, prio_adds, prio_entries;
};

static const struct {
	const char *name;
	size_t offset;
} counted[] = {
	{ "iowq_free_batches", offsetof(struct counts, batches) },
	{ "iowq_free_batched", offsetof(struct counts, freed) },
	{ "iowq_polls", offsetof(struct counts, polls) },
	{ "tw_local_lazy_adds", offsetof(struct counts, lazy_adds) },
	{ "tw_local_wakeups", offsetof(struct counts, local_wakeups) },
	{ "tw_local_lists", offsetof(struct counts, lists) },
	{ "tw_local_fifo_lists", offsetof(struct counts, fifo_lists) },
	{ "submit_tws", offsetof(struct counts, submit_tws) },
	{ "tw_prio_adds", offsetof(struct counts, prio_adds) },
	{ "tw_prio_run_entries", offsetof(struct counts, prio_entries) },
};

static uint64_t *count_of(struct counts *counts, size_t i)
{
	return (uint64_t *)((char *)counts + counted[i].offset);
}

static struct counts counts(void)
{
	struct counts counts = { 0 };
	char text[16384];

	kernel_counters(text, sizeof(text));
	for (size_t i = 0; i < ARRAY_SIZE(counted); i++)
		if (ringstep_lookup(text, counted[i].name, count_of(&counts, i)))
			ktap_note(KERNEL_COUNTERS " lacks %s", counted[i].name);
	return counts;
}

static struct counts since(struct counts then)
{
	struct counts now = counts();

	for (size_t i = 0; i < ARRAY_SIZE(counted); i++)
		*count_of(&now, i) -= *count_of(&then, i);
	return now;
}

static void open_ring(struct io_uring *ring)
{
	unsigned int limits[2] = { 2, 2 };

	ktap_must("io_uring_setup", io_uring_queue_init(DEPTH, ring, 0));
	ktap_must("workers", io_uring_register_iowq_max_workers(ring, limits));
}

static void reap(struct io_uring *ring, int number)
{
	while (number--) {
		struct io_uring_cqe *cqe;

		ktap_must("wait", io_uring_wait_cqe(ring, &cqe));
		ktap_must("request", cqe->res);
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
		ktap_must("submission", io_uring_submit(&ring));
		reap(&ring, DEPTH);
	}
	io_uring_queue_exit(&ring);
}

/* The receiving and the sending ends of socket pairs, and a receive of one byte on each. */
static void arm_receives(struct io_uring *ring, int pairs[RECEIVES][2], char *bytes,
			 unsigned int flags)
{
	for (int i = 0; i < RECEIVES; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

		ktap_must("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]) ? -errno : 0);
		io_uring_prep_recv(sqe, pairs[i][0], &bytes[i], 1, 0);
		sqe->flags |= flags;
		sqe->user_data = i;
	}
	ktap_must("submission", io_uring_submit(ring));
}

static void close_pairs(int pairs[RECEIVES][2])
{
	for (int i = 0; i < RECEIVES; i++) {
		close(pairs[i][0]);
		close(pairs[i][1]);
	}
}

/* Receives that find nothing yet; then the bytes come. */
static bool run_receives(void)
{
	int pairs[RECEIVES][2];
	char bytes[RECEIVES] = "";
	struct io_uring ring;
	bool good = true;

	open_ring(&ring);
	arm_receives(&ring, pairs, bytes, IOSQE_ASYNC);
	usleep(20000);
	for (int i = 0; i < RECEIVES; i++)
		ktap_must("write", write(pairs[i][1], "x", 1));
	reap(&ring, RECEIVES);
	for (int i = 0; i < RECEIVES; i++)
		good = good && bytes[i] == 'x';
	close_pairs(pairs);
	io_uring_queue_exit(&ring);
	return good;
}

static void test_free_batch(const char *value, uint64_t most)
{
	struct counts before, after;

	kernel_set("iowq_free_batch", value);
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

	kernel_set("iowq_hybrid", value);
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

static void open_deferred_ring(struct io_uring *ring)
{
	ktap_must("io_uring_setup",
		  io_uring_queue_init(DEPTH, ring,
				      IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SINGLE_ISSUER));
}

/* Another process writes a byte now and then, while this one waits for all of them. */
static void run_waits(void)
{
	char bytes[RECEIVES] = "";
	int pairs[RECEIVES][2];
	struct io_uring ring;
	pid_t writer;

	open_deferred_ring(&ring);
	arm_receives(&ring, pairs, bytes, 0);
	writer = fork();
	if (!writer) {
		for (int i = 0; i < RECEIVES; i++) {
			usleep(2000);
			ktap_must("write", write(pairs[i][1], "x", 1));
		}
		_exit(0);
	}
	ktap_must("fork", writer);
	ktap_must("wait", io_uring_submit_and_wait(&ring, RECEIVES));
	reap(&ring, RECEIVES);
	waitpid(writer, NULL, 0);
	close_pairs(pairs);
	io_uring_queue_exit(&ring);
}

static void test_lazy_wake(const char *value)
{
	struct counts before, after;

	kernel_set("lazy_wake", value);
	before = counts();
	run_waits();
	after = since(before);
	ktap_note("lazy_wake=%s: %llu wake-ups, %llu additions without, for %d receives", value,
		  (unsigned long long)after.local_wakeups, (unsigned long long)after.lazy_adds,
		  RECEIVES);
	if (*value == '1')
		ktap_ok(after.local_wakeups <= 2 && after.lazy_adds >= RECEIVES - 2,
			"lazy_wake=1 wakes the task when all is there");
	else
		ktap_ok(after.local_wakeups >= RECEIVES / 2 && !after.lazy_adds,
			"lazy_wake=0 wakes the task each time");
}

/* All receives become ready, one after the other, before the ring looks at any of them. */
static void test_fifo(const char *value)
{
	bool fifo = *value == '1', ordered = true;
	struct counts before, after;
	char bytes[RECEIVES] = "";
	int pairs[RECEIVES][2];
	struct io_uring_cqe *cqe;
	struct io_uring ring;

	kernel_set("tw_fifo", value);
	before = counts();
	open_deferred_ring(&ring);
	arm_receives(&ring, pairs, bytes, 0);
	for (int i = 0; i < RECEIVES; i++)
		ktap_must("write", write(pairs[i][1], "x", 1));
	ktap_must("wait", io_uring_submit_and_wait(&ring, RECEIVES));
	for (uint64_t i = 0; i < RECEIVES; i++) {
		ktap_must("wait", io_uring_wait_cqe(&ring, &cqe));
		ordered = ordered && cqe->user_data == (fifo ? i : RECEIVES - 1 - i);
		io_uring_cqe_seen(&ring, cqe);
	}
	after = since(before);
	close_pairs(pairs);
	io_uring_queue_exit(&ring);
	ktap_note("tw_fifo=%s: %llu of %llu lists turned round", value,
		  (unsigned long long)after.fifo_lists, (unsigned long long)after.lists);
	ktap_ok(ordered && after.lists && after.fifo_lists == (fifo ? after.lists : 0),
		"tw_fifo=%s runs the %s first", value, fifo ? "oldest" : "newest");
}

/* Direct writes, then reads, of a ring whose thread submits and completes them. Is the data right? */
static bool run_disk(int disk, unsigned int setup_flags)
{
	static _Alignas(BLOCK) uint64_t data[READS][BLOCK / 8];
	struct io_uring ring;
	bool good = true;

	ktap_must("io_uring_setup", io_uring_queue_init(DEPTH, &ring, setup_flags));
	for (int reading = 0; reading < 2; reading++) {
		for (int i = 0; i < READS; i++) {
			struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

			data[i][0] = reading ? 0 : 1000 + i;
			if (reading)
				io_uring_prep_read(sqe, disk, data[i], BLOCK, i * BLOCK);
			else
				io_uring_prep_write(sqe, disk, data[i], BLOCK, i * BLOCK);
		}
		ktap_must("submission", io_uring_submit(&ring));
		reap(&ring, READS);
	}
	for (int i = 0; i < READS; i++)
		good = good && data[i][0] == 1000ULL + i;
	io_uring_queue_exit(&ring);
	return good;
}

static void test_prio(int disk, const char *prio, const char *submit_tw, unsigned int setup_flags)
{
	bool sqpoll = setup_flags & IORING_SETUP_SQPOLL;
	bool all = *submit_tw == '1' && !(setup_flags & IORING_SETUP_DEFER_TASKRUN);
	struct counts before, after;
	bool good;

	kernel_set("tw_prio", prio);
	kernel_set("submit_tw", submit_tw);
	before = counts();
	good = run_disk(disk, setup_flags);
	after = since(before);
	ktap_note("%llu requests submitted by task_work, %llu completed with priority of %llu",
		  (unsigned long long)after.submit_tws, (unsigned long long)after.prio_entries,
		  (unsigned long long)after.prio_adds);
	ktap_ok(good && after.submit_tws == (all ? 2 * READS : 0) &&
		after.prio_adds == (*prio == '1' && sqpoll ? 2 * READS : 0) &&
		after.prio_entries == after.prio_adds,
		"tw_prio=%s submit_tw=%s on a ring with flags 0x%x", prio, submit_tw, setup_flags);
}

static void test_prio_all(void)
{
	const unsigned int deferred = IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SINGLE_ISSUER;
	int disk = open(RAM_DISK, O_RDWR | O_DIRECT);

	if (disk < 0) {
		for (int i = 0; i < PRIO_TESTS; i++)
			ktap_skip("tw_prio", "no " RAM_DISK);
		return;
	}
	test_prio(disk, "0", "0", IORING_SETUP_SQPOLL);
	test_prio(disk, "1", "0", IORING_SETUP_SQPOLL);
	test_prio(disk, "0", "1", IORING_SETUP_SQPOLL);
	test_prio(disk, "1", "1", IORING_SETUP_SQPOLL);
	test_prio(disk, "1", "1", 0);
	test_prio(disk, "1", "1", deferred);
	close(disk);
}

/* Other processes use rings while the switches move: all that is queued is still run. */
static void test_flips(void)
{
	static const char * const names[] = { "lazy_wake", "tw_fifo", "tw_prio", "submit_tw" };
	int disk = open(RAM_DISK, O_RDWR | O_DIRECT);
	pid_t user = fork();
	int status = -1;

	if (!user) {
		bool good = true;

		for (int i = 0; good && i < 8; i++) {
			run_waits();
			if (disk >= 0)
				good = run_disk(disk, IORING_SETUP_SQPOLL) && run_disk(disk, 0);
		}
		_exit(!good);
	}
	ktap_must("fork", user);
	for (int i = 0; waitpid(user, &status, WNOHANG) != user; i++) {
		kernel_set(names[i % ARRAY_SIZE(names)], i / ARRAY_SIZE(names) % 2 ? "1" : "0");
		usleep(1000);
	}
	ktap_ok(!status, "the switches move while rings are in use");
	if (disk >= 0)
		close(disk);
}

static void test_parameter(const char *name, const char * const good[], const char * const bad[])
{
	bool right = true;

	for (; *good; good++)
		right = right && kernel_set(name, *good) && kernel_reads(name, *good);
	for (; *bad; bad++)
		right = right && !kernel_set(name, *bad);
	ktap_ok(right, "%s takes its values and no others", name);
}

int main(void)
{
	static const char * const batches[] = { "8", "2", "1", NULL };
	static const char * const no_batches[] = { "-1", "x", "9999999", NULL };
	static const char * const bools[] = { "0", "1", NULL };
	static const char * const no_bools[] = { "x", NULL };
	static const char * const switches[] = {
		"iowq_hybrid", "lazy_wake", "tw_fifo", "tw_prio", "submit_tw",
	};
	const unsigned int tests = ARRAY_SIZE(switches) + 11 + PRIO_TESTS;

	ktap_plan(tests);
	if (!kernel_is_ours()) {
		for (unsigned int i = 0; i < tests; i++)
			ktap_skip("switches", "this kernel does not have them");
		return ktap_end();
	}
	test_parameter("iowq_free_batch", batches, no_batches);
	for (size_t i = 0; i < ARRAY_SIZE(switches); i++)
		test_parameter(switches[i], bools, no_bools);
	test_free_batch("1", 1);
	test_free_batch("2", 2);
	test_free_batch("8", 8);
	kernel_set("iowq_free_batch", "0");
	kernel_set("tw_prio", "0");
	kernel_set("submit_tw", "0");
	test_hybrid("0");
	test_hybrid("1");
	test_lazy_wake("0");
	test_lazy_wake("1");
	test_fifo("0");
	test_fifo("1");
	test_prio_all();
	test_flips();
	/* all as after boot */
	kernel_set("lazy_wake", "1");
	kernel_set("tw_fifo", "1");
	kernel_set("tw_prio", "0");
	kernel_set("submit_tw", "0");
	return ktap_end();
}

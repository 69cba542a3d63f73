// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sqpoll-read: random reads of a disk through an SQPOLL ring, as fio does them with sqthread_poll=1.
 *
 * The ring's kernel thread submits and completes, this thread keeps --depth direct reads in flight
 * and spins until one is complete. A read's latency is the time from when it is put into the ring
 * to when its completion is found. The blocks are drawn from the machine's seed.
 *
 * It marks the window by itself and reports
 *   metric requests, window_ns, latency_mean_ns, latency_p50_ns, latency_p99_ns
 *   counter io_uring_*	of /proc/ringstep_io_uring, over the window
 */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/compiler.h"
#include "lib/kernel.h"
#include "lib/options.h"
#include "lib/ringstep.h"
#include "lib/server.h"
#include "lib/threads.h"

#define TEXT_SIZE	16384
#define MAX_DEPTH	16384
#define MAX_LATENCIES	(1U << 22)	/* the rest are in the mean only */
#define NSEC_PER_MSEC	1000000ULL

static uint64_t depth = 32, block = 4096, warmup_ms = 20, duration_ms = 100, idle_ms = 1000;
static const char *path = "/dev/nvme0n1";

static const struct option_spec specs[] = {
	OPTION_STRING("file", &path, "disk or file"),
	OPTION_NUMBER("depth", &depth, 1, MAX_DEPTH, "reads in flight"),
	OPTION_NUMBER("block", &block, 512, 1 << 20, "bytes of a read"),
	OPTION_NUMBER("warmup-ms", &warmup_ms, 0, 3600000, "before the window"),
	OPTION_NUMBER("duration-ms", &duration_ms, 1, 3600000, "the window"),
	OPTION_NUMBER("idle-ms", &idle_ms, 1, 3600000, "after which the ring's thread sleeps"),
	OPTION_END
};

struct read {
	uint64_t begin_ns;
	char *data;
};

static struct io_uring ring;
static struct read *reads;
static uint64_t blocks, random_state;
static uint32_t *latencies;
static uint64_t nr_done, latency_sum;
static bool measuring;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static void seed_random(void)
{
	char *text = malloc(TEXT_SIZE);
	uint64_t seed = 1;

	if (text && ringstep_read(text, TEXT_SIZE) > 0)
		ringstep_lookup(text, "seed", &seed);
	free(text);
	random_state = seed * 0x9e3779b97f4a7c15ULL + 1;
	for (int i = 0; i < 8; i++)
		next_random();
}

static void open_file(void)
{
	int fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	off_t size;

	if (fd < 0)
		die(path, errno);
	size = lseek(fd, 0, SEEK_END);
	blocks = size > 0 ? size / block : 0;
	if (!blocks)
		die(path, ENODATA);
	if (io_uring_register_files(&ring, &fd, 1))
		die("registered file", errno);
}

static void open_ring(void)
{
	struct io_uring_params params = {
		.flags = IORING_SETUP_SQPOLL,
		.sq_thread_idle = idle_ms,
	};
	int err = io_uring_queue_init_params(depth, &ring, &params);

	if (err)
		die("io_uring_setup", -err);
}

static void allocate(void)
{
	char *data = aligned_alloc(4096, (depth * block + 4095) / 4096 * 4096);

	reads = calloc(depth, sizeof(*reads));
	latencies = malloc(MAX_LATENCIES * sizeof(*latencies));
	if (!reads || !data || !latencies)
		die("memory for the reads", ENOMEM);
	memset(data, 0, depth * block);
	for (uint64_t i = 0; i < depth; i++)
		reads[i].data = data + i * block;
}

static void queue_read(struct read *r)
{
	struct io_uring_sqe *sqe;

	while (!(sqe = io_uring_get_sqe(&ring)))
		;	/* until the thread has taken some */
	io_uring_prep_read(sqe, 0, r->data, block, next_random() % blocks * block);
	sqe->flags |= IOSQE_FIXED_FILE;
	io_uring_sqe_set_data(sqe, r);
	r->begin_ns = now_ns();
}

static void completed(struct read *r, int result)
{
	uint64_t latency = now_ns() - r->begin_ns;

	if (result != (int)block)
		die("read", result < 0 ? -result : EIO);
	if (!measuring)
		return;
	if (nr_done < MAX_LATENCIES)
		latencies[nr_done] = min(latency, UINT32_MAX);
	nr_done++;
	latency_sum += latency;
}

/* Submits what is queued; enters the kernel only where the thread sleeps. */
static void submit(void)
{
	int err = io_uring_submit(&ring);

	if (err < 0)
		die("io_uring_enter", -err);
}

static void run_until(uint64_t end)
{
	while (now_ns() < end) {
		struct io_uring_cqe *cqe;
		unsigned int head, seen = 0;

		io_uring_for_each_cqe(&ring, head, cqe) {
			struct read *r = io_uring_cqe_get_data(cqe);

			completed(r, cqe->res);
			queue_read(r);
			seen++;
		}
		if (!seen)
			continue;
		io_uring_cq_advance(&ring, seen);
		submit();
	}
}

static void report_counters(const char *before, char *after)
{
	char *line, *rest;

	for (line = strtok_r(after, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char name[64], full[80];
		unsigned long long value;
		uint64_t old = 0;

		if (sscanf(line, "%63s %llu", name, &value) != 2)
			continue;
		ringstep_lookup(before, name, &old);
		snprintf(full, sizeof(full), "io_uring_%s", name);
		ringstep_counter(full, value - old);
	}
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void report(uint64_t window_ns)
{
	uint64_t kept = min(nr_done, MAX_LATENCIES);

	ringstep_metric("requests", nr_done);
	ringstep_metric("window_ns", window_ns);
	if (!kept)
		return;
	qsort(latencies, kept, sizeof(*latencies), compare);
	ringstep_metric("latency_mean_ns", latency_sum / nr_done);
	ringstep_metric("latency_p50_ns", latencies[(kept - 1) / 2]);
	ringstep_metric("latency_p99_ns", latencies[(kept * 99 - 1) / 100]);
}

int main(int argc, char **argv)
{
	static char before[TEXT_SIZE], after[TEXT_SIZE];
	uint64_t begin, end;

	options_parse_all(argc, argv, specs, "[OPTION]...");
	seed_random();
	allocate();
	open_ring();
	open_file();

	for (uint64_t i = 0; i < depth; i++)
		queue_read(&reads[i]);
	submit();
	run_until(now_ns() + warmup_ms * NSEC_PER_MSEC);

	kernel_counters(before, sizeof(before));
	ringstep_line("begin");
	begin = now_ns();
	measuring = true;
	run_until(begin + duration_ms * NSEC_PER_MSEC);
	end = now_ns();
	ringstep_line("end");
	kernel_counters(after, sizeof(after));

	report(end - begin);
	report_counters(before, after);
	return 0;
}

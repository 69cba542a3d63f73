// SPDX-License-Identifier: GPL-2.0-or-later
/* disk: reads or writes at random places of a disk, past the page cache, so many of them in flight. */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/compiler.h"
#include "lib/options.h"
#include "lib/ringstep.h"
#include "lib/threads.h"

#define MAX_DEPTH	1024
#define MAX_LENGTH	(1 << 20)
#define ALIGNMENT	4096

static const char *device = "/dev/nvme0n1";
static uint64_t requests = 10000, depth = 1, length = 4096, flush_every;
static bool writing;

static const struct option_spec specs[] = {
	OPTION_STRING("device", &device, "default: /dev/nvme0n1"),
	OPTION_FLAG("write", &writing, "writes; else reads"),
	OPTION_NUMBER("requests", &requests, 1, 1 << 24, "requests"),
	OPTION_NUMBER("depth", &depth, 1, MAX_DEPTH, "requests in flight"),
	OPTION_NUMBER("length", &length, 512, MAX_LENGTH, "bytes of each, a multiple of 512"),
	OPTION_NUMBER("flush-every", &flush_every, 0, 1 << 24, "a flush after so many; 0: none"),
	OPTION_END
};

/* One of those in flight. */
struct request {
	uint64_t begin_ns;
	void *buffer;
};

static struct request in_flight[MAX_DEPTH];
static uint64_t *latencies;
static uint64_t places;

static void check(const char *what, int result)
{
	if (result >= 0)
		return;
	fprintf(stderr, "disk: %s: %s\n", what, strerror(-result));
	exit(1);
}

/* The same places in each run: splitmix64. */
static uint64_t next_place(void)
{
	static uint64_t state;
	uint64_t x = state += 0x9e3779b97f4a7c15;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return (x ^ (x >> 31)) % places * length;
}

static int open_disk(void)
{
	int fd = open(device, (writing ? O_RDWR : O_RDONLY) | O_DIRECT | O_CLOEXEC);
	off_t size;

	if (fd < 0) {
		perror(device);
		exit(1);
	}
	size = lseek(fd, 0, SEEK_END);
	places = size > 0 ? size / length : 0;
	if (!places || length % 512)
		options_error("no requests of %llu bytes fit on %s", (unsigned long long)length, device);
	return fd;
}

static void prepare(struct io_uring *ring, int fd, struct request *request, uint64_t number)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	if (flush_every && number % (flush_every + 1) == flush_every)
		io_uring_prep_fsync(sqe, fd, IORING_FSYNC_DATASYNC);
	else if (writing)
		io_uring_prep_write(sqe, fd, request->buffer, length, next_place());
	else
		io_uring_prep_read(sqe, fd, request->buffer, length, next_place());
	io_uring_sqe_set_data(sqe, request);
	request->begin_ns = now_ns();
}

static void run(struct io_uring *ring, int fd)
{
	struct request *idle[MAX_DEPTH];
	uint64_t queued = 0, done = 0, n_idle = 0;

	while (n_idle < depth) {
		struct request *request = &in_flight[n_idle];

		check("memory", -posix_memalign(&request->buffer, ALIGNMENT, length));
		memset(request->buffer, 0x5a, length);
		idle[n_idle++] = request;
	}
	while (done < requests) {
		struct io_uring_cqe *cqe;
		unsigned int head, seen = 0;

		while (n_idle && queued < requests)
			prepare(ring, fd, idle[--n_idle], queued++);
		check("io_uring_enter", io_uring_submit_and_wait(ring, 1));
		io_uring_for_each_cqe(ring, head, cqe) {
			struct request *request = io_uring_cqe_get_data(cqe);

			check(writing ? "write" : "read", cqe->res);
			latencies[done++] = now_ns() - request->begin_ns;
			idle[n_idle++] = request;
			seen++;
		}
		io_uring_cq_advance(ring, seen);
	}
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The nearest rank. */
static uint64_t quantile(uint64_t permille)
{
	return latencies[(requests * permille + 999) / 1000 - 1];
}

static void report(uint64_t elapsed_ns)
{
	qsort(latencies, requests, sizeof(*latencies), compare);
	ringstep_metric("requests", requests);
	ringstep_metric("window_ns", elapsed_ns);
	ringstep_metric("disk_latency_min_ns", latencies[0]);
	ringstep_metric("disk_latency_p50_ns", quantile(500));
	ringstep_metric("disk_latency_p99_ns", quantile(990));
	ringstep_metric("disk_latency_p999_ns", quantile(999));
	ringstep_metric("disk_latency_max_ns", latencies[requests - 1]);
}

int main(int argc, char **argv)
{
	struct io_uring ring;
	uint64_t begin;
	int fd;

	options_parse_all(argc, argv, specs, "[OPTION]...");
	fd = open_disk();
	latencies = calloc(requests, sizeof(*latencies));
	check("memory", latencies ? 0 : -ENOMEM);
	check("io_uring_setup", io_uring_queue_init(depth, &ring, 0));
	begin = now_ns();
	run(&ring, fd);
	report(now_ns() - begin);
	return 0;
}

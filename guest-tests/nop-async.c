// SPDX-License-Identifier: GPL-2.0-or-later
/* nop-async: NOPs that io-wq's workers run: queueing, completing and freeing requests, and nothing else. */
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/compiler.h"
#include "lib/options.h"
#include "lib/ringstep.h"
#include "lib/threads.h"

static uint64_t requests = 20000, depth = 64, workers = 4;

static const struct option_spec specs[] = {
	OPTION_NUMBER("requests", &requests, 1, 1ULL << 40, "requests"),
	OPTION_NUMBER("depth", &depth, 1, 4096, "requests in flight"),
	OPTION_NUMBER("workers", &workers, 0, 65535, "bound io-wq workers at most; 0: no limit"),
	OPTION_END
};

static void check(const char *what, int result)
{
	if (result >= 0)
		return;
	fprintf(stderr, "nop-async: %s: %s\n", what, strerror(-result));
	exit(1);
}

int main(int argc, char **argv)
{
	unsigned int limits[2] = { 0, 0 };
	uint64_t queued = 0, done = 0;
	struct io_uring ring;
	uint64_t begin;

	options_parse_all(argc, argv, specs, "[OPTION]...");
	limits[0] = workers;
	check("io_uring_setup", io_uring_queue_init(depth, &ring, 0));
	check("limit of io-wq workers", io_uring_register_iowq_max_workers(&ring, limits));

	begin = now_ns();
	while (done < requests) {
		struct io_uring_cqe *cqe;
		unsigned int head, seen = 0;

		while (queued < requests && queued - done < depth) {
			struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

			if (!sqe)
				break;
			io_uring_prep_nop(sqe);
			sqe->flags |= IOSQE_ASYNC;
			queued++;
		}
		check("io_uring_enter", io_uring_submit_and_wait(&ring, 1));
		io_uring_for_each_cqe(&ring, head, cqe) {
			check("NOP", cqe->res);
			seen++;
		}
		io_uring_cq_advance(&ring, seen);
		done += seen;
	}
	ringstep_metric("elapsed_ns", now_ns() - begin);
	ringstep_metric("requests", done);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* workload: what a calibrated profile has to predict. Nothing here is used to calibrate one; that is micro. */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/bench.h"
#include "lib/compiler.h"
#include "lib/threads.h"

#define PAGE	4096

/* A generator of numbers that are the same everywhere (Knuth's MMIX). */
static uint64_t state;

static uint64_t next(void)
{
	state = state * 6364136223846793005 + 1442695040888963407;
	return state >> 33;
}

/* User space only. */

static int compare(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static uint64_t run_sort(uint64_t count)
{
	static uint32_t numbers[2048];
	uint64_t ns = 0;

	for (uint64_t i = 0; i < count; i++) {
		uint64_t begin;

		state = i;
		for (size_t k = 0; k < ARRAY_SIZE(numbers); k++)
			numbers[k] = next();
		begin = now_ns();
		qsort(numbers, ARRAY_SIZE(numbers), sizeof(numbers[0]), compare);
		ns += now_ns() - begin;
	}
	return ns;
}

static uint64_t run_hash(uint64_t count)
{
	static uint64_t keys[4096];
	uint64_t begin = now_ns();

	state = 1;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t key = next() % 3000 + 1, slot = key * 0x9e3779b97f4a7c15 >> 52;

		while (keys[slot] && keys[slot] != key)
			slot = (slot + 1) % ARRAY_SIZE(keys);
		keys[slot] = key;
	}
	return now_ns() - begin;
}

static uint64_t run_parse(uint64_t count)
{
	static const char text[] = "GET /index.html?user=17&page=4 HTTP/1.1\r\nHost: example.org\r\nAccept: */*\r\n";
	uint64_t begin = now_ns();

	for (uint64_t i = 0; i < count; i++) {
		char copy[sizeof(text)], *rest = copy, *line;
		uint64_t sum = 0;

		memcpy(copy, text, sizeof(text));
		while ((line = strsep(&rest, "\n"))) {
			char *value = strstr(line, "page=");

			sum += strlen(line) + (value ? strtoul(value + 5, NULL, 10) : 0);
		}
		bench_use(sum);
	}
	return now_ns() - begin;
}

static uint64_t run_mix(uint64_t count)
{
	uint64_t begin = now_ns();
	uint32_t a = 1, b = 2, c = 3, d = 4;

	for (uint64_t i = 0; i < count; i++) {		/* a quarter round of ChaCha20 */
		a += b, d ^= a, d = d << 16 | d >> 16;
		c += d, b ^= c, b = b << 12 | b >> 20;
		a += b, d ^= a, d = d << 8 | d >> 24;
		c += d, b ^= c, b = b << 7 | b >> 25;
		asm volatile("" : "+r" (a), "+r" (b), "+r" (c), "+r" (d));
	}
	return now_ns() - begin;
}

static uint64_t run_matrix(uint64_t count)
{
	static double a[32][32], b[32][32], c[32][32];
	uint64_t begin = now_ns();

	for (uint64_t n = 0; n < count; n++) {
		for (int i = 0; i < 32; i++)
			for (int k = 0; k < 32; k++)
				for (int j = 0; j < 32; j++)
					c[i][j] += a[i][k] * b[k][j];
		bench_use((uintptr_t)c);
	}
	return now_ns() - begin;
}

static uint64_t sum_over(uint64_t count, size_t size)
{
	static uint64_t memory[(16 << 20) / 8];
	uint64_t begin, sum = 0;

	memset(memory, 1, size);
	begin = now_ns();
	for (uint64_t i = 0, at = 0; i < count; i++) {		/* each line once, in no order that is guessed */
		at = (at + 64 * 8 * 127) % (size / 8);
		sum += memory[at];
		asm volatile("" : "+r" (sum));
	}
	bench_use(sum);
	return now_ns() - begin;
}

static uint64_t run_sum_cached(uint64_t count)
{
	return sum_over(count, 16 << 10);
}

static uint64_t run_sum_memory(uint64_t count)
{
	return sum_over(count, 16 << 20);
}

static uint64_t run_copies(uint64_t count)
{
	static char from[4096], to[4096];
	uint64_t begin = now_ns();

	state = 1;
	for (uint64_t i = 0; i < count; i++) {
		memmove(to, from, next() % 4096);
		bench_use((uintptr_t)to);
	}
	return now_ns() - begin;
}

static uint64_t run_clock(uint64_t count)
{
	uint64_t begin = now_ns();

	for (uint64_t i = 0; i < count; i++)
		bench_use(now_ns());
	return now_ns() - begin;
}

/* The kernel on one CPU. */

static uint64_t repeat_io(uint64_t count, const char *path, ssize_t (*io)(int fd))
{
	int fd = open(path, O_RDWR);
	uint64_t begin, ns;

	if (fd < 0)
		return BENCH_REFUSED;
	begin = now_ns();
	for (uint64_t i = 0; i < count; i++)
		if (io(fd) < 0)
			bench_fail(path);
	ns = now_ns() - begin;
	close(fd);
	return ns;
}

static char buffer[65536];

static ssize_t read_page(int fd)
{
	return read(fd, buffer, PAGE);
}

static ssize_t write_byte(int fd)
{
	return write(fd, buffer, 1);
}

static uint64_t run_read_zero(uint64_t count)
{
	return repeat_io(count, "/dev/zero", read_page);
}

static uint64_t run_write_null(uint64_t count)
{
	return repeat_io(count, "/dev/null", write_byte);
}

static uint64_t run_stat(uint64_t count)
{
	uint64_t begin = now_ns();
	struct stat found;

	for (uint64_t i = 0; i < count; i++)
		if (stat("/proc/self/status", &found))
			return BENCH_REFUSED;
	return now_ns() - begin;
}

static uint64_t run_map(uint64_t count)
{
	uint64_t begin = now_ns();

	for (uint64_t i = 0; i < count; i++) {
		void *memory = mmap(NULL, 16 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (memory == MAP_FAILED || munmap(memory, 16 * PAGE))
			bench_fail("mmap");
	}
	return now_ns() - begin;
}

static uint64_t run_fork(uint64_t count)
{
	uint64_t begin = now_ns();

	fflush(stdout);
	for (uint64_t i = 0; i < count; i++) {
		pid_t child = fork();

		if (!child)
			_exit(0);
		if (child < 0)
			bench_fail("fork");
		waitpid(child, NULL, 0);
	}
	return now_ns() - begin;
}

static void *nothing(void *data)
{
	return data;
}

static uint64_t run_thread(uint64_t count)
{
	uint64_t begin = now_ns();

	for (uint64_t i = 0; i < count; i++) {
		pthread_t thread;

		errno = pthread_create(&thread, NULL, nothing, NULL);
		if (errno)
			bench_fail("pthread_create");
		pthread_join(thread, NULL);
	}
	return now_ns() - begin;
}

static uint64_t run_uring_read(uint64_t count)
{
	struct io_uring ring;
	int fd = open("/dev/zero", O_RDONLY), err = io_uring_queue_init(16, &ring, 0);
	uint64_t begin, ns;

	if (err || fd < 0) {
		errno = err ? -err : errno;
		return BENCH_REFUSED;
	}
	begin = now_ns();
	for (uint64_t i = 0; i < count; i += 16) {
		struct io_uring_cqe *cqe;
		unsigned int head, seen = 0;

		for (int k = 0; k < 16; k++)
			io_uring_prep_read(io_uring_get_sqe(&ring), fd, buffer, 512, 0);
		io_uring_submit_and_wait(&ring, 16);
		io_uring_for_each_cqe(&ring, head, cqe)
			seen += cqe->res == 512;
		if (seen != 16)
			bench_fail("io_uring read");
		io_uring_cq_advance(&ring, seen);
	}
	ns = now_ns() - begin;
	io_uring_queue_exit(&ring);
	close(fd);
	return ns;
}

/* The kernel on two CPUs. */

static uint64_t run_eventfd(uint64_t count)
{
	int there = eventfd(0, 0), back = eventfd(0, 0);
	uint64_t ns;

	if (there < 0 || back < 0)
		return BENCH_REFUSED;
	ns = bench_ping_pong((struct ends) { back, there }, (struct ends) { there, back }, 1, count);
	close(there);
	close(back);
	return ns;
}

static uint64_t run_udp(uint64_t count)
{
	struct sockaddr_in address[2];
	int fd[2];
	uint64_t ns;

	for (int i = 0; i < 2; i++) {
		socklen_t length = sizeof(address[i]);

		address[i] = (struct sockaddr_in) { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
		fd[i] = socket(AF_INET, SOCK_DGRAM, 0);
		if (fd[i] < 0 || bind(fd[i], (struct sockaddr *)&address[i], length) ||
		    getsockname(fd[i], (struct sockaddr *)&address[i], &length))
			return BENCH_REFUSED;
	}
	for (int i = 0; i < 2; i++)
		if (connect(fd[i], (struct sockaddr *)&address[!i], sizeof(address[!i])))
			return BENCH_REFUSED;
	ns = bench_ping_pong((struct ends) { fd[0], fd[0] }, (struct ends) { fd[1], fd[1] }, 1, count);
	close(fd[0]);
	close(fd[1]);
	return ns;
}

static uint64_t operations;
static int stream[2];

static void pump(unsigned int number)
{
	uint64_t left = operations * sizeof(buffer);
	static char sink[sizeof(buffer)];

	while (left) {
		ssize_t n = number ? read(stream[0], sink, min(left, sizeof(sink)))
				   : write(stream[1], buffer, min(left, sizeof(buffer)));

		if (n <= 0)
			bench_fail("pipe");
		left -= n;
	}
}

static uint64_t run_pipe_bulk(uint64_t count)
{
	uint64_t ns;

	if (pipe(stream))
		bench_fail("pipe");
	operations = count;
	ns = threads_run(2, pump);
	close(stream[0]);
	close(stream[1]);
	return ns;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static uint64_t shared;

static void count_locked(unsigned int number)
{
	(void)number;
	for (uint64_t i = 0; i < operations / 2; i++) {
		pthread_mutex_lock(&lock);
		shared++;
		pthread_mutex_unlock(&lock);
		for (int k = 0; k < 100; k++)
			bench_use(k);
	}
}

static uint64_t run_mutex(uint64_t count)
{
	operations = count;
	return threads_run(2, count_locked);
}

static void take_turns(unsigned int number)
{
	for (uint64_t i = number; i < operations; i += 2) {
		pthread_mutex_lock(&lock);
		while (shared != i)
			pthread_cond_wait(&changed, &lock);
		shared++;
		pthread_cond_signal(&changed);
		pthread_mutex_unlock(&lock);
	}
}

static uint64_t run_condition(uint64_t count)
{
	shared = 0;
	operations = count;
	return threads_run(2, take_turns);
}

static void echo_epoll(int fd, uint64_t count)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(0);

	if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		bench_fail("epoll");
	for (; count; count--)
		if (epoll_wait(epoll, &event, 1, -1) != 1 || read(fd, buffer, 64) != 64 || write(fd, buffer, 64) != 64)
			bench_fail("echo");
	_exit(0);
}

static uint64_t run_epoll(uint64_t count)
{
	char message[64] = "";
	uint64_t begin = 0;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		bench_fail("socketpair");
	fflush(stdout);
	if (!fork()) {
		pin_to_cpu(1);
		echo_epoll(pair[1], count + 1);
	}
	for (uint64_t i = 0; i <= count; i++) {
		if (i == 1)
			begin = now_ns();	/* the server is there */
		if (write(pair[0], message, sizeof(message)) != sizeof(message) ||
		    read(pair[0], message, sizeof(message)) != sizeof(message))
			bench_fail("echo");
	}
	begin = now_ns() - begin;
	wait(NULL);
	close(pair[0]);
	close(pair[1]);
	return begin;
}

static const struct bench table[] = {
	{ "sort", "qsort() of 2048 numbers", 1, 100, run_sort },
	{ "hash", "a look-up in a hash table of 32 KiB", 1, 1000000, run_hash },
	{ "parse", "taking an HTTP request apart", 1, 50000, run_parse },
	{ "mix", "a quarter round of ChaCha20", 1, 2000000, run_mix },
	{ "matrix", "a product of matrices of 32 x 32", 1, 500, run_matrix },
	{ "sum-cached", "a load from 16 KiB", 1, 5000000, run_sum_cached },
	{ "sum-memory", "a load from 16 MiB", 1, 2000000, run_sum_memory },
	{ "copies", "memmove() of up to 4 KiB", 1, 200000, run_copies },
	{ "clock", "clock_gettime()", 1, 200000, run_clock },
	{ "read-zero", "read() of a page of /dev/zero", 1, 20000, run_read_zero },
	{ "write-null", "write() of a byte to /dev/null", 1, 20000, run_write_null },
	{ "stat", "stat() of a file", 1, 10000, run_stat },
	{ "map", "mmap() and munmap()", 1, 10000, run_map },
	{ "fork", "fork(), exit and wait", 1, 200, run_fork },
	{ "thread", "pthread_create() and join", 1, 500, run_thread },
	{ "uring-read", "a read by io_uring, 16 at once", 1, 32000, run_uring_read },
	{ "eventfd", "a round trip over eventfds", 2, 5000, run_eventfd },
	{ "udp", "a round trip over UDP", 2, 5000, run_udp },
	{ "pipe-bulk", "64 KiB through a pipe", 2, 1000, run_pipe_bulk },
	{ "mutex", "an increment under a mutex of two threads", 2, 50000, run_mutex },
	{ "condition", "a hand-over by a condition variable", 2, 5000, run_condition },
	{ "epoll", "an echo by an epoll server", 2, 5000, run_epoll },
};

int main(int argc, char **argv)
{
	return bench_main(argc, argv, table, ARRAY_SIZE(table));
}

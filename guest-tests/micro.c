// SPDX-License-Identifier: GPL-2.0-or-later
/* micro: the operations from whose times on a host a profile's costs follow, and some that check them. */
#include <errno.h>
#include <liburing.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/bench.h"
#include "lib/compiler.h"
#include "lib/threads.h"

#define PAGE	4096
#define LINE	64

/* Ordinary code, of which the time of an instruction follows. */

static uint64_t run_interpreter(uint64_t count)
{
	/* a += b; b ^= a >> 3; if (a & 1) a += 7; else b -= 1; repeat */
	static const uint8_t code[] = { 0, 1, 2, 6, 3, 5, 4, 5 };
	uint64_t a = 1, b = 2, begin = now_ns();

	for (uint64_t i = 0; i < count; i++) {
		for (unsigned int pc = 0; pc < sizeof(code); pc++) {
			switch (code[pc]) {
			case 0:
				a += b;
				break;
			case 1:
				b ^= a >> 3;
				break;
			case 2:
				pc += a & 1;
				break;
			case 3:
				a += 7;
				break;
			case 4:
				b--;
				break;
			}
			asm volatile("" : "+r" (pc));
		}
	}
	bench_use(a + b);
	return now_ns() - begin;
}

static uint64_t run_list(uint64_t count)
{
	static struct node {
		struct node *next;
		uint64_t value;
	} nodes[1024];
	struct node *node = nodes;
	uint64_t sum = 0, begin;

	for (unsigned int i = 0; i < ARRAY_SIZE(nodes); i++)
		nodes[i] = (struct node) { &nodes[(i * 389 + 1) % ARRAY_SIZE(nodes)], i };
	begin = now_ns();
	for (uint64_t i = 0; i < count; i++, node = node->next)
		sum += node->value & 1 ? node->value : 1;
	bench_use(sum);
	return now_ns() - begin;
}

static uint64_t run_crc(uint64_t count)
{
	static uint32_t table[256];
	uint32_t crc = ~0u;
	uint64_t begin;

	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (int bit = 0; bit < 8; bit++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320 : 0);
	}
	begin = now_ns();
	for (uint64_t i = 0; i < count; i++)
		crc = crc >> 8 ^ table[(crc ^ i) & 0xff];
	bench_use(crc);
	return now_ns() - begin;
}

static uint64_t run_format(uint64_t count)
{
	uint64_t begin = now_ns();
	char text[64];

	for (uint64_t i = 0; i < count; i++)
		bench_use(snprintf(text, sizeof(text), "%u %s %08x", (unsigned int)i, "requests", 0x5eed));
	return now_ns() - begin;
}

/* Single instructions. */

static uint64_t run_division(uint64_t count)
{
	uint64_t begin = now_ns(), value = UINT64_MAX;

	for (uint64_t i = 0; i < count; i++)
		asm volatile("xor %%edx, %%edx\n\tdiv %1\n\tor $-4096, %0" : "+a" (value) : "r" (3UL) : "rdx", "cc");
	return now_ns() - begin;
}

static uint64_t run_pause(uint64_t count)
{
	uint64_t begin = now_ns();

	for (uint64_t i = 0; i < count; i++)
		__builtin_ia32_pause();
	return now_ns() - begin;
}

static _Alignas(LINE) char lines[2 * LINE];
static uint64_t increments;

static void increment(unsigned int number)
{
	(void)number;
	for (uint64_t i = 0; i < increments; i++)
		asm volatile("lock incq %0" : "+m" (*(uint64_t *)lines));
}

static void increment_own(unsigned int number)
{
	for (uint64_t i = 0; i < increments; i++)
		asm volatile("lock incq %0" : "+m" (*(uint64_t *)(lines + 8 * number)));
}

static uint64_t run_locked(uint64_t count)
{
	uint64_t begin = now_ns();

	increments = count;
	increment(0);
	return now_ns() - begin;
}

static uint64_t run_contended(uint64_t count)
{
	increments = count / 2;
	return threads_run(2, increment);
}

static uint64_t run_false_sharing(uint64_t count)
{
	increments = count / 2;
	return threads_run(2, increment_own);
}

static _Atomic uint64_t turn;

static void hand_over(unsigned int number)
{
	for (uint64_t i = number; i < increments; i += 2) {
		while (atomic_load_explicit(&turn, memory_order_acquire) != i)
			__builtin_ia32_pause();
		atomic_store_explicit(&turn, i + 1, memory_order_release);
	}
}

static uint64_t run_hand_over(uint64_t count)
{
	turn = 0;
	increments = count;
	return threads_run(2, hand_over);
}

static uint64_t copy_string(uint64_t count, size_t size)
{
	static _Alignas(LINE) char from[PAGE], to[PAGE];
	uint64_t begin = now_ns();

	for (uint64_t i = 0; i < count; i++) {
		char *source = from, *target = to;
		size_t left = size;

		asm volatile("rep movsb" : "+S" (source), "+D" (target), "+c" (left) : : "memory");
	}
	return now_ns() - begin;
}

static uint64_t run_string_short(uint64_t count)
{
	return copy_string(count, LINE);
}

static uint64_t run_string_page(uint64_t count)
{
	return copy_string(count, PAGE);
}

static uint64_t run_memcpy(uint64_t count)
{
	static char from[1024], to[1024];
	uint64_t begin = now_ns();

	for (uint64_t i = 0; i < count; i++) {
		memcpy(to, from, sizeof(to));
		bench_use((uintptr_t)to);
	}
	return now_ns() - begin;
}

/* The kernel's. */

static uint64_t run_syscall(uint64_t count)
{
	uint64_t begin = now_ns();

	for (uint64_t i = 0; i < count; i++)
		syscall(SYS_getppid);
	return now_ns() - begin;
}

static uint64_t run_fault(uint64_t count)
{
	char *memory = mmap(NULL, count * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t begin, ns;

	if (memory == MAP_FAILED)
		bench_fail("mmap");
	madvise(memory, count * PAGE, MADV_NOHUGEPAGE);
	begin = now_ns();
	for (uint64_t i = 0; i < count; i++)
		asm volatile("movb $1, %0" : "=m" (memory[i * PAGE]));
	ns = now_ns() - begin;
	munmap(memory, count * PAGE);
	return ns;
}

static uint64_t over_pipes(uint64_t count, unsigned int cpu)
{
	int there[2], back[2];
	uint64_t ns;

	if (pipe(there) || pipe(back))
		bench_fail("pipe");
	ns = bench_ping_pong((struct ends) { back[0], there[1] }, (struct ends) { there[0], back[1] }, cpu, count);
	for (int i = 0; i < 2; i++) {
		close(there[i]);
		close(back[i]);
	}
	return ns;
}

static uint64_t run_pipe_same_cpu(uint64_t count)
{
	return over_pipes(count, 0);
}

static uint64_t run_pipe_two_cpus(uint64_t count)
{
	return over_pipes(count, 1);
}

static _Atomic uint32_t holder;

static void pass_futex(unsigned int me)
{
	for (uint64_t i = me; i < increments; i += 2) {
		while (atomic_load(&holder) != me)
			syscall(SYS_futex, &holder, FUTEX_WAIT_PRIVATE, !me, NULL);
		atomic_store(&holder, !me);
		syscall(SYS_futex, &holder, FUTEX_WAKE_PRIVATE, 1);
	}
}

static uint64_t run_futex(uint64_t count)
{
	holder = 0;
	increments = count;
	return threads_run(2, pass_futex);
}

static uint64_t over_sockets(int self, int other, uint64_t count)
{
	uint64_t ns = bench_ping_pong((struct ends) { self, self }, (struct ends) { other, other }, 1, count);

	close(self);
	close(other);
	return ns;
}

static uint64_t run_socketpair(uint64_t count)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		bench_fail("socketpair");
	return over_sockets(pair[0], pair[1], count);
}

static uint64_t run_loopback(uint64_t count)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0), server;
	socklen_t length = sizeof(address);

	if (listener < 0 || client < 0)
		return BENCH_REFUSED;
	if (bind(listener, (struct sockaddr *)&address, length) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&address, &length) ||
	    connect(client, (struct sockaddr *)&address, length))
		return BENCH_REFUSED;
	server = accept(listener, NULL, NULL);
	close(listener);
	setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &(int) { 1 }, sizeof(int));
	setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &(int) { 1 }, sizeof(int));
	return over_sockets(client, server, count);
}

static uint64_t run_uring_nop(uint64_t count)
{
	struct io_uring ring;
	uint64_t begin, ns;
	int err = io_uring_queue_init(8, &ring, 0);

	if (err) {
		errno = -err;
		return BENCH_REFUSED;
	}
	begin = now_ns();
	for (uint64_t i = 0; i < count; i++) {
		struct io_uring_cqe *cqe;

		io_uring_prep_nop(io_uring_get_sqe(&ring));
		io_uring_submit_and_wait(&ring, 1);
		if (io_uring_peek_cqe(&ring, &cqe))
			bench_fail("a NOP did not complete");
		io_uring_cqe_seen(&ring, cqe);
	}
	ns = now_ns() - begin;
	io_uring_queue_exit(&ring);
	return ns;
}

static const struct bench table[] = {
	{ "interpreter", "a round of a bytecode interpreter", 1, 1000000, run_interpreter },
	{ "list", "a step along a list in the L1 cache", 1, 10000000, run_list },
	{ "crc", "a byte of a CRC-32 by table", 1, 10000000, run_crc },
	{ "format", "an snprintf()", 1, 200000, run_format },
	{ "division", "a 64-bit division", 1, 2000000, run_division },
	{ "pause", "a PAUSE", 1, 1000000, run_pause },
	{ "locked", "a LOCK INC, uncontended", 1, 5000000, run_locked },
	{ "contended", "a LOCK INC of a counter that two CPUs increment", 2, 2000000, run_contended },
	{ "false-sharing", "a LOCK INC of one of two counters in a line", 2, 2000000, run_false_sharing },
	{ "hand-over", "a hand-over of a flag to a CPU that spins", 2, 200000, run_hand_over },
	{ "string-64", "REP MOVSB of 64 bytes", 1, 1000000, run_string_short },
	{ "string-4096", "REP MOVSB of 4096 bytes", 1, 200000, run_string_page },
	{ "memcpy", "memcpy() of 1024 bytes", 1, 1000000, run_memcpy },
	{ "syscall", "getppid()", 1, 200000, run_syscall },
	{ "fault", "a page fault that gets a page", 1, 8192, run_fault },
	{ "pipe-same-cpu", "a round trip between processes on a CPU", 1, 20000, run_pipe_same_cpu },
	{ "pipe-two-cpus", "a round trip between processes on two CPUs", 2, 10000, run_pipe_two_cpus },
	{ "futex", "a hand-over to a thread that sleeps", 2, 20000, run_futex },
	{ "socketpair", "a round trip over a UNIX socket, two CPUs", 2, 10000, run_socketpair },
	{ "loopback", "a round trip over TCP, two CPUs", 2, 5000, run_loopback },
	{ "uring-nop", "an io_uring NOP", 1, 100000, run_uring_nop },
};

int main(int argc, char **argv)
{
	return bench_main(argc, argv, table, ARRAY_SIZE(table));
}

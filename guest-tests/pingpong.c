// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pingpong: two CPUs that hand a token to each other: what a wake-up across CPUs costs (pipe, futex), and
 * how soon one that spins sees what the other has written (pause, busy).
 */
#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/compiler.h"
#include "lib/options.h"
#include "lib/ringstep.h"
#include "lib/threads.h"

static uint64_t rounds = 10000;
static const char *mode_name = "pipe";

static const struct option_spec specs[] = {
	OPTION_NUMBER("rounds", &rounds, 1, 1ULL << 40, "hand-overs in each direction"),
	OPTION_STRING("mode", &mode_name, "pipe, futex, pause (spins with PAUSE), busy (without)"),
	OPTION_END
};

static int pipes[2][2];		/* pipes[i] is read by thread i */
static _Atomic uint32_t turn;	/* the number of the thread that has the token */

static void pipe_wait(unsigned int me)
{
	char token;

	if (read(pipes[me][0], &token, 1) != 1)
		exit(1);
}

static void pipe_pass(unsigned int other)
{
	if (write(pipes[other][1], "", 1) != 1)
		exit(1);
}

static void futex_wait(unsigned int me)
{
	while (atomic_load(&turn) != me)
		syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, !me, NULL);
}

static void futex_pass(unsigned int other)
{
	atomic_store(&turn, other);
	syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1);
}

static void pause_wait(unsigned int me)
{
	while (atomic_load_explicit(&turn, memory_order_acquire) != me)
		__builtin_ia32_pause();
}

static void busy_wait(unsigned int me)
{
	while (atomic_load_explicit(&turn, memory_order_acquire) != me)
		;
}

static void spin_pass(unsigned int other)
{
	atomic_store_explicit(&turn, other, memory_order_release);
}

static const struct mode {
	const char *name;
	void (*wait)(unsigned int me);
	void (*pass)(unsigned int other);
} modes[] = {
	{ "pipe", pipe_wait, pipe_pass },
	{ "futex", futex_wait, futex_pass },
	{ "pause", pause_wait, spin_pass },
	{ "busy", busy_wait, spin_pass },
};

static const struct mode *mode;

/* Thread 0 has the token first. */
static void play(unsigned int me)
{
	for (uint64_t i = 0; i < rounds; i++) {
		if (me || i)
			mode->wait(me);
		mode->pass(!me);
	}
	if (!me)
		mode->wait(me);
}

int main(int argc, char **argv)
{
	options_parse_all(argc, argv, specs, "[OPTION]...");
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
		if (!strcmp(modes[i].name, mode_name))
			mode = &modes[i];
	if (!mode)
		options_error("--mode: there is no mode '%s'; --help lists them", mode_name);
	if (pipe(pipes[0]) || pipe(pipes[1])) {
		perror("pingpong: pipe");
		return 1;
	}
	ringstep_metric("elapsed_ns", threads_run(2, play));
	ringstep_metric("rounds", rounds);
	return 0;
}

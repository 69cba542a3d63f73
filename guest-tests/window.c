// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * window: runs a server and measures it over a window of virtual time.
 *
 * It starts the server, waits until its port listens, tells the host that clients may come (ready), waits
 * for the warm-up, and marks the window (begin, end). Then it reports what the guest's kernel counted
 * meanwhile, as counters:
 *   io_uring_*            /proc/ringstep_io_uring, where the kernel has it
 *   context_switches      of all CPUs
 *   server_voluntary_switches, server_involuntary_switches, server_threads
 *                         over the server's threads, io-wq workers included
 *   server_cpu_ns         CPU time of all its threads
 *   irq_*                 /proc/interrupts, the sum over the CPUs, by the name of its last
 *                         column, or by its first where that is not a number
 * The counts are taken just outside of the window.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/compiler.h"
#include "lib/options.h"
#include "lib/ringstep.h"
#include "lib/threads.h"

#define NAME_MAX_LENGTH	63
#define NSEC_PER_MSEC	1000000ULL
#define NSEC_PER_SEC	1000000000ULL

struct count {
	char name[NAME_MAX_LENGTH + 1];
	uint64_t value;
};

struct counts {
	struct count *list;
	size_t length, room;
};

static const char usage[] = "[OPTION]... -- SERVER [WORD]...";

static uint64_t port = 7000, warmup_ms = 20, duration_ms = 100, listen_timeout_ms = 5000;

static const struct option_spec specs[] = {
	OPTION_NUMBER("port", &port, 1, 65535, "TCP port that the server listens on"),
	OPTION_NUMBER("warmup-ms", &warmup_ms, 0, 3600000, "from ready to the window"),
	OPTION_NUMBER("duration-ms", &duration_ms, 1, 3600000, "the window"),
	OPTION_NUMBER("listen-timeout-ms", &listen_timeout_ms, 1, 3600000,
		      "for the server to listen"),
	OPTION_END
};

static pid_t server;
static const char *server_name;

static void stop_server(void)
{
	if (server > 0) {
		kill(server, SIGKILL);
		waitpid(server, NULL, 0);
	}
}

[[gnu::noreturn, gnu::format(printf, 1, 2)]]
static void fail(const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fprintf(stderr, "window: %s\n", text);
	ringstep_line("text error: window: %s", text);
	stop_server();
	exit(1);
}

/* A mark; a machine without a control device has none, and the rest goes on. */
static void mark(const char *line)
{
	int err = ringstep_line("%s", line);

	if (err && err != -ENODEV)
		fail("the control device does not take '%s': %s", line, strerror(-err));
}

static void start_server(char **words)
{
	sigset_t child;
	int err;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);

	server_name = words[0];
	server = fork();
	if (server < 0)
		fail("fork: %s", strerror(errno));
	if (server)
		return;
	sigprocmask(SIG_UNBLOCK, &child, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execvp(words[0], words);
	err = errno;
	fprintf(stderr, "window: cannot run '%s': %s\n", words[0], strerror(err));
	_exit(127);
}

/* Has the server ended? Then this is the end here, too. */
static void check_server(const char *moment)
{
	int status;

	if (waitpid(server, &status, WNOHANG) != server)
		return;
	server = 0;
	if (WIFSIGNALED(status))
		fail("the server '%s' was killed by signal %d (%s) %s", server_name,
		     WTERMSIG(status), strsignal(WTERMSIG(status)), moment);
	fail("the server '%s' ended with exit code %d %s", server_name, WEXITSTATUS(status),
	     moment);
}

/* Sleeps until `deadline`; the server's end is noticed at once. */
static void sleep_until(uint64_t deadline, const char *moment)
{
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	for (uint64_t now = now_ns(); now < deadline; now = now_ns()) {
		struct timespec rest = {
			.tv_sec = (deadline - now) / NSEC_PER_SEC,
			.tv_nsec = (deadline - now) % NSEC_PER_SEC,
		};

		if (sigtimedwait(&child, NULL, &rest) == SIGCHLD)
			check_server(moment);
	}
	check_server(moment);
}

/* Does a socket listen on the port? In `path`, field 2 is ADDRESS:PORT and field 4 the state. */
static bool listens(const char *path)
{
	FILE *file = fopen(path, "r");
	unsigned int local, state;
	bool found = false;
	char line[512];

	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file))
		found = sscanf(line, " %*d: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x", &local,
			       &state) == 2 && local == port && state == 0x0A;
	fclose(file);
	return found;
}

static bool port_listens(void)
{
	return listens("/proc/net/tcp") || listens("/proc/net/tcp6");
}

static void wait_until_it_listens(void)
{
	uint64_t limit = now_ns() + listen_timeout_ms * NSEC_PER_MSEC;

	while (!port_listens()) {
		uint64_t now = now_ns();

		if (now >= limit)
			fail("the server '%s' does not listen on port %llu after %llu ms",
			     server_name, (unsigned long long)port,
			     (unsigned long long)listen_timeout_ms);
		sleep_until(min(now + NSEC_PER_MSEC, limit), "before it listened");
	}
}

/* Adds `value` to the count `prefix``name`; letters that the device does not take become '_'. */
static void add_count(struct counts *counts, const char *prefix, const char *name, uint64_t value)
{
	char full[NAME_MAX_LENGTH + 1];

	snprintf(full, sizeof(full), "%s%s", prefix, name);
	for (char *c = full; *c; c++) {
		*c = tolower((unsigned char)*c);
		if (!islower((unsigned char)*c) && !isdigit((unsigned char)*c) && *c != '.')
			*c = '_';
	}
	for (size_t i = 0; i < counts->length; i++) {
		if (!strcmp(counts->list[i].name, full)) {
			counts->list[i].value += value;
			return;
		}
	}
	if (counts->length == counts->room) {
		counts->room = counts->room * 2 + 64;
		counts->list = realloc(counts->list, counts->room * sizeof(*counts->list));
		if (!counts->list)
			fail("no memory for the counts");
	}
	counts->list[counts->length] = (struct count) { .value = value };
	memcpy(counts->list[counts->length++].name, full, sizeof(full));
}

/* The whole of a /proc file, ended by a NUL, or NULL: there is none. */
static char *read_file(const char *path)
{
	static char text[1 << 16];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	ssize_t n;

	if (fd < 0)
		return NULL;
	while (length < sizeof(text) - 1) {
		n = read(fd, text + length, sizeof(text) - 1 - length);
		if (n <= 0)
			break;
		length += n;
	}
	close(fd);
	text[length] = '\0';
	return text;
}

static void count_io_uring(struct counts *counts)
{
	char *text = read_file("/proc/ringstep_io_uring");
	char *line, *rest;

	for (line = text ? strtok_r(text, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest)) {
		unsigned long long value;
		char name[64];

		if (sscanf(line, "%63s %llu", name, &value) == 2)
			add_count(counts, "io_uring_", name, value);
	}
}

/* "RES:  1  2  Rescheduling interrupts", " 25:  1  2  PCI-MSIX-0000:00:02.0  1-edge  virtio0-input.0" */
static void count_interrupt(struct counts *counts, char *line)
{
	char *label = line + strspn(line, " ");
	char *end = strchr(label, ':');
	uint64_t sum = 0;
	char *name;

	if (!end)
		return;
	*end++ = '\0';
	for (;;) {
		char *word = end + strspn(end, " ");
		unsigned long long value = strtoull(word, &end, 10);

		if (end == word || (*end && *end != ' '))
			break;		/* no more numbers */
		sum += value;
	}
	name = strrchr(end, ' ');
	if (!isdigit((unsigned char)*label) || !name || !name[1])
		name = label;
	else
		name++;
	add_count(counts, "irq_", name, sum);
}

static void count_interrupts(struct counts *counts)
{
	char *text = read_file("/proc/interrupts");
	char *line, *rest;

	if (!text)
		return;
	strtok_r(text, "\n", &rest);	/* the names of the CPUs */
	while ((line = strtok_r(NULL, "\n", &rest)))
		count_interrupt(counts, line);
}

static void count_switches(struct counts *counts)
{
	char *text = read_file("/proc/stat");
	char *found = text ? strstr(text, "\nctxt ") : NULL;

	if (found)
		add_count(counts, "", "context_switches", strtoull(found + 6, NULL, 10));
}

/* Returns the number of the server's threads. */
static uint64_t count_threads(struct counts *counts)
{
	struct dirent *entry;
	uint64_t threads = 0;
	char path[320];
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", server);
	tasks = opendir(path);
	if (!tasks)
		return 0;
	while ((entry = readdir(tasks))) {
		char *text, *found;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%s/status", server, entry->d_name);
		text = read_file(path);
		found = text ? strstr(text, "\nvoluntary_ctxt_switches:") : NULL;
		if (!found)
			continue;	/* it has just ended */
		threads++;
		add_count(counts, "", "server_voluntary_switches", strtoull(found + 25, NULL, 10));
		found = strstr(found, "\nnonvoluntary_ctxt_switches:");
		add_count(counts, "", "server_involuntary_switches",
			  found ? strtoull(found + 28, NULL, 10) : 0);
	}
	closedir(tasks);
	return threads;
}

static void count_cpu_time(struct counts *counts)
{
	struct timespec time;
	clockid_t clock;

	if (!clock_getcpuclockid(server, &clock) && !clock_gettime(clock, &time))
		add_count(counts, "", "server_cpu_ns", time.tv_sec * NSEC_PER_SEC + time.tv_nsec);
}

static uint64_t take_counts(struct counts *counts)
{
	uint64_t threads;

	count_cpu_time(counts);
	count_switches(counts);
	threads = count_threads(counts);
	count_io_uring(counts);
	count_interrupts(counts);
	return threads;
}

/*
 * Interrupts of devices that had none are left out: most of the table is zeros. The sum over the
 * threads can fall, when one with many switches ends.
 */
static void report(const struct counts *before, const struct counts *after)
{
	for (size_t i = 0; i < after->length; i++) {
		uint64_t old = 0, value = after->list[i].value;

		for (size_t j = 0; j < before->length; j++)
			if (!strcmp(before->list[j].name, after->list[i].name))
				old = before->list[j].value;
		value -= min(old, value);
		if (value || strncmp(after->list[i].name, "irq_", 4))
			ringstep_counter(after->list[i].name, value);
	}
}

int main(int argc, char **argv)
{
	int first = options_parse(argc, argv, specs, usage);
	struct counts before = { 0 }, after = { 0 };
	char ready[32];
	uint64_t begin, threads;

	if (first == argc)
		options_error("no server to run; --help shows how");
	prctl(PR_SET_TIMERSLACK, 1UL);
	if (access("/proc/net/tcp", R_OK))
		fail("/proc/net/tcp: %s", strerror(errno));
	if (port_listens())
		fail("port %llu is taken before '%s' runs", (unsigned long long)port, argv[first]);
	start_server(argv + first);
	wait_until_it_listens();

	snprintf(ready, sizeof(ready), "ready %llu", (unsigned long long)port);
	mark(ready);
	sleep_until(now_ns() + warmup_ms * NSEC_PER_MSEC, "during the warm-up");
	take_counts(&before);
	mark("begin");
	begin = now_ns();
	sleep_until(begin + duration_ms * NSEC_PER_MSEC, "in the window");
	mark("end");
	threads = take_counts(&after);
	report(&before, &after);
	ringstep_counter("server_threads", threads);

	stop_server();
	return 0;
}

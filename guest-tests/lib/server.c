// SPDX-License-Identifier: GPL-2.0-or-later
/* What the TCP servers have in common. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "compiler.h"
#include "server.h"

#define OTHER_FILES	64	/* that a server has open beside its connections */

void die(const char *what, int err)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(err));
	exit(1);
}

int open_listener(uint16_t port, int backlog)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_ANY),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int on = 1;

	if (fd < 0)
		die("socket", errno);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)))
		die("bind", errno);
	if (listen(fd, backlog))
		die("listen", errno);
	return fd;
}

int accept_connection(int listener, int flags)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | flags);

	if (fd >= 0)
		set_nodelay(fd);
	else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
		die("accept", errno);
	return fd;
}

void set_nodelay(int fd)
{
	int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

void allow_connections(uint64_t connections)
{
	struct rlimit files;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = connections + OTHER_FILES;
	files.rlim_max = max(files.rlim_max, files.rlim_cur);
	if (setrlimit(RLIMIT_NOFILE, &files))
		die("limit of open files", errno);
}

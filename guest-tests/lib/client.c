// SPDX-License-Identifier: GPL-2.0-or-later
/* A TCP client, for tests of the servers. */
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client.h"

#define TRIES		1000
#define INTERVAL_US	2000

int connect_to(int port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};

	for (int tries = 0; tries < TRIES; tries++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd < 0)
			return -1;
		if (!connect(fd, (struct sockaddr *)&address, sizeof(address)))
			return fd;
		close(fd);
		if (errno != ECONNREFUSED)
			return -1;
		usleep(INTERVAL_US);
	}
	return -1;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the TCP servers have in common. */
#ifndef RINGSTEP_SERVER_H
#define RINGSTEP_SERVER_H

#include <stdint.h>

/* Says on stderr what failed, with the text of the error number, and ends the program. */
[[gnu::noreturn]]
void die(const char *what, int err);

/* A blocking socket that listens on `port` of every address. */
int open_listener(uint16_t port, int backlog);

/* Accepts a connection; small messages are not delayed on it. -1 where it has gone already. */
int accept_connection(int listener, int flags);

/* Segments leave at once, however small. */
void set_nodelay(int fd);

/* Allows so many connections to be open at once. */
void allow_connections(uint64_t connections);

#endif

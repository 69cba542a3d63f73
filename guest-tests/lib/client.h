/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A TCP client, for tests of the servers. */
#ifndef RINGSTEP_CLIENT_H
#define RINGSTEP_CLIENT_H

/* A connection over loopback, as soon as the server listens; -1: it does not, or refuses. */
int connect_to(int port);

#endif

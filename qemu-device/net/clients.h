/*
 * The clients: TCP connections that keep a number of requests in flight each
 * (closed loop), and check every byte of the replies.  Or that just take what
 * the server sends.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef RINGSTEP_NET_CLIENTS_H
#define RINGSTEP_NET_CLIENTS_H

#include "ringstep/net/events.h"
#include "ringstep/net/measure.h"
#include "ringstep/net/think.h"

#define PEER_MAX_CONNECTIONS 50000
#define PEER_MAX_DEPTH       1024
#define PEER_MAX_REQUESTS    (1024 * 1024)      /* connections * depth */
#define PEER_MAX_MESSAGE     (16 * 1024 * 1024)

typedef struct PeerClients PeerClients;

typedef enum PeerProtocol {
    PEER_PROTOCOL_ECHO,
    PEER_PROTOCOL_SINK,         /* no requests; depth, times are of no use */
} PeerProtocol;

typedef struct PeerClientsConfig {
    PeerProtocol protocol;
    uint32_t connections;
    uint32_t depth;
    uint32_t group;             /* connections in one, 0: no groups */
    uint32_t message_size;
    uint64_t think_ns;
    PeerThinkDist think_dist;
    uint64_t service_ns;
    uint64_t start_spread_ns;
    uint64_t seed;
} PeerClientsConfig;

typedef struct PeerClientsStats {
    uint64_t connected;         /* connections that were established */
    uint64_t open;              /* and are */
    uint64_t refused;           /* attempts that the guest refused */
    uint64_t resets;            /* established ones that were reset */
    uint64_t closes;            /* or closed by the guest */
    uint64_t requests;          /* or messages; in the window or not */
    uint64_t payload_errors;    /* replies that differ from the request */
} PeerClientsStats;

PeerClients *peer_clients_new(const PeerClientsConfig *config, PeerEvents *evs,
                              PeerMeasure *measure);
void peer_clients_free(PeerClients *clients);

/* Open the connections to @port of the guest.  Once. */
void peer_clients_start(PeerClients *clients, uint16_t port);
bool peer_clients_started(const PeerClients *clients);

/* No new requests; what is on its way is still received and checked */
void peer_clients_stop(PeerClients *clients);

const PeerClientsStats *peer_clients_stats(const PeerClients *clients);

#endif

/*
 * The peer's TCP/IP: lwIP, on virtual time, behind an interface of our own.
 *
 * lwIP keeps its state in global variables, so there is one stack in a
 * process.  Each call into lwIP is made for one connection, which is the only
 * one that lwIP sees during the call (see stack.c); what it sends is collected
 * and, where the guest takes large segments, merged, until the call is over.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef RINGSTEP_NET_STACK_H
#define RINGSTEP_NET_STACK_H

#include "ringstep/net/events.h"
#include "ringstep/net/frame.h"

/* Of lwIP's timer for retransmissions, in milliseconds */
#define PEER_STACK_TICK_MS 80

typedef struct PeerConn PeerConn;

typedef enum PeerConnEnd {
    PEER_CONN_RESET,            /* by the guest, or given up */
    PEER_CONN_CLOSED,           /* by the guest, in order */
} PeerConnEnd;

/*
 * The upcalls of a connection.  They may call peer_conn_send() and
 * peer_conn_abort() for the same connection only.
 */
typedef struct PeerConnOps {
    void (*connected)(PeerConn *conn);
    void (*received)(PeerConn *conn, const uint8_t *data, uint32_t len);
    /* There may be room to send again */
    void (*writable)(PeerConn *conn);
    void (*ended)(PeerConn *conn, PeerConnEnd end);
} PeerConnOps;

struct PeerConn {
    const PeerConnOps *ops;
    struct tcp_pcb *pcb;        /* NULL: not open */
    uint16_t port;              /* of the peer's side */
    /* The delayed ACK */
    int64_t ack_due_ns;         /* 0: none */
    PeerEvent ack_event;        /* at that time or before it */
};

typedef struct PeerStackConfig {
    uint64_t seed;
    uint32_t peer_ip;           /* both in network order */
    uint32_t guest_ip;
    PeerEvents *evs;
    /*
     * An IP packet for the guest, at frame->data + PEER_ETH_HLEN.  Belongs to
     * the callee.
     */
    void (*output)(void *opaque, PeerFrame *frame);
    void *opaque;
} PeerStackConfig;

typedef struct PeerStackStats {
    uint64_t retransmits;       /* segments sent again */
    uint64_t drops;             /* segments that lwIP refused */
    uint64_t faults;            /* lwIP's assertions that failed */
} PeerStackStats;

void peer_stack_init(const PeerStackConfig *config);
void peer_stack_cleanup(void);
const PeerStackStats *peer_stack_stats(void);

/* Offloads of the guest: whether it takes large TCP segments */
void peer_stack_set_gso(bool on);

/* An IP packet from the guest, checked, at frame->data + PEER_ETH_HLEN */
void peer_stack_input(PeerFrame *frame);

/* Every PEER_STACK_TICK_MS while there are connections */
void peer_stack_tick(void);

/* False when it cannot be opened now */
bool peer_conn_open(PeerConn *conn, uint16_t peer_port, uint16_t guest_port);

/*
 * Send bytes, which must stay as they are until the connection has ended.
 * Returns how many were taken.  peer_conn_push() makes them leave, which
 * happens by itself at the end of an upcall.
 */
uint32_t peer_conn_send(PeerConn *conn, const uint8_t *data, uint32_t len);
void peer_conn_push(PeerConn *conn);

/*
 * Reset the connection, if it is open; no upcall follows.  Nothing points to
 * @conn any more.
 */
void peer_conn_abort(PeerConn *conn);

#endif

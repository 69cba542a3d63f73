/*
 * One direction of the link: serialization at a rate, then a latency.  Frames
 * arrive in the order in which they were sent.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef RINGSTEP_NET_LINK_H
#define RINGSTEP_NET_LINK_H

#include "ringstep/net/events.h"
#include "ringstep/net/frame.h"

/* What a link may hold.  Beyond it, frames are dropped. */
#define PEER_LINK_MAX_BYTES (512ULL * 1024 * 1024)

typedef struct PeerLink PeerLink;

/* A frame has arrived, and belongs to the callee */
typedef void PeerLinkDeliver(PeerLink *link, PeerFrame *frame);

struct PeerLink {
    PeerEvents *evs;
    PeerLinkDeliver *deliver;
    uint64_t rate_bps;          /* 0: without limit */
    int64_t latency_ns;
    int64_t free_ps;            /* when the last bit has left the sender */
    uint64_t held_bytes;
    uint64_t drops;
    QSIMPLEQ_HEAD(, PeerFrame) frames;
    PeerEvent arrival;
};

void peer_link_init(PeerLink *link, PeerEvents *evs, uint64_t rate_bps,
                    int64_t latency_ns, PeerLinkDeliver *deliver);
/* Drop what is on its way */
void peer_link_clear(PeerLink *link);

/* Send @frame, which takes frame->wire_bytes on the wire.  Takes @frame. */
void peer_link_send(PeerLink *link, PeerFrame *frame);

/* When all that was sent will have left the sender */
int64_t peer_link_free_ns(const PeerLink *link);

#endif

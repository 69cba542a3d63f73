/*
 * One direction of the link.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "ringstep/net/link.h"

#define PS_PER_NS 1000
#define PS_PER_S  1000000000000ULL

static void link_arrival(PeerEvent *ev)
{
    PeerLink *link = container_of(ev, PeerLink, arrival);
    PeerFrame *frame = QSIMPLEQ_FIRST(&link->frames);
    PeerFrame *next;

    QSIMPLEQ_REMOVE_HEAD(&link->frames, next);
    link->held_bytes -= frame->len;
    next = QSIMPLEQ_FIRST(&link->frames);
    if (next) {
        peer_event_at(link->evs, &link->arrival, next->arrival_ns);
    }
    link->deliver(link, frame);
}

void peer_link_init(PeerLink *link, PeerEvents *evs, uint64_t rate_bps,
                    int64_t latency_ns, PeerLinkDeliver *deliver)
{
    memset(link, 0, sizeof(*link));
    link->evs = evs;
    link->rate_bps = rate_bps;
    link->latency_ns = latency_ns;
    link->deliver = deliver;
    link->arrival.func = link_arrival;
    QSIMPLEQ_INIT(&link->frames);
}

void peer_link_clear(PeerLink *link)
{
    PeerFrame *frame;

    peer_event_cancel(link->evs, &link->arrival);
    while ((frame = QSIMPLEQ_FIRST(&link->frames))) {
        QSIMPLEQ_REMOVE_HEAD(&link->frames, next);
        peer_frame_free(frame);
    }
    link->held_bytes = 0;
}

int64_t peer_link_free_ns(const PeerLink *link)
{
    return DIV_ROUND_UP(link->free_ps, PS_PER_NS);
}

void peer_link_send(PeerLink *link, PeerFrame *frame)
{
    int64_t start_ps = MAX(peer_now(link->evs) * PS_PER_NS, link->free_ps);

    if (link->held_bytes + frame->len > PEER_LINK_MAX_BYTES) {
        link->drops++;
        peer_frame_free(frame);
        return;
    }

    link->free_ps = start_ps;
    if (link->rate_bps) {
        /* No frame is larger than 2 MB: this fits in 64 bits */
        link->free_ps += frame->wire_bytes * 8ULL * PS_PER_S / link->rate_bps;
    }
    frame->arrival_ns = peer_link_free_ns(link) + link->latency_ns;
    link->held_bytes += frame->len;
    if (QSIMPLEQ_EMPTY(&link->frames)) {
        peer_event_at(link->evs, &link->arrival, frame->arrival_ns);
    }
    QSIMPLEQ_INSERT_TAIL(&link->frames, frame, next);
}

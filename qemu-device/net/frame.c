/*
 * Frames between guest and peer.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "ringstep/net/frame.h"

/* @room and @data are sent as one piece */
QEMU_BUILD_BUG_ON(offsetof(PeerFrame, data) !=
                  offsetof(PeerFrame, room) + PEER_VNET_ROOM);

PeerFrame *peer_frame_new(uint32_t len)
{
    PeerFrame *frame = g_malloc(sizeof(*frame) + len);

    memset(frame, 0, sizeof(*frame));
    frame->len = len;
    return frame;
}

void peer_frame_free(PeerFrame *frame)
{
    g_free(frame);
}

PeerFrame *peer_frame_trim(PeerFrame *frame)
{
    return g_realloc(frame, sizeof(*frame) + frame->len);
}

uint32_t peer_wire_bytes(uint32_t hlen, uint32_t payload, uint32_t gso_size)
{
    uint32_t segments = 1;

    if (gso_size && payload > gso_size) {
        segments = DIV_ROUND_UP(payload, gso_size);
    }
    return MAX(segments * hlen + payload, segments * PEER_WIRE_MIN) +
           segments * PEER_WIRE_EXTRA;
}

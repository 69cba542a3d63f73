/*
 * A frame between guest and peer: an Ethernet frame without its checksum,
 * which for large TCP segments stands for many on the wire.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef RINGSTEP_NET_FRAME_H
#define RINGSTEP_NET_FRAME_H

#include "qemu/queue.h"

#define PEER_MTU          1500
#define PEER_ETH_HLEN     14
#define PEER_IP_MAX       65535
/* Room before the frame for the largest virtio-net header */
#define PEER_VNET_ROOM    20
/* On the wire: preamble 8, frame check sequence 4, gap 12; no runts */
#define PEER_WIRE_EXTRA   24
#define PEER_WIRE_MIN     60

typedef struct PeerFrame PeerFrame;

struct PeerFrame {
    QSIMPLEQ_ENTRY(PeerFrame) next;
    int64_t arrival_ns;
    uint32_t len;               /* bytes of @data */
    uint32_t wire_bytes;
    uint16_t flow;              /* see steering.h */
    uint16_t gso_size;          /* TCP payload per segment, 0: one segment */
    uint16_t tcp_hlen;          /* to guest: TCP header's length, 0: no TCP */
    bool is_arp;                /* from guest */
    uint8_t room[PEER_VNET_ROOM];
    uint8_t data[];
};

PeerFrame *peer_frame_new(uint32_t len);
void peer_frame_free(PeerFrame *frame);
/* Give back the room behind @frame->len, which was reduced */
PeerFrame *peer_frame_trim(PeerFrame *frame);

/* Bytes on the wire of @payload bytes behind @hlen bytes of headers */
uint32_t peer_wire_bytes(uint32_t hlen, uint32_t payload, uint32_t gso_size);

#endif

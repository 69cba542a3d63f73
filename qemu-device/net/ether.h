/*
 * Ethernet and what the guest's driver says about a frame: checks on the way
 * in, headers and checksums on the way out, and ARP.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef RINGSTEP_NET_ETHER_H
#define RINGSTEP_NET_ETHER_H

#include "net/eth.h"
#include "standard-headers/linux/virtio_net.h"
#include "ringstep/net/frame.h"

typedef struct PeerAddresses {
    uint8_t peer_mac[ETH_ALEN];
    uint8_t guest_mac[ETH_ALEN];
    bool guest_mac_known;
    uint32_t peer_ip;           /* both in network order */
    uint32_t guest_ip;
} PeerAddresses;

typedef enum PeerVerdict {
    PEER_FRAME_IP,              /* TCP or ICMP over IPv4, for the stack */
    PEER_FRAME_ARP,
    PEER_FRAME_IGNORED,         /* in order, but not for us */
    PEER_FRAME_BAD,
    PEER_FRAME_BAD_CHECKSUM,
} PeerVerdict;

/*
 * Judge a frame of the guest's, of which nothing is known but that @frame->len
 * bytes are there.  @hdr may be NULL.  Fills in flow, gso_size and wire_bytes.
 */
PeerVerdict peer_ether_check(PeerAddresses *addr, PeerFrame *frame,
                             const struct virtio_net_hdr *hdr);

/* Write the Ethernet header of an IP packet for the guest */
void peer_ether_address(const PeerAddresses *addr, PeerFrame *frame);

/*
 * Make a frame for the guest ready: the header of @hdr_len bytes before the
 * frame, and the checksum, which is left to the guest when @csum says so.
 * Returns where the header begins.
 */
uint8_t *peer_ether_finish(PeerFrame *frame, size_t hdr_len, bool csum);

/* A request for the guest's address */
PeerFrame *peer_arp_request(const PeerAddresses *addr);

/*
 * An ARP frame from the guest: learn from it, and return the reply that it
 * wants, if any.  @bad says that it was malformed.
 */
PeerFrame *peer_arp_input(PeerAddresses *addr, const PeerFrame *frame,
                          bool *bad);

#endif

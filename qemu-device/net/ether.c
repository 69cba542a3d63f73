/*
 * Ethernet, offloads and ARP.
 *
 * Offloads follow "5.1.6 Device Operation" of the virtio specification, 1.2.
 * In a frame from the guest, csum_start and csum_offset must name the TCP
 * checksum, and gso_size must be there, where flags and gso_type say that they
 * count; hdr_len is a hint, and is bad only when it lies beyond the frame.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "net/checksum.h"
#include "ringstep/net/ether.h"
#include "ringstep/net/steering.h"

#define ARPOP_REQUEST  1
#define ARPOP_REPLY    2
#define IP_HLEN        20
#define TCP_HLEN       20
#define ARP_LEN        (PEER_ETH_HLEN + 28)

/* Offsets in the IPv4 header */
#define IP_LEN         2
#define IP_FRAG        6
#define IP_PROTO       9
#define IP_SRC         12
#define IP_DST         16
/* Offsets in the TCP header */
#define TCP_SPORT      0
#define TCP_DPORT      2
#define TCP_DATA_OFF   12
#define TCP_SUM        16
/* Offsets in an ARP packet */
#define ARP_OP         6
#define ARP_SHA        8
#define ARP_SPA        14
#define ARP_THA        18
#define ARP_TPA        24

static PeerVerdict check_header(const struct virtio_net_hdr *hdr,
                                uint32_t len)
{
    bool csum = hdr->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM;

    if (csum && hdr->csum_start + hdr->csum_offset + 2U > len) {
        return PEER_FRAME_BAD;
    }
    if (hdr->hdr_len > len) {
        return PEER_FRAME_BAD;
    }
    switch (hdr->gso_type & ~VIRTIO_NET_HDR_GSO_ECN) {
    case VIRTIO_NET_HDR_GSO_NONE:
        break;
    case VIRTIO_NET_HDR_GSO_TCPV4:
    case VIRTIO_NET_HDR_GSO_TCPV6:
        if (!csum || !hdr->gso_size) {
            return PEER_FRAME_BAD;
        }
        break;
    default:
        return PEER_FRAME_BAD;
    }
    return PEER_FRAME_IP;
}

static PeerVerdict check_tcp(PeerFrame *frame,
                             const struct virtio_net_hdr *hdr,
                             uint32_t start, uint32_t len)
{
    uint8_t *tcp = frame->data + start;
    uint32_t hlen;

    if (len < TCP_HLEN) {
        return PEER_FRAME_BAD;
    }
    hlen = (tcp[TCP_DATA_OFF] >> 4) * 4;
    if (hlen < TCP_HLEN || hlen > len ||
        !lduw_be_p(tcp + TCP_SPORT) || !lduw_be_p(tcp + TCP_DPORT)) {
        return PEER_FRAME_BAD;
    }
    if (hdr && (hdr->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM)) {
        if (hdr->csum_start != start || hdr->csum_offset != TCP_SUM) {
            return PEER_FRAME_BAD;
        }
    } else if (!hdr || !(hdr->flags & VIRTIO_NET_HDR_F_DATA_VALID)) {
        if (net_checksum_tcpudp(len, IPPROTO_TCP,
                                frame->data + PEER_ETH_HLEN + IP_SRC, tcp)) {
            return PEER_FRAME_BAD_CHECKSUM;
        }
    }
    frame->flow = lduw_be_p(tcp + TCP_DPORT);
    frame->wire_bytes = peer_wire_bytes(start + hlen, len - hlen,
                                        frame->gso_size);
    return PEER_FRAME_IP;
}

static PeerVerdict check_ip(PeerAddresses *addr, PeerFrame *frame,
                            const struct virtio_net_hdr *hdr)
{
    uint8_t *ip = frame->data + PEER_ETH_HLEN;
    uint32_t have = frame->len - PEER_ETH_HLEN;
    uint32_t hlen, len;
    uint8_t gso_type = VIRTIO_NET_HDR_GSO_NONE;

    if (hdr) {
        gso_type = hdr->gso_type & ~VIRTIO_NET_HDR_GSO_ECN;
    }
    if (have < IP_HLEN || (ip[0] >> 4) != 4) {
        return PEER_FRAME_BAD;
    }
    hlen = (ip[0] & 0xf) * 4;
    len = lduw_be_p(ip + IP_LEN);
    if (hlen < IP_HLEN || len < hlen || len > have) {
        return PEER_FRAME_BAD;
    }
    if (net_raw_checksum(ip, hlen)) {
        return PEER_FRAME_BAD_CHECKSUM;
    }
    if (memcmp(ip + IP_DST, &addr->peer_ip, 4) ||
        memcmp(ip + IP_SRC, &addr->guest_ip, 4)) {
        return PEER_FRAME_IGNORED;
    }
    /* From here on it is the guest, and it is for us */
    if (lduw_be_p(ip + IP_FRAG) & (IP_MF | IP_OFFMASK)) {
        return PEER_FRAME_IGNORED;
    }
    if (gso_type == VIRTIO_NET_HDR_GSO_NONE && len > PEER_MTU) {
        return PEER_FRAME_BAD;
    }
    if (gso_type != VIRTIO_NET_HDR_GSO_NONE &&
        (gso_type != VIRTIO_NET_HDR_GSO_TCPV4 || ip[IP_PROTO] != IPPROTO_TCP)) {
        return PEER_FRAME_BAD;
    }

    frame->len = PEER_ETH_HLEN + len;   /* without padding */
    frame->gso_size = gso_type == VIRTIO_NET_HDR_GSO_NONE ? 0 : hdr->gso_size;
    switch (ip[IP_PROTO]) {
    case IPPROTO_TCP:
        return check_tcp(frame, hdr, PEER_ETH_HLEN + hlen, len - hlen);
    case IPPROTO_ICMP:
        return PEER_FRAME_IP;
    default:
        return PEER_FRAME_IGNORED;
    }
}

PeerVerdict peer_ether_check(PeerAddresses *addr, PeerFrame *frame,
                             const struct virtio_net_hdr *hdr)
{
    PeerVerdict verdict = PEER_FRAME_IP;

    if (frame->len < PEER_ETH_HLEN ||
        frame->len > PEER_ETH_HLEN + PEER_IP_MAX) {
        return PEER_FRAME_BAD;
    }
    frame->flow = PEER_FLOW_OTHER;
    frame->gso_size = 0;
    frame->wire_bytes = peer_wire_bytes(0, frame->len, 0);

    if (hdr) {
        verdict = check_header(hdr, frame->len);
    }
    if (verdict == PEER_FRAME_IP && !(frame->data[0] & 1) &&
        memcmp(frame->data, addr->peer_mac, ETH_ALEN)) {
        verdict = PEER_FRAME_IGNORED;
    }
    if (verdict != PEER_FRAME_IP) {
        return verdict;
    }

    switch (lduw_be_p(frame->data + 2 * ETH_ALEN)) {
    case ETH_P_ARP:
        return PEER_FRAME_ARP;
    case ETH_P_IP:
        return check_ip(addr, frame, hdr);
    default:
        return PEER_FRAME_IGNORED;
    }
}

void peer_ether_address(const PeerAddresses *addr, PeerFrame *frame)
{
    memcpy(frame->data, addr->guest_mac, ETH_ALEN);
    memcpy(frame->data + ETH_ALEN, addr->peer_mac, ETH_ALEN);
    stw_be_p(frame->data + 2 * ETH_ALEN, ETH_P_IP);
}

uint8_t *peer_ether_finish(PeerFrame *frame, size_t hdr_len, bool csum)
{
    uint8_t *start = frame->data - hdr_len;
    uint8_t *ip = frame->data + PEER_ETH_HLEN;
    uint8_t *tcp = ip + IP_HLEN;
    uint32_t tcp_len = frame->len - PEER_ETH_HLEN - IP_HLEN;
    struct virtio_net_hdr hdr = {};

    assert(hdr_len <= PEER_VNET_ROOM);
    csum &= hdr_len >= sizeof(hdr);
    if (frame->tcp_hlen) {
        stw_be_p(tcp + TCP_SUM, 0);
        if (csum) {
            /* The pseudo header's part of it; the guest adds the rest */
            uint32_t sum = net_checksum_add(8, ip + IP_SRC) + IPPROTO_TCP +
                           tcp_len;

            stw_be_p(tcp + TCP_SUM, (uint16_t)~net_checksum_finish(sum));
            hdr.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
            hdr.csum_start = PEER_ETH_HLEN + IP_HLEN;
            hdr.csum_offset = TCP_SUM;
        } else {
            stw_be_p(tcp + TCP_SUM, net_checksum_tcpudp(tcp_len, IPPROTO_TCP,
                                                        ip + IP_SRC, tcp));
        }
        if (frame->gso_size && csum) {
            hdr.gso_type = VIRTIO_NET_HDR_GSO_TCPV4;
            hdr.gso_size = frame->gso_size;
            hdr.hdr_len = PEER_ETH_HLEN + IP_HLEN + frame->tcp_hlen;
        }
    }
    memset(start, 0, hdr_len);
    memcpy(start, &hdr, MIN(hdr_len, sizeof(hdr)));
    return start;
}

static PeerFrame *arp_frame(const PeerAddresses *addr, uint16_t op,
                            const uint8_t *to_mac, const uint8_t *to_ip,
                            bool broadcast)
{
    PeerFrame *frame = peer_frame_new(PEER_WIRE_MIN);
    uint8_t *arp = frame->data + PEER_ETH_HLEN;

    memset(frame->data, 0, frame->len);
    if (broadcast) {
        memset(frame->data, 0xff, ETH_ALEN);
    } else {
        memcpy(frame->data, to_mac, ETH_ALEN);
        memcpy(arp + ARP_THA, to_mac, ETH_ALEN);
    }
    memcpy(frame->data + ETH_ALEN, addr->peer_mac, ETH_ALEN);
    stw_be_p(frame->data + 2 * ETH_ALEN, ETH_P_ARP);
    stw_be_p(arp, 1);                   /* Ethernet */
    stw_be_p(arp + 2, ETH_P_IP);
    arp[4] = ETH_ALEN;
    arp[5] = 4;
    stw_be_p(arp + ARP_OP, op);
    memcpy(arp + ARP_SHA, addr->peer_mac, ETH_ALEN);
    memcpy(arp + ARP_SPA, &addr->peer_ip, 4);
    memcpy(arp + ARP_TPA, to_ip, 4);
    frame->flow = PEER_FLOW_OTHER;
    frame->wire_bytes = peer_wire_bytes(0, frame->len, 0);
    return frame;
}

PeerFrame *peer_arp_request(const PeerAddresses *addr)
{
    return arp_frame(addr, ARPOP_REQUEST, NULL,
                     (const uint8_t *)&addr->guest_ip, true);
}

PeerFrame *peer_arp_input(PeerAddresses *addr, const PeerFrame *frame,
                          bool *bad)
{
    const uint8_t *arp = frame->data + PEER_ETH_HLEN;
    uint16_t op;

    *bad = frame->len < ARP_LEN || lduw_be_p(arp) != 1 ||
           lduw_be_p(arp + 2) != ETH_P_IP || arp[4] != ETH_ALEN ||
           arp[5] != 4 || (arp[ARP_SHA] & 1);
    if (*bad) {
        return NULL;
    }
    op = lduw_be_p(arp + ARP_OP);
    if (!memcmp(arp + ARP_SPA, &addr->guest_ip, 4)) {
        memcpy(addr->guest_mac, arp + ARP_SHA, ETH_ALEN);
        addr->guest_mac_known = true;
    }
    if (op == ARPOP_REQUEST && !memcmp(arp + ARP_TPA, &addr->peer_ip, 4)) {
        return arp_frame(addr, ARPOP_REPLY, arp + ARP_SHA, arp + ARP_SPA,
                         false);
    }
    return NULL;
}

/*
 * For tests: addresses, and TCP frames as a guest would send them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef RINGSTEP_TESTS_GUEST_FRAMES_H
#define RINGSTEP_TESTS_GUEST_FRAMES_H

#include <arpa/inet.h>
#include "qemu/bswap.h"
#include "net/checksum.h"

#define TCP_FIN 0x01
#define TCP_SYN 0x02
#define TCP_RST 0x04
#define TCP_PSH 0x08
#define TCP_ACK 0x10

#define GUEST_IP 0x0a00020f             /* 10.0.2.15 */
#define PEER_IP  0x0a000202             /* 10.0.2.2 */

static const uint8_t test_guest_mac[6] = { 0x52, 0x54, 0, 0x12, 0x34, 0x56 };
static const uint8_t test_peer_mac[6] = { 0x52, 0x55, 0x0a, 0, 2, 2 };

#ifdef RINGSTEP_NET_ETHER_H
static inline PeerAddresses test_addresses(void)
{
    PeerAddresses addr = {
        .guest_mac_known = true,
        .peer_ip = htonl(PEER_IP),
        .guest_ip = htonl(GUEST_IP),
    };

    memcpy(addr.peer_mac, test_peer_mac, 6);
    memcpy(addr.guest_mac, test_guest_mac, 6);
    return addr;
}
#endif

static inline void guest_ip_checksum(uint8_t *frame)
{
    stw_be_p(frame + 24, 0);
    stw_be_p(frame + 24, net_raw_checksum(frame + 14, 20));
}

static inline void guest_tcp_checksum(uint8_t *frame, uint32_t len)
{
    stw_be_p(frame + 50, 0);
    stw_be_p(frame + 50, net_checksum_tcpudp(len - 34, 6, frame + 26,
                                             frame + 34));
}

/*
 * A frame from the guest's port @sport to the peer's port @dport; without
 * options, or with MSS 1460 on a SYN.  Returns its length.
 */
static inline uint32_t guest_tcp(uint8_t *frame, uint16_t dport,
                                 uint16_t sport, uint32_t seq, uint32_t ack,
                                 uint8_t flags, const void *payload,
                                 uint32_t len)
{
    uint32_t hlen = flags & TCP_SYN ? 24 : 20;
    uint8_t *ip = frame + 14;
    uint8_t *tcp = ip + 20;

    memset(frame, 0, 34 + hlen);
    memcpy(frame, test_peer_mac, 6);
    memcpy(frame + 6, test_guest_mac, 6);
    stw_be_p(frame + 12, 0x0800);
    ip[0] = 0x45;
    stw_be_p(ip + 2, 20 + hlen + len);
    ip[8] = 64;
    ip[9] = 6;
    stl_be_p(ip + 12, GUEST_IP);
    stl_be_p(ip + 16, PEER_IP);
    guest_ip_checksum(frame);
    stw_be_p(tcp, sport);
    stw_be_p(tcp + 2, dport);
    stl_be_p(tcp + 4, seq);
    stl_be_p(tcp + 8, ack);
    tcp[12] = hlen << 2;
    tcp[13] = flags;
    stw_be_p(tcp + 14, 65535);
    if (flags & TCP_SYN) {
        stl_be_p(tcp + 20, 0x020405b4);
    }
    if (payload) {
        memcpy(tcp + hlen, payload, len);
    } else {
        memset(tcp + hlen, 0x5a, len);
    }
    guest_tcp_checksum(frame, 34 + hlen + len);
    return 34 + hlen + len;
}

#endif

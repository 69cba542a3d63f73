/*
 * ether.c: what the guest sends is judged right, whatever it is, and what it
 * gets is in order.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "net/checksum.h"
#include "ringstep/net/ether.h"
#include "ringstep/net/think.h"
#include "guest-frames.h"

static PeerVerdict judge(const uint8_t *data, uint32_t len,
                         const struct virtio_net_hdr *hdr, PeerFrame **out)
{
    PeerAddresses addr = test_addresses();
    PeerFrame *frame = peer_frame_new(len);
    PeerVerdict verdict;

    memcpy(frame->data, data, len);
    verdict = peer_ether_check(&addr, frame, hdr);
    if (out) {
        *out = frame;
    } else {
        peer_frame_free(frame);
    }
    return verdict;
}

static void test_good(void)
{
    uint8_t data[2048];
    uint32_t len = guest_tcp(data, 40000, 7000, 1, 2, TCP_ACK, NULL, 100);
    PeerFrame *frame;

    g_assert_cmpint(judge(data, len, NULL, &frame), ==, PEER_FRAME_IP);
    g_assert_cmpuint(frame->flow, ==, 40000);
    g_assert_cmpuint(frame->wire_bytes, ==, 14 + 20 + 20 + 100 + 24);
    peer_frame_free(frame);

    /* padding goes away */
    len = guest_tcp(data, 40000, 7000, 1, 2, TCP_ACK, NULL, 0);
    memset(data + len, 0xee, 60 - len);
    g_assert_cmpint(judge(data, 60, NULL, &frame), ==, PEER_FRAME_IP);
    g_assert_cmpuint(frame->len, ==, len);
    g_assert_cmpuint(frame->wire_bytes, ==, 84);
    peer_frame_free(frame);
}

static void test_checksums(void)
{
    struct virtio_net_hdr hdr = {};
    uint8_t data[2048];
    uint32_t len = guest_tcp(data, 40000, 7000, 1, 2, TCP_ACK, NULL, 101);

    g_assert_cmpint(judge(data, len, &hdr, NULL), ==, PEER_FRAME_IP);
    data[len - 1] ^= 1;
    g_assert_cmpint(judge(data, len, &hdr, NULL), ==, PEER_FRAME_BAD_CHECKSUM);
    g_assert_cmpint(judge(data, len, NULL, NULL), ==, PEER_FRAME_BAD_CHECKSUM);
    hdr.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
    hdr.csum_start = 34;
    hdr.csum_offset = 16;
    g_assert_cmpint(judge(data, len, &hdr, NULL), ==, PEER_FRAME_IP);
    data[14 + 10] ^= 1;                 /* the IP header's own */
    g_assert_cmpint(judge(data, len, &hdr, NULL), ==, PEER_FRAME_BAD_CHECKSUM);
}

/* Headers that lie */
static void test_lies(void)
{
    static uint8_t data[70000];
    uint32_t len = guest_tcp(data, 40000, 7000, 1, 2, TCP_ACK, NULL, 1000);
    const struct virtio_net_hdr good = {
        .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
        .gso_type = VIRTIO_NET_HDR_GSO_TCPV4,
        .hdr_len = 54,
        .gso_size = 500,
        .csum_start = 34,
        .csum_offset = 16,
    };
    struct virtio_net_hdr hdr = good;
    PeerFrame *frame;

    g_assert_cmpint(judge(data, len, &hdr, &frame), ==, PEER_FRAME_IP);
    g_assert_cmpuint(frame->gso_size, ==, 500);
    g_assert_cmpuint(frame->wire_bytes, ==, 2 * (54 + 24) + 1000);
    peer_frame_free(frame);

    hdr.gso_type |= VIRTIO_NET_HDR_GSO_ECN;
    g_assert_cmpint(judge(data, len, &hdr, NULL), ==, PEER_FRAME_IP);

    hdr = good;
    hdr.gso_size = 0;
    g_assert_cmpint(judge(data, len, &hdr, NULL), ==, PEER_FRAME_BAD);
    hdr = good;
    hdr.gso_size = 65535;
    g_assert_cmpint(judge(data, len, &hdr, NULL), ==, PEER_FRAME_IP);
    hdr = good;
    hdr.hdr_len = 65535;
    g_assert_cmpint(judge(data, len, &hdr, NULL), ==, PEER_FRAME_BAD);
    hdr = good;
    hdr.csum_start = 65535;
    hdr.csum_offset = 65535;
    g_assert_cmpint(judge(data, len, &hdr, NULL), ==, PEER_FRAME_BAD);
    hdr = good;
    hdr.csum_start = len - 17;
    g_assert_cmpint(judge(data, len, &hdr, NULL), ==, PEER_FRAME_BAD);
    hdr = good;
    hdr.csum_offset = 6;
    g_assert_cmpint(judge(data, len, &hdr, NULL), ==, PEER_FRAME_BAD);
    hdr = good;
    hdr.flags = 0;
    g_assert_cmpint(judge(data, len, &hdr, NULL), ==, PEER_FRAME_BAD);
    for (int type = 2; type < 0x80; type++) {
        hdr = good;
        hdr.gso_type = type;            /* UDP, TCPv6 and unknown ones */
        g_assert_cmpint(judge(data, len, &hdr, NULL), ==, PEER_FRAME_BAD);
    }

    /* Larger than the MTU without GSO; as large as can be with it */
    len = guest_tcp(data, 40000, 7000, 1, 2, TCP_ACK, NULL, 1461);
    hdr = good;
    hdr.gso_type = VIRTIO_NET_HDR_GSO_NONE;
    g_assert_cmpint(judge(data, len, &hdr, NULL), ==, PEER_FRAME_BAD);
    len = guest_tcp(data, 40000, 7000, 1, 2, TCP_ACK, NULL, 65535 - 40);
    g_assert_cmpint(judge(data, len, &good, NULL), ==, PEER_FRAME_IP);
    g_assert_cmpint(judge(data, len + 1, &good, NULL), ==, PEER_FRAME_BAD);
}

static void test_foreign(void)
{
    uint8_t data[2048];
    uint32_t len = guest_tcp(data, 40000, 7000, 1, 2, TCP_ACK, NULL, 10);

    data[5] ^= 1;                       /* for another machine */
    g_assert_cmpint(judge(data, len, NULL, NULL), ==, PEER_FRAME_IGNORED);
    data[5] ^= 1;
    data[13] = 0xdd;                    /* another protocol */
    g_assert_cmpint(judge(data, len, NULL, NULL), ==, PEER_FRAME_IGNORED);
    data[13] = 0;
    data[14 + 19]++;                    /* another address */
    guest_ip_checksum(data);
    g_assert_cmpint(judge(data, len, NULL, NULL), ==, PEER_FRAME_IGNORED);
    data[14 + 19]--;
    data[14 + 6] = 0x20;                /* a fragment */
    guest_ip_checksum(data);
    g_assert_cmpint(judge(data, len, NULL, NULL), ==, PEER_FRAME_IGNORED);
}

/* Every length, and every wrong length within */
static void test_short(void)
{
    uint8_t data[2048], copy[2048];
    uint32_t len = guest_tcp(data, 40000, 7000, 1, 2, TCP_ACK, NULL, 10);

    for (uint32_t i = 0; i < len; i++) {
        g_assert_cmpint(judge(data, i, NULL, NULL), ==, PEER_FRAME_BAD);
    }
    for (int ihl = 0; ihl < 16; ihl++) {
        memcpy(copy, data, len);
        copy[14] = 0x40 | ihl;
        g_assert_cmpint(judge(copy, len, NULL, NULL), ==,
                        ihl == 5 ? PEER_FRAME_IP :
                        ihl > 5 && ihl * 4 <= 50 ? PEER_FRAME_BAD_CHECKSUM :
                        PEER_FRAME_BAD);
    }
    for (int off = 0; off < 16; off++) {
        PeerVerdict verdict;

        memcpy(copy, data, len);
        copy[34 + 12] = off << 4;
        guest_tcp_checksum(copy, len);
        verdict = judge(copy, len, NULL, NULL);
        g_assert_cmpint(verdict, ==, off >= 5 && off * 4 <= 30 ?
                        PEER_FRAME_IP : PEER_FRAME_BAD);
    }
}

/* Random bytes in every place: an answer, and nothing else happens */
static void test_random(void)
{
    uint8_t data[200];
    PeerRng rng;

    peer_rng_init(&rng, 1, 1);
    for (int i = 0; i < 200000; i++) {
        uint32_t len = guest_tcp(data, 40000, 7000, 1, 2, TCP_ACK, NULL,
                                 peer_rng_below(&rng, 100));
        int changes = peer_rng_below(&rng, 6);
        struct virtio_net_hdr hdr = {};

        while (changes--) {
            data[peer_rng_below(&rng, len)] = peer_rng_next(&rng);
        }
        if (peer_rng_below(&rng, 2)) {
            uint64_t bits[2] = { peer_rng_next(&rng), peer_rng_next(&rng) };

            memcpy(&hdr, bits, sizeof(hdr));
        }
        if (peer_rng_below(&rng, 2)) {
            hdr.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
            hdr.csum_start = 34;
            hdr.csum_offset = 16;
        }
        judge(data, peer_rng_below(&rng, len + 1), &hdr, NULL);
    }
}

static PeerFrame *frame_to_guest(uint32_t payload)
{
    PeerAddresses addr = test_addresses();
    PeerFrame *frame = peer_frame_new(PEER_ETH_HLEN + 40 + payload);

    guest_tcp(frame->data, 7000, 40000, 1, 2, TCP_ACK, NULL, payload);
    peer_ether_address(&addr, frame);
    frame->tcp_hlen = 20;
    return frame;
}

static void test_finish(void)
{
    PeerFrame *frame = frame_to_guest(1001);
    struct virtio_net_hdr hdr;
    uint8_t *start;

    /* without offload the checksum is there */
    start = peer_ether_finish(frame, 12, false);
    g_assert_true(start + 12 == frame->data);
    memcpy(&hdr, start, sizeof(hdr));
    g_assert_cmpuint(hdr.flags, ==, 0);
    g_assert_cmpuint(hdr.gso_type, ==, 0);
    g_assert_cmpuint(net_checksum_tcpudp(1021, 6, frame->data + 26,
                                         frame->data + 34), ==, 0);

    /* with it, it is the pseudo header's part, and the guest can complete it */
    start = peer_ether_finish(frame, 12, true);
    memcpy(&hdr, start, sizeof(hdr));
    g_assert_cmpuint(hdr.flags, ==, VIRTIO_NET_HDR_F_NEEDS_CSUM);
    g_assert_cmpuint(hdr.csum_start, ==, 34);
    g_assert_cmpuint(hdr.csum_offset, ==, 16);
    stw_be_p(frame->data + 50, net_raw_checksum(frame->data + 34, 1021));
    g_assert_cmpuint(net_checksum_tcpudp(1021, 6, frame->data + 26,
                                         frame->data + 34), ==, 0);

    frame->gso_size = 500;
    start = peer_ether_finish(frame, 12, true);
    memcpy(&hdr, start, sizeof(hdr));
    g_assert_cmpuint(hdr.gso_type, ==, VIRTIO_NET_HDR_GSO_TCPV4);
    g_assert_cmpuint(hdr.gso_size, ==, 500);
    g_assert_cmpuint(hdr.hdr_len, ==, 54);
    peer_frame_free(frame);
}

static void test_arp(void)
{
    PeerAddresses addr = test_addresses();
    PeerFrame *request, *frame, *reply;
    bool bad;

    /* What the peer asks, turned round: the guest asks */
    addr.guest_mac_known = false;
    request = peer_arp_request(&addr);
    g_assert_cmpuint(request->len, ==, 60);
    g_assert_cmpuint(lduw_be_p(request->data + 12), ==, ETH_P_ARP);
    g_assert_cmpuint(request->data[0], ==, 0xff);

    frame = peer_frame_new(request->len);
    memcpy(frame->data, request->data, request->len);
    memset(frame->data + 22, 0x54, 6);
    memcpy(frame->data + 28, &addr.guest_ip, 4);
    memcpy(frame->data + 38, &addr.peer_ip, 4);
    reply = peer_arp_input(&addr, frame, &bad);
    g_assert_false(bad);
    g_assert_nonnull(reply);
    g_assert_true(addr.guest_mac_known);
    g_assert_cmpuint(addr.guest_mac[3], ==, 0x54);
    g_assert_cmpuint(lduw_be_p(reply->data + 20), ==, 2);
    g_assert_true(!memcmp(reply->data, addr.guest_mac, 6));
    g_assert_true(!memcmp(reply->data + 22, addr.peer_mac, 6));
    g_assert_true(!memcmp(reply->data + 28, &addr.peer_ip, 4));
    g_assert_true(!memcmp(reply->data + 38, &addr.guest_ip, 4));
    peer_frame_free(reply);

    /* for another address: no answer */
    frame->data[41]++;
    g_assert_null(peer_arp_input(&addr, frame, &bad));
    g_assert_false(bad);
    for (frame->len = 14; frame->len < 42; frame->len++) {
        g_assert_null(peer_arp_input(&addr, frame, &bad));
        g_assert_true(bad);
    }
    peer_frame_free(frame);
    peer_frame_free(request);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/net/ether/good", test_good);
    g_test_add_func("/net/ether/checksums", test_checksums);
    g_test_add_func("/net/ether/lies", test_lies);
    g_test_add_func("/net/ether/foreign", test_foreign);
    g_test_add_func("/net/ether/short", test_short);
    g_test_add_func("/net/ether/random", test_random);
    g_test_add_func("/net/ether/finish", test_finish);
    g_test_add_func("/net/ether/arp", test_arp);
    return g_test_run();
}

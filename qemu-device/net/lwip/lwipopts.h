/*
 * lwIP's configuration for the peer (Debian's lwip 2.2.1, unmodified): TCP and
 * ICMP over IPv4, driven by stack.c from one thread, on virtual time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef RINGSTEP_NET_LWIPOPTS_H
#define RINGSTEP_NET_LWIPOPTS_H

/* No threads, no sockets; stack.c calls the timers */
#define NO_SYS                          1
#define SYS_LIGHTWEIGHT_PROT            0
#define LWIP_NETCONN                    0
#define LWIP_SOCKET                     0
#define LWIP_TIMERS                     0

/* One interface without link layer: peer.c does Ethernet and ARP */
#define LWIP_SINGLE_NETIF               1
#define LWIP_HAVE_LOOPIF                0
#define LWIP_NETIF_LOOPBACK             0
#define LWIP_ARP                        0
#define LWIP_ETHERNET                   0
#define LWIP_IPV6                       0
#define LWIP_UDP                        0
#define LWIP_RAW                        0
#define LWIP_ICMP                       1
#define IP_REASSEMBLY                   0
#define IP_FRAG                         0
#define IP_OPTIONS_ALLOWED              1

/*
 * Memory comes from malloc(), whose addresses lwIP's behaviour does not depend
 * on: the number of connections needs no limit here.
 */
#define MEM_ALIGNMENT                   8
#define MEM_LIBC_MALLOC                 1
#define MEMP_MEM_MALLOC                 1
#define LWIP_SUPPORT_CUSTOM_PBUF        1
#define PBUF_LINK_HLEN                  0

/*
 * Checksums: frames from the guest are checked in offload.c, which knows what
 * the guest left to the device, and frames to the guest get theirs there.
 */
#define CHECKSUM_CHECK_IP               0
#define CHECKSUM_CHECK_TCP              0
#define CHECKSUM_CHECK_ICMP             1
#define CHECKSUM_GEN_IP                 0
#define CHECKSUM_GEN_TCP                0
#define CHECKSUM_GEN_ICMP               1

/* TCP as a Linux client has it, as far as lwIP can */
#define TCP_MSS                         1460
#define LWIP_WND_SCALE                  1
#define TCP_RCV_SCALE                   7
#define TCP_WND                         (1024 * 1024)
#define TCP_SND_BUF                     (256 * 1024)
#define TCP_SND_QUEUELEN                2048
#define TCP_SNDLOWAT                    (2 * TCP_MSS + 1) /* of no use here */
#define TCP_OVERSIZE                    0
#define LWIP_TCP_TIMESTAMPS             1
#define LWIP_TCP_RTO_TIME               1000
/* Retransmission after three slow ticks, of twice this, at least */
#define TCP_TMR_INTERVAL                40
/* What arrives out of order is kept, within bounds */
#define TCP_QUEUE_OOSEQ                 1
#define TCP_OOSEQ_MAX_BYTES             (256 * 1024)
#define TCP_OOSEQ_MAX_PBUFS             256

#define LWIP_STATS                      0
#define LWIP_NETIF_API                  0
#define LWIP_DONT_PROVIDE_BYTEORDER_FUNCTIONS

#define LWIP_HOOK_FILENAME              "lwip-hooks.h"
#define LWIP_HOOK_TCP_ISN               peer_stack_isn

#endif

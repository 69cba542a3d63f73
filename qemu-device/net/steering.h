/*
 * Automatic receive steering (virtio 1.2, 5.1.6.5.5): packets of a flow go to
 * the receive queue of the pair on whose transmit queue the guest last sent
 * for the flow.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef RINGSTEP_NET_STEERING_H
#define RINGSTEP_NET_STEERING_H

#define PEER_MAX_QUEUES 16

/* The flow of everything that is not TCP (no TCP flow has port 0) */
#define PEER_FLOW_OTHER 0

/*
 * There is one peer address and one guest address, and no two connections
 * share a port of the peer's: that port names the flow.
 */
typedef struct PeerSteering {
    uint64_t seed;
    uint8_t queue[65536];       /* queue pair + 1, 0: the guest sent nothing */
} PeerSteering;

void peer_steering_init(PeerSteering *st, uint64_t seed);

/* The guest sent a packet of @flow on @queue */
void peer_steering_learn(PeerSteering *st, uint16_t flow, unsigned queue);

/*
 * The queue pair for a packet of @flow to the guest.  @usable has a bit for
 * each pair that the guest has set up.  Flows that the guest has not answered
 * yet are spread by a hash, as tap does.
 */
unsigned peer_steering_pick(const PeerSteering *st, uint16_t flow,
                            uint32_t usable);

#endif

/*
 * Automatic receive steering.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/host-utils.h"
#include "ringstep/net/steering.h"
#include "ringstep/net/think.h"

void peer_steering_init(PeerSteering *st, uint64_t seed)
{
    memset(st, 0, sizeof(*st));
    st->seed = seed;
}

void peer_steering_learn(PeerSteering *st, uint16_t flow, unsigned queue)
{
    assert(queue < PEER_MAX_QUEUES);
    st->queue[flow] = queue + 1;
}

unsigned peer_steering_pick(const PeerSteering *st, uint16_t flow,
                            uint32_t usable)
{
    unsigned queue = st->queue[flow];
    unsigned nth;

    if (queue && (usable & (1U << (queue - 1)))) {
        return queue - 1;
    }
    if (flow == PEER_FLOW_OTHER || !usable) {
        return usable ? ctz32(usable) : 0;
    }
    nth = peer_mix64(st->seed + flow) % ctpop32(usable);
    while (nth--) {
        usable &= usable - 1;
    }
    return ctz32(usable);
}

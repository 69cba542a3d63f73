/*
 * Random numbers and think times, from integers only.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef RINGSTEP_NET_THINK_H
#define RINGSTEP_NET_THINK_H

/* Longest mean that peer_think() takes: 1000 s */
#define PEER_THINK_MAX_NS 1000000000000ULL

typedef struct PeerRng {
    uint64_t s[4];
} PeerRng;

typedef enum PeerThinkDist {
    PEER_THINK_CONSTANT,
    PEER_THINK_UNIFORM,         /* 0.1 to 1.9 times the mean */
    PEER_THINK_EXPONENTIAL,     /* up to 44.4 times the mean */
} PeerThinkDist;

/* A well mixed function of @x (the finalizer of splitmix64) */
uint64_t peer_mix64(uint64_t x);

/*
 * Streams of one seed are independent: what one connection draws does not
 * depend on when the others draw.
 */
void peer_rng_init(PeerRng *rng, uint64_t seed, uint64_t stream);
uint64_t peer_rng_next(PeerRng *rng);
/* Uniform in [0, n), 0 when n is 0 */
uint64_t peer_rng_below(PeerRng *rng, uint64_t n);

/* -ln((r + 1) / 2^64) with 32 bits after the binary point */
uint64_t peer_neg_log_q32(uint64_t r);

uint64_t peer_think(PeerRng *rng, PeerThinkDist dist, uint64_t mean_ns);

#endif

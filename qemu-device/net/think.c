/*
 * Random numbers and think times, from integers only: the result must not
 * depend on the host's libm or floating point unit.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "qemu/host-utils.h"
#include "ringstep/net/think.h"

#define GOLDEN_GAMMA 0x9e3779b97f4a7c15ULL
#define LN2_Q32      0xb17217f8ULL      /* ln 2 with 32 fraction bits */

uint64_t peer_mix64(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

/* xoshiro256**, its state filled by splitmix64, as its authors advise */
void peer_rng_init(PeerRng *rng, uint64_t seed, uint64_t stream)
{
    uint64_t x = peer_mix64(seed + GOLDEN_GAMMA) ^
                 peer_mix64(~stream * GOLDEN_GAMMA);

    for (int i = 0; i < 4; i++) {
        x += GOLDEN_GAMMA;
        rng->s[i] = peer_mix64(x);
    }
}

uint64_t peer_rng_next(PeerRng *rng)
{
    uint64_t *s = rng->s;
    uint64_t result = rol64(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rol64(s[3], 45);
    return result;
}

uint64_t peer_rng_below(PeerRng *rng, uint64_t n)
{
    uint64_t lo, hi;

    mulu64(&lo, &hi, peer_rng_next(rng), n);
    return hi;
}

/*
 * log2 by repeated squaring: with x in [1, 2), x^2 >= 2 says that the next bit
 * of log2(x) is one.  The error is below 2^-26, for each squaring drops what
 * does not fit in 63 fraction bits.
 */
uint64_t peer_neg_log_q32(uint64_t r)
{
    uint64_t x, log2_q32, lo, hi;
    int msb;

    if (r == UINT64_MAX) {
        return 0;
    }
    r++;
    msb = 63 - clz64(r);
    log2_q32 = (uint64_t)msb << 32;
    x = r << (63 - msb);                /* 1.63: the top bit is the one */
    for (int bit = 31; bit >= 0; bit--) {
        mulu64(&lo, &hi, x, x);         /* 2.126 */
        if (hi >> 63) {
            log2_q32 |= 1ULL << bit;
            x = hi;
        } else {
            x = (hi << 1) | (lo >> 63);
        }
    }
    mulu64(&lo, &hi, (64ULL << 32) - log2_q32, LN2_Q32);
    return (hi << 32) | (lo >> 32);
}

uint64_t peer_think(PeerRng *rng, PeerThinkDist dist, uint64_t mean_ns)
{
    uint64_t spread, lo, hi;

    assert(mean_ns <= PEER_THINK_MAX_NS);
    if (mean_ns == 0) {
        return 0;
    }
    switch (dist) {
    case PEER_THINK_UNIFORM:
        spread = mean_ns * 9 / 10;
        return mean_ns - spread + peer_rng_below(rng, 2 * spread + 1);
    case PEER_THINK_EXPONENTIAL:
        mulu64(&lo, &hi, peer_neg_log_q32(peer_rng_next(rng)), mean_ns);
        return (hi << 32) | (lo >> 32);
    case PEER_THINK_CONSTANT:
    default:
        return mean_ns;
    }
}

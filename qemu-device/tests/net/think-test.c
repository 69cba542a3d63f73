/*
 * think.c: think times have the distributions that they claim, and are the
 * same numbers everywhere.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "ringstep/net/think.h"

#define DRAWS 200000
#define MEAN  1000000

/* Numbers worked out once by another implementation (Python's integers) */
static void test_known(void)
{
    PeerRng rng;

    g_assert_cmphex(peer_mix64(0), ==, 0);
    g_assert_cmphex(peer_mix64(0x9e3779b97f4a7c15ULL), ==,
                    0xe220a8397b1dcdafULL);     /* splitmix64's first of 0 */
    peer_rng_init(&rng, 1, 0);
    g_assert_cmphex(peer_rng_next(&rng), ==, 0x17b6af93b88d9c6aULL);
    g_assert_cmphex(peer_rng_next(&rng), ==, 0x7c74486039646c2aULL);
}

static void test_streams(void)
{
    PeerRng a, b, c, d;

    peer_rng_init(&a, 1, 0);
    peer_rng_init(&b, 1, 0);
    peer_rng_init(&c, 1, 1);
    peer_rng_init(&d, 2, 0);
    for (int i = 0; i < 100; i++) {
        uint64_t x = peer_rng_next(&a);

        g_assert_cmphex(x, ==, peer_rng_next(&b));
        g_assert_cmphex(x, !=, peer_rng_next(&c));
        g_assert_cmphex(x, !=, peer_rng_next(&d));
    }
}

static void test_below(void)
{
    uint32_t hits[10] = {};
    PeerRng rng;

    peer_rng_init(&rng, 7, 7);
    g_assert_cmpuint(peer_rng_below(&rng, 0), ==, 0);
    g_assert_cmpuint(peer_rng_below(&rng, 1), ==, 0);
    for (int i = 0; i < DRAWS; i++) {
        uint64_t x = peer_rng_below(&rng, 10);

        g_assert_cmpuint(x, <, 10);
        hits[x]++;
    }
    for (int i = 0; i < 10; i++) {
        g_assert_cmpuint(hits[i], >, DRAWS / 10 * 97 / 100);
        g_assert_cmpuint(hits[i], <, DRAWS / 10 * 103 / 100);
    }
}

/* -ln(u): exact values, to the 26 bits that think.c promises */
static void test_log(void)
{
    const struct {
        uint64_t r;
        uint64_t want_q32;
    } cases[] = {
        { UINT64_MAX, 0 },
        { (1ULL << 63) - 1, 2977044472 },           /* ln 2 */
        { (1ULL << 62) - 1, 5954088944 },           /* ln 4 */
        { (3ULL << 62) - 1, 1235585093 },           /* ln 4/3 */
        { 0x5e2d58d8b3bcdf1aULL, 4294967296 },      /* u = 1/e: 1 */
        { 0, 190530846196 },                        /* 64 ln 2 */
    };

    for (int i = 0; i < ARRAY_SIZE(cases); i++) {
        int64_t got = peer_neg_log_q32(cases[i].r);

        g_assert_cmpint(ABS(got - (int64_t)cases[i].want_q32), <=, 64);
    }
    for (uint64_t r = 1; r < UINT64_MAX / 3; r *= 3) {
        g_assert_cmpuint(peer_neg_log_q32(r), >, peer_neg_log_q32(r * 3));
    }
}

static void test_constant(void)
{
    PeerRng rng;

    peer_rng_init(&rng, 1, 1);
    for (int i = 0; i < 10; i++) {
        g_assert_cmpuint(peer_think(&rng, PEER_THINK_CONSTANT, MEAN), ==,
                         MEAN);
        g_assert_cmpuint(peer_think(&rng, PEER_THINK_EXPONENTIAL, 0), ==, 0);
    }
}

static void test_uniform(void)
{
    uint64_t sum = 0, min = UINT64_MAX, max = 0;
    PeerRng rng;

    peer_rng_init(&rng, 1, 2);
    for (int i = 0; i < DRAWS; i++) {
        uint64_t t = peer_think(&rng, PEER_THINK_UNIFORM, MEAN);

        sum += t;
        min = MIN(min, t);
        max = MAX(max, t);
    }
    g_assert_cmpuint(min, >=, MEAN / 10);
    g_assert_cmpuint(min, <, MEAN / 10 + MEAN / 1000);
    g_assert_cmpuint(max, <=, MEAN / 10 * 19);
    g_assert_cmpuint(max, >, MEAN / 10 * 19 - MEAN / 1000);
    g_assert_cmpuint(sum / DRAWS, >, MEAN * 99 / 100);
    g_assert_cmpuint(sum / DRAWS, <, MEAN * 101 / 100);
}

/* The mean, and the parts above one, two and four means: 1/e, 1/e2, 1/e4 */
static void test_exponential(void)
{
    uint64_t sum = 0;
    unsigned above1 = 0, above2 = 0, above4 = 0;
    PeerRng rng;

    peer_rng_init(&rng, 1, 3);
    for (int i = 0; i < DRAWS; i++) {
        uint64_t t = peer_think(&rng, PEER_THINK_EXPONENTIAL, MEAN);

        g_assert_cmpuint(t, <, 45ULL * MEAN);
        sum += t;
        above1 += t > MEAN;
        above2 += t > 2 * MEAN;
        above4 += t > 4 * MEAN;
    }
    g_assert_cmpuint(sum / DRAWS, >, MEAN * 99 / 100);
    g_assert_cmpuint(sum / DRAWS, <, MEAN * 101 / 100);
    g_assert_cmpuint(above1 * 1000ULL / DRAWS, >=, 364);
    g_assert_cmpuint(above1 * 1000ULL / DRAWS, <=, 371);
    g_assert_cmpuint(above2 * 1000ULL / DRAWS, >=, 132);
    g_assert_cmpuint(above2 * 1000ULL / DRAWS, <=, 138);
    g_assert_cmpuint(above4 * 1000ULL / DRAWS, >=, 17);
    g_assert_cmpuint(above4 * 1000ULL / DRAWS, <=, 19);
}

static void test_longest(void)
{
    PeerRng rng;

    peer_rng_init(&rng, 1, 4);
    for (int i = 0; i < 1000; i++) {
        g_assert_cmpuint(peer_think(&rng, PEER_THINK_UNIFORM,
                                    PEER_THINK_MAX_NS), <=,
                         PEER_THINK_MAX_NS / 10 * 19);
        g_assert_cmpuint(peer_think(&rng, PEER_THINK_EXPONENTIAL,
                                    PEER_THINK_MAX_NS), <,
                         45 * PEER_THINK_MAX_NS);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/net/think/known", test_known);
    g_test_add_func("/net/think/streams", test_streams);
    g_test_add_func("/net/think/below", test_below);
    g_test_add_func("/net/think/log", test_log);
    g_test_add_func("/net/think/constant", test_constant);
    g_test_add_func("/net/think/uniform", test_uniform);
    g_test_add_func("/net/think/exponential", test_exponential);
    g_test_add_func("/net/think/longest", test_longest);
    return g_test_run();
}

/*
 * model.c: requests are done when the model's description says, to the
 * nanosecond.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/units.h"
#include "ringstep/nvme/model.h"

#define BLOCK 4096

/* What each test starts from */
static const DiskModelConfig plain = {
    .channels = 2,
    .stripe = BLOCK,
    .op_ns = {
        [DISK_READ] = 1000,
        [DISK_WRITE] = 2000,
        [DISK_DISCARD] = 3000,
        [DISK_FLUSH] = 500,
    },
    .seed = 1,
};

static DiskModel model;

static int64_t submit(DiskOp op, int64_t bytes, int64_t now_ns)
{
    return disk_model_submit(&model, op, bytes, false, now_ns);
}

static void start(const DiskModelConfig *config)
{
    disk_model_init(&model, config);
}

/* Each operation has its own time */
static void test_operations(void)
{
    start(&plain);
    g_assert_cmpint(submit(DISK_READ, BLOCK, 10000), ==, 11000);
    g_assert_cmpint(submit(DISK_WRITE, BLOCK, 20000), ==, 22000);
    g_assert_cmpint(submit(DISK_DISCARD, 1 * GiB, 30000), ==, 33000);
    g_assert_cmpint(submit(DISK_FLUSH, 0, 40000), ==, 40500);
}

/* Bytes cost what they cost; what is left of a nanosecond counts as one */
static void test_bytes(void)
{
    DiskModelConfig config = plain;

    config.byte_ps[DISK_READ] = 250;
    config.byte_ps[DISK_DISCARD] = 1;
    start(&config);
    g_assert_cmpint(submit(DISK_READ, BLOCK, 0), ==, 1000 + 1024);
    g_assert_cmpint(submit(DISK_READ, 512, 10000), ==, 10000 + 1000 + 128);
    g_assert_cmpint(submit(DISK_DISCARD, 1001, 20000), ==, 20000 + 3000 + 2);
}

/* Two channels: the third request waits for the first, the fourth too */
static void test_queue(void)
{
    start(&plain);
    g_assert_cmpint(submit(DISK_WRITE, BLOCK, 0), ==, 2000);
    g_assert_cmpint(submit(DISK_READ, BLOCK, 0), ==, 1000);
    g_assert_cmpint(submit(DISK_READ, BLOCK, 0), ==, 2000);
    g_assert_cmpint(submit(DISK_READ, BLOCK, 0), ==, 3000);
    /* Idle meanwhile */
    g_assert_cmpint(submit(DISK_READ, BLOCK, 9000), ==, 10000);
}

/* Of two that are free at the same time the lower is taken */
static void test_ties(void)
{
    start(&plain);
    submit(DISK_READ, BLOCK, 0);
    g_assert_cmpint(model.free_ps[0], ==, 1000 * 1000);
    g_assert_cmpint(model.free_ps[1], ==, 0);
}

static void test_stripes(void)
{
    start(&plain);
    g_assert_cmpint(submit(DISK_READ, 3 * BLOCK, 0), ==, 2000);
    start(&plain);
    g_assert_cmpint(submit(DISK_READ, 4 * BLOCK + 512, 0), ==, 3000);
}

/* However deep the queue, reads are done at channels / service time */
static void test_saturation(void)
{
    DiskModelConfig config = plain;
    int64_t done_ns[32] = {};
    int64_t last_ns = 0;
    const int reads = 10000;

    config.channels = 5;
    config.op_ns[DISK_READ] = 9000;
    start(&config);
    for (int i = 0; i < reads; i++) {
        int64_t *slot = &done_ns[i % ARRAY_SIZE(done_ns)];

        *slot = submit(DISK_READ, BLOCK, *slot);
        last_ns = MAX(last_ns, *slot);
    }
    g_assert_cmpint(last_ns, ==, reads / 5 * 9000);
}

/* A buffer of two blocks that drains a block in 4096 ns */
static const DiskModelConfig *buffered(void)
{
    static DiskModelConfig config;

    config = plain;
    config.buffer = 2 * BLOCK;
    config.drain_byte_ps = 1000;
    return &config;
}

static void test_buffer(void)
{
    start(buffered());
    g_assert_cmpint(submit(DISK_WRITE, BLOCK, 0), ==, 2000);
    g_assert_cmpint(submit(DISK_WRITE, BLOCK, 0), ==, 2000);
    /* Full until the first block has drained */
    g_assert_cmpint(submit(DISK_WRITE, BLOCK, 0), ==, 4096 + 2000);
    /* Drained, and room again */
    g_assert_cmpint(submit(DISK_WRITE, BLOCK, 100000), ==, 102000);
}

static void test_flush_waits(void)
{
    start(buffered());
    submit(DISK_WRITE, BLOCK, 0);
    submit(DISK_WRITE, BLOCK, 0);
    g_assert_cmpint(submit(DISK_FLUSH, 0, 2000), ==, 2 * 4096 + 500);
    g_assert_cmpint(submit(DISK_FLUSH, 0, 50000), ==, 50500);
}

static void test_fua(void)
{
    start(buffered());
    g_assert_cmpint(disk_model_submit(&model, DISK_WRITE, BLOCK, true, 0), ==,
                    4096);
    /* Without a buffer it makes no difference */
    start(&plain);
    g_assert_cmpint(disk_model_submit(&model, DISK_WRITE, BLOCK, true, 0), ==,
                    2000);
}

static void test_garbage(void)
{
    DiskModelConfig config = *buffered();

    config.buffer = 1 * MiB;
    config.gc_bytes = 2 * BLOCK;
    config.gc_ns = 100000;
    start(&config);
    submit(DISK_WRITE, BLOCK, 0);
    g_assert_cmpint(submit(DISK_READ, BLOCK, 10000), ==, 11000);
    g_assert_cmpint(submit(DISK_WRITE, BLOCK, 20000), ==, 22000);
    /* The pause: nobody is served, and nothing drains */
    g_assert_cmpint(submit(DISK_READ, BLOCK, 30000), ==, 22000 + 100000 + 1000);
    g_assert_cmpint(submit(DISK_FLUSH, 0, 30000), ==,
                    20000 + 4096 + 100000 + 500);
    /* And the next after as many bytes */
    submit(DISK_WRITE, BLOCK, 1000000);
    g_assert_cmpint(submit(DISK_READ, BLOCK, 1010000), ==, 1011000);
    submit(DISK_WRITE, BLOCK, 1020000);
    g_assert_cmpint(submit(DISK_READ, BLOCK, 1030000), ==,
                    1022000 + 100000 + 1000);
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

/* Mean, least and 99th percentile: (1 + 3.6 x spread) x mean */
static void test_spread(void)
{
    enum { DRAWS = 50000 };
    g_autofree int64_t *ns = g_new(int64_t, DRAWS);
    DiskModelConfig config = plain;
    int64_t sum = 0;

    config.op_ns[DISK_READ] = 100000;
    config.spread_percent = 20;
    start(&config);
    for (int i = 0; i < DRAWS; i++) {
        int64_t now = (i + 1) * INT64_C(10000000);

        ns[i] = submit(DISK_READ, BLOCK, now) - now;
        sum += ns[i];
    }
    qsort(ns, DRAWS, sizeof(*ns), compare);
    g_assert_cmpint(sum / DRAWS, >, 99500);
    g_assert_cmpint(sum / DRAWS, <, 100500);
    g_assert_cmpint(ns[0], >=, 80000);
    g_assert_cmpint(ns[0], <, 80100);
    g_assert_cmpint(ns[DRAWS * 99 / 100], >, 170000);
    g_assert_cmpint(ns[DRAWS * 99 / 100], <, 175000);
}

/* The seed decides, and nothing else */
static void test_seed(void)
{
    DiskModelConfig config = plain;
    int64_t first[100], differ = 0;

    config.spread_percent = 50;
    for (int round = 0; round < 3; round++) {
        config.seed = round == 2 ? 7 : 1;
        start(&config);
        for (int i = 0; i < ARRAY_SIZE(first); i++) {
            int64_t done = submit(DISK_READ, BLOCK, i * 1000000);

            if (round == 0) {
                first[i] = done;
            } else if (round == 1) {
                g_assert_cmpint(done, ==, first[i]);
            } else {
                differ += done != first[i];
            }
        }
    }
    g_assert_cmpint(differ, >, 90);
}

/* More work than there is time: never, and not in the past */
static void test_endless(void)
{
    DiskModelConfig config = *buffered();

    config.byte_ps[DISK_DISCARD] = DISK_MAX_BYTE_PS;
    config.drain_byte_ps = DISK_MAX_BYTE_PS;
    start(&config);
    for (int i = 0; i < 100; i++) {
        g_assert_cmpint(submit(DISK_DISCARD, DISK_MAX_BYTES, 1), >, 1);
    }
    g_assert_cmpint(submit(DISK_READ, BLOCK, 1), ==, INT64_MAX / 1000);
    g_assert_cmpint(submit(DISK_WRITE, BLOCK, 1), ==, INT64_MAX / 1000);
    g_assert_cmpint(submit(DISK_FLUSH, 0, 1), ==, INT64_MAX / 1000);
    /* Until it is all dropped */
    disk_model_idle(&model);
    g_assert_cmpint(submit(DISK_READ, BLOCK, 1), ==, 1001);
    g_assert_cmpint(submit(DISK_FLUSH, 0, 1), ==, 501);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/nvme/model/operations", test_operations);
    g_test_add_func("/nvme/model/bytes", test_bytes);
    g_test_add_func("/nvme/model/queue", test_queue);
    g_test_add_func("/nvme/model/ties", test_ties);
    g_test_add_func("/nvme/model/stripes", test_stripes);
    g_test_add_func("/nvme/model/saturation", test_saturation);
    g_test_add_func("/nvme/model/buffer", test_buffer);
    g_test_add_func("/nvme/model/flush-waits", test_flush_waits);
    g_test_add_func("/nvme/model/fua", test_fua);
    g_test_add_func("/nvme/model/garbage", test_garbage);
    g_test_add_func("/nvme/model/spread", test_spread);
    g_test_add_func("/nvme/model/seed", test_seed);
    g_test_add_func("/nvme/model/endless", test_endless);
    return g_test_run();
}

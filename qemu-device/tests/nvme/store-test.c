/*
 * store.c: what was written is there, what was zeroed is zero, and the image
 * is asked for the rest.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/cutils.h"
#include "ringstep/nvme/store.h"

#define S DISK_SECTOR

static void test_memory(void)
{
    DiskStore st;
    bool here;

    disk_store_init(&st, 100 * S, false, &error_abort);
    g_assert_true(buffer_is_zero(st.data, 100 * S));
    g_assert_cmpint(disk_store_run(&st, 3 * S, 97 * S, &here), ==, 97 * S);
    g_assert_true(here);
    disk_store_cleanup(&st);
}

/* From a sector on, so many are in one place */
static void check_run(DiskStore *st, int first, int sectors, int run, bool want)
{
    bool here;

    g_assert_cmpint(disk_store_run(st, first * S, sectors * S, &here), ==,
                    run * S);
    g_assert_cmpint(here, ==, want);
}

static void test_image(void)
{
    DiskStore st;

    disk_store_init(&st, 200 * S, true, &error_abort);
    check_run(&st, 0, 200, 200, false);
    disk_store_claim(&st, 10 * S, 5 * S);
    disk_store_zero(&st, 15 * S, 100 * S);
    check_run(&st, 0, 200, 10, false);
    check_run(&st, 10, 190, 105, true);
    check_run(&st, 14, 1, 1, true);
    check_run(&st, 115, 85, 85, false);
    disk_store_cleanup(&st);
}

/* Zeroes go where they should, whatever the pages are, and nowhere else */
static void test_zero(void)
{
    const int sectors = 8 * qemu_real_host_page_size() / S;
    static const struct {
        int first, count;
    } parts[] = {
        { 0, 1 }, { 3, 2 }, { 0, 8 }, { 5, 40 }, { 8, 16 }, { 7, 1 }
    };
    DiskStore st;

    disk_store_init(&st, sectors * S, false, &error_abort);
    for (int i = 0; i < ARRAY_SIZE(parts); i++) {
        int end = parts[i].first + parts[i].count;

        memset(disk_store_claim(&st, 0, sectors * S), 0xa5, sectors * S);
        disk_store_zero(&st, parts[i].first * S, parts[i].count * S);
        for (int b = 0; b < sectors * S; b++) {
            bool in = b >= parts[i].first * S && b < end * S;

            g_assert_cmphex(st.data[b], ==, in ? 0 : 0xa5);
        }
    }
    disk_store_cleanup(&st);
}

/* The largest disk takes no memory, and one that cannot be is refused */
static void test_large(void)
{
    Error *err = NULL;
    DiskStore st;

    disk_store_init(&st, 1LL << 40, false, &error_abort);
    *disk_store_claim(&st, (1LL << 40) - S, S) = 1;
    disk_store_cleanup(&st);
    g_assert_false(disk_store_init(&st, 1LL << 60, false, &err));
    error_free_or_abort(&err);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/nvme/store/memory", test_memory);
    g_test_add_func("/nvme/store/image", test_image);
    g_test_add_func("/nvme/store/zero", test_zero);
    g_test_add_func("/nvme/store/large", test_large);
    return g_test_run();
}

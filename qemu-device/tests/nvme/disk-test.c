/*
 * disk.c under QEMU's own NVMe controller, with this test as the guest: when
 * requests are done, what is read back, images, and mistakes in the options.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "qemu/units.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "ringstep/net/think.h"
#include "nvme-guest.h"

#define BLOCKS_4K       (4 * KiB / NVME_LBA)
#define READ_NS         9000            /* the default of the constant model */
#define CHANNELS        5
#define DISK            (256 * KiB)

static NvmeGuest guest;
static NvmeCqe cqe;

static uint16_t rw(uint8_t opcode, uint64_t lba, uint32_t blocks)
{
    NvmeCmd cmd = nvme_guest_rw(&guest, opcode, lba, blocks);

    return nvme_guest_do(&guest, &guest.io, &cmd);
}

static void submit_read(uint64_t lba)
{
    NvmeCmd cmd = nvme_guest_rw(&guest, NVME_CMD_READ, lba, BLOCKS_4K);

    nvme_guest_submit(&guest, &guest.io, &cmd);
}

static unsigned completions(void)
{
    unsigned n = 0;

    while (nvme_guest_completion(&guest, &guest.io, &cqe)) {
        g_assert_cmphex(le16_to_cpu(cqe.status) >> 1, ==, NVME_SUCCESS);
        n++;
    }
    return n;
}

/* @number requests are done after @ns, and none a nanosecond earlier */
static void expect_after(int64_t ns, unsigned number)
{
    qtest_clock_step(guest.qts, ns - 1);
    g_assert_cmpuint(completions(), ==, 0);
    qtest_clock_step(guest.qts, 1);
    g_assert_cmpuint(completions(), ==, number);
}

/* Each read at depth 1 takes the same time, to the nanosecond */
static void test_latency(void)
{
    nvme_guest_start(&guest, "size=1G");
    for (int i = 0; i < 500; i++) {
        submit_read(i * 7919 % 1000 * BLOCKS_4K);
        expect_after(READ_NS, 1);
    }
    nvme_guest_stop(&guest);
}

/* At depth, reads are done at channels / service time */
static void test_saturation(void)
{
    nvme_guest_start(&guest, "size=1G");
    for (int i = 0; i < 10 * CHANNELS; i++) {
        submit_read(i * BLOCKS_4K);
    }
    for (int i = 0; i < 10; i++) {
        expect_after(READ_NS, CHANNELS);
    }
    nvme_guest_stop(&guest);
}

/* A flush takes time, even when there is nothing to flush */
static void test_flush(void)
{
    NvmeCmd flush = nvme_guest_flush();

    nvme_guest_start(&guest, "size=1G,flush-ns=5000");
    for (int i = 0; i < 2; i++) {
        nvme_guest_submit(&guest, &guest.io, &flush);
        expect_after(5000, 1);
    }
    nvme_guest_stop(&guest);
}

/* The controller is reset with requests in flight, and works again */
static void test_reset(void)
{
    nvme_guest_start(&guest, "size=1G,read-ns=1000000000");
    for (int i = 0; i < 20; i++) {
        submit_read(i);
    }
    nvme_guest_reset(&guest);
    g_assert_cmphex(rw(NVME_CMD_WRITE, 0, 1), ==, NVME_SUCCESS);
    nvme_guest_stop(&guest);
}

/* Stopping the machine waits for requests, for which time stands still */
static void test_stop(void)
{
    nvme_guest_start(&guest, "size=1G");
    submit_read(0);
    qtest_qmp_assert_success(guest.qts, "{ 'execute': 'stop' }");
    qtest_qmp_assert_success(guest.qts, "{ 'execute': 'cont' }");
    g_assert_cmpuint(completions(), ==, 1);
    nvme_guest_stop(&guest);
}

/* What the disk should hold */
static uint8_t model[DISK];
static PeerRng rng;

static void do_write(uint64_t lba, uint32_t blocks)
{
    for (int i = 0; i < blocks * NVME_LBA; i++) {
        model[lba * NVME_LBA + i] = peer_rng_next(&rng);
    }
    qtest_memwrite(guest.qts, guest.buffer, model + lba * NVME_LBA,
                   blocks * NVME_LBA);
    g_assert_cmphex(rw(NVME_CMD_WRITE, lba, blocks), ==, NVME_SUCCESS);
}

static void do_read(uint64_t lba, uint32_t blocks)
{
    uint8_t got[NVME_BUFFER];

    qtest_memset(guest.qts, guest.buffer, 0xee, NVME_BUFFER);
    g_assert_cmphex(rw(NVME_CMD_READ, lba, blocks), ==, NVME_SUCCESS);
    qtest_memread(guest.qts, guest.buffer, got, blocks * NVME_LBA);
    g_assert_true(!memcmp(got, model + lba * NVME_LBA, blocks * NVME_LBA));
}

static void do_zeroes(uint64_t lba, uint32_t blocks)
{
    NvmeCmd cmd = nvme_guest_rw(&guest, NVME_CMD_WRITE_ZEROES, lba, blocks);

    memset(model + lba * NVME_LBA, 0, blocks * NVME_LBA);
    g_assert_cmphex(nvme_guest_do(&guest, &guest.io, &cmd), ==, NVME_SUCCESS);
}

static void do_discard(uint64_t lba, uint32_t blocks)
{
    NvmeCmd cmd = nvme_guest_discard(&guest, 1, lba, blocks);

    memset(model + lba * NVME_LBA, 0, blocks * NVME_LBA);
    g_assert_cmphex(nvme_guest_do(&guest, &guest.io, &cmd), ==, NVME_SUCCESS);
}

static void do_flush(uint64_t lba, uint32_t blocks)
{
    NvmeCmd cmd = nvme_guest_flush();

    g_assert_cmphex(nvme_guest_do(&guest, &guest.io, &cmd), ==, NVME_SUCCESS);
}

/* Everything that was done to the disk is what a plain array would hold */
static void random_operations(int count)
{
    static void (*const operations[])(uint64_t lba, uint32_t blocks) = {
        do_write, do_write, do_read, do_read, do_zeroes, do_discard, do_flush,
    };
    const uint32_t most = NVME_BUFFER / NVME_LBA;

    peer_rng_init(&rng, 1, 0);
    while (count--) {
        uint32_t blocks = 1 + peer_rng_below(&rng, most);
        uint64_t lba = peer_rng_below(&rng, DISK / NVME_LBA - blocks + 1);

        operations[peer_rng_below(&rng, ARRAY_SIZE(operations))](lba, blocks);
    }
    for (uint64_t lba = 0; lba < DISK / NVME_LBA; lba += most) {
        do_read(lba, most);
    }
}

static void test_integrity(void)
{
    g_autofree char *size = g_strdup_printf("size=%d", (int)DISK);

    memset(model, 0, DISK);
    nvme_guest_start(&guest, size);
    random_operations(1500);
    nvme_guest_stop(&guest);
}

static void test_integrity_ssd(void)
{
    g_autofree char *options = g_strdup_printf(
        "size=%d,model=ssd,buffer=16K,gc-bytes=64K", (int)DISK);

    memset(model, 0, DISK);
    nvme_guest_start(&guest, options);
    random_operations(500);
    nvme_guest_stop(&guest);
}

/* An image of @size bytes, and its name */
static char *make_image(size_t size)
{
    char *name = NULL;
    int fd = g_file_open_tmp("ringstep-disk-XXXXXX", &name, NULL);

    g_assert_cmpint(fd, >=, 0);
    for (size_t i = 0; i < size; i++) {
        model[i] = i * 31 + i / 512;
    }
    g_assert_cmpint(write(fd, model, size), ==, size);
    close(fd);
    return name;
}

static void start_with_image(const char *name)
{
    g_autofree char *options = g_strdup_printf(
        "image.driver=file,image.filename=%s", name);

    nvme_guest_start(&guest, options);
}

/* QEMU could not write to the image if it wanted to */
static void check_read_only(void)
{
    QDict *reply = qtest_qmp(guest.qts,
                             "{ 'execute': 'query-named-block-nodes' }");
    const QListEntry *entry;
    int files = 0;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(reply, "return"), entry) {
        QDict *node = qobject_to(QDict, qlist_entry_obj(entry));

        if (g_str_equal(qdict_get_str(node, "drv"), "file")) {
            g_assert_true(qdict_get_bool(node, "ro"));
            files++;
        }
    }
    g_assert_cmpint(files, ==, 1);
    qobject_unref(reply);
}

/* What is written to the disk is read back, and the image stays as it is */
static void test_image(void)
{
    g_autofree char *name = make_image(DISK);
    g_autofree uint8_t *before = g_memdup2(model, DISK);
    g_autofree char *after = NULL;
    size_t length;

    start_with_image(name);
    check_read_only();
    do_read(3, 5);
    random_operations(1500);
    nvme_guest_stop(&guest);
    g_assert_true(g_file_get_contents(name, &after, &length, NULL));
    g_assert_cmpuint(length, ==, DISK);
    g_assert_true(!memcmp(after, before, DISK));
    unlink(name);
}

/* An image that changes is noticed: at the latest by its next read */
static void test_image_changes(void)
{
    g_autofree char *name = make_image(DISK);

    start_with_image(name);
    do_read(0, 1);
    do_write(8, 1);
    g_assert_cmpint(truncate(name, DISK / 2), ==, 0);
    g_assert_cmphex(rw(NVME_CMD_READ, 0, 1), !=, NVME_SUCCESS);
    g_assert_cmphex(rw(NVME_CMD_READ, DISK / NVME_LBA - 1, 1), !=,
                    NVME_SUCCESS);
    do_read(8, 1);
    nvme_guest_stop(&guest);
    unlink(name);
}

/* What QEMU says to these options of the disk; it ends in any case */
static char *complaint(const char *options)
{
    g_autofree char *blockdev = g_strconcat("driver=ringstep,node-name=disk",
                                            *options ? "," : "", options,
                                            NULL);
    const char *argv[] = {
        g_getenv("QTEST_QEMU_BINARY"), "-machine", "none", "-nodefaults",
        "-display", "none", "-blockdev", blockdev, "-device", "no-such-device",
        NULL
    };
    char *said = NULL;

    g_assert_true(g_spawn_sync(NULL, (char **)argv, NULL,
                               G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL,
                               &said, NULL, NULL));
    return said;
}

static void expect(const char *options, const char *text)
{
    g_autofree char *said = complaint(options);

    if (!strstr(said, text)) {
        g_test_message("%s: %s", options, said);
        g_test_fail();
    }
}

static void test_options(void)
{
    static const char *const good[] = {
        "size=512", "size=1T", "size=1G,model=ssd,seed=7",
        "size=1G,stripe=128K,channels=256,read-ns=0,read-byte-ps=1000000",
        "size=1G,model=ssd,gc-bytes=0,buffer=4K,spread-percent=100",
    };
    static const struct {
        const char *options, *text;
    } bad[] = {
        { "", "a disk needs a size or an image" },
        { "size=0", "size must be a multiple of 512" },
        { "size=1000", "size must be a multiple of 512" },
        { "size=2T", "size must be a multiple of 512 up to 1099511627776" },
        { "size=-1", "size" },
        { "size=1G,channels=0", "channels must be 1 to 256, not 0" },
        { "size=1G,channels=257", "channels must be 1 to 256, not 257" },
        { "size=1G,read-ns=1000000001", "read-ns must be 0 to 1000000000" },
        { "size=1G,read-ns=99999999999999999999", "read-ns" },
        { "size=1G,write-byte-ps=1000001", "write-byte-ps must be 0 to" },
        { "size=1G,stripe=511", "stripe must be 512 to" },
        { "size=1G,model=disk", "does not accept value 'disk'" },
        { "size=1G,buffer=1M", "the model 'constant' has no buffer" },
        { "size=1G,spread-percent=1", "'constant' has no spread-percent" },
        { "size=1G,model=ssd,spread-percent=101", "must be 0 to 100" },
        { "size=1G,model=ssd,buffer=2K", "has no room for a stripe" },
        { "size=1G,model=ssd,gc-bytes=1K", "is less than a stripe" },
        { "size=1G,nonsense=1", "nonsense" },
        { "image.driver=file,image.filename=/nonexistent",
          "No such file or directory" },
    };

    for (int i = 0; i < ARRAY_SIZE(good); i++) {
        expect(good[i], "no-such-device");
    }
    for (int i = 0; i < ARRAY_SIZE(bad); i++) {
        expect(bad[i].options, bad[i].text);
    }
}

static void expect_image(const char *name, const char *more, const char *text)
{
    g_autofree char *options = g_strdup_printf(
        "image.driver=file,image.filename=%s%s", name, more);

    expect(options, text);
}

static void test_image_options(void)
{
    g_autofree char *name = make_image(64 * KiB);

    expect_image(name, "", "no-such-device");
    expect_image(name, ",size=4K", "no-such-device");
    expect_image(name, ",size=1M", "the image is too small");
    g_assert_cmpint(truncate(name, 1000), ==, 0);
    expect_image(name, "", "must be a multiple of 512");
    g_assert_cmpint(truncate(name, 0), ==, 0);
    expect_image(name, "", "the image is too small");
    unlink(name);
}

/* Another machine writes to the image: not while we read it */
static void test_image_locked(void)
{
    g_autofree char *name = make_image(64 * KiB);
    QTestState *other = qtest_initf(
        "-machine q35 -nodefaults -device virtio-blk-pci,drive=d "
        "-drive if=none,id=d,format=raw,file=%s", name);

    expect_image(name, "", "Is another process using the image");
    qtest_quit(other);
    expect_image(name, "", "no-such-device");
    unlink(name);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/nvme/disk/latency", test_latency);
    g_test_add_func("/nvme/disk/saturation", test_saturation);
    g_test_add_func("/nvme/disk/flush", test_flush);
    g_test_add_func("/nvme/disk/reset", test_reset);
    g_test_add_func("/nvme/disk/stop", test_stop);
    g_test_add_func("/nvme/disk/integrity", test_integrity);
    g_test_add_func("/nvme/disk/integrity-ssd", test_integrity_ssd);
    g_test_add_func("/nvme/disk/image", test_image);
    g_test_add_func("/nvme/disk/image-changes", test_image_changes);
    g_test_add_func("/nvme/disk/options", test_options);
    g_test_add_func("/nvme/disk/image-options", test_image_options);
    g_test_add_func("/nvme/disk/image-locked", test_image_locked);
    return g_test_run();
}

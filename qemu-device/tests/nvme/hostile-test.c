/*
 * disk.c under QEMU's own NVMe controller, with a guest that means harm: each
 * command ends in a status, the machine survives, and what has been flushed is
 * still there.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "qemu/units.h"
#include "ringstep/net/think.h"
#include "nvme-guest.h"

#define SIZE            (1 * MiB)
#define END             (SIZE / NVME_LBA)
#define KEPT            16              /* blocks that no test may touch */
#define NOWHERE         0x7fff00000000  /* there is no RAM at this address */

static NvmeGuest guest;
static uint8_t kept[KEPT * NVME_LBA];

static uint16_t io(const NvmeCmd *cmd)
{
    return nvme_guest_do(&guest, &guest.io, cmd);
}

static uint16_t admin(const NvmeCmd *cmd)
{
    return nvme_guest_do(&guest, &guest.admin, cmd) & ~NVME_DNR;
}

static uint16_t rw(uint8_t opcode, uint64_t lba, uint32_t blocks)
{
    NvmeCmd cmd = nvme_guest_rw(&guest, opcode, lba, blocks);

    return io(&cmd) & ~NVME_DNR;
}

static void start(const char *more)
{
    g_autofree char *options = g_strdup_printf("size=%d%s", (int)SIZE, more);
    NvmeCmd flush = nvme_guest_flush();

    nvme_guest_start(&guest, options);
    for (int i = 0; i < sizeof(kept); i++) {
        kept[i] = i * 7 + i / NVME_LBA;
    }
    qtest_memwrite(guest.qts, guest.buffer, kept, sizeof(kept));
    g_assert_cmphex(rw(NVME_CMD_WRITE, 0, KEPT), ==, NVME_SUCCESS);
    g_assert_cmphex(io(&flush), ==, NVME_SUCCESS);
}

static void check_kept(void)
{
    uint8_t got[sizeof(kept)];

    qtest_memset(guest.qts, guest.buffer, 0, sizeof(kept));
    g_assert_cmphex(rw(NVME_CMD_READ, 0, KEPT), ==, NVME_SUCCESS);
    qtest_memread(guest.qts, guest.buffer, got, sizeof(got));
    g_assert_true(!memcmp(got, kept, sizeof(kept)));
}

static void stop(void)
{
    check_kept();
    nvme_guest_stop(&guest);
}

static void test_opcodes(void)
{
    NvmeCmd cmd;

    start("");
    g_assert_cmphex(rw(0xff, KEPT, 1), ==, NVME_INVALID_OPCODE);
    g_assert_cmphex(rw(0x77, KEPT, 1), ==, NVME_INVALID_OPCODE);
    cmd = nvme_guest_rw(&guest, NVME_CMD_READ, KEPT, 1);
    cmd.nsid = 0;
    g_assert_cmphex(io(&cmd), !=, NVME_SUCCESS);
    cmd.nsid = cpu_to_le32(99);
    g_assert_cmphex(io(&cmd), !=, NVME_SUCCESS);
    cmd.nsid = cpu_to_le32(0xffffffff);
    g_assert_cmphex(io(&cmd), !=, NVME_SUCCESS);
    stop();
}

static void test_ranges(void)
{
    static const uint8_t opcodes[] = {
        NVME_CMD_READ, NVME_CMD_WRITE, NVME_CMD_WRITE_ZEROES, NVME_CMD_COMPARE,
        NVME_CMD_VERIFY,
    };

    start("");
    for (int i = 0; i < ARRAY_SIZE(opcodes); i++) {
        uint8_t op = opcodes[i];

        g_assert_cmphex(rw(op, END, 1), ==, NVME_LBA_RANGE);
        g_assert_cmphex(rw(op, END - 1, 2), ==, NVME_LBA_RANGE);
        g_assert_cmphex(rw(op, UINT64_MAX, 1), ==, NVME_LBA_RANGE);
        g_assert_cmphex(rw(op, UINT64_MAX - 1, 16), ==, NVME_LBA_RANGE);
        g_assert_cmphex(rw(op, 1ULL << 55, 1), ==, NVME_LBA_RANGE);
        g_assert_cmphex(rw(op, KEPT, 65536), !=, NVME_SUCCESS);
    }
    stop();
}

static uint16_t discard(uint32_t ranges, uint64_t lba, uint32_t blocks)
{
    NvmeCmd cmd = nvme_guest_discard(&guest, ranges, lba, blocks);

    return io(&cmd) & ~NVME_DNR;
}

static void test_discards(void)
{
    start("");
    g_assert_cmphex(discard(256, KEPT, 1), ==, NVME_SUCCESS);
    g_assert_cmphex(discard(1, KEPT, 0), ==, NVME_SUCCESS);
    /* Advice that cannot be followed */
    discard(1, END, 1);
    discard(1, END - 1, UINT32_MAX);
    discard(256, UINT64_MAX, UINT32_MAX);
    discard(1, 1ULL << 60, 1);
    stop();
}

/* Data and lists of pages where there is no RAM, or the device itself */
static void test_pages(void)
{
    const uint64_t bar = guest.bar.addr;
    const uint64_t pages[] = { NOWHERE, UINT64_MAX, UINT64_MAX - 4095, 0, 1,
                               bar, bar + 0x1000 };
    static const uint8_t opcodes[] = {
        NVME_CMD_WRITE, NVME_CMD_READ, NVME_CMD_COMPARE, NVME_CMD_DSM,
        NVME_CMD_COPY,
    };

    start("");
    for (int i = 0; i < ARRAY_SIZE(opcodes); i++) {
        for (int page = 0; page < ARRAY_SIZE(pages); page++) {
            NvmeCmd cmd = nvme_guest_rw(&guest, opcodes[i], KEPT, 16);

            cmd.dptr.prp1 = cpu_to_le64(pages[page]);
            io(&cmd);
            cmd = nvme_guest_rw(&guest, opcodes[i], KEPT, 64);
            cmd.dptr.prp2 = cpu_to_le64(pages[page]);
            io(&cmd);
        }
    }
    stop();
}

static void test_doorbells(void)
{
    start("");
    nvme_guest_doorbell(&guest, 8 * guest.io.id, NVME_ENTRIES);
    nvme_guest_doorbell(&guest, 8 * guest.io.id, UINT32_MAX);
    nvme_guest_doorbell(&guest, 8 * guest.io.id + 4, NVME_ENTRIES);
    nvme_guest_doorbell(&guest, 8 * guest.io.id + 4, UINT32_MAX);
    nvme_guest_doorbell(&guest, 8 * 2, 1);          /* there is no queue */
    nvme_guest_doorbell(&guest, 8 * 2 + 4, 1);
    nvme_guest_doorbell(&guest, 8 * 400, 1);
    nvme_guest_doorbell(&guest, 2, 1);              /* no doorbell */
    check_kept();
    /* Commands that nobody has put there */
    nvme_guest_doorbell(&guest, 8 * guest.io.id, (guest.io.tail + 40) % 64);
    qtest_clock_step(guest.qts, 1000 * 1000 * 1000);
    nvme_guest_reset(&guest);
    stop();
}

static uint16_t create(uint8_t opcode, uint32_t size_and_id, uint32_t cdw11,
                       uint64_t where)
{
    NvmeCmd cmd = {
        .opcode = opcode,
        .cdw10 = cpu_to_le32(size_and_id),
        .cdw11 = cpu_to_le32(cdw11),
    };

    cmd.dptr.prp1 = cpu_to_le64(where);
    return admin(&cmd);
}

static void test_queues(void)
{
    const uint8_t cq = NVME_ADM_CMD_CREATE_CQ, sq = NVME_ADM_CMD_CREATE_SQ;
    uint64_t page;

    start("");
    page = guest_alloc(&guest.alloc, NVME_PAGE);
    g_assert_cmphex(create(cq, 63 << 16 | 1, 1, page), !=, NVME_SUCCESS);
    g_assert_cmphex(create(cq, 63 << 16 | 99, 1, page), !=, NVME_SUCCESS);
    g_assert_cmphex(create(cq, 0 << 16 | 2, 1, page), !=, NVME_SUCCESS);
    g_assert_cmphex(create(cq, 0xffffu << 16 | 2, 1, page), !=, NVME_SUCCESS);
    g_assert_cmphex(create(cq, 63 << 16 | 2, 1, page + 4), !=, NVME_SUCCESS);
    g_assert_cmphex(create(sq, 63 << 16 | 2, 77 << 16 | 1, page), !=,
                    NVME_SUCCESS);
    /* The completion queue is in use */
    g_assert_cmphex(create(NVME_ADM_CMD_DELETE_CQ, 1, 0, 0), !=, NVME_SUCCESS);
    /* Queues where there is no RAM: the controller may fail, and be reset */
    create(cq, 63 << 16 | 2, 1, NOWHERE);
    create(sq, 63 << 16 | 2, 2 << 16 | 1, NOWHERE);
    nvme_guest_doorbell(&guest, 8 * 2, 5);
    qtest_clock_step(guest.qts, 1000 * 1000 * 1000);
    nvme_guest_reset(&guest);
    stop();
}

/* The queue goes while its requests are in flight */
static void test_delete_busy_queue(void)
{
    start("");
    for (int i = 0; i < 40; i++) {
        NvmeCmd cmd = nvme_guest_rw(&guest, NVME_CMD_READ, i, 8);

        nvme_guest_submit(&guest, &guest.io, &cmd);
    }
    g_assert_cmphex(create(NVME_ADM_CMD_DELETE_SQ, 1, 0, 0), ==, NVME_SUCCESS);
    qtest_clock_step(guest.qts, 1000 * 1000);
    nvme_guest_reset(&guest);
    stop();
}

/* A field that is often nearly right */
static uint64_t draw(PeerRng *rng)
{
    switch (peer_rng_below(rng, 6)) {
    case 0:
        return 0;
    case 1:
        return UINT64_MAX >> peer_rng_below(rng, 64);
    case 2:
        return guest.buffer + peer_rng_below(rng, 2) * NVME_PAGE;
    case 3:
        return KEPT + peer_rng_below(rng, 2 * END);
    case 4:
        return peer_rng_below(rng, 256);
    default:
        return peer_rng_next(rng);
    }
}

static bool spoils_kept(const NvmeQueue *q, const NvmeCmd *cmd)
{
    uint64_t lba = (uint64_t)cmd->cdw11 << 32 | cmd->cdw10;

    if (q == &guest.admin) {
        return cmd->opcode == NVME_ADM_CMD_FORMAT_NVM;
    }
    switch (cmd->opcode) {
    case NVME_CMD_READ:
    case NVME_CMD_COMPARE:
    case NVME_CMD_VERIFY:
    case NVME_CMD_FLUSH:
        return false;
    default:
        return lba < KEPT || cmd->opcode == NVME_CMD_DSM ||
               cmd->opcode == NVME_CMD_COPY;
    }
}

static void draw_command(PeerRng *rng, const NvmeQueue *q, NvmeCmd *cmd)
{
    static const uint8_t opcodes[] = {
        NVME_CMD_FLUSH, NVME_CMD_WRITE, NVME_CMD_READ, NVME_CMD_COMPARE,
        NVME_CMD_WRITE_ZEROES, NVME_CMD_VERIFY,
    };

    do {
        *cmd = (NvmeCmd) {
            .opcode = opcodes[peer_rng_below(rng, ARRAY_SIZE(opcodes))],
            .nsid = peer_rng_below(rng, 8) ? NVME_NSID : draw(rng),
            .mptr = draw(rng),
            .cdw10 = draw(rng), .cdw11 = peer_rng_below(rng, 4) ? 0 : draw(rng),
            .cdw12 = draw(rng), .cdw13 = draw(rng), .cdw14 = draw(rng),
            .cdw15 = draw(rng),
        };
        cmd->dptr.prp1 = draw(rng);
        cmd->dptr.prp2 = draw(rng);
        if (q == &guest.admin || !peer_rng_below(rng, 4)) {
            cmd->opcode = peer_rng_next(rng);
        }
        if (!peer_rng_below(rng, 16)) {
            cmd->flags = peer_rng_next(rng);
        }
    } while (spoils_kept(q, cmd));
}

/* Whatever comes, the controller can be reset and goes on */
static void fuzz(NvmeQueue *q, uint64_t seed)
{
    PeerRng rng;
    NvmeCmd cmd;
    NvmeCqe cqe;

    peer_rng_init(&rng, seed, 0);
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 40; i++) {
            draw_command(&rng, q, &cmd);
            nvme_guest_submit(&guest, q, &cmd);
            if (peer_rng_below(&rng, 2)) {
                qtest_clock_step(guest.qts, 10000);
                while (nvme_guest_completion(&guest, q, &cqe)) {
                    /* any status will do */
                }
            }
        }
        nvme_guest_reset(&guest);
        check_kept();
    }
}

static void test_fuzz(void)
{
    start("");
    fuzz(&guest.io, 1);
    fuzz(&guest.admin, 2);
    stop();
}

static void test_fuzz_ssd(void)
{
    start(",model=ssd,buffer=4K,gc-bytes=64K");
    fuzz(&guest.io, 3);
    stop();
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/nvme/hostile/opcodes", test_opcodes);
    g_test_add_func("/nvme/hostile/ranges", test_ranges);
    g_test_add_func("/nvme/hostile/discards", test_discards);
    g_test_add_func("/nvme/hostile/pages", test_pages);
    g_test_add_func("/nvme/hostile/doorbells", test_doorbells);
    g_test_add_func("/nvme/hostile/queues", test_queues);
    g_test_add_func("/nvme/hostile/delete-busy-queue", test_delete_busy_queue);
    g_test_add_func("/nvme/hostile/fuzz", test_fuzz);
    g_test_add_func("/nvme/hostile/fuzz-ssd", test_fuzz_ssd);
    return g_test_run();
}

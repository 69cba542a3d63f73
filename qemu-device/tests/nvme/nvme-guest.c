/*
 * A guest's NVMe driver for qtests.  Register and field names are those of
 * the NVM Express Base Specification 1.4.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "nvme-guest.h"

#define PATIENCE_NS     INT64_C(1000000000)
#define STEP_NS         INT64_C(1000000)

static uint32_t get(NvmeGuest *g, uint32_t offset)
{
    return qpci_io_readl(g->dev, g->bar, offset);
}

static void set(NvmeGuest *g, uint32_t offset, uint32_t value)
{
    qpci_io_writel(g->dev, g->bar, offset, value);
}

/*
 * The controller works in a bottom half.  A later request of the test's is not
 * handled before the main loop has run it.
 */
static void settle(NvmeGuest *g)
{
    for (int i = 0; i < 3; i++) {
        get(g, NVME_REG_CSTS);
    }
}

void nvme_guest_doorbell(NvmeGuest *g, uint32_t offset, uint32_t value)
{
    set(g, 0x1000 + offset, value);
    settle(g);
}

void nvme_guest_submit(NvmeGuest *g, NvmeQueue *q, const NvmeCmd *cmd)
{
    qtest_memwrite(g->qts, q->sq + q->tail * sizeof(*cmd), cmd, sizeof(*cmd));
    q->tail = (q->tail + 1) % NVME_ENTRIES;
    nvme_guest_doorbell(g, 8 * q->id, q->tail);
}

bool nvme_guest_completion(NvmeGuest *g, NvmeQueue *q, NvmeCqe *cqe)
{
    settle(g);
    qtest_memread(g->qts, q->cq + q->head * sizeof(*cqe), cqe, sizeof(*cqe));
    if ((le16_to_cpu(cqe->status) & 1) != q->phase) {
        return false;
    }
    q->head = (q->head + 1) % NVME_ENTRIES;
    q->phase ^= !q->head;
    nvme_guest_doorbell(g, 8 * q->id + 4, q->head);
    return true;
}

uint16_t nvme_guest_do(NvmeGuest *g, NvmeQueue *q, const NvmeCmd *cmd)
{
    NvmeCqe cqe;

    nvme_guest_submit(g, q, cmd);
    for (int64_t ns = 0; ns < PATIENCE_NS; ns += STEP_NS) {
        if (nvme_guest_completion(g, q, &cqe)) {
            return le16_to_cpu(cqe.status) >> 1;
        }
        qtest_clock_step(g->qts, STEP_NS);
    }
    g_assert_not_reached();
}

NvmeCmd nvme_guest_rw(NvmeGuest *g, uint8_t opcode, uint64_t lba,
                      uint32_t blocks)
{
    NvmeCmd cmd = {
        .opcode = opcode,
        .nsid = cpu_to_le32(NVME_NSID),
        .cdw10 = cpu_to_le32(lba),
        .cdw11 = cpu_to_le32(lba >> 32),
        .cdw12 = cpu_to_le32(blocks - 1),
    };

    cmd.dptr.prp1 = cpu_to_le64(g->buffer);
    cmd.dptr.prp2 = cpu_to_le64(g->buffer + NVME_PAGE);
    return cmd;
}

static void clear_queue(NvmeGuest *g, NvmeQueue *q, uint16_t id)
{
    q->id = id;
    q->tail = 0;
    q->head = 0;
    q->phase = 1;
    qtest_memset(g->qts, q->cq, 0, NVME_PAGE);
}

static void create_io_queue(NvmeGuest *g)
{
    uint32_t size_and_id = cpu_to_le32((NVME_ENTRIES - 1) << 16 | 1);
    NvmeCmd cq = {
        .opcode = NVME_ADM_CMD_CREATE_CQ,
        .cdw10 = size_and_id,
        .cdw11 = cpu_to_le32(1),                /* contiguous */
    };
    NvmeCmd sq = {
        .opcode = NVME_ADM_CMD_CREATE_SQ,
        .cdw10 = size_and_id,
        .cdw11 = cpu_to_le32(1 << 16 | 1),      /* to queue 1, contiguous */
    };

    cq.dptr.prp1 = cpu_to_le64(g->io.cq);
    sq.dptr.prp1 = cpu_to_le64(g->io.sq);
    g_assert_cmphex(nvme_guest_do(g, &g->admin, &cq), ==, NVME_SUCCESS);
    g_assert_cmphex(nvme_guest_do(g, &g->admin, &sq), ==, NVME_SUCCESS);
}

void nvme_guest_reset(NvmeGuest *g)
{
    set(g, NVME_REG_CC, 0);
    g_assert_cmphex(get(g, NVME_REG_CSTS) & 1, ==, 0);
    clear_queue(g, &g->admin, 0);
    clear_queue(g, &g->io, 1);
    set(g, NVME_REG_AQA, (NVME_ENTRIES - 1) << 16 | (NVME_ENTRIES - 1));
    set(g, NVME_REG_ASQ, g->admin.sq);
    set(g, NVME_REG_ASQ + 4, g->admin.sq >> 32);
    set(g, NVME_REG_ACQ, g->admin.cq);
    set(g, NVME_REG_ACQ + 4, g->admin.cq >> 32);
    set(g, NVME_REG_CC, 4 << 20 | 6 << 16 | 1);  /* 16 and 64 byte entries */
    g_assert_cmphex(get(g, NVME_REG_CSTS), ==, 1);
    create_io_queue(g);
}

void nvme_guest_start(NvmeGuest *g, const char *options)
{
    memset(g, 0, sizeof(*g));
    g->qts = qtest_initf("-machine q35 -nodefaults -no-shutdown "
                         "-blockdev driver=ringstep,node-name=disk,"
                         "discard=unmap,%s "
                         "-device nvme,addr=03.0,drive=disk,serial=1,"
                         "max_ioqpairs=4,msix_qsize=5", options);
    pc_alloc_init(&g->alloc, g->qts, 0);
    g->bus = qpci_new_pc(g->qts, &g->alloc);
    g->dev = qpci_device_find(g->bus, QPCI_DEVFN(3, 0));
    g_assert_nonnull(g->dev);
    qpci_device_enable(g->dev);
    g->bar = qpci_iomap(g->dev, 0, NULL);
    g->admin.sq = guest_alloc(&g->alloc, NVME_PAGE);
    g->admin.cq = guest_alloc(&g->alloc, NVME_PAGE);
    g->io.sq = guest_alloc(&g->alloc, NVME_PAGE);
    g->io.cq = guest_alloc(&g->alloc, NVME_PAGE);
    g->buffer = guest_alloc(&g->alloc, NVME_BUFFER);
    nvme_guest_reset(g);
}

void nvme_guest_stop(NvmeGuest *g)
{
    g_free(g->dev);
    qpci_free_pc(g->bus);
    qtest_quit(g->qts);
    alloc_destroy(&g->alloc);
}

NvmeCmd nvme_guest_discard(NvmeGuest *g, uint32_t ranges, uint64_t lba,
                           uint32_t blocks)
{
    NvmeDsmRange range = {
        .nlb = cpu_to_le32(blocks),
        .slba = cpu_to_le64(lba),
    };
    NvmeCmd cmd = {
        .opcode = NVME_CMD_DSM,
        .nsid = cpu_to_le32(NVME_NSID),
        .cdw10 = cpu_to_le32(ranges - 1),
        .cdw11 = cpu_to_le32(NVME_DSMGMT_AD),
    };

    cmd.dptr.prp1 = cpu_to_le64(g->buffer);
    for (uint32_t i = 0; i < ranges; i++) {
        qtest_memwrite(g->qts, g->buffer + i * sizeof(range), &range,
                       sizeof(range));
    }
    return cmd;
}

NvmeCmd nvme_guest_flush(void)
{
    return (NvmeCmd) {
        .opcode = NVME_CMD_FLUSH,
        .nsid = cpu_to_le32(NVME_NSID),
    };
}

/*
 * A guest's NVMe driver, as small as it can be, for qtests: one I/O queue, one
 * command at a time unless the test does more.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef RINGSTEP_TESTS_NVME_GUEST_H
#define RINGSTEP_TESTS_NVME_GUEST_H

#include "tests/qtest/libqtest.h"
#include "tests/qtest/libqos/libqos-pc.h"
#include "tests/qtest/libqos/malloc-pc.h"
#include "tests/qtest/libqos/pci-pc.h"
#include "block/nvme.h"

#define NVME_PAGE       4096
#define NVME_LBA        512
#define NVME_ENTRIES    64
#define NVME_BUFFER     (2 * NVME_PAGE)
#define NVME_NSID       1

typedef struct NvmeQueue {
    uint64_t sq, cq;            /* guest-physical */
    uint16_t id;
    uint16_t tail, head;
    uint16_t phase;             /* of the next completion */
} NvmeQueue;

typedef struct NvmeGuest {
    QTestState *qts;
    QGuestAllocator alloc;
    QPCIBus *bus;
    QPCIDevice *dev;
    QPCIBar bar;
    NvmeQueue admin, io;
    uint64_t buffer;            /* of NVME_BUFFER bytes */
} NvmeGuest;

/* A machine with the disk that @options (as of -blockdev) describe. */
void nvme_guest_start(NvmeGuest *g, const char *options);
void nvme_guest_stop(NvmeGuest *g);

/* Reset the controller, and set it and the I/O queue up. */
void nvme_guest_reset(NvmeGuest *g);

/* Put a command into the queue and ring its doorbell; it has arrived then. */
void nvme_guest_submit(NvmeGuest *g, NvmeQueue *q, const NvmeCmd *cmd);
void nvme_guest_doorbell(NvmeGuest *g, uint32_t offset, uint32_t value);

/* The next completion, if there is one. */
bool nvme_guest_completion(NvmeGuest *g, NvmeQueue *q, NvmeCqe *cqe);

/* Submit, let virtual time pass until it is done; its status. */
uint16_t nvme_guest_do(NvmeGuest *g, NvmeQueue *q, const NvmeCmd *cmd);

/* A command that moves @blocks from or to the buffer. */
NvmeCmd nvme_guest_rw(NvmeGuest *g, uint8_t opcode, uint64_t lba,
                      uint32_t blocks);

/* Discards @blocks, as often as there are @ranges; the buffer has the list. */
NvmeCmd nvme_guest_discard(NvmeGuest *g, uint32_t ranges, uint64_t lba,
                           uint32_t blocks);

NvmeCmd nvme_guest_flush(void);

#endif

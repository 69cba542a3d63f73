/*
 * The control device's programming interface: PCI 1234:5253, "ringstep-ctl"
 *
 * BAR0, memory, 64 KiB, little endian, accesses of 4 or 8 bytes; what is not
 * listed reads as zero and ignores writes.
 * BAR1, RAM, 4 KiB: the message.
 *
 * A message is whole lines of text, each ended by a newline:
 *
 *   ready PORT             a server listens on this TCP port (1 to 65535)
 *   begin                  the measured window begins
 *   end                    and ends
 *   exit CODE              end the run (0 to 127)
 *   metric NAME VALUE      a result; NAME: 1 to 63 of [a-z0-9_.],
 *   counter NAME VALUE     VALUE: a decimal number, at most 39 characters
 *   text ...               anything printable
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef RINGSTEP_CTL_CTL_H
#define RINGSTEP_CTL_CTL_H

#define RINGSTEP_CTL_VENDOR     0x1234      /* as QEMU's other test devices */
#define RINGSTEP_CTL_DEVICE     0x5253      /* "RS" */

#define RINGSTEP_CTL_MAGIC      0x50545352  /* "RSTP" */
#define RINGSTEP_CTL_VERSION    1

#define RINGSTEP_CTL_MESSAGE_SIZE 4096

/* Registers in BAR0: offset, width in bits, access. */
enum {
    RINGSTEP_REG_MAGIC    = 0x00,   /* 32 RO */
    RINGSTEP_REG_VERSION  = 0x04,   /* 32 RO */
    RINGSTEP_REG_VCPUS    = 0x08,   /* 32 RO: number of vCPUs */
    RINGSTEP_REG_COUNTERS = 0x0c,   /* 32 RO: counters of each vCPU */
    RINGSTEP_REG_SEED     = 0x10,   /* 64 RO: the perturbation seed */
    RINGSTEP_REG_TIME_PS  = 0x18,   /* 64 RO: local time of the vCPU, ps */
    RINGSTEP_REG_DOORBELL = 0x20,   /* 32 WO: length of the message, bytes */
    RINGSTEP_REG_STATUS   = 0x24,   /* 32 RO: of the last message, an errno */
    RINGSTEP_REG_LOCKSTEP = 0x28,   /* 32 RO: 1 in lockstep mode, else 0 */
    RINGSTEP_REG_QUEUES   = 0x2c,   /* 32 RO: NIC queue pairs, 0: not said */
    /* 64 RO: counter i of vCPU n at VALUES + n * VALUES_STRIDE + i * 8 */
    RINGSTEP_REG_VALUES   = 0x1000,
    RINGSTEP_REG_VALUES_STRIDE = 0x400,
    /* name of counter i at NAMES + i * NAMES_STRIDE, NUL padded */
    RINGSTEP_REG_NAMES    = 0x8000,
    RINGSTEP_REG_NAMES_STRIDE = 32,
    RINGSTEP_REG_SIZE     = 0x10000,
};

#endif

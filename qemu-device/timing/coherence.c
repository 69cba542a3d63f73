/*
 * Coherence: a TCG plugin that lets vCPUs wait for cache lines
 *
 *   -plugin ./coherence.so,level=atomic|full
 *
 * level=atomic (the default) follows atomic read-modify-writes: instructions
 * with LOCK, and XCHG.  level=full follows every load and store of the vCPUs;
 * instruction fetches and page walks are not seen.  Devices' writes take lines
 * away in both; their reads take a snapshot and leave lines as they are.
 *
 * What a transfer costs is in the machine's profile (LockstepProperties).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <stdio.h>
#include <string.h>
#include "qemu/qemu-plugin.h"
#include "directory.h"

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

#define PAGE_SIZE 4096

static Directory *directory;
static bool full;

/*
 * Of each vCPU: the line that its latest load had to wait for, and the
 * instruction.  If that stores to the line, too, it has waited already: what
 * reads and modifies fetches a line once.
 */
static struct {
    uint64_t line;
    void *insn;
} fetched[LINE_VCPUS];

#define NO_LINE UINT64_MAX

static void wait_for(Line line, LineTransfer transfer)
{
    static const enum qemu_plugin_stall why[] = {
        [LINE_UPGRADE] = QEMU_PLUGIN_STALL_LINE_UPGRADE,
        [LINE_READ]    = QEMU_PLUGIN_STALL_LINE_READ,
        [LINE_WRITE]   = QEMU_PLUGIN_STALL_LINE_WRITE,
    };

    *line.ready_ps = qemu_plugin_stall(why[transfer], *line.ready_ps);
}

static void load(unsigned int vcpu, uint64_t addr, void *insn)
{
    Line line = directory_line(directory, addr);
    LineTransfer transfer = line_load(line, vcpu);

    fetched[vcpu].line = NO_LINE;
    if (G_UNLIKELY(transfer)) {
        wait_for(line, transfer);
        fetched[vcpu].line = addr >> LINE_SHIFT;
        fetched[vcpu].insn = insn;
    }
}

static void store(unsigned int vcpu, uint64_t addr, void *insn)
{
    Line line = directory_line(directory, addr);
    LineTransfer transfer = line_store(line, vcpu);

    if (G_UNLIKELY(transfer) &&
        !(fetched[vcpu].line == addr >> LINE_SHIFT &&
          fetched[vcpu].insn == insn)) {
        wait_for(line, transfer);
    }
}

/* Each line that an access touches; of one that crosses pages, the first. */
static void access_memory(unsigned int vcpu, qemu_plugin_meminfo_t info,
                          uint64_t vaddr, void *insn)
{
    struct qemu_plugin_hwaddr *hwaddr = qemu_plugin_get_hwaddr(info, vaddr);
    unsigned int size = 1u << qemu_plugin_mem_size_shift(info);
    uint64_t addr;

    if (!hwaddr || qemu_plugin_hwaddr_is_io(hwaddr)) {
        return;
    }
    addr = qemu_plugin_hwaddr_phys_addr(hwaddr);
    for (;;) {
        if (qemu_plugin_mem_is_store(info)) {
            store(vcpu, addr, insn);
        } else {
            load(vcpu, addr, insn);
        }
        if (G_LIKELY(addr % LINE_SIZE + size <= LINE_SIZE)) {
            return;
        }
        size -= LINE_SIZE - addr % LINE_SIZE;
        addr += LINE_SIZE - addr % LINE_SIZE;
        if (addr % PAGE_SIZE == 0) {
            return;
        }
    }
}

/* The store of an atomic read-modify-write. */
static void access_locked(unsigned int vcpu, qemu_plugin_meminfo_t info,
                          uint64_t vaddr, void *insn)
{
    qemu_plugin_stall(QEMU_PLUGIN_STALL_LOCKED, 0);
    access_memory(vcpu, info, vaddr, insn);
}

static void dma_write(uint64_t addr, uint64_t size)
{
    uint64_t end = addr + size;

    for (addr -= addr % LINE_SIZE; addr < end; addr += LINE_SIZE) {
        line_dma(directory_line(directory, addr));
    }
}

/* Does the instruction have LOCK before it, or is it XCHG? */
static bool is_locked(const struct qemu_plugin_insn *insn)
{
    /* Intel SDM vol. 2A, 2.1.1 (legacy prefixes) and 2.2.1 (REX) */
    static const uint8_t prefixes[] = {
        0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf2, 0xf3
    };
    uint8_t code[15];
    size_t n = qemu_plugin_insn_data(insn, code, sizeof(code));

    for (size_t i = 0; i < n; i++) {
        if (code[i] == 0xf0 || code[i] == 0x86 || code[i] == 0x87) {
            return true;
        }
        if (!memchr(prefixes, code[i], sizeof(prefixes)) &&
            (code[i] & 0xf0) != 0x40) {
            return false;
        }
    }
    return false;
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    size_t n = qemu_plugin_tb_n_insns(tb);

    for (size_t i = 0; i < n; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        void *which = (void *)(uintptr_t)qemu_plugin_insn_vaddr(insn);

        if (is_locked(insn)) {
            qemu_plugin_register_vcpu_mem_cb(insn, access_locked,
                                             QEMU_PLUGIN_CB_NO_REGS,
                                             QEMU_PLUGIN_MEM_W, which);
        } else if (full) {
            qemu_plugin_register_vcpu_mem_cb(insn, access_memory,
                                             QEMU_PLUGIN_CB_NO_REGS,
                                             QEMU_PLUGIN_MEM_RW, which);
        }
    }
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id,
                                           const qemu_info_t *info,
                                           int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        if (g_str_equal(argv[i], "level=full")) {
            full = true;
        } else if (g_str_equal(argv[i], "level=atomic")) {
            full = false;
        } else {
            fprintf(stderr, "coherence: '%s' is not an option; there are "
                    "level=atomic and level=full\n", argv[i]);
            return -1;
        }
    }
    if (!info->system_emulation || info->system.max_vcpus > LINE_VCPUS ||
        !g_str_equal(info->target_name, "x86_64")) {
        fprintf(stderr, "coherence: works with x86_64 machines of up to %d "
                "vCPUs\n", LINE_VCPUS);
        return -1;
    }
    directory = directory_new();
    for (unsigned int i = 0; i < LINE_VCPUS; i++) {
        fetched[i].line = NO_LINE;
    }
    qemu_plugin_set_dma_cb(dma_write);
    qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
    return 0;
}

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
    uint32_t *line;
    void *insn;
} fetched[LINE_VCPUS];

/*
 * Of each vCPU: where the lines of a virtual page are in the directory, for
 * pages that it has used of late.  To ask QEMU each time takes three times as
 * long.  It is forgotten with the vCPU's TLB.
 */
#define PAGES 256

typedef struct Page {
    uint64_t number;
    DirectoryChunk *chunk;
    unsigned int first;         /* the page's first line in the chunk */
} Page;

static Page pages[LINE_VCPUS][PAGES];

static void forget_pages(unsigned int vcpu, void *insn)
{
    memset(pages[vcpu], 0xff, sizeof(pages[vcpu]));
}

/* NULL if there is a device and no RAM. */
static Page *find_page(Page *page, qemu_plugin_meminfo_t info, uint64_t vaddr)
{
    struct qemu_plugin_hwaddr *hwaddr = qemu_plugin_get_hwaddr(info, vaddr);
    uint64_t addr;

    if (!hwaddr || qemu_plugin_hwaddr_is_io(hwaddr)) {
        return NULL;
    }
    addr = qemu_plugin_hwaddr_phys_addr(hwaddr);
    addr -= addr % PAGE_SIZE;
    page->number = vaddr / PAGE_SIZE;
    page->chunk = directory_chunk(directory, addr);
    page->first = line_in_chunk(addr);
    return page;
}

static inline Page *page_of(unsigned int vcpu, qemu_plugin_meminfo_t info,
                            uint64_t vaddr)
{
    Page *page = &pages[vcpu][vaddr / PAGE_SIZE % PAGES];

    if (G_LIKELY(page->number == vaddr / PAGE_SIZE)) {
        return page;
    }
    return find_page(page, info, vaddr);
}

static inline Line line_of(const Page *page, uint64_t vaddr)
{
    return chunk_line(page->chunk,
                      page->first + vaddr % PAGE_SIZE / LINE_SIZE);
}

/*
 * Where an access ends that begins in one line and ends in another; 0 if it
 * does not, or if the other one is in another page, which may be anywhere.
 * No access is longer than 32 bytes.
 */
static inline uint64_t second_line(qemu_plugin_meminfo_t info, uint64_t vaddr)
{
    uint64_t last;

    if (G_LIKELY(vaddr % LINE_SIZE <= LINE_SIZE - 32)) {
        return 0;
    }
    last = vaddr + (1u << qemu_plugin_mem_size_shift(info)) - 1;
    return last / LINE_SIZE != vaddr / LINE_SIZE &&
           last / PAGE_SIZE == vaddr / PAGE_SIZE ? last : 0;
}

static void wait_for(Line line, LineTransfer transfer)
{
    static const enum qemu_plugin_stall why[] = {
        [LINE_UPGRADE] = QEMU_PLUGIN_STALL_LINE_UPGRADE,
        [LINE_READ]    = QEMU_PLUGIN_STALL_LINE_READ,
        [LINE_WRITE]   = QEMU_PLUGIN_STALL_LINE_WRITE,
    };

    *line.ready_ps = qemu_plugin_stall(why[transfer], *line.ready_ps);
}

static inline void load(unsigned int vcpu, Line line, void *insn)
{
    LineTransfer transfer = line_load(line, vcpu);

    if (G_UNLIKELY(transfer)) {
        wait_for(line, transfer);
        fetched[vcpu].line = line.state;
        fetched[vcpu].insn = insn;
    }
}

static inline void store(unsigned int vcpu, Line line, void *insn)
{
    LineTransfer transfer = line_store(line, vcpu);

    if (G_UNLIKELY(transfer) && !(fetched[vcpu].line == line.state &&
                                  fetched[vcpu].insn == insn)) {
        wait_for(line, transfer);
    }
}

static void access_load(unsigned int vcpu, qemu_plugin_meminfo_t info,
                        uint64_t vaddr, void *insn)
{
    Page *page = page_of(vcpu, info, vaddr);
    uint64_t second;

    fetched[vcpu].line = NULL;
    if (G_UNLIKELY(!page)) {
        return;
    }
    load(vcpu, line_of(page, vaddr), insn);
    second = second_line(info, vaddr);
    if (G_UNLIKELY(second)) {
        load(vcpu, line_of(page, second), insn);
    }
}

static void access_store(unsigned int vcpu, qemu_plugin_meminfo_t info,
                         uint64_t vaddr, void *insn)
{
    Page *page = page_of(vcpu, info, vaddr);
    uint64_t second;

    if (G_UNLIKELY(!page)) {
        return;
    }
    store(vcpu, line_of(page, vaddr), insn);
    second = second_line(info, vaddr);
    if (G_UNLIKELY(second)) {
        store(vcpu, line_of(page, second), insn);
    }
}

/*
 * Of each vCPU: the atomic read-modify-write that has waited for its line, and
 * the line.  When it is executed again, it has what it needs.
 */
static struct {
    uint32_t *line;
    void *insn;
} granted[LINE_VCPUS];

/*
 * The load of an atomic read-modify-write, the first thing that it does.  It
 * has to happen when the line comes, not when it is asked for: vCPUs that spin
 * for a lock would else look at it too early, and may never get it.  So the
 * vCPU goes back to before the instruction, waits, and executes it then.
 *
 * Within a quantum the vCPU may be ahead of others.  One that comes for the
 * line after it, though at an earlier local time, has to wait until it is
 * done: else both could use the line at the same time, each for the length of
 * a slice, and pay for few transfers.
 */
static void load_locked(unsigned int vcpu, qemu_plugin_meminfo_t info,
                        uint64_t vaddr, void *insn)
{
    Page *page = page_of(vcpu, info, vaddr);
    bool again = false;
    LineTransfer transfer;
    uint64_t second;
    int64_t done_ps;
    Line line;

    if (G_UNLIKELY(!page)) {
        qemu_plugin_stall(QEMU_PLUGIN_STALL_LOCKED, 0);
        return;
    }
    line = line_of(page, vaddr);
    if (G_UNLIKELY(granted[vcpu].line)) {
        if (granted[vcpu].line == line.state && granted[vcpu].insn == insn) {
            return;
        }
        granted[vcpu].line = NULL;      /* an interrupt came before it */
    }
    transfer = line_store(line, vcpu);
    if (G_UNLIKELY(transfer)) {
        again = qemu_plugin_rewind(__builtin_return_address(0));
    }
    done_ps = qemu_plugin_stall(QEMU_PLUGIN_STALL_LOCKED, 0);
    if (G_UNLIKELY(transfer)) {
        wait_for(line, transfer);
    }
    second = second_line(info, vaddr);
    if (G_UNLIKELY(second)) {
        store(vcpu, line_of(page, second), insn);
    }
    line_hold(line, done_ps);
    if (G_UNLIKELY(again)) {
        granted[vcpu].line = line.state;
        granted[vcpu].insn = insn;
        qemu_plugin_retry();
    }
}

/* The store: what was waited for is used. */
static void store_locked(unsigned int vcpu, qemu_plugin_meminfo_t info,
                         uint64_t vaddr, void *insn)
{
    granted[vcpu].line = NULL;
}

static void dma_write(uint64_t addr, uint64_t size)
{
    uint64_t end = addr + size;

    for (addr -= addr % LINE_SIZE; addr < end; addr += LINE_SIZE) {
        line_dma(directory_line(directory, addr));
    }
}

/*
 * What is before the opcode: Intel SDM vol. 2A, 2.1.1 (legacy prefixes) and
 * 2.2.1 (REX).
 */
static size_t prefixes(const uint8_t *code, size_t n, bool *lock)
{
    static const uint8_t legacy[] = {
        0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3
    };
    size_t i;

    *lock = false;
    for (i = 0; i < n; i++) {
        if (code[i] == 0xf0) {
            *lock = true;
        } else if (!memchr(legacy, code[i], sizeof(legacy)) &&
                   (code[i] & 0xf0) != 0x40) {
            break;
        }
    }
    return i;
}

/* MOV to a control register, INVLPG, INVPCID */
static bool changes_tlb(const uint8_t *opcode)
{
    if (opcode[0] != 0x0f) {
        return false;
    }
    switch (opcode[1]) {
    case 0x01:
        return (opcode[2] & 0x38) == 0x38 && (opcode[2] & 0xc0) != 0xc0;
    case 0x22:
        return true;
    case 0x38:
        return opcode[2] == 0x82;
    }
    return false;
}

static void instrument(struct qemu_plugin_insn *insn)
{
    void *which = (void *)(uintptr_t)qemu_plugin_insn_vaddr(insn);
    uint8_t code[15 + 3] = { 0 };
    bool lock;
    size_t n = qemu_plugin_insn_data(insn, code, 15);
    const uint8_t *opcode = code + prefixes(code, n, &lock);

    /* XCHG locks by itself (Intel SDM vol. 3A, 9.1.2.1). */
    if (lock || opcode[0] == 0x86 || opcode[0] == 0x87) {
        /* With R_REGS all registers are in memory: they survive going back. */
        qemu_plugin_register_vcpu_mem_cb(insn, load_locked,
                                         QEMU_PLUGIN_CB_R_REGS,
                                         QEMU_PLUGIN_MEM_R, which);
        qemu_plugin_register_vcpu_mem_cb(insn, store_locked,
                                         QEMU_PLUGIN_CB_NO_REGS,
                                         QEMU_PLUGIN_MEM_W, which);
    } else if (full) {
        qemu_plugin_register_vcpu_mem_cb(insn, access_load,
                                         QEMU_PLUGIN_CB_NO_REGS,
                                         QEMU_PLUGIN_MEM_R, which);
        qemu_plugin_register_vcpu_mem_cb(insn, access_store,
                                         QEMU_PLUGIN_CB_NO_REGS,
                                         QEMU_PLUGIN_MEM_W, which);
    }
    if (changes_tlb(opcode)) {
        qemu_plugin_register_vcpu_insn_exec_cb(insn, forget_pages,
                                               QEMU_PLUGIN_CB_NO_REGS, NULL);
    }
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    size_t n = qemu_plugin_tb_n_insns(tb);

    for (size_t i = 0; i < n; i++) {
        instrument(qemu_plugin_tb_get_insn(tb, i));
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
        forget_pages(i, NULL);
        fetched[i].line = NULL;
        granted[i].line = NULL;
    }
    qemu_plugin_set_dma_cb(dma_write);
    qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
    return 0;
}

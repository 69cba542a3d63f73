/*
 * Lockstep: what TCG plugins call
 *
 * The functions are described in qemu/qemu-plugin.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/units.h"
#include "hw/boards.h"
#include "hw/i386/x86.h"
#include "qemu/qemu-plugin.h"
#include "state.h"

static qemu_plugin_dma_cb_t dma_cb;

int64_t qemu_plugin_stall(enum qemu_plugin_stall why, int64_t ready_ps)
{
    CPUState *cpu = current_cpu;

    if (!lockstep_enabled()) {
        return 0;
    }
    switch (why) {
    case QEMU_PLUGIN_STALL_LOCKED:
        lockstep_charge(cpu, LOCKSTEP_LOCKED);
        return lockstep_local_ps(cpu->cpu_index);
    case QEMU_PLUGIN_STALL_LINE_UPGRADE:
        return lockstep_stall(cpu, LOCKSTEP_LINE_UPGRADE, ready_ps);
    case QEMU_PLUGIN_STALL_LINE_READ:
        return lockstep_stall(cpu, LOCKSTEP_LINE_READ, ready_ps);
    case QEMU_PLUGIN_STALL_LINE_WRITE:
        return lockstep_stall(cpu, LOCKSTEP_LINE_WRITE, ready_ps);
    }
    g_assert_not_reached();
}

bool qemu_plugin_rewind(const void *ra)
{
    /* One less is inside of the call, and so of the instruction's code. */
    return lockstep_enabled() && !lockstep.alone &&
           cpu_restore_state(current_cpu, (uintptr_t)ra - 1);
}

void qemu_plugin_retry(void)
{
    lockstep_slice_cut();
    cpu_loop_exit(current_cpu);
}

void qemu_plugin_set_dma_cb(qemu_plugin_dma_cb_t cb)
{
    dma_cb = cb;
}

void lockstep_dma_write(ram_addr_t addr, uint64_t size)
{
    X86MachineState *x86ms;

    if (!dma_cb || !current_machine) {
        return;
    }
    /* RAM that does not fit below the devices goes on at 4 GiB. */
    x86ms = X86_MACHINE(current_machine);
    if (addr >= x86ms->below_4g_mem_size) {
        addr += 4 * GiB - x86ms->below_4g_mem_size;
    }
    dma_cb(addr, size);
}

/*
 * Lockstep: local times, and what moves them on
 *
 * While a vCPU runs, its local time is that of the slice's start plus what it
 * has executed of the slice's budget; icount's own counters tell how much that
 * is.  A charge moves the start on and takes as much from the budget, so that
 * the slice ends at the same moment as without it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/error-report.h"
#include "state.h"

/* Where reset leaves the local APIC's page (Intel SDM vol. 3A, 12.4.1). */
#define LOCAL_APIC_PAGE 0xfee00000

LockstepState lockstep = { .unfinished = -1 };

static const char *const event_names[] = {
    [LOCKSTEP_MMIO]      = "mmio",
    [LOCKSTEP_PIO]       = "pio",
    [LOCKSTEP_APIC]      = "apic",
    [LOCKSTEP_INTERRUPT] = "interrupt",
    [LOCKSTEP_IPI]       = "ipi",
    [LOCKSTEP_HLT]       = "hlt",
    [LOCKSTEP_WAKE]      = "wake",
    [LOCKSTEP_PAUSE]     = "pause",
    [LOCKSTEP_SYSCALL]   = "syscall",
    [LOCKSTEP_SWITCH]    = "switch",
    [LOCKSTEP_FAULT]     = "fault",
    [LOCKSTEP_DIVISION]  = "division",
    [LOCKSTEP_STRING]    = "string",
    [LOCKSTEP_LOCKED]    = "locked",
    [LOCKSTEP_LINE_UPGRADE] = "line_upgrade",
    [LOCKSTEP_LINE_READ]    = "line_read",
    [LOCKSTEP_LINE_WRITE]   = "line_write",
};
QEMU_BUILD_BUG_ON(ARRAY_SIZE(event_names) != LOCKSTEP_EVENT__MAX);

const char *lockstep_event_name(LockstepEvent event)
{
    return event_names[event];
}

/* What is left of the running slice; less than nothing after an overshoot. */
static inline int slice_left(const CPUState *cpu)
{
    return cpu->neg.icount_decr.u16.low - LOCKSTEP_BIAS;
}

static inline int slice_executed(const CPUState *cpu)
{
    return cpu->icount_budget - slice_left(cpu);
}

/* Take from the running slice without executing. */
static inline void slice_shorten(CPUState *cpu, int64_t instructions)
{
    int64_t cut = MIN(instructions, MAX(slice_left(cpu), 0));

    cpu->neg.icount_decr.u16.low -= cut;
    cpu->icount_budget -= cut;
}

void lockstep_slice_begin(CPUState *cpu, int budget)
{
    cpu->icount_budget = budget;
    cpu->icount_extra = -LOCKSTEP_BIAS;
    cpu->neg.icount_decr.u16.low = LOCKSTEP_BIAS + budget;
    lockstep.running = cpu;
}

/*
 * Book what the vCPU has executed.  False if it has to go on: something of the
 * host's made it stop early.
 */
bool lockstep_slice_end(CPUState *cpu)
{
    int executed = slice_executed(cpu);
    int left = slice_left(cpu);

    lockstep.running = NULL;
    lockstep.vcpu[cpu->cpu_index].instructions += executed;
    lockstep.slot[cpu->cpu_index].local_ps += executed * lockstep.insn_ps;
    cpu->icount_budget = MAX(left, 0);
    return left <= 0;
}

void lockstep_slice_cut(void)
{
    if (lockstep.running) {
        slice_shorten(lockstep.running, INT64_MAX);
    }
}

int64_t lockstep_local_ps(int index)
{
    CPUState *cpu = lockstep.vcpu[index].cpu;
    int64_t ps = lockstep.slot[index].local_ps;

    if (cpu == lockstep.running) {
        ps += slice_executed(cpu) * lockstep.insn_ps;
    }
    return ps;
}

int64_t lockstep_now_ps(void)
{
    if (!current_cpu) {
        return qatomic_read_i64(&lockstep.published_ps);
    }
    if (!lockstep.running) {
        return lockstep.device_ps;
    }
    /* Before the block's last instruction its whole length counts as done. */
    if (!lockstep.running->neg.can_do_io) {
        error_report("lockstep: the clock was read in the middle of a block");
        abort();
    }
    return lockstep_local_ps(lockstep.running->cpu_index);
}

int64_t lockstep_get_ns(void)
{
    return lockstep_now_ps() / 1000;
}

int64_t lockstep_tlb_clock_ns(void)
{
    /* Unlike above, in the middle of a block, too. */
    int64_t ps = lockstep.running
                 ? lockstep_local_ps(lockstep.running->cpu_index)
                 : lockstep.device_ps;

    return ps / 1000;
}

/* Book an event that takes @ps. */
static inline void event_book(int index, LockstepEvent event, int64_t ps)
{
    LockstepVcpu *v = &lockstep.vcpu[index];

    v->events[event]++;
    v->event_ps[event] += ps;
    lockstep.slot[index].local_ps += ps;
}

void lockstep_charge(CPUState *cpu, LockstepEvent event)
{
    int64_t ps = lockstep.cost_ps[event];

    event_book(cpu->cpu_index, event, ps);
    if (ps) {
        slice_shorten(cpu, ps / lockstep.insn_ps);
    }
}

int lockstep_string_bytes(void)
{
    return lockstep.string_bytes;
}

void lockstep_pause(CPUState *cpu)
{
    lockstep_charge(cpu, LOCKSTEP_PAUSE);
    if (!lockstep.alone) {
        lockstep_slice_cut();
    }
}

int64_t lockstep_stall(CPUState *cpu, LockstepEvent event, int64_t ready_ps)
{
    int64_t wait_ps = ready_ps - lockstep_local_ps(cpu->cpu_index);
    int64_t ps = MAX(wait_ps, 0) + lockstep.cost_ps[event];

    event_book(cpu->cpu_index, event, ps);
    slice_shorten(cpu, lockstep.alone ? ps / lockstep.insn_ps : INT64_MAX);
    return lockstep_local_ps(cpu->cpu_index);
}

void lockstep_charge_idle(int index, LockstepEvent event)
{
    event_book(index, event, lockstep.cost_ps[event]);
}

void lockstep_charge_mmio(CPUState *cpu, hwaddr addr)
{
    bool apic = (addr & ~(hwaddr)0xfff) == LOCAL_APIC_PAGE;

    lockstep_charge(cpu, apic ? LOCKSTEP_APIC : LOCKSTEP_MMIO);
}

void lockstep_ipi_begin(void)
{
    if (lockstep.running) {
        lockstep_charge(lockstep.running, LOCKSTEP_IPI);
        lockstep.ipi = true;
    }
}

void lockstep_ipi_end(void)
{
    lockstep.ipi = false;
}

LockstepCounters lockstep_counters(int cpu_index)
{
    const LockstepVcpu *v = &lockstep.vcpu[cpu_index];
    LockstepCounters c = {
        .instructions = v->instructions,
        .local_ps = lockstep_local_ps(cpu_index),
        .idle_ps = v->idle_ps,
    };

    if (v->cpu && v->cpu == lockstep.running) {
        c.instructions += slice_executed(v->cpu);
    }
    if (!lockstep.slot[cpu_index].runnable) {
        /* Asleep: its time goes on with everybody's. */
        int64_t asleep_ps = lockstep_now_ps() - c.local_ps;

        if (asleep_ps > 0) {
            c.local_ps += asleep_ps;
            c.idle_ps += asleep_ps;
        }
    }
    memcpy(c.events, v->events, sizeof(c.events));
    memcpy(c.event_ps, v->event_ps, sizeof(c.event_ps));
    return c;
}

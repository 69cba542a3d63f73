/*
 * Lockstep: a deterministic multi-vCPU clock for TCG
 *
 * Each vCPU has a local time of its own, in integer picoseconds: the
 * instructions that it has executed times a constant, plus what the events of
 * the machine have cost it.  One host thread runs all vCPUs, always the one
 * that is furthest behind, and the devices' timers and bottom halves in
 * between, so that the order of everything is a function of the guest alone.
 *
 * This header is what the hooks in QEMU and the other parts of ringstep see.
 * sched.h chooses the vCPU, clock.c keeps the times, loop.c is the thread,
 * object.c the command line.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef RINGSTEP_LOCKSTEP_H
#define RINGSTEP_LOCKSTEP_H

#include "exec/cpu-common.h"
#include "hw/core/cpu.h"
#include "system/cpu-timers.h"

/* The vCPUs that one machine may have. */
#define LOCKSTEP_MAX_VCPUS 16

/* In lockstep mode icount_enabled() is true as well. */
#define lockstep_enabled() (icount_enabled() == ICOUNT_LOCKSTEP)

/*
 * What generated code counts down is a 16-bit number.  A slice ends at the
 * first translation block that starts with no more than this left, so the
 * last block may overshoot by its own length; the bias keeps the count from
 * wrapping.  No block has to be cut to fit: which instructions form a block
 * stays a function of the guest, and no extra code is generated.
 */
#define LOCKSTEP_BIAS 0x8000

/* The longest slice, in instructions: what fits beside the bias. */
#define LOCKSTEP_MAX_SLICE 0x7000

/* Events of the machine that cost their vCPU time. */
typedef enum LockstepEvent {
    LOCKSTEP_MMIO,          /* load or store that reaches a device */
    LOCKSTEP_PIO,           /* IN, OUT */
    LOCKSTEP_APIC,          /* access to the local APIC */
    LOCKSTEP_INTERRUPT,     /* external interrupt delivered to the vCPU */
    LOCKSTEP_IPI,           /* interrupt sent to vCPUs through the ICR */
    LOCKSTEP_HLT,           /* going to sleep */
    LOCKSTEP_WAKE,          /* coming back from sleep */
    LOCKSTEP_PAUSE,         /* PAUSE */
    LOCKSTEP_SYSCALL,       /* system call, there and back */
    LOCKSTEP_SWITCH,        /* switch of the address space */
    LOCKSTEP_FAULT,         /* exception */
    LOCKSTEP_DIVISION,      /* integer division */
    LOCKSTEP_STRING,        /* MOVS or STOS with REP */
    LOCKSTEP_LOCKED,        /* atomic read-modify-write */
    LOCKSTEP_LINE_UPGRADE,  /* store to a line that others share */
    LOCKSTEP_LINE_READ,     /* load of a line that was modified elsewhere */
    LOCKSTEP_LINE_WRITE,    /* store to such a line */
    LOCKSTEP_EVENT__MAX
} LockstepEvent;

/* A vCPU's totals since the machine was started. */
typedef struct LockstepCounters {
    uint64_t instructions;
    int64_t local_ps;                           /* local time */
    int64_t idle_ps;                            /* of it, spent halted */
    uint64_t events[LOCKSTEP_EVENT__MAX];       /* how often */
    int64_t event_ps[LOCKSTEP_EVENT__MAX];      /* of local time, charged */
} LockstepCounters;

/**
 * lockstep_event_name: the event's name in counters, of [a-z0-9_] ("mmio", ...)
 */
const char *lockstep_event_name(LockstepEvent event);

/**
 * lockstep_counters: a vCPU's totals up to this moment.
 * @cpu_index: 0 to the number of vCPUs - 1.
 *
 * Called in the lockstep thread, or while the machine is stopped.
 */
LockstepCounters lockstep_counters(int cpu_index);

/**
 * lockstep_now_ps: the virtual time of the caller, in ps.
 *
 * Within an instruction the local time of its vCPU; in a timer the moment for
 * which it was set; in a bottom half the local time of the vCPU that ran last.
 * In other threads, some moment of the near past.
 */
int64_t lockstep_now_ps(void);

/**
 * lockstep_get_ns: the same in ns; QEMU_CLOCK_VIRTUAL and the TSC (1 GHz).
 */
int64_t lockstep_get_ns(void);

/**
 * lockstep_charge: let the running vCPU pay for an event.
 *
 * Counts the event, and moves the vCPU's local time on by what the event costs
 * in the machine's profile.
 */
void lockstep_charge(CPUState *cpu, LockstepEvent event);

/**
 * lockstep_charge_mmio: the same for an access to the device at @addr.
 * @addr: guest-physical.
 */
void lockstep_charge_mmio(CPUState *cpu, hwaddr addr);

/**
 * lockstep_string_bytes: how much of a MOVS or STOS with REP is executed as
 * one instruction.
 */
int lockstep_string_bytes(void);

/**
 * lockstep_pause: the running vCPU executes PAUSE.
 *
 * It pays, and unless it is the only one that can run, its slice ends: who
 * spins waits for others, and must not keep them from their turn.
 */
void lockstep_pause(CPUState *cpu);

/**
 * lockstep_stall: let the running vCPU wait for a cache line.
 * @event: one of LOCKSTEP_LINE_*.
 * @ready_ps: when the line can set out, in virtual time.
 *
 * The vCPU waits until then, if it is to come, and for what the event costs.
 * Unless it is the only one that can run, its slice ends: the others are
 * behind now, and what they do with the line comes first.
 *
 * Returns the vCPU's local time after that, in ps: when the line is there.
 * Local times in the middle of a block are those of the block's end.
 */
int64_t lockstep_stall(CPUState *cpu, LockstepEvent event, int64_t ready_ps);

/**
 * lockstep_dma_write: a device has written to RAM.
 * @addr: where in RAM, and @size: how much, in bytes
 */
void lockstep_dma_write(ram_addr_t addr, uint64_t size);

/**
 * lockstep_ipi_begin, lockstep_ipi_end: around the delivery of an IPI.
 *
 * vCPUs that it wakes start later by the profile's IPI latency.
 */
void lockstep_ipi_begin(void);
void lockstep_ipi_end(void);

/**
 * lockstep_deadline_changed: a timer on QEMU_CLOCK_VIRTUAL became the next.
 */
void lockstep_deadline_changed(void);

/**
 * lockstep_tlb_clock_ns: the time by which soft TLBs are resized.
 *
 * Upstream takes the host's; then what is in a TLB, and so when the guest's
 * accessed bits are set, would depend on the host.
 */
int64_t lockstep_tlb_clock_ns(void);

/**
 * lockstep_freeze: no vCPU runs from the next block on.
 *
 * A run ends here, for the guest: how long the main loop then takes to quit
 * changes nothing.
 */
void lockstep_freeze(void);

/* The accelerator's operations (AccelOpsClass); see loop.c. */
void lockstep_start_vcpu_thread(CPUState *cpu);
void lockstep_kick_vcpu_thread(CPUState *cpu);
void lockstep_handle_interrupt(CPUState *cpu, int mask);

#endif

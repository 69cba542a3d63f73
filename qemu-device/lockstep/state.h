/*
 * Lockstep: the state shared by its files
 *
 * All of it belongs to the lockstep thread, but for what is said otherwise.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef RINGSTEP_LOCKSTEP_STATE_H
#define RINGSTEP_LOCKSTEP_STATE_H

#include "lockstep.h"
#include "sched.h"

typedef struct LockstepVcpu {
    CPUState *cpu;
    uint64_t instructions;
    int64_t idle_ps;
    uint64_t events[LOCKSTEP_EVENT__MAX];
    int64_t event_ps[LOCKSTEP_EVENT__MAX];
} LockstepVcpu;

typedef struct LockstepState {
    /* From the command line, constant. */
    int64_t quantum_ps;
    int64_t insn_ps;
    int64_t cost_ps[LOCKSTEP_EVENT__MAX];
    int64_t string_bytes;               /* of a REP for an instruction */
    int64_t ipi_latency_ps;
    int64_t limit_ns;                   /* 0: none */

    int nr_vcpus;
    LockstepVcpu vcpu[LOCKSTEP_MAX_VCPUS];
    /* local_ps: the vCPU's local time without the slice that is running */
    LockstepSlot slot[LOCKSTEP_MAX_VCPUS];

    CPUState *running;                  /* inside of cpu_exec(), or NULL */
    bool alone;                         /* it is the only one that can run */
    int unfinished;                     /* vCPU whose slice goes on, or -1 */
    int64_t device_ps;                  /* virtual time outside of a slice */
    int64_t deadline_ps;                /* the next timer's */
    bool ipi;                           /* an IPI is being delivered */
    bool frozen;

    bool attention;                     /* atomic: leave the slices */
    int64_t published_ps;               /* atomic: time for other threads */
} LockstepState;

extern LockstepState lockstep;

/* A vCPU's local time now. */
int64_t lockstep_local_ps(int index);

/* Open and close a slice of a vCPU of @budget instructions. */
void lockstep_slice_begin(CPUState *cpu, int budget);
bool lockstep_slice_end(CPUState *cpu);

/* End the running slice at the next translation block, if there is one. */
void lockstep_slice_cut(void);

/* Charge a vCPU that is not running. */
void lockstep_charge_idle(int index, LockstepEvent event);

#endif

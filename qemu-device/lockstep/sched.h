/*
 * Lockstep: which vCPU runs next, and how far
 *
 * Arithmetic only; the unit test covers it without a machine.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef RINGSTEP_LOCKSTEP_SCHED_H
#define RINGSTEP_LOCKSTEP_SCHED_H

/* A moment that never comes. */
#define LOCKSTEP_NEVER INT64_MAX

typedef struct LockstepSlot {
    int64_t local_ps;
    bool runnable;
} LockstepSlot;

typedef struct LockstepChoice {
    int vcpu;               /* index, or -1: none can run */
    int64_t local_ps;       /* its local time, which is the horizon */
    int64_t second_ps;      /* local time of the next one, or LOCKSTEP_NEVER */
} LockstepChoice;

/**
 * lockstep_choose: the runnable vCPU with the least local time.
 *
 * Among equals the one with the lowest index.
 */
static inline LockstepChoice lockstep_choose(const LockstepSlot *slot, int n)
{
    LockstepChoice choice = { -1, LOCKSTEP_NEVER, LOCKSTEP_NEVER };

    for (int i = 0; i < n; i++) {
        int64_t local_ps = slot[i].local_ps;

        if (!slot[i].runnable) {
            continue;
        }
        if (local_ps < choice.local_ps) {
            choice.second_ps = choice.local_ps;
            choice.local_ps = local_ps;
            choice.vcpu = i;
        } else if (local_ps < choice.second_ps) {
            choice.second_ps = local_ps;
        }
    }
    return choice;
}

/**
 * lockstep_slice: how many instructions the chosen vCPU may execute.
 *
 * It runs until it is a quantum ahead of the next vCPU, or to the next
 * deadline, whichever comes first; at least one instruction, at most @max.
 * So no vCPU is ever more than a quantum (and the rest of a block) ahead of
 * another one that can run, and one that runs alone is not interrupted.
 */
static inline int lockstep_slice(const LockstepChoice *choice,
                                 int64_t quantum_ps, int64_t deadline_ps,
                                 int64_t insn_ps, int max)
{
    int64_t span_ps = deadline_ps - choice->local_ps;

    if (choice->second_ps != LOCKSTEP_NEVER) {
        span_ps = MIN(span_ps,
                      choice->second_ps - choice->local_ps + quantum_ps);
    }
    if (span_ps <= insn_ps) {
        return 1;
    }
    if (span_ps > (int64_t)max * insn_ps) {
        return max;
    }
    return (span_ps + insn_ps - 1) / insn_ps;
}

#endif

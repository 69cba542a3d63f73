/*
 * Lockstep's scheduler: which vCPU runs next, and how far
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "ringstep/lockstep/sched.h"

#define QUANTUM_PS  1000
#define INSN_PS     5
#define MOST        100000

static LockstepChoice choose(LockstepSlot *slot, int n)
{
    return lockstep_choose(slot, n);
}

static int slice(int64_t local_ps, int64_t second_ps, int64_t deadline_ps)
{
    LockstepChoice choice = { 0, local_ps, second_ps };

    return lockstep_slice(&choice, QUANTUM_PS, deadline_ps, INSN_PS, MOST);
}

static void test_choose_least(void)
{
    LockstepSlot slot[] = { { 30, true }, { 10, true }, { 20, true } };
    LockstepChoice c = choose(slot, 3);

    g_assert_cmpint(c.vcpu, ==, 1);
    g_assert_cmpint(c.local_ps, ==, 10);
    g_assert_cmpint(c.second_ps, ==, 20);
}

static void test_choose_tie(void)
{
    LockstepSlot slot[] = { { 9, true }, { 7, true }, { 7, true } };
    LockstepChoice c = choose(slot, 3);

    g_assert_cmpint(c.vcpu, ==, 1);
    g_assert_cmpint(c.second_ps, ==, 7);
}

static void test_choose_asleep(void)
{
    LockstepSlot slot[] = { { 5, false }, { 50, true }, { 1, false } };
    LockstepChoice c = choose(slot, 3);

    g_assert_cmpint(c.vcpu, ==, 1);
    g_assert_cmpint(c.second_ps, ==, LOCKSTEP_NEVER);

    slot[1].runnable = false;
    c = choose(slot, 3);
    g_assert_cmpint(c.vcpu, ==, -1);
    g_assert_cmpint(c.local_ps, ==, LOCKSTEP_NEVER);
}

static void test_slice(void)
{
    /* A quantum beyond the next vCPU. */
    g_assert_cmpint(slice(0, 0, LOCKSTEP_NEVER), ==, 200);
    g_assert_cmpint(slice(0, 500, LOCKSTEP_NEVER), ==, 300);
    /* Alone: as far as allowed. */
    g_assert_cmpint(slice(0, LOCKSTEP_NEVER, LOCKSTEP_NEVER), ==, MOST);
    /* To the deadline, if that is nearer; a part of an instruction is one. */
    g_assert_cmpint(slice(0, 0, 499), ==, 100);
    g_assert_cmpint(slice(0, 0, 500), ==, 100);
    g_assert_cmpint(slice(0, 0, 501), ==, 101);
    g_assert_cmpint(slice(0, 0, 5000), ==, 200);
    /* Always one. */
    g_assert_cmpint(slice(100, 100, 101), ==, 1);
}

/*
 * Vcpus that all have work: nobody is ever more than a quantum ahead of the
 * one that is furthest behind, and all end up equally far.
 */
static void test_fairness(gconstpointer data)
{
    int n = GPOINTER_TO_INT(data);
    LockstepSlot slot[16];
    int64_t least, most = 0;

    for (int i = 0; i < n; i++) {
        slot[i] = (LockstepSlot) { 0, true };
    }
    for (int step = 0; step < 10000; step++) {
        LockstepChoice c = choose(slot, n);
        int insns = lockstep_slice(&c, QUANTUM_PS, LOCKSTEP_NEVER, INSN_PS,
                                   MOST);

        g_assert_cmpint(slot[c.vcpu].local_ps, ==, c.local_ps);
        slot[c.vcpu].local_ps += insns * INSN_PS;
        least = choose(slot, n).local_ps;
        if (n > 1) {
            g_assert_cmpint(slot[c.vcpu].local_ps - c.second_ps, <=,
                            QUANTUM_PS);
        }
    }
    for (int i = 0; i < n; i++) {
        most = MAX(most, slot[i].local_ps);
    }
    g_assert_cmpint(most - least, <=, QUANTUM_PS);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/sched/choose/least", test_choose_least);
    g_test_add_func("/sched/choose/tie", test_choose_tie);
    g_test_add_func("/sched/choose/asleep", test_choose_asleep);
    g_test_add_func("/sched/slice", test_slice);
    g_test_add_data_func("/sched/fairness/2", GINT_TO_POINTER(2),
                         test_fairness);
    g_test_add_data_func("/sched/fairness/4", GINT_TO_POINTER(4),
                         test_fairness);
    g_test_add_data_func("/sched/fairness/16", GINT_TO_POINTER(16),
                         test_fairness);
    return g_test_run();
}

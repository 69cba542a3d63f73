/*
 * Lockstep: the thread that runs the vCPUs and the devices
 *
 * It alternates between two states.  In lockstep_run() it executes slices,
 * without the BQL, until something outside of the vCPUs is due.  In
 * lockstep_service(), with the BQL, it runs the main AioContext's bottom
 * halves and the timers of QEMU_CLOCK_VIRTUAL, and does what other threads
 * asked for.  While it is active the main loop leaves both alone (AioDelegate)
 * and handles file descriptors and the host's clocks only.
 *
 * Other threads may interrupt cpu_exec() at any moment.  Then the same vCPU
 * goes on with the rest of its slice: what the host does never decides who
 * runs next.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/main-loop.h"
#include "qemu/rcu.h"
#include "qemu/guest-random.h"
#include "qemu/error-report.h"
#include "qemu/thread.h"
#include "block/aio.h"
#include "exec/cpu-common.h"
#include "system/cpus.h"
#include "system/runstate.h"
#include "tcg/startup.h"
#include "accel/tcg/tcg-accel-ops.h"
#include "ringstep/ctl/results.h"
#include "state.h"

/*
 * Bottom halves that schedule each other are given this many rounds before the
 * vCPUs go on; the rest is for after the next slice.
 */
#define BH_ROUNDS 64

static QemuEvent wake_event;
static bool active;                     /* atomic */

/* Leave the slices, or the sleep, to look at what other threads ask for. */
static void lockstep_notify(void)
{
    if (!lockstep.nr_vcpus) {
        return;         /* the machine is being put together */
    }
    qatomic_set(&lockstep.attention, true);
    if (current_cpu) {
        lockstep_slice_cut();
        return;
    }
    for (int i = 0; i < lockstep.nr_vcpus; i++) {
        cpu_exit(lockstep.vcpu[i].cpu);
    }
    qemu_event_set(&wake_event);
}

void lockstep_deadline_changed(void)
{
    lockstep_notify();
}

void lockstep_freeze(void)
{
    lockstep.frozen = true;
    lockstep_notify();
}

/* The vCPU was told something: if it sleeps and has work now, it wakes. */
static void lockstep_wake(int index)
{
    LockstepSlot *slot = &lockstep.slot[index];
    int64_t start_ps;

    if (slot->runnable || !cpu_has_work(lockstep.vcpu[index].cpu)) {
        return;
    }
    start_ps = lockstep_now_ps();
    if (lockstep.ipi) {
        start_ps += lockstep.ipi_latency_ps;
    }
    if (start_ps > slot->local_ps) {
        lockstep.vcpu[index].idle_ps += start_ps - slot->local_ps;
        slot->local_ps = start_ps;
    }
    lockstep_charge_idle(index, LOCKSTEP_WAKE);
    slot->runnable = true;
    /* It may be the one that is furthest behind now. */
    lockstep_slice_cut();
}

void lockstep_kick_vcpu_thread(CPUState *cpu)
{
    if (current_cpu && cpu_work_list_empty(cpu) && !cpu->stop) {
        lockstep_wake(cpu->cpu_index);
        return;
    }
    lockstep_notify();
}

void lockstep_handle_interrupt(CPUState *cpu, int mask)
{
    int old_mask = cpu->interrupt_request;

    g_assert(bql_locked());
    cpu->interrupt_request |= mask;

    if (!current_cpu) {
        qemu_cpu_kick(cpu);
    } else if (cpu == lockstep.running) {
        if (!cpu->neg.can_do_io && (mask & ~old_mask)) {
            cpu_abort(cpu, "Raised interrupt while not in I/O function");
        }
        qatomic_set(&cpu->neg.icount_decr.u16.high, -1);
    } else {
        lockstep_wake(cpu->cpu_index);
    }
}

static bool lockstep_active(void)
{
    return qatomic_read(&active);
}

static const AioDelegate lockstep_delegate = {
    .active = lockstep_active,
    .notify = lockstep_notify,
};

/* Stop requests and work that was queued for a vCPU. */
static void service_requests(void)
{
    for (int i = 0; i < lockstep.nr_vcpus; i++) {
        CPUState *cpu = lockstep.vcpu[i].cpu;

        if (cpu->stop || !cpu_work_list_empty(cpu)) {
            current_cpu = cpu;
            qemu_wait_io_event_common(cpu);
        }
        lockstep_wake(i);
    }
}

/* Is the machine stopped, or has the guest's run ended? */
static bool parked(void)
{
    return first_cpu->stopped || lockstep.frozen;
}

/* Give bottom halves back to the main loop until the machine goes on. */
static void park(void)
{
    qatomic_set(&active, false);
    aio_notify(qemu_get_aio_context());
    bql_unlock();
    qemu_event_wait(&wake_event);
    bql_lock();
}

static void unpark(void)
{
    /* While stopped the vCPUs may have been reset. */
    for (int i = 0; i < lockstep.nr_vcpus; i++) {
        CPUState *cpu = lockstep.vcpu[i].cpu;

        lockstep.slot[i].runnable = !cpu->halted || cpu_has_work(cpu);
    }
    qatomic_set(&active, true);
}

static void run_bottom_halves(void)
{
    AioContext *ctx = qemu_get_aio_context();

    for (int round = 0; aio_bh_poll(ctx); round++) {
        if (round == BH_ROUNDS) {
            qatomic_set(&lockstep.attention, true);
            break;
        }
    }
}

/* Device time never depends on what other threads do to the clocks. */
static void run_timers(int64_t at_ps)
{
    lockstep.device_ps = at_ps;
    qemu_clock_run_timers(QEMU_CLOCK_VIRTUAL);
    timerlist_run_timers(qemu_get_aio_context()->tlg.tl[QEMU_CLOCK_VIRTUAL]);
}

static int64_t next_deadline_ps(void)
{
    int64_t ns = qemu_clock_expire_ns_all(QEMU_CLOCK_VIRTUAL);

    return ns < 0 || ns > INT64_MAX / 1000 ? LOCKSTEP_NEVER : ns * 1000;
}

/*
 * Everything that is due before the first vCPU goes on; with none that can
 * run, everything up to the timer that wakes one.  False if none ever will.
 */
static bool run_devices(void)
{
    LockstepChoice choice;

    run_bottom_halves();
    for (;;) {
        choice = lockstep_choose(lockstep.slot, lockstep.nr_vcpus);
        lockstep.deadline_ps = next_deadline_ps();
        if (lockstep.frozen || lockstep.deadline_ps == LOCKSTEP_NEVER ||
            lockstep.deadline_ps > choice.local_ps) {
            break;
        }
        run_timers(lockstep.deadline_ps);
        run_bottom_halves();
    }
    qatomic_set_i64(&lockstep.published_ps, lockstep.device_ps);
    return choice.vcpu >= 0;
}

/* With the BQL: until a vCPU can go on. */
static void lockstep_service(void)
{
    for (;;) {
        qemu_event_reset(&wake_event);
        qatomic_set_mb(&lockstep.attention, false);
        service_requests();
        if (parked()) {
            park();
            continue;
        }
        if (!qatomic_read(&active)) {
            unpark();
        }
        if (lockstep.unfinished >= 0 || run_devices()) {
            break;
        }
        if (!lockstep.frozen) {
            /* No timer, nothing to run: only the outside can change that. */
            bql_unlock();
            qemu_event_wait(&wake_event);
            bql_lock();
        }
    }
}

static void run_slice(int index, int budget)
{
    CPUState *cpu = lockstep.vcpu[index].cpu;
    LockstepSlot *slot = &lockstep.slot[index];
    bool finished;
    int r;

    current_cpu = cpu;
    lockstep_slice_begin(cpu, budget);
    r = tcg_cpu_exec(cpu);
    finished = lockstep_slice_end(cpu);

    if (cpu->halted) {
        if (r == EXCP_HLT) {
            lockstep_charge_idle(index, LOCKSTEP_HLT);
        }
        slot->runnable = cpu_has_work(cpu);
        finished = true;
    }
    lockstep.device_ps = slot->local_ps;
    lockstep.unfinished = finished ? -1 : index;

    if (unlikely(r == EXCP_DEBUG)) {
        bql_lock();
        cpu_handle_guest_debug(cpu);
        bql_unlock();
        qatomic_set(&lockstep.attention, true);
    }
}

/* Without the BQL: slices, until lockstep_service() has something to do. */
static void lockstep_run(void)
{
    while (!qatomic_read(&lockstep.attention)) {
        LockstepChoice choice;

        if (unlikely(lockstep.unfinished >= 0)) {
            int i = lockstep.unfinished;

            run_slice(i, lockstep.vcpu[i].cpu->icount_budget);
            continue;
        }
        choice = lockstep_choose(lockstep.slot, lockstep.nr_vcpus);
        if (choice.local_ps >= lockstep.deadline_ps) {
            break;
        }
        lockstep.alone = choice.second_ps == LOCKSTEP_NEVER;
        run_slice(choice.vcpu, lockstep_slice(&choice, lockstep.quantum_ps,
                                              lockstep.deadline_ps,
                                              lockstep.insn_ps,
                                              LOCKSTEP_MAX_SLICE));
    }
}

static void limit_reached(void *opaque)
{
    ringstep_result_line("limit", lockstep.limit_ns);
    ringstep_results_freeze();
    lockstep_freeze();
    qemu_system_shutdown_request_with_code(SHUTDOWN_CAUSE_HOST_ERROR, 3);
}

static void set_limit(void)
{
    if (lockstep.limit_ns) {
        timer_mod(timer_new_ns(QEMU_CLOCK_VIRTUAL, limit_reached, NULL),
                  lockstep.limit_ns);
    }
}

static void *lockstep_thread_fn(void *arg)
{
    CPUState *cpu = arg;

    rcu_register_thread();
    tcg_register_thread();

    bql_lock();
    qemu_thread_get_self(cpu->thread);
    cpu->thread_id = qemu_get_thread_id();
    cpu->neg.can_do_io = true;
    current_cpu = cpu;
    cpu_thread_signal_created(cpu);
    qemu_guest_random_seed_thread_part2(cpu->random_seed);
    set_limit();

    for (;;) {
        lockstep_service();
        bql_unlock();
        lockstep_run();
        bql_lock();
    }
    g_assert_not_reached();
}

void lockstep_start_vcpu_thread(CPUState *cpu)
{
    static QemuThread *thread;
    static QemuCond *halt_cond;
    int index = lockstep.nr_vcpus;

    if (index == LOCKSTEP_MAX_VCPUS || cpu->cpu_index != index) {
        error_report("lockstep: a machine has at most %d vCPUs, "
                     "all present from the start", LOCKSTEP_MAX_VCPUS);
        exit(1);
    }
    tcg_cpu_init_cflags(cpu, false);
    lockstep.vcpu[index].cpu = cpu;
    lockstep.nr_vcpus++;

    if (!thread) {
        thread = cpu->thread;
        halt_cond = cpu->halt_cond;
        qemu_event_init(&wake_event, false);
        aio_set_delegate(qemu_get_aio_context(), &lockstep_delegate);
        qemu_thread_create(cpu->thread, "lockstep", lockstep_thread_fn, cpu,
                           QEMU_THREAD_JOINABLE);
    } else {
        /* All vCPUs share the first one's thread, as in the rr mode. */
        g_free(cpu->thread);
        qemu_cond_destroy(cpu->halt_cond);
        g_free(cpu->halt_cond);
        cpu->thread = thread;
        cpu->halt_cond = halt_cond;
        cpu->thread_id = first_cpu->thread_id;
        cpu->neg.can_do_io = true;
        cpu->created = true;
    }
}

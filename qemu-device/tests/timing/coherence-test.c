/*
 * The coherence plugin: who waits for which line, and until when
 *
 * The test is the plugin's QEMU: it hands it instructions, executes their
 * accesses, and keeps the vCPUs' local times.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <setjmp.h>
#include <string.h>
#include "qemu/qemu-plugin.h"
#include "ringstep/timing/directory.h"

#define LOCKED_PS   6
#define UPGRADE_PS  30
#define READ_PS     40
#define WRITE_PS    50

#define A 0x1000        /* a line */
#define B 0x2000        /* another one */

struct qemu_plugin_insn {
    const char *code;
    uint64_t vaddr;
    qemu_plugin_vcpu_mem_cb_t load_cb;
    qemu_plugin_vcpu_mem_cb_t store_cb;
    qemu_plugin_vcpu_udata_cb_t exec_cb;
    void *udata;
};

struct qemu_plugin_tb {
    struct qemu_plugin_insn *insn;
};

struct qemu_plugin_hwaddr {
    uint64_t addr;
    bool io;
};

/* What the plugin has registered. */
static qemu_plugin_vcpu_tb_trans_cb_t translated;
static qemu_plugin_dma_cb_t dma;

static int64_t local_ps[LINE_VCPUS];
static unsigned int running;
static bool io;
static uint64_t mapping;        /* physical address less virtual one */
static bool helper;             /* accesses are of helper functions */
static jmp_buf retry;

/* qemu_plugin_meminfo_t is a number to the plugin: size shift, store. */
static qemu_plugin_meminfo_t meminfo(unsigned int shift, bool store)
{
    return shift | store << 4;
}

unsigned int qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info)
{
    return info & 0xf;
}

bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info)
{
    return info >> 4;
}

struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t info,
                                                  uint64_t vaddr)
{
    static struct qemu_plugin_hwaddr hwaddr;

    hwaddr.addr = vaddr + mapping;
    hwaddr.io = io;
    return &hwaddr;
}

bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *hwaddr)
{
    return hwaddr->io;
}

uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *hwaddr)
{
    return hwaddr->addr;
}

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb)
{
    return 1;
}

struct qemu_plugin_insn *
qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index)
{
    return tb->insn;
}

uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn)
{
    return insn->vaddr;
}

size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *buffer,
                             size_t size)
{
    size_t n = MIN(size, strlen(insn->code));

    memcpy(buffer, insn->code, n);
    return n;
}

void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
                                      qemu_plugin_vcpu_mem_cb_t cb,
                                      enum qemu_plugin_cb_flags flags,
                                      enum qemu_plugin_mem_rw rw, void *udata)
{
    if (rw & QEMU_PLUGIN_MEM_R) {
        insn->load_cb = cb;
    }
    if (rw & QEMU_PLUGIN_MEM_W) {
        insn->store_cb = cb;
    }
    insn->udata = udata;
}

void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
                                            qemu_plugin_vcpu_udata_cb_t cb,
                                            enum qemu_plugin_cb_flags flags,
                                            void *udata)
{
    insn->exec_cb = cb;
}

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           qemu_plugin_vcpu_tb_trans_cb_t cb)
{
    translated = cb;
}

void qemu_plugin_set_dma_cb(qemu_plugin_dma_cb_t cb)
{
    dma = cb;
}

int64_t qemu_plugin_stall(enum qemu_plugin_stall why, int64_t ready_ps)
{
    static const int64_t cost_ps[] = {
        [QEMU_PLUGIN_STALL_LOCKED]       = LOCKED_PS,
        [QEMU_PLUGIN_STALL_LINE_UPGRADE] = UPGRADE_PS,
        [QEMU_PLUGIN_STALL_LINE_READ]    = READ_PS,
        [QEMU_PLUGIN_STALL_LINE_WRITE]   = WRITE_PS,
    };

    local_ps[running] = MAX(local_ps[running], ready_ps) + cost_ps[why];
    return local_ps[running];
}

bool qemu_plugin_rewind(const void *ra)
{
    return !helper;
}

void qemu_plugin_retry(void)
{
    longjmp(retry, 1);
}

static int install(const char *option)
{
    g_autofree char *copy = g_strdup(option);
    qemu_info_t info = {
        .target_name = "x86_64",
        .system_emulation = true,
        .system.max_vcpus = 4,
    };

    memset(local_ps, 0, sizeof(local_ps));
    io = false;
    mapping = 0;
    helper = false;
    return qemu_plugin_install(0, &info, option ? 1 : 0, &copy);
}

static struct qemu_plugin_insn insn(const char *code, uint64_t vaddr)
{
    struct qemu_plugin_insn i = { .code = code, .vaddr = vaddr };

    translated(0, &(struct qemu_plugin_tb) { &i });
    return i;
}

/* Instructions: their bytes; each at an address of its own. */
#define LOCK_INC    insn("\xf0\x48\xff\x07", 0x10)  /* lock incq (%rdi) */
#define XCHG        insn("\x87\x07", 0x20)          /* xchg %eax,(%rdi) */
#define LOAD        insn("\x48\x8b\x07", 0x30)      /* mov (%rdi),%rax */
#define STORE       insn("\x48\x89\x07", 0x40)      /* mov %rax,(%rdi) */
#define INC         insn("\x48\xff\x07", 0x50)      /* incq (%rdi) */

/*
 * One access of @vcpu by @i, and the time that it has taken.  With @waits the
 * vCPU has to go back and wait: the access did not happen.
 */
static int64_t try_access(unsigned int vcpu, struct qemu_plugin_insn i,
                          uint64_t addr, bool store, unsigned int shift,
                          bool *waits)
{
    int64_t begin_ps = local_ps[vcpu];
    qemu_plugin_vcpu_mem_cb_t cb = store ? i.store_cb : i.load_cb;

    running = vcpu;
    *waits = true;
    if (!setjmp(retry)) {
        if (cb) {
            cb(vcpu, meminfo(shift, store), addr, i.udata);
        }
        *waits = false;
    }
    return local_ps[vcpu] - begin_ps;
}

static int64_t access_of_size(unsigned int vcpu, struct qemu_plugin_insn i,
                              uint64_t addr, bool store, unsigned int shift)
{
    bool waits;
    int64_t ps = try_access(vcpu, i, addr, store, shift, &waits);

    if (waits) {
        ps += try_access(vcpu, i, addr, store, shift, &waits);
        g_assert_false(waits);
    }
    return ps;
}

static int64_t load(unsigned int vcpu, uint64_t addr)
{
    return access_of_size(vcpu, LOAD, addr, false, 3);
}

static int64_t store(unsigned int vcpu, uint64_t addr)
{
    return access_of_size(vcpu, STORE, addr, true, 3);
}

static int64_t modify(unsigned int vcpu, struct qemu_plugin_insn i,
                      uint64_t addr)
{
    int64_t ps = access_of_size(vcpu, i, addr, false, 3);

    return ps + access_of_size(vcpu, i, addr, true, 3);
}

static void at(int64_t ps)
{
    for (int i = 0; i < LINE_VCPUS; i++) {
        local_ps[i] = ps;
    }
}

static void test_locked_alone(void)
{
    install("level=atomic");
    g_assert_cmpint(modify(0, LOCK_INC, A), ==, LOCKED_PS);
    g_assert_cmpint(modify(0, XCHG, A), ==, LOCKED_PS);
    g_assert_cmpint(modify(0, LOCK_INC, B), ==, LOCKED_PS);
}

static void test_atomic_sees_atomics_only(void)
{
    install("level=atomic");
    g_assert_cmpint(store(0, A), ==, 0);
    g_assert_cmpint(load(1, A), ==, 0);
    g_assert_cmpint(modify(1, INC, A), ==, 0);
    g_assert_cmpint(modify(2, LOCK_INC, A), ==, LOCKED_PS);
}

/* Each waits for the one before: the line serves them one after the other. */
static void test_counter_queues(void)
{
    install(NULL);
    g_assert_cmpint(modify(0, LOCK_INC, A), ==, LOCKED_PS);
    at(1000);
    g_assert_cmpint(modify(1, LOCK_INC, A), ==, LOCKED_PS + WRITE_PS);
    g_assert_cmpint(modify(2, LOCK_INC, A), ==, LOCKED_PS + 2 * WRITE_PS);
    g_assert_cmpint(modify(3, LOCK_INC, A), ==, LOCKED_PS + 3 * WRITE_PS);
    /* The first one asks while three are before it. */
    g_assert_cmpint(modify(0, LOCK_INC, A), ==, LOCKED_PS + 4 * WRITE_PS);
    /* Long after, the line is just elsewhere; and then here. */
    at(9000);
    g_assert_cmpint(modify(1, LOCK_INC, A), ==, LOCKED_PS + WRITE_PS);
    g_assert_cmpint(modify(1, LOCK_INC, A), ==, LOCKED_PS);
    /* Another line is not concerned. */
    g_assert_cmpint(modify(2, LOCK_INC, B), ==, LOCKED_PS);
}

/* One that is behind comes after all that the others have done to the line. */
static void test_counter_keeps_order(void)
{
    install(NULL);
    at(1000);
    modify(0, LOCK_INC, A);
    modify(0, LOCK_INC, A);
    modify(0, LOCK_INC, A);
    local_ps[1] = 900;
    g_assert_cmpint(modify(1, LOCK_INC, A), ==, 100 + 3 * LOCKED_PS + WRITE_PS);
    /* Of another line it does not have to be afraid. */
    local_ps[1] = 900;
    g_assert_cmpint(modify(1, LOCK_INC, B), ==, LOCKED_PS);
}

/* It happens when the wait is over; whoever asks meanwhile comes after it. */
static void test_locked_happens_after_its_wait(void)
{
    struct qemu_plugin_insn i;
    bool waits;

    install(NULL);
    i = LOCK_INC;
    modify(0, i, A);
    at(1000);
    g_assert_cmpint(try_access(1, i, A, false, 3, &waits), ==,
                    WRITE_PS + LOCKED_PS);
    g_assert_true(waits);
    g_assert_cmpint(try_access(2, i, A, false, 3, &waits), ==,
                    2 * WRITE_PS + LOCKED_PS);
    g_assert_true(waits);
    /* The line is promised to the other one already: no matter. */
    g_assert_cmpint(modify(1, i, A), ==, 0);
    g_assert_cmpint(modify(2, i, A), ==, 0);
    /* It was for one time. */
    at(2000);
    g_assert_cmpint(modify(2, i, A), ==, LOCKED_PS);
    g_assert_cmpint(modify(1, i, A), ==, LOCKED_PS + WRITE_PS);
}

/* An interrupt between the wait and the access, whose handler has it all. */
static void test_locked_is_interrupted(void)
{
    bool waits;

    install(NULL);
    modify(0, LOCK_INC, A);
    at(1000);
    try_access(1, LOCK_INC, A, false, 3, &waits);
    g_assert_true(waits);
    g_assert_cmpint(modify(1, XCHG, B), ==, LOCKED_PS);
    modify(0, LOCK_INC, A);
    at(2000);
    g_assert_cmpint(modify(1, LOCK_INC, A), ==, WRITE_PS + LOCKED_PS);
}

/* A helper cannot be executed again; it waits afterwards. */
static void test_locked_by_a_helper(void)
{
    bool waits;

    install(NULL);
    helper = true;
    modify(0, LOCK_INC, A);
    at(1000);
    g_assert_cmpint(try_access(1, LOCK_INC, A, false, 3, &waits), ==,
                    WRITE_PS + LOCKED_PS);
    g_assert_false(waits);
}

static void test_locked_across_lines(void)
{
    install(NULL);
    modify(0, LOCK_INC, A);
    modify(0, LOCK_INC, A + LINE_SIZE);
    at(1000);
    g_assert_cmpint(modify(1, LOCK_INC, A + LINE_SIZE - 4), ==,
                    2 * WRITE_PS + LOCKED_PS);
    at(2000);
    g_assert_cmpint(modify(1, LOCK_INC, A + LINE_SIZE), ==, LOCKED_PS);
}

static void test_load_and_store(void)
{
    install("level=full");
    g_assert_cmpint(store(0, A), ==, 0);            /* nobody has it */
    g_assert_cmpint(load(0, A), ==, 0);
    at(1000);
    g_assert_cmpint(load(1, A), ==, READ_PS);       /* modified by 0 */
    at(2000);
    g_assert_cmpint(load(1, A), ==, 0);             /* a copy now */
    g_assert_cmpint(load(0, A), ==, 0);             /* keeps its own */
    g_assert_cmpint(load(2, A), ==, 0);             /* clean */
    g_assert_cmpint(store(1, A), ==, UPGRADE_PS);   /* 0 and 2 drop theirs */
    at(3000);
    g_assert_cmpint(store(1, A), ==, 0);
    g_assert_cmpint(store(2, A), ==, WRITE_PS);     /* modified by 1 */
    at(4000);
    g_assert_cmpint(load(1, A), ==, READ_PS);
    g_assert_cmpint(modify(1, LOCK_INC, A), ==, LOCKED_PS + UPGRADE_PS);
}

static void test_reader_waits_for_writer(void)
{
    install("level=full");
    store(0, A);
    at(1000);
    g_assert_cmpint(store(1, A), ==, WRITE_PS);
    g_assert_cmpint(load(2, A), ==, WRITE_PS + READ_PS);
}

static void test_false_sharing(void)
{
    install("level=full");
    store(0, A);
    for (int i = 1; i <= 10; i++) {
        at(1000 * i);
        g_assert_cmpint(store(i % 2, A + 8 * (i % 2)), ==, WRITE_PS);
    }
}

/* One transfer, however the instruction is translated. */
static void test_modify_fetches_once(void)
{
    install("level=full");
    store(0, A);
    at(1000);
    g_assert_cmpint(modify(1, INC, A), ==, READ_PS);
    at(2000);
    g_assert_cmpint(modify(1, INC, A), ==, 0);
    /* Not so when one instruction loads and another stores. */
    g_assert_cmpint(load(2, A), ==, READ_PS);
    at(3000);
    g_assert_cmpint(store(2, A), ==, UPGRADE_PS);
}

static void test_access_across_lines(void)
{
    install("level=full");
    store(0, A);
    store(0, A + LINE_SIZE);
    at(1000);
    g_assert_cmpint(access_of_size(1, LOAD, A + LINE_SIZE - 4, false, 3), ==,
                    2 * READ_PS);
    at(2000);
    g_assert_cmpint(access_of_size(1, LOAD, A + LINE_SIZE - 8, false, 3), ==,
                    0);
    /* The second page may be anywhere. */
    store(0, B);
    store(0, B - LINE_SIZE);
    at(3000);
    g_assert_cmpint(access_of_size(1, LOAD, B - 4, false, 3), ==, READ_PS);
    at(4000);
    g_assert_cmpint(load(1, B), ==, READ_PS);
}

static void test_dma_takes_lines(void)
{
    install("level=full");
    store(0, A);
    store(0, A + LINE_SIZE);
    load(0, A + 2 * LINE_SIZE);
    dma(A + 60, 5);                         /* the first two */
    at(1000);
    g_assert_cmpint(load(0, A + 2 * LINE_SIZE), ==, 0);
    g_assert_cmpint(load(0, A), ==, READ_PS);
    at(2000);
    g_assert_cmpint(store(0, A + LINE_SIZE), ==, WRITE_PS);
    at(3000);
    g_assert_cmpint(load(0, A), ==, 0);
    g_assert_cmpint(store(0, A), ==, 0);    /* the device keeps no copy */
}

static void test_devices_have_no_lines(void)
{
    install("level=full");
    io = true;
    store(0, A);
    io = false;
    g_assert_cmpint(load(1, A), ==, 0);
}

static void test_which_are_locked(void)
{
    install("level=atomic");
    g_assert_nonnull(insn("\xf0\xff\x07", 0).store_cb);           /* lock incl */
    g_assert_nonnull(insn("\x3e\xf0\xff\x07", 0).store_cb);       /* after DS */
    g_assert_nonnull(insn("\x66\xf0\x0f\xb1\x07", 0).store_cb);   /* cmpxchg */
    g_assert_nonnull(insn("\x48\x87\x07", 0).store_cb);           /* xchgq */
    g_assert_nonnull(insn("\x86\x07", 0).store_cb);               /* xchgb */
    g_assert_null(insn("\x48\x89\x87\xf0\xf0\xf0\xf0", 0).store_cb); /* mov */
    g_assert_null(insn("\x0f\x86\x01\x01\x01\x01", 0).store_cb);  /* jbe */
    g_assert_null(insn("\xff\x07", 0).store_cb);                  /* incl */
}

/* Whatever is remembered of a line must not outlive what it rests on. */
static void test_what_is_remembered(void)
{
    static const char *const changes[] = {
        "\x0f\x22\xd8",                 /* mov %rax,%cr3 */
        "\x0f\x01\x3f",                 /* invlpg (%rdi) */
        "\x66\x0f\x38\x82\x07",         /* invpcid (%rdi),%rax */
    };

    install("level=full");
    for (int i = 0; i < G_N_ELEMENTS(changes); i++) {
        struct qemu_plugin_insn change = insn(changes[i], 0x60);

        mapping = 0;
        at(10000 * i);
        store(1, A);
        at(10000 * i + 1000);
        store(0, B);
        store(0, B);
        mapping = A - B;
        g_assert_nonnull(change.exec_cb);
        change.exec_cb(0, change.udata);
        at(10000 * i + 2000);
        g_assert_cmpint(store(0, B), ==, WRITE_PS);     /* which is A now */
        change.exec_cb(0, change.udata);
    }
    mapping = 0;
    at(90000);
    load(0, A);
    g_assert_cmpint(load(0, A), ==, 0);
    dma(A, 1);
    g_assert_cmpint(load(0, A), ==, READ_PS);
    at(91000);
    store(0, A);
    store(1, A);
    at(92000);
    g_assert_cmpint(store(0, A), ==, WRITE_PS);
    /* To have loaded it is no right to store to it. */
    at(93000);
    load(1, A);
    at(94000);
    load(1, A);
    g_assert_cmpint(store(1, A), ==, UPGRADE_PS);
}

static void test_options(void)
{
    if (g_test_subprocess()) {
        g_assert_cmpint(install("level=none"), !=, 0);
        return;
    }
    g_assert_cmpint(install("level=atomic"), ==, 0);
    g_test_trap_subprocess(NULL, 0, 0);
    g_test_trap_assert_passed();
    g_test_trap_assert_stderr("*'level=none' is not an option*");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/coherence/locked/alone", test_locked_alone);
    g_test_add_func("/coherence/locked/which", test_which_are_locked);
    g_test_add_func("/coherence/atomic", test_atomic_sees_atomics_only);
    g_test_add_func("/coherence/counter", test_counter_queues);
    g_test_add_func("/coherence/counter-keeps-order", test_counter_keeps_order);
    g_test_add_func("/coherence/locked/waits",
                    test_locked_happens_after_its_wait);
    g_test_add_func("/coherence/locked/interrupted",
                    test_locked_is_interrupted);
    g_test_add_func("/coherence/locked/helper", test_locked_by_a_helper);
    g_test_add_func("/coherence/locked/across", test_locked_across_lines);
    g_test_add_func("/coherence/load-store", test_load_and_store);
    g_test_add_func("/coherence/reader", test_reader_waits_for_writer);
    g_test_add_func("/coherence/false-sharing", test_false_sharing);
    g_test_add_func("/coherence/modify", test_modify_fetches_once);
    g_test_add_func("/coherence/across", test_access_across_lines);
    g_test_add_func("/coherence/dma", test_dma_takes_lines);
    g_test_add_func("/coherence/io", test_devices_have_no_lines);
    g_test_add_func("/coherence/remembered", test_what_is_remembered);
    g_test_add_func("/coherence/options", test_options);
    return g_test_run();
}

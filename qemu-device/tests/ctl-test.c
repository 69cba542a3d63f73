/*
 * The control device, without a guest kernel: registers and messages
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "tests/qtest/libqtest.h"
#include "tests/qtest/libqos/pci.h"
#include "tests/qtest/libqos/pci-pc.h"
#include "ringstep/ctl/ctl.h"

typedef struct Fixture {
    QTestState *qts;
    QPCIBus *bus;
    QPCIDevice *dev;
    QPCIBar regs;
    QPCIBar message;
    char *folder;
    char *results;
} Fixture;

static void setup(Fixture *f, gconstpointer data)
{
    f->folder = g_dir_make_tmp("ringstep-ctl-XXXXXX", NULL);
    g_assert_nonnull(f->folder);
    f->results = g_build_filename(f->folder, "results.txt", NULL);
    /* An exit ends the run, but not QEMU, so that it can be looked at. */
    f->qts = qtest_initf("-machine q35 -smp 4 -no-shutdown "
                         "-device ringstep-ctl,addr=04.0,"
                         "results=%s,seed=77,queues=4", f->results);
    f->bus = qpci_new_pc(f->qts, NULL);
    f->dev = qpci_device_find(f->bus, QPCI_DEVFN(4, 0));
    g_assert_nonnull(f->dev);
    qpci_device_enable(f->dev);
    f->regs = qpci_iomap(f->dev, 0, NULL);
    f->message = qpci_iomap(f->dev, 1, NULL);
}

static void teardown(Fixture *f, gconstpointer data)
{
    g_free(f->dev);
    qpci_free_pc(f->bus);
    qtest_quit(f->qts);
    unlink(f->results);
    rmdir(f->folder);
    g_free(f->results);
    g_free(f->folder);
}

static uint32_t reg(Fixture *f, uint64_t offset)
{
    return qpci_io_readl(f->dev, f->regs, offset);
}

/* The status after a message of that length, whatever the text's is. */
static uint32_t send_bytes(Fixture *f, const char *text, uint32_t len)
{
    qpci_memwrite(f->dev, f->message, 0, text, strlen(text));
    qpci_io_writel(f->dev, f->regs, RINGSTEP_REG_DOORBELL, len);
    return reg(f, RINGSTEP_REG_STATUS);
}

static uint32_t send_text(Fixture *f, const char *text)
{
    return send_bytes(f, text, strlen(text));
}

static void test_registers(Fixture *f, gconstpointer data)
{
    char name[RINGSTEP_REG_NAMES_STRIDE];

    g_assert_cmphex(reg(f, RINGSTEP_REG_MAGIC), ==, RINGSTEP_CTL_MAGIC);
    g_assert_cmpint(reg(f, RINGSTEP_REG_VERSION), ==, RINGSTEP_CTL_VERSION);
    g_assert_cmpint(reg(f, RINGSTEP_REG_VCPUS), ==, 4);
    g_assert_cmpint(reg(f, RINGSTEP_REG_QUEUES), ==, 4);
    g_assert_cmpint(reg(f, RINGSTEP_REG_LOCKSTEP), ==, 0);
    g_assert_cmpint(qpci_io_readq(f->dev, f->regs, RINGSTEP_REG_SEED), ==, 77);
    qpci_memread(f->dev, f->regs, RINGSTEP_REG_NAMES, name, sizeof(name));
    g_assert_cmpstr(name, ==, "instructions");
    for (uint32_t i = 0; i < reg(f, RINGSTEP_REG_COUNTERS); i++) {
        qpci_memread(f->dev, f->regs,
                     RINGSTEP_REG_NAMES + i * RINGSTEP_REG_NAMES_STRIDE,
                     name, sizeof(name));
        /* The driver takes no others, and neither does results.txt */
        g_assert_cmpuint(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_"),
                         ==, strlen(name));
    }
}

/* What is not a register reads as zero, to the last byte of the BAR. */
static void test_holes(Fixture *f, gconstpointer data)
{
    uint32_t counters = reg(f, RINGSTEP_REG_COUNTERS);
    uint64_t beyond = RINGSTEP_REG_NAMES +
                      counters * RINGSTEP_REG_NAMES_STRIDE;

    for (uint64_t a = beyond; a < RINGSTEP_REG_SIZE; a += 4) {
        g_assert_cmphex(reg(f, a), ==, 0);
    }
    for (uint64_t a = RINGSTEP_REG_VALUES + 4 * RINGSTEP_REG_VALUES_STRIDE;
         a < RINGSTEP_REG_NAMES; a += 0x100) {
        g_assert_cmphex(reg(f, a), ==, 0);
    }
    for (uint64_t a = 0; a < RINGSTEP_REG_SIZE; a += 0x400) {
        if (a != RINGSTEP_REG_DOORBELL) {
            qpci_io_writel(f->dev, f->regs, a, 0xffffffff);
        }
    }
    g_assert_cmphex(reg(f, RINGSTEP_REG_MAGIC), ==, RINGSTEP_CTL_MAGIC);
}

static void test_good(Fixture *f, gconstpointer data)
{
    g_autofree char *text = NULL;

    g_assert_cmpint(send_text(f, "ready 7\nbegin\nend\n"), ==, 0);
    g_assert_cmpint(send_text(f, "metric a.b_1 12\ncounter c 0.5\n"), ==, 0);
    g_assert_cmpint(send_text(f, "text for people\n"), ==, 0);
    g_assert_cmpint(send_text(f, "exit 7\n"), ==, 0);
    g_assert_true(g_file_get_contents(f->results, &text, NULL, NULL));
    g_assert_nonnull(strstr(text, "counter vcpu3_idle_ps 0\n"));
    g_assert_true(g_str_has_suffix(text,
                                   "metric a.b_1 12\ncounter c 0.5\n"
                                   "text for people\nexit 7\n"));
}

static void test_bad(Fixture *f, gconstpointer data)
{
    static const char *const bad[] = {
        "\n", "x\n", "ready\n", "ready 0\n", "ready 65536\n", "ready -1\n",
        "ready 7 7\n", "end\n", "exit\n", "exit 128\n", "exit -1\n",
        "exit 1x\n", "metric\n", "metric a\n", "metric A 1\n", "metric a -1\n",
        "metric a 1.\n", "metric a .5\n", "metric a 1e3\n", "metric a 0x1\n",
        "metric a 1 1\n", "metric a  1\n", "metric  1\n", "text \x01\n",
        "metric a 1234567890123456789012345678901234567890\n",
        "metric a234567890123456789012345678901234567890123456789012345678901"
        "234 1\n", "metric a 1",
    };
    g_autofree char *text = NULL;

    for (int i = 0; i < ARRAY_SIZE(bad); i++) {
        g_test_message("%s", bad[i]);
        g_assert_cmpint(send_text(f, bad[i]), ==, EINVAL);
    }
    g_assert_cmpint(send_bytes(f, "exit 1\n", 0), ==, EINVAL);
    g_assert_cmpint(send_bytes(f, "exit 1\n", 4097), ==, EINVAL);
    g_assert_cmpint(send_bytes(f, "exit 1\n", 0xffffffff), ==, EINVAL);
    /* What follows a bad line is not done. */
    g_assert_cmpint(send_text(f, "metric good 1\nbad\nexit 1\n"), ==, EINVAL);
    g_assert_false(g_file_test(f->results, G_FILE_TEST_EXISTS));
    g_assert_cmpint(send_text(f, "exit 0\n"), ==, 0);
    g_assert_true(g_file_get_contents(f->results, &text, NULL, NULL));
    g_assert_cmpstr(text, ==, "metric good 1\nexit 0\n");
}

/* After the exit nothing counts. */
static void test_frozen(Fixture *f, gconstpointer data)
{
    g_autofree char *text = NULL;

    g_assert_cmpint(send_text(f, "exit 3\n"), ==, 0);
    send_text(f, "metric late 1\nexit 4\n");
    g_assert_true(g_file_get_contents(f->results, &text, NULL, NULL));
    g_assert_cmpstr(text, ==, "exit 3\n");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*func)(Fixture *f, gconstpointer data);
    } test[] = {
        { "/ctl/registers", test_registers },
        { "/ctl/holes", test_holes },
        { "/ctl/message/good", test_good },
        { "/ctl/message/bad", test_bad },
        { "/ctl/message/frozen", test_frozen },
    };

    g_test_init(&argc, &argv, NULL);
    for (int i = 0; i < ARRAY_SIZE(test); i++) {
        g_test_add(test[i].name, Fixture, NULL, setup, test[i].func, teardown);
    }
    return g_test_run();
}

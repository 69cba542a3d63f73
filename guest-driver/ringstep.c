// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Driver of the ringstep control device (PCI 1234:5253): /dev/ringstep
 *
 * write(2) hands whole lines of text to the device: marks ("ready PORT",
 * "begin", "end", "exit CODE") and results ("metric NAME VALUE",
 * "counter NAME VALUE", "text ..."). One write is one message. As with any
 * character device less than all may be taken: the lines that fit into one
 * message, up to the last newline. A write without a newline fails with
 * EINVAL, as does one that the device does not understand.
 *
 * read(2) gives the seed, the local time and the counters of each virtual CPU
 * as lines of "name value". Each of the values costs an access to the device.
 *
 * The device has two BARs:
 *
 *  0  registers, little endian, to be accessed by 4 or 8 bytes
 *  1  the text of the message that the doorbell hands over, in RAM
 *
 * The number of CPUs and of counters comes from the device. It is checked
 * against what the register map has room for, and names of counters are
 * checked for their characters, so that a device of another version, or a
 * broken one, ends in an error at probe time.
 */
#include <linux/atomic.h>
#include <linux/ctype.h>
#include <linux/fs.h>
#include <linux/io.h>
#include <linux/kref.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#define RINGSTEP_VENDOR		0x1234
#define RINGSTEP_DEVICE		0x5253

#define RINGSTEP_BAR_REGS	0
#define RINGSTEP_BAR_MSG	1

/* BAR 0 */
#define RINGSTEP_MAGIC		0x00	/* u32 */
#define RINGSTEP_VERSION	0x04	/* u32 */
#define RINGSTEP_VCPUS		0x08	/* u32 */
#define RINGSTEP_COUNTERS	0x0c	/* u32, for each vCPU */
#define RINGSTEP_SEED		0x10	/* u64 */
#define RINGSTEP_TIME_PS	0x18	/* u64, of the CPU that reads */
#define RINGSTEP_DOORBELL	0x20	/* u32, write: length of the message */
#define RINGSTEP_STATUS		0x24	/* u32, 0 or an errno */
#define RINGSTEP_LOCKSTEP	0x28	/* u32 */
#define RINGSTEP_QUEUES		0x2c	/* u32 */
#define RINGSTEP_COUNTER(cpu, i) (0x1000 + (cpu) * 0x400 + (i) * 8)
#define RINGSTEP_NAME(i)	(0x8000 + (i) * RINGSTEP_NAME_LEN)

#define RINGSTEP_MAGIC_VALUE	0x50545352	/* "RSTP" */
#define RINGSTEP_VERSION_VALUE	1
#define RINGSTEP_REGS_SIZE	0x10000
#define RINGSTEP_MSG_SIZE	4096
#define RINGSTEP_NAME_LEN	32
#define RINGSTEP_MAX_VCPUS	((0x8000 - 0x1000) / 0x400)
#define RINGSTEP_MAX_COUNTERS	(0x400 / 8)

struct ringstep {
	struct kref ref;
	struct miscdevice misc;

	/* one message at a time; ->dev, ->regs and ->msg go with the device */
	struct mutex lock;
	struct device *dev;
	void __iomem *regs;
	void __iomem *msg;

	u32 vcpus;
	u32 counters;
	char (*names)[RINGSTEP_NAME_LEN];
};

/* there is one name in /dev, so there can be one device */
static atomic_t ringstep_present = ATOMIC_INIT(0);

static void ringstep_free(struct kref *ref)
{
	struct ringstep *rs = container_of(ref, struct ringstep, ref);

	kfree(rs->names);
	kfree(rs);
}

static int ringstep_show(struct seq_file *m, void *v)
{
	struct ringstep *rs = m->private;
	u32 cpu, i;

	if (mutex_lock_interruptible(&rs->lock))
		return -ERESTARTSYS;
	if (!rs->regs) {
		mutex_unlock(&rs->lock);
		return -ENODEV;
	}

	seq_printf(m, "seed %llu\n", readq(rs->regs + RINGSTEP_SEED));
	seq_printf(m, "vcpus %u\n", rs->vcpus);
	seq_printf(m, "queues %u\n", readl(rs->regs + RINGSTEP_QUEUES));
	seq_printf(m, "lockstep %u\n", readl(rs->regs + RINGSTEP_LOCKSTEP));
	seq_printf(m, "time_ps %llu\n", readq(rs->regs + RINGSTEP_TIME_PS));
	for (cpu = 0; cpu < rs->vcpus; cpu++)
		for (i = 0; i < rs->counters && !seq_has_overflowed(m); i++)
			seq_printf(m, "vcpu%u_%s %llu\n", cpu, rs->names[i],
				   readq(rs->regs + RINGSTEP_COUNTER(cpu, i)));

	mutex_unlock(&rs->lock);
	return 0;
}

static int ringstep_open(struct inode *inode, struct file *file)
{
	struct ringstep *rs = container_of(file->private_data, struct ringstep,
					   misc);
	size_t size;
	int ret;

	/* misc_open() calls us from where the device is still registered */
	kref_get(&rs->ref);
	file->private_data = NULL;

	/* enough for all lines, so that no register is read twice */
	size = 256 + rs->vcpus * rs->counters * (RINGSTEP_NAME_LEN + 32);
	ret = single_open_size(file, ringstep_show, rs, size);
	if (ret)
		kref_put(&rs->ref, ringstep_free);
	return ret;
}

static int ringstep_release(struct inode *inode, struct file *file)
{
	struct seq_file *m = file->private_data;
	struct ringstep *rs = m->private;

	single_release(inode, file);
	kref_put(&rs->ref, ringstep_free);
	return 0;
}

static ssize_t ringstep_send(struct ringstep *rs, const char *text, size_t len)
{
	u32 status;

	if (mutex_lock_interruptible(&rs->lock))
		return -ERESTARTSYS;
	if (!rs->regs) {
		mutex_unlock(&rs->lock);
		return -ENODEV;
	}
	memcpy_toio(rs->msg, text, len);
	writel(len, rs->regs + RINGSTEP_DOORBELL);
	status = readl(rs->regs + RINGSTEP_STATUS);
	if (status && status != EINVAL)
		dev_err_ratelimited(rs->dev, "message of %zu bytes: status %u\n",
				    len, status);
	mutex_unlock(&rs->lock);

	if (!status)
		return len;
	return status == EINVAL ? -EINVAL : -EIO;
}

static ssize_t ringstep_write(struct file *file, const char __user *ubuf,
			      size_t count, loff_t *ppos)
{
	struct seq_file *m = file->private_data;
	char *text, *end;
	ssize_t ret;

	if (!count)
		return 0;
	count = min_t(size_t, count, RINGSTEP_MSG_SIZE);
	text = memdup_user(ubuf, count);
	if (IS_ERR(text))
		return PTR_ERR(text);

	/* only whole lines: the rest of the last one is for the next write */
	for (end = text + count; end > text && end[-1] != '\n'; end--)
		;
	ret = end > text ? ringstep_send(m->private, text, end - text) : -EINVAL;
	kfree(text);
	return ret;
}

static const struct file_operations ringstep_fops = {
	.owner		= THIS_MODULE,
	.open		= ringstep_open,
	.release	= ringstep_release,
	.read		= seq_read,
	.write		= ringstep_write,
	.llseek		= seq_lseek,
};

static int ringstep_read_names(struct ringstep *rs)
{
	u32 i, j;

	rs->names = kcalloc(rs->counters, RINGSTEP_NAME_LEN, GFP_KERNEL);
	if (!rs->names)
		return -ENOMEM;

	for (i = 0; i < rs->counters; i++) {
		char *name = rs->names[i];

		for (j = 0; j < RINGSTEP_NAME_LEN; j += 4) {
			u32 word = readl(rs->regs + RINGSTEP_NAME(i) + j);

			/* the first character is in the lowest byte */
			*(__le32 *)(name + j) = cpu_to_le32(word);
		}
		if (name[RINGSTEP_NAME_LEN - 1] || !name[0])
			return -EPROTO;
		for (j = 0; name[j]; j++)
			if (!islower(name[j]) && !isdigit(name[j]) &&
			    name[j] != '_' && name[j] != '.')
				return -EPROTO;
	}
	return 0;
}

static int ringstep_identify(struct ringstep *rs)
{
	u32 magic = readl(rs->regs + RINGSTEP_MAGIC);
	u32 version = readl(rs->regs + RINGSTEP_VERSION);

	if (magic != RINGSTEP_MAGIC_VALUE || version != RINGSTEP_VERSION_VALUE) {
		dev_err(rs->dev, "magic %#x, version %u: not understood\n",
			magic, version);
		return -ENODEV;
	}

	rs->vcpus = readl(rs->regs + RINGSTEP_VCPUS);
	rs->counters = readl(rs->regs + RINGSTEP_COUNTERS);
	if (!rs->vcpus || rs->vcpus > RINGSTEP_MAX_VCPUS ||
	    rs->counters > RINGSTEP_MAX_COUNTERS) {
		dev_err(rs->dev, "%u vCPUs with %u counters: out of range\n",
			rs->vcpus, rs->counters);
		return -EPROTO;
	}
	if (rs->vcpus != num_present_cpus())
		dev_warn(rs->dev, "%u vCPUs, but this kernel sees %u\n",
			 rs->vcpus, num_present_cpus());
	return 0;
}

static int ringstep_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct ringstep *rs;
	int ret;

	ret = pcim_enable_device(pdev);
	if (ret)
		return ret;
	if (pci_resource_len(pdev, RINGSTEP_BAR_REGS) < RINGSTEP_REGS_SIZE ||
	    pci_resource_len(pdev, RINGSTEP_BAR_MSG) < RINGSTEP_MSG_SIZE) {
		dev_err(&pdev->dev, "BARs are too small\n");
		return -ENODEV;
	}
	ret = pcim_iomap_regions(pdev, BIT(RINGSTEP_BAR_REGS) |
				 BIT(RINGSTEP_BAR_MSG), "ringstep");
	if (ret)
		return ret;

	if (atomic_cmpxchg(&ringstep_present, 0, 1)) {
		dev_err(&pdev->dev, "there is another one already\n");
		return -EBUSY;
	}

	rs = kzalloc(sizeof(*rs), GFP_KERNEL);
	if (!rs) {
		ret = -ENOMEM;
		goto absent;
	}
	kref_init(&rs->ref);
	mutex_init(&rs->lock);
	rs->dev = &pdev->dev;
	rs->regs = pcim_iomap_table(pdev)[RINGSTEP_BAR_REGS];
	rs->msg = pcim_iomap_table(pdev)[RINGSTEP_BAR_MSG];

	ret = ringstep_identify(rs);
	if (ret)
		goto put;
	ret = ringstep_read_names(rs);
	if (ret) {
		if (ret == -EPROTO)
			dev_err(&pdev->dev, "bad name of a counter\n");
		goto put;
	}

	rs->misc.minor = MISC_DYNAMIC_MINOR;
	rs->misc.name = "ringstep";
	rs->misc.fops = &ringstep_fops;
	rs->misc.parent = &pdev->dev;
	ret = misc_register(&rs->misc);
	if (ret)
		goto put;

	pci_set_drvdata(pdev, rs);
	return 0;

put:
	kref_put(&rs->ref, ringstep_free);
absent:
	atomic_set(&ringstep_present, 0);
	return ret;
}

static void ringstep_remove(struct pci_dev *pdev)
{
	struct ringstep *rs = pci_get_drvdata(pdev);

	misc_deregister(&rs->misc);
	/* files may still be open: they get ENODEV from now on */
	mutex_lock(&rs->lock);
	rs->regs = NULL;
	rs->msg = NULL;
	mutex_unlock(&rs->lock);
	kref_put(&rs->ref, ringstep_free);
	atomic_set(&ringstep_present, 0);
}

static const struct pci_device_id ringstep_ids[] = {
	{ PCI_DEVICE(RINGSTEP_VENDOR, RINGSTEP_DEVICE) },
	{ }
};
MODULE_DEVICE_TABLE(pci, ringstep_ids);

static struct pci_driver ringstep_driver = {
	.name		= "ringstep",
	.id_table	= ringstep_ids,
	.probe		= ringstep_probe,
	.remove		= ringstep_remove,
};
module_pci_driver(ringstep_driver);

MODULE_DESCRIPTION("Control device of a ringstep virtual machine");
MODULE_AUTHOR("ringstep developers <ringstep@example.org>");
MODULE_LICENSE("GPL");

// SPDX-License-Identifier: GPL-2.0-or-later
/* The control device: through its driver, or through sysfs where there is none. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ringstep.h"

#define PCI_DEVICES	"/sys/bus/pci/devices"
#define PCI_VENDOR	0x1234
#define PCI_DEVICE	0x5253

/* BAR 0: registers, little endian. BAR 1: the message. */
#define REGISTERS_SIZE	0x10000
#define REG_MAGIC	0x00
#define  MAGIC		0x50545352	/* "RSTP" */
#define REG_VERSION	0x04
#define REG_VCPUS	0x08
#define REG_COUNTERS	0x0c
#define REG_SEED	0x10
#define REG_TIME_PS	0x18
#define REG_DOORBELL	0x20
#define REG_STATUS	0x24
#define REG_LOCKSTEP	0x28
#define REG_QUEUES	0x2c
#define REG_COUNTER(vcpu, i)	(0x1000 + (vcpu) * 0x400 + (i) * 8)
#define REG_NAME(i)	(0x8000 + (i) * 32)
#define NAME_SIZE	32

static int driver_fd = -1;
static uint8_t *registers;
static char *message;
static int message_fd = -1;	/* locked while a message is on its way: there is one for all */

/* A load or store of exactly this width; a plain MOV. */
static uint32_t read32(size_t offset)
{
	return __atomic_load_n((uint32_t *)(registers + offset), __ATOMIC_SEQ_CST);
}

static uint64_t read64(size_t offset)
{
	return __atomic_load_n((uint64_t *)(registers + offset), __ATOMIC_SEQ_CST);
}

static void write32(size_t offset, uint32_t value)
{
	__atomic_store_n((uint32_t *)(registers + offset), value, __ATOMIC_RELEASE);
}

/* A number from a sysfs file such as "0x1234", or 0. */
static unsigned long read_id(const char *device, const char *file)
{
	unsigned long id = 0;
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), PCI_DEVICES "/%s/%s", device, file);
	f = fopen(path, "r");
	if (!f)
		return 0;
	if (fscanf(f, "%lx", &id) != 1)
		id = 0;
	fclose(f);
	return id;
}

/* Lets the device answer. Where the firmware or a driver has done so, this fails, and need not work. */
static void enable_device(const char *device)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), PCI_DEVICES "/%s/enable", device);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return;
	if (write(fd, "1", 1) < 0)
		errno = 0;
	close(fd);
}

static int open_resource(const char *device, int bar)
{
	char path[512];

	snprintf(path, sizeof(path), PCI_DEVICES "/%s/resource%d", device, bar);
	return open(path, O_RDWR | O_CLOEXEC);
}

static void *map(int fd, size_t size)
{
	void *address = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return address == MAP_FAILED ? NULL : address;
}

static int map_device(const char *device)
{
	int fd = open_resource(device, 0);

	if (fd < 0)
		return -errno;
	registers = map(fd, REGISTERS_SIZE);
	close(fd);
	if (!registers)
		return -errno;
	message_fd = open_resource(device, 1);
	if (message_fd < 0)
		return -errno;
	message = map(message_fd, RINGSTEP_MESSAGE_MAX);
	if (!message)
		return -errno;
	return read32(REG_MAGIC) == MAGIC && read32(REG_VERSION) == 1 ? 0 : -EPROTO;
}

static int open_sysfs(void)
{
	struct dirent *entry;
	int err = -ENODEV;
	DIR *devices;

	devices = opendir(PCI_DEVICES);
	if (!devices)
		return -ENODEV;
	while ((entry = readdir(devices))) {
		if (read_id(entry->d_name, "vendor") != PCI_VENDOR ||
		    read_id(entry->d_name, "device") != PCI_DEVICE)
			continue;
		enable_device(entry->d_name);
		err = map_device(entry->d_name);
		if (err)
			ringstep_close();
		break;
	}
	closedir(devices);
	return err;
}

void ringstep_close(void)
{
	if (driver_fd >= 0)
		close(driver_fd);
	if (message_fd >= 0)
		close(message_fd);
	if (registers)
		munmap(registers, REGISTERS_SIZE);
	if (message)
		munmap(message, RINGSTEP_MESSAGE_MAX);
	driver_fd = -1;
	message_fd = -1;
	registers = NULL;
	message = NULL;
}

/* Opens the device once, by the first way that works. */
static int open_device(void)
{
	const char *way = getenv("RINGSTEP_DEVICE");

	if (driver_fd >= 0 || registers)
		return 0;
	if (!way || !strcmp(way, "driver")) {
		driver_fd = open("/dev/ringstep", O_RDWR | O_CLOEXEC);
		if (driver_fd >= 0)
			return 0;
		if (errno != ENOENT)
			return -errno;
	}
	if (!way || !strcmp(way, "sysfs"))
		return open_sysfs();
	return -ENODEV;
}

int ringstep_write(const char *lines, size_t length)
{
	int err = open_device();

	if (err)
		return err;
	if (!length || length > RINGSTEP_MESSAGE_MAX)
		return -EINVAL;
	if (driver_fd >= 0)
		return write(driver_fd, lines, length) < 0 ? -errno : 0;
	flock(message_fd, LOCK_EX);
	memcpy(message, lines, length);
	write32(REG_DOORBELL, length);
	err = -(int)read32(REG_STATUS);
	flock(message_fd, LOCK_UN);
	return err;
}

int ringstep_line(const char *format, ...)
{
	char line[RINGSTEP_MESSAGE_MAX];
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(line, sizeof(line) - 1, format, args);
	va_end(args);
	if (length < 0 || length >= (int)sizeof(line) - 1)
		return -EINVAL;
	line[length++] = '\n';
	return ringstep_write(line, length);
}

static void report(const char *kind, const char *name, uint64_t value)
{
	int err = ringstep_line("%s %s %llu", kind, name, (unsigned long long)value);

	if (err == -ENODEV)
		printf("%s %s %llu\n", kind, name, (unsigned long long)value);
	else if (err)
		fprintf(stderr, "%s: %s %s was refused: %s\n", program_invocation_short_name,
			kind, name, strerror(-err));
}

void ringstep_metric(const char *name, uint64_t value)
{
	report("metric", name, value);
}

void ringstep_counter(const char *name, uint64_t value)
{
	report("counter", name, value);
}

/* The text that the driver would give, from the registers. */
static int format_registers(char *text, size_t size)
{
	uint32_t vcpus = read32(REG_VCPUS), counters = read32(REG_COUNTERS);
	FILE *out = fmemopen(text, size, "w");
	long length;

	if (!out)
		return -errno;
	fprintf(out, "seed %llu\nvcpus %u\nqueues %u\nlockstep %u\ntime_ps %llu\n",
		(unsigned long long)read64(REG_SEED), vcpus, read32(REG_QUEUES),
		read32(REG_LOCKSTEP),
		(unsigned long long)read64(REG_TIME_PS));
	for (uint32_t vcpu = 0; vcpu < vcpus; vcpu++) {
		for (uint32_t i = 0; i < counters; i++) {
			uint64_t name[NAME_SIZE / 8 + 1] = { 0 };

			for (int word = 0; word < NAME_SIZE / 8; word++)
				name[word] = read64(REG_NAME(i) + word * 8);
			fprintf(out, "vcpu%u_%s %llu\n", vcpu, (char *)name,
				(unsigned long long)read64(REG_COUNTER(vcpu, i)));
		}
	}
	length = ftell(out);
	return fclose(out) ? -ENOSPC : length;
}

int ringstep_read(char *text, size_t size)
{
	size_t length = 0;
	int err = open_device();

	if (err)
		return err;
	if (driver_fd < 0)
		return format_registers(text, size);
	while (length < size - 1) {
		ssize_t n = pread(driver_fd, text + length, size - 1 - length, length);

		if (n < 0)
			return -errno;
		if (!n)
			break;
		length += n;
	}
	text[length] = '\0';
	return length;
}

int ringstep_lookup(const char *text, const char *name, uint64_t *value)
{
	size_t length = strlen(name);

	while (text) {
		if (!strncmp(text, name, length) && text[length] == ' ') {
			*value = strtoull(text + length + 1, NULL, 10);
			return 0;
		}
		text = strchr(text, '\n');
		if (text)
			text++;
	}
	return -ENOENT;
}

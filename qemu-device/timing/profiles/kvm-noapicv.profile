# A KVM guest on a laptop CPU without APIC virtualisation: every access to the
# local APIC, every device access and every interrupt takes a VM exit.
#
# Each line is an option of -object lockstep, with its source.  Times are in
# picoseconds of virtual time.  What is not listed costs nothing.
#
# The figures are round on purpose: they are of the size that the sources give,
# for exits on CPUs of the years 2015 to 2020.  None was fitted to a benchmark.

version         = 1

insn-ps         = 400      # 1 instruction a cycle at 2.5 GHz: assumed, not measured. Kernel code retires 0.5 to 1.5.
pause-ps        = 44000    # 140 cycles at 3.2 GHz: Intel 64 and IA-32 Architectures Optimization Reference Manual, "Pause Latency in Skylake"
mmio-ps         = 1500000  # exit that the host's kernel handles (a doorbell is an ioeventfd): about twice the shortest, 0.71 us on average for an external interrupt on a Skylake server (Linux commit 0c5f81dad46c)
pio-ps          = 2000000  # exit that QEMU handles: 5,800 cycles (kvm-unit-tests inl_from_qemu, Linux commit ad3610919e6f) at 2.9 GHz
apic-ps         = 1500000  # as mmio-ps: without APIC virtualisation it is one
interrupt-ps    = 1000000  # kick out of the guest, inject, enter: the 0.71 us exit of commit 0c5f81dad46c, and the injection
wake-ps         = 3000000  # from HLT: the host schedules the vCPU's thread again, "on the order of a few micro-seconds" (Linux Documentation/virt/kvm/halt-polling.rst)
locked-ps       = 6000     # LOCK ADD m,r: 18 cycles (Agner Fog, Instruction tables, Skylake) at 2.9 GHz, less the instruction
line-upgrade-ps = 40000    # assumed: as long as a transfer
line-read-ps    = 40000    # from the cache of another core in the package: 40 to 42 ns (Intel Memory Latency Checker on a Xeon E5-2660 v4, Intel developer forum 2016)
line-write-ps   = 40000    # as line-read-ps
string-ps       = 14000    # start of a REP MOVSB or STOSB: 35 cycles (Intel Optimization Reference Manual, "Enhanced REP MOVSB and STOSB Operation") at 2.5 GHz
string-bytes    = 32       # assumed: from and to the L1 cache, 32 bytes a cycle
division-ps     = 9000     # DIV r32: 26 cycles (Agner Fog, Instruction tables, Skylake) at 2.9 GHz

# A server CPU without a hypervisor: what the kernel itself executes, and
# nothing else.
#
# Each line is an option of -object lockstep, with its source.  Times are in
# picoseconds of virtual time.  What is not listed costs nothing.

version         = 1

insn-ps         = 400      # 1 instruction a cycle at 2.5 GHz: assumed, not measured. Kernel code retires 0.5 to 1.5.
pause-ps        = 44000    # 140 cycles at 3.2 GHz: Intel 64 and IA-32 Architectures Optimization Reference Manual, "Pause Latency in Skylake"
locked-ps       = 6000     # LOCK ADD m,r: 18 cycles (Agner Fog, Instruction tables, Skylake) at 2.9 GHz, less the instruction
line-upgrade-ps = 40000    # assumed: as long as a transfer
line-read-ps    = 40000    # from the cache of another core in the package: 40 to 42 ns (Intel Memory Latency Checker on a Xeon E5-2660 v4, Intel developer forum 2016)
line-write-ps   = 40000    # as line-read-ps
string-ps       = 14000    # start of a REP MOVSB or STOSB: 35 cycles (Intel Optimization Reference Manual, "Enhanced REP MOVSB and STOSB Operation") at 2.5 GHz
string-bytes    = 32       # assumed: from and to the L1 cache, 32 bytes a cycle
division-ps     = 9000     # DIV r32: 26 cycles (Agner Fog, Instruction tables, Skylake) at 2.9 GHz

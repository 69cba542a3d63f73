# A server CPU without a hypervisor: what the kernel itself executes, and
# nothing else.
#
# Each line is an option of -object lockstep, with its source.  Times are in
# picoseconds of virtual time.  What is not listed costs nothing.

insn-ps  = 400      # 1 instruction a cycle at 2.5 GHz: assumed, not measured. Kernel code retires 0.5 to 1.5.
pause-ps = 44000    # 140 cycles at 3.2 GHz: Intel 64 and IA-32 Architectures Optimization Reference Manual, "Pause Latency in Skylake"

# SPDX-License-Identifier: GPL-2.0-or-later
#
# Everything is built, when missing, by scripts/ringstep into a cache outside of this checkout.

BENCH ?= iowq-echo
SEEDS ?= 1-5
JOBS  ?= $(shell nproc)

RINGSTEP := scripts/ringstep
PYTEST   := /usr/bin/python3 -B -m pytest -q -p no:cacheprovider -rs

help:
	@echo 'make bench        the table of a benchmark, before and after its change'
	@echo '                  (BENCH=$(BENCH) SEEDS=$(SEEDS) JOBS=$(JOBS))'
	@echo 'make reproduce    every published figure, ours beside it'
	@echo 'make check        all tests'
	@echo 'make check-unit   the tests that need nothing built'
	@echo 'make check-debug  the benchmarks on a kernel with lockdep and KASAN (slow)'
	@echo 'make perf         speed against plain QEMU -icount'
	@echo 'make build        build what is missing'
	@echo 'make clean        empty the cache'

bench: build
	$(RINGSTEP) compare $(BENCH) --seeds $(SEEDS) -j $(JOBS)

reproduce: build
	$(RINGSTEP) reproduce --seeds $(SEEDS) -j $(JOBS)

build:
	$(RINGSTEP) build all

check: build
	$(PYTEST) scripts/tests/unit scripts/tests/machine

check-unit:
	$(PYTEST) scripts/tests/unit

check-debug: build
	$(RINGSTEP) build kernel --debug-kernel
	$(PYTEST) scripts/tests/slow

perf: build
	$(RINGSTEP) perf

clean:
	$(RINGSTEP) clean

.PHONY: help bench reproduce build check check-unit check-debug perf clean

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
	@echo 'make check-slow   tests of hours: check-debug, the benchmarks on a kernel with lockdep and KASAN; check-liburing,'
	@echo '                  the tests of liburing with each switch; check-compilers, results of a QEMU by gcc and by clang'
	@echo 'make perf         speed against QEMU as it is'
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

check-slow: check-debug check-liburing check-compilers

check-debug: build
	$(PYTEST) scripts/tests/slow/test_debug_kernel.py

check-liburing: build
	$(PYTEST) scripts/tests/slow/test_liburing.py

check-compilers: build
	$(PYTEST) scripts/tests/slow/test_compilers.py

perf: build
	$(RINGSTEP) perf

clean:
	$(RINGSTEP) clean

.PHONY: help bench reproduce build check check-unit check-slow check-debug check-liburing \
	check-compilers perf clean

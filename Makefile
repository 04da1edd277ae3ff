# Short names for the common tasks. CMake does the work: CMakePresets.json describes the builds, and
# CONTRIBUTING.md the rest.
PREFIX ?= /usr/local
JOBS   ?= $(shell nproc 2>/dev/null || echo 2)

# In CI a warning is an error.
configure = cmake --preset $(1) $(if $(filter true 1,$(CI)),-DHORA_WERROR=ON)
build     = cmake --build build/$(1) --parallel $(JOBS)

MAKEFLAGS += --no-print-directory

.PHONY: help run test test-full bench soak lint format install clean

help:
	@echo 'make run        build hora, and run hora demo: a scheduler at work, for 20 seconds'
	@echo 'make test       build and run the short tests: what a change must pass (a few minutes)'
	@echo 'make test-full  sanitizers, valgrind, long simulations, comparison with the JDK, ...'
	@echo 'make lint       check layout, documentation and format, and run the static analysers'
	@echo 'make bench      measure hora beside other libraries and the JDK: W1 to W12 and cron, or ONLY=W3'
	@echo '                (bench/README.md)'
	@echo 'make soak       test-full with far more repetitions (hours)'
	@echo 'make format     format the sources'
	@echo 'make install    install library, command and manual: PREFIX ($(PREFIX)), DESTDIR'
	@echo 'make clean      remove the folder build'
	@echo 'Missing packages are installed; HORA_NO_INSTALL=1 only lists them.'

run:
	tools/setup build
	$(call configure,dev) >/dev/null
	$(call build,dev) --target hora_command
	build/dev/app/hora demo $(DEMO)

test:
	tools/setup test
	$(call configure,dev) >/dev/null
	$(call build,dev)
	tools/check-conformance build/dev
	tools/run-tests build/dev -L short --parallel $(JOBS)

test-full:
	tools/setup full
	tools/test-full

soak:
	tools/setup full
	HORA_SOAK=1 tools/test-full

bench:
	tools/setup bench
	$(call configure,release) >/dev/null
	$(call build,release) --target bench
	bench/run build/release --output build/bench $(if $(MARKDOWN),--markdown $(MARKDOWN)) $(ONLY)

lint:
	tools/setup lint
	$(call configure,dev) >/dev/null
	$(call build,dev) --target hora hora_static hora_command
	tools/lint build/dev

format:
	tools/setup lint
	clang-format-19 -i $$(find include src app tests examples bench -name '*.[ch]')

install:
	tools/setup build
	$(call configure,release) -DCMAKE_INSTALL_PREFIX=$(PREFIX) -DHORA_TESTS=OFF >/dev/null
	$(call build,release)
	DESTDIR=$(DESTDIR) cmake --install build/release

clean:
	rm -rf build

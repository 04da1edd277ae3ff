# Short names for the common tasks. CMake does the work: CMakePresets.json describes the builds, and
# CONTRIBUTING.md the rest.
PREFIX ?= /usr/local
JOBS   ?= $(shell nproc 2>/dev/null || echo 2)

# In CI a warning is an error.
configure = cmake --preset $(1) $(if $(filter true 1,$(CI)),-DHORA_WERROR=ON)
build     = cmake --build build/$(1) --parallel $(JOBS)

MAKEFLAGS += --no-print-directory

.PHONY: help run demo test test-full bench bench-store bench-runner soak lint format docs build install \
	uninstall dist clean force

help:
	@echo 'make run        build hora, and run the jobs of examples/jobs.yaml until Ctrl-C, or for SECONDS=20'
	@echo 'make demo       build hora, and run hora demo: a scheduler at work, for 20 seconds'
	@echo 'make test       build and run the short tests: what a change must pass (a few minutes)'
	@echo 'make test-full  sanitizers, valgrind, long simulations, comparison with the JDK, ...'
	@echo 'make lint       check layout, documentation and format, and run the static analysers'
	@echo 'make bench      measure hora beside other libraries and the JDK: W1 to W12 and cron, or ONLY=W3'
	@echo '                (bench/README.md)'
	@echo 'make bench-store  measure the store beside other job queues, on PostgreSQL and SQLite'
	@echo 'make bench-runner  measure hora run with a thousand jobs, beside cron'
	@echo 'make soak       test-full with far more repetitions (hours)'
	@echo 'make format     format the sources'
	@echo 'make build      build what make install installs'
	@echo 'make docs       build the site, with search and the reference: build/site'
	@echo 'make install    install library, command and manual: PREFIX ($(PREFIX)), DESTDIR'
	@echo 'make uninstall  remove what the last make install installed: PREFIX, DESTDIR'
	@echo 'make dist       make the archives of a release, with finished manual pages, in build/dist'
	@echo 'make clean      remove the folder build'
	@echo 'Packages that run, demo, test, lint, docs, bench and soak need are installed; HORA_NO_INSTALL=1'
	@echo 'only lists them.'

run:
	@tools/setup run
	$(call configure,dev) >/dev/null
	$(call build,dev) --target hora_command
	@tools/run-example build/dev/app/hora build/run $(SECONDS)

demo:
	@tools/setup demo
	$(call configure,dev) >/dev/null
	$(call build,dev) --target hora_command
	build/dev/app/hora demo $(DEMO)

test:
	@tools/setup $(if $(filter true 1,$(CI)),--optional) test
	$(call configure,dev) >/dev/null
	$(call build,dev)
	tools/check-conformance build/dev
	tools/run-tests build/dev -L short --parallel $(JOBS)

test-full:
	@tools/setup --optional full
	tools/test-full

soak:
	@tools/setup --optional full
	HORA_SOAK=1 tools/test-full

bench-store:
	@tools/setup --optional store
	$(call configure,release) >/dev/null
	$(call build,release) --target store-bench
	bench/store/run build/release/bench/programs/store-bench --output build/bench-store $(ONLY)

bench-runner:
	@tools/setup --optional runner
	$(call configure,release) >/dev/null
	$(call build,release) --target hora_command logged_job
	mkdir -p build/bench-runner
	bench/runner/run build/release/app/hora build/release/tests/app/run/logged_job \
		--markdown build/bench-runner/runner.md $(ONLY)

bench:
	@tools/setup --optional bench
	$(call configure,release) >/dev/null
	$(call build,release) --target bench
	bench/run build/release --output build/bench $(if $(MARKDOWN),--markdown $(MARKDOWN)) $(ONLY)
	tools/gen-chart --update build/bench

lint:
	@tools/setup --optional lint
	$(call configure,dev) >/dev/null
	$(call build,dev) --target hora hora_static hora_store hora_command
	tools/lint build/dev

format:
	@tools/setup --optional lint
	clang-format-19 -i $$(find include src store app tests examples bench python -name '*.[ch]')

# What is installed is built in build/install. It is built again only if one of its files is newer, if the
# prefix is another one, or if libraries of the job runner were installed meanwhile. So "make build && sudo make
# install" builds nothing as root.
installed = $(shell find $(wildcard CMakeLists.txt CMakePresets.json LICENSE README.md CHANGELOG.md app \
	cmake docs examples include man packaging src store tools/gen-man tools/apitext.py tools/publicapi.py \
	tools/csource.py) -type f)

built_for = $(PREFIX) $(wildcard $(addprefix /usr/include/,sqlite3.h yaml.h jansson.h))

build/install/built_for: force
	@mkdir -p build/install
	@echo '$(built_for)' | cmp -s - $@ || echo '$(built_for)' >$@

build/install/built: $(installed) build/install/built_for
	@tools/setup --check build
	$(call configure,install) -DCMAKE_INSTALL_PREFIX='$(PREFIX)' >/dev/null
	$(call build,install)
	@touch $@

build: build/install/built

# The list of the installed files may belong to root.
install: build/install/built
	@rm -f build/install/install_manifest.txt
	DESTDIR='$(DESTDIR)' cmake --install build/install
	@echo 'hora: installed in $(DESTDIR)$(PREFIX)'

uninstall:
	@DESTDIR='$(DESTDIR)' cmake -DMANIFEST=build/install/install_manifest.txt -DPREFIX='$(PREFIX)' \
		-P cmake/uninstall.cmake

dist:
	tools/make-dist build/dist

docs:
	@tools/setup docs
	tools/gen-site build/site

clean:
	rm -rf build

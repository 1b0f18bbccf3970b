# SPDX-License-Identifier: Apache-2.0
# `make demo` sets everything up and runs a C program on real data; `make test` passes all tests.
# `make` builds everything into build/lib. Each target makes what it needs, .venv included. `make help` lists them.

PYTHON ?= python3
# ARCH=aarch64 builds for another architecture, into build/aarch64, with a compiler for it in CC and CXX.
HOST := $(shell uname -m)
ARCH ?= $(HOST)
ifeq ($(strip $(ARCH)),)
override ARCH := $(HOST)
endif
LIB_DIR := build/lib
ifneq ($(ARCH),$(HOST))
LIB_DIR := build/$(ARCH)/lib
COMPANION_OBJECT_DIR := build/$(ARCH)/companion
EXAMPLE_DIR := build/$(ARCH)/c_examples
TRIPLET := $(ARCH:ppc64le=powerpc64le)-linux-gnu
ifeq ($(origin CC),default)
CC := $(TRIPLET)-gcc
endif
ifeq ($(origin CXX),default)
CXX := $(TRIPLET)-g++
endif
# A wrong compiler would build for this machine, and say nothing. C++ is needed for examples only.
NEED_CXX := $(if $(MAKECMDGOALS),$(filter all c_examples,$(MAKECMDGOALS)),all)
WRONG := $(shell ARCH="$(ARCH)" CC="$(CC)" $(PYTHON) check_build.py --compiler CC && \
	$(if $(NEED_CXX),ARCH="$(ARCH)" CXX="$(CXX)" $(PYTHON) check_build.py --compiler CXX,true))
$(if $(WRONG),$(error $(WRONG)))
endif
VENV := .venv
PY := $(VENV)/bin/python
NDK_DATA := $(wildcard ../shared/ndk/model_data.bin)
RUN := LD_LIBRARY_PATH=$(LIB_DIR)

# Targets start hundreds of Pythons. Each would compile all that it imports again if none might write what it compiled.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: all help library kernels best-kernels usable-kernels demo test test-slow test-integrations test-install install uninstall dist deb sbom release-check reproducible tiny lint pins bench bench-models bench-scaling bench-memory bench-large bench-operations bench-compiling bench-divisions bench-roofline docs pictures check-memory check-v3vnni check-v4 test-arm count-instructions test-riscv check-kernels-by-analysis check-memory-order random-models mutations fuzz soak stress check-native check-threads check-exports check-imports check-imports-onnx check-engines check-engine-models check-engine-sweeps test-engines test-gpu bench-gpu check-sweeps fuzz-tflite clean
all: library kernels companion c_examples ## the library, kernels of all tiers, Android's companion libraries and the C examples

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/\1@\2/p' Makefile | \
		while IFS=@ read -r target text; do printf '  make %-18s %s\n' "$$target" "$$text"; done

include nnapi_shim/native/companion/companion.mk
include c_examples/examples.mk

# The environment, in three steps: to build and run, to test, to develop; at the versions of requirements/, with hashes.
# Python compiles what it imports of them, once; pip would compile everything.
PINNED := install --quiet --no-compile --only-binary :all: --require-hashes --requirement
ITSELF := install --quiet --no-deps --no-build-isolation --editable

$(VENV)/ready: pyproject.toml requirements/build.txt
	@command -v $(PYTHON) > /dev/null || { echo "build: there is no $(PYTHON): install CPython 3.10 \
	or newer (Debian, Ubuntu: apt install python3 python3-dev python3-venv)" >&2; exit 1; }
	@ARCH="$(ARCH)" CC="$(CC)" CXX="$(CXX)" $(PYTHON) check_build.py $(LIB_DIR)
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip $(PINNED) requirements/build.txt
	$(PY) -m pip $(ITSELF) .
	@touch $@

$(VENV)/ready-test: $(VENV)/ready requirements/test.txt
	$(PY) -m pip $(PINNED) requirements/test.txt
	@touch $@

$(VENV)/ready-dev: $(VENV)/ready-test requirements/dev.txt
	$(PY) -m pip $(PINNED) requirements/dev.txt
	@touch $@

# The newest versions that pyproject.toml allows, for all Pythons that it names.
COMPILE := --quiet --upgrade --universal --generate-hashes --python-version 3.10 --custom-compile-command 'make pins'
pins: $(VENV)/ready-dev ## writes requirements/ with the newest versions that pyproject.toml allows
	$(VENV)/bin/uv pip compile $(COMPILE) --extra build --extra dev pyproject.toml --output-file requirements/dev.txt
	$(VENV)/bin/uv pip compile $(COMPILE) --constraint requirements/dev.txt --extra build --extra test \
		pyproject.toml --output-file requirements/test.txt
	$(VENV)/bin/uv pip compile $(COMPILE) --constraint requirements/dev.txt --extra build --extra tools --extra tflite \
		pyproject.toml --output-file requirements/build.txt
	$(VENV)/bin/uv pip compile $(COMPILE) --constraint requirements/dev.txt pyproject.toml \
		--output-file requirements/runtime.txt
	$(VENV)/bin/uv pip compile $(COMPILE) --constraint requirements/dev.txt --extra tools --extra tflite \
		pyproject.toml --output-file requirements/command.txt

# These look at what has changed themselves.
library: $(VENV)/ready ## libneuralnetworks.so without kernels
	@$(PY) -c '' 2> /dev/null || { echo "build: the Python that $(VENV) was made with is gone; remove \
	$(VENV) and start again" >&2; exit 1; }
	@$(if $(filter-out $(HOST),$(ARCH)),CC="$(CC)") ARCH=$(ARCH) $(PY) build_ffi.py --out $(LIB_DIR)
	@$(PY) -m install files $(LIB_DIR)
	@$(PY) build_methods.py

# TIERS=portable: those of the tier that any processor runs.
TIERS ?=
kernels: $(VENV)/ready ## kernels of all tiers, or of TIERS=
	@CC="$(CC)" $(PY) -m nnapi_shim.drivers.cpu.toolchain.build --out $(LIB_DIR) --machine $(ARCH) --tiers $(TIERS)

# Of the instruction-set tiers the one that is best on this processor, as the library knows it.
best-kernels: library ## kernels of the best tier of this processor
	@CC="$(CC)" $(PY) -m nnapi_shim.drivers.cpu.toolchain.build --out $(LIB_DIR) --tiers best

usable-kernels: library ## kernels of all tiers that this processor runs
	@CC="$(CC)" $(PY) -m nnapi_shim.drivers.cpu.toolchain.build --out $(LIB_DIR) --tiers usable

$(LIB_DIR)/libneuralnetworks.so: | library

BEGAN := $(shell date +%s)
demo: library best-kernels companion c_examples ## the library with kernels for this processor; runs C programs on it
	$(RUN) $(EXAMPLE_DIR)/devices
	$(RUN) $(EXAMPLE_DIR)/basic $(NDK_DATA)
	$(RUN) $(EXAMPLE_DIR)/mobilenet_block
	@echo
	@echo "All of this took $$(( $$(date +%s) - $(BEGAN) )) seconds; .venv and build take" \
		"$$(du -scm $(VENV) build | tail -1 | cut -f1) MB."
	@echo "The library is in $(LIB_DIR). Next, a program of your own:"
	@echo "    $(CC) -Iinclude program.c -L$(LIB_DIR) -lneuralnetworks -o program"
	@echo "    LD_LIBRARY_PATH=$(LIB_DIR) ./program"
	@echo 'README.md goes on from there, with "Quickstart".'
	@echo "These kernels are for this processor; \`make\` builds those for all others as well."

# A file's tests stay together, on one of as many processes as there are processors; in the order of their names,
# because files of few tests, which would be the last, take longest. Kernels for other processors would not be run.
# Kernels take most of the time until the tests begin: what needs one processor goes on beside them. What tests
# run with make is no part of this run.
ifneq ($(filter test,$(MAKECMDGOALS)),)
MAKEFLAGS += --jobs=2
endif
test: library usable-kernels companion c_examples $(VENV)/ready-test lint ## style, types and all tests but the slow ones; TESTS= are more arguments of pytest
	MAKEFLAGS= $(PY) -m pytest -m 'not installed and not integration and not slow' --numprocesses auto --maxprocesses 8 --dist loadfile --no-loadscope-reorder $(TESTS)

# All checks of the vectors; kernels of each tier, emulated where this processor lacks it; races; other Pythons and
# architectures; equal builds.
test-slow: all $(VENV)/ready-test ## the tests that take longest
	$(PY) -m pytest -m 'slow and not installed and not integration' --numprocesses auto --maxprocesses 8 $(TESTS)

# With Ray, Dask, Model Explorer, Chromium and pyright, which take 2.1 GB more.
test-integrations: library usable-kernels companion c_examples $(VENV)/ready-dev ## tests with Ray, Dask, Model Explorer, Chromium and pyright
	$(PY) -m pytest -m integration $(TESTS) $$(grep -rl --include='test_*.py' 'mark\.integration' tests)

# Every way in which the library gets to its users; INSTALL=-k... chooses.
test-install: all $(VENV)/ready-dev ## builds and installs every package; INSTALL= are arguments of pytest
	$(PY) -m pytest -m installed tests/install $(INSTALL)

# Below PREFIX; DESTDIR is for packagers. What was installed is what `uninstall` removes.
PREFIX ?= /usr/local
DESTDIR ?=
export PREFIX DESTDIR
install: all ## installs lib and include below PREFIX
	@$(PY) -m install prefix "$$PREFIX" --destdir "$$DESTDIR"

uninstall: $(VENV)/ready ## removes what `make install` installed below PREFIX
	@$(PY) -m install uninstall "$$PREFIX" --destdir "$$DESTDIR"

# dist/nnapi-shim-<version>-linux-x86_64.tar.xz, which needs no Python; Debian packages.
dist: kernels $(VENV)/ready-dev ## a tarball with a Python of its own, in dist/
	@ARCH=$(ARCH) $(PY) -m install dist --out dist

deb: kernels $(VENV)/ready-dev ## Debian packages, in dist/
	@ARCH=$(ARCH) $(PY) -m install deb --out dist

# What they hold and what made it, as CycloneDX; `dist` writes it, too.
sbom: kernels $(VENV)/ready-dev ## the list of contents of the packages (CycloneDX), in dist/
	@ARCH=$(ARCH) $(PY) -m install sbom --out dist

# A line for each check; RELEASE=1, for a tagged release, fails on what is open and compiles all of the sdist again.
release-check: all $(VENV)/ready-dev ## checks and rehearses all that a release needs; sdist and wheel in build/release
	@$(PY) -m install release-check --out build/release $(if $(RELEASE),--final)

# All packages from nothing, twice, in two folders: some ten minutes. They have to be the same bits.
reproducible: library $(VENV)/ready-dev ## builds all packages twice and compares them bit for bit
	FROM_NOTHING=1 ARCH=$(ARCH) $(PY) -m pytest -s tests/install/test_twice.py

tiny: library best-kernels companion c_examples $(VENV)/ready-test ## the most important tests, in one minute
	$(PY) -m pytest tests/test_tiny.py

lint: library $(VENV)/ready-test ## format, style and types
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy

# The peers and engines have an environment of their own. They are not pinned by hashes: what is shipped is not made with them.
$(VENV)-bench/ready: pyproject.toml requirements/test.txt
	$(PYTHON) -m venv $(VENV)-bench
	$(VENV)-bench/bin/python -m pip $(PINNED) requirements/test.txt
	$(VENV)-bench/bin/python -m pip install --quiet --no-build-isolation --editable '.[build,bench]'
	@touch $@

bench: all $(VENV)-bench/ready ## start-up, calls and kernels next to peers; PARTS="python start" chooses
	$(VENV)-bench/bin/python tests/bench/bench.py $(PARTS)

# Whole models, and peers: docs/performance.md says how. MODELS=, THREADS=, ROUNDS=, PEERS=, DEVICES=, CLOCK=, TIER= choose; PAGE=1
# writes the page, JSON=FILE all figures.
bench-models: library best-kernels $(VENV)-bench/ready ## whole models next to LiteRT, ONNX Runtime and OpenVINO; MODELS=, THREADS=, ROUNDS=, PEERS=, DEVICES=, TIER=
	@[ -z "$(TIER)" ] || CC="$(CC)" $(PY) -m nnapi_shim.drivers.cpu.toolchain.build --out $(LIB_DIR) --tiers $(TIER)
	$(if $(TIER),TIER=$(TIER)) $(VENV)-bench/bin/python -m tests.bench.suite $(if $(JSON),--json $(JSON)) $(if $(PAGE),--page)

# From the times of tiles on one thread; measured, too, where this machine has the processors.
bench-scaling: library best-kernels $(VENV)-bench/ready ## predicted times of whole models on 2 to 16 processors; MODELS=
	$(VENV)-bench/bin/python -m tests.bench.suite.scaling

# Ten models, ours as a C program and in Python; ROUNDS=, PEERS= choose.
bench-memory: library best-kernels $(VENV)-bench/ready ## peak memory of ten models next to LiteRT, ONNX Runtime and OpenVINO; ROUNDS=, PEERS=
	$(VENV)-bench/bin/python -m tests.bench.suite.memory

# 60 to 110 million weights each, then 2.4 GB in a file: half an hour, 8 GB of memory. PARTS="time compiling mapped",
# MODELS=, THREADS=, ROUNDS=, PEERS= choose.
bench-large: library best-kernels $(VENV)-bench/ready ## large networks next to peers, and weights of 2.4 GB; PARTS=, MODELS=, THREADS=, ROUNDS=, PEERS=
	$(VENV)-bench/bin/python -m tests.bench.suite.large $(PARTS)

bench-operations: all $(VENV)/ready-test ## every operation and type; OPERATIONS= chooses
	OPENBLAS_NUM_THREADS=1 PYTHONPATH=. $(PY) tests/bench/bench_operations.py $(OPERATIONS)

# The part of the machine's limit that each class of operations reaches, on one thread. MODELS= are names.
bench-roofline: library best-kernels $(VENV)/ready-test ## operations of the benchmark's models next to the machine's limits; MODELS=
	NNAPI_SHIM_THREADS=1 $(PY) -m tests.bench.roofline $(MODELS)

# Microseconds of the processor for each operation of a model of 10,000, of each kind and type.
bench-compiling: all $(VENV)/ready-test ## processor time of compiling per operation; OPERATIONS= chooses
	PYTHONPATH=. $(PY) tests/bench/bench_compiling.py $(OPERATIONS)

# Estimated and measured times of divisions of MODELS= (.tflite, .onnx), after `nnapi-shim calibrate`.
bench-divisions: all $(VENV)/ready-test ## divisions of MODELS= by the calibration, beside those by figures, in turns
	NNAPI_SHIM_ENGINES=$(or $(ENGINES),all) PYTHONPATH=. $(PY) -m tests.bench.bench_divisions $(MODELS)

# The site, build/docs; before it the pages that are made of the sources: operations, rules, settings, import, export,
# commands, and the C reference.
docs: library $(VENV)/ready-dev ## the documentation site, in build/docs
	$(PY) docs/write_operations.py
	$(PY) docs/write_rules.py
	$(PY) docs/write_settings.py
	$(PY) docs/write_export.py
	$(PY) docs/write_engines.py
	$(PY) docs/write_import.py
	$(PY) docs/write_commands.py
	$(PY) docs/write_c_reference.py
	$(VENV)/bin/sphinx-build -q -E -W --keep-going -b html docs build/docs
	@echo "build/docs/index.html"

# All conformance vectors exported, and computed in LiteRT and ONNX Runtime: about 10 s for each.
check-exports: $(VENV)/ready-test ## exported vectors in LiteRT and ONNX Runtime; OPERATIONS= chooses
	$(PY) -m tests.formats.exports tflite $(OPERATIONS)
	$(PY) -m tests.formats.exports onnx $(OPERATIONS)

# Every operator of .tflite files in its documented forms, next to LiteRT: about 3 minutes. OPERATIONS chooses.
check-imports: $(VENV)/ready-test ## operators of .tflite files here and in LiteRT; OPERATIONS= chooses
	$(PY) -m tests.formats.tflite.forms $(OPERATIONS)

# The test cases of the package onnx, computed by imported models (20 s), and exported vectors imported again (2 min).
check-imports-onnx: $(VENV)/ready-test ## the test cases of the package onnx, imported; OPERATIONS= chooses
	$(PY) -m tests.formats.onnx $(OPERATIONS)
	$(PY) -m tests.formats.onnx.returning

# All conformance vectors on the devices of engines: some minutes for each. DEVICES= are their names; OPERATIONS= chooses;
# ROWS=1 looks for rows of what is declined that the installed engines no longer need; MEMORY=1 computes a second time
# with arguments in memory of the device.
ENGINE_DEVICES = $(or $(DEVICES),onnxruntime-cpu openvino-cpu litert-cpu)
check-engines: library $(VENV)-bench/ready ## conformance vectors on devices of engines; DEVICES=, OPERATIONS=, ROWS=1, MEMORY=1
	$(VENV)-bench/bin/python -m tests.engines.vectors $(ENGINE_DEVICES) $(if $(OPERATIONS),--operations $(OPERATIONS)) $(if $(ROWS),--rows) $(if $(MEMORY),--memory)

# The trained models of ../shared/models on them, with what they decline on nnapi-reference; MODELS= are parts of names.
check-engine-models: library $(VENV)-bench/ready ## trained models on devices of engines; DEVICES=, MODELS=, EACH=1
	$(VENV)-bench/bin/python -m tests.engines.models $(ENGINE_DEVICES) $(if $(MODELS),--models $(MODELS)) $(if $(EACH),--each)

# Each operation with random sizes that models have, beside nnapi-reference: minutes for an engine that does not compile.
# CASES= of each operation; OPERATIONS=, TYPES= (f32, i32, b8, qu8, qs8, f16) choose; SEED= is the number of the first case.
check-engine-sweeps: library $(VENV)-bench/ready ## operations with sizes of models on devices of engines; DEVICES=, OPERATIONS=, TYPES=, CASES=, SEED=
	$(VENV)-bench/bin/python -m tests.engines.sweep $(ENGINE_DEVICES) $(if $(OPERATIONS),--operations $(OPERATIONS)) $(if $(TYPES),--types $(TYPES)) $(if $(CASES),--cases $(CASES)) $(if $(SEED),--seed $(SEED)) $(if $(UNTRIED),--untried)

# A sample of vectors, and how devices behave; Vulkan takes a driver, such as that of Debian's mesa-vulkan-drivers.
test-engines: library companion usable-kernels $(VENV)-bench/ready ## devices of OpenVINO, ONNX Runtime, LiteRT and IREE, where there is Vulkan by it, too
	$(VENV)-bench/bin/python -m pytest -m integration tests/engines $(TESTS)

test-gpu: library $(VENV)-bench/ready ## conformance vectors on the GPUs and NPUs of engines, if there are any
	$(VENV)-bench/bin/python -m tests.engines.accelerators vectors

bench-gpu: library best-kernels $(VENV)-bench/ready ## whole models on the GPUs and NPUs of engines, if there are any; MODELS=, ROUNDS=, PEERS=
	$(VENV)-bench/bin/python -m tests.engines.accelerators models

# The pictures that docs/pictures.md shows, with its commands; Chromium is needed for one of them.
pictures: library best-kernels $(VENV)/ready-dev $(VENV)-bench/ready ## draws the pictures of the documentation again
	$(PY) docs/write_pictures.py

# Kernels under valgrind, operation by operation; it has to be installed.
check-memory: all $(VENV)/ready-test ## kernels under valgrind; OPERATIONS= chooses
	$(PY) tests/memory/run_in_valgrind.py $(OPERATIONS)

# Eight threads, different models, each execution's result checked; prints the memory used.
STRESS_EXECUTIONS ?= 10000
stress: all ## executions of different models on eight threads; STRESS_EXECUTIONS=
	$(CC) -O1 -g -D_GNU_SOURCE -pthread -Iinclude tests/abi/mixed.c -o build/mixed \
		$(LIB_DIR)/libneuralnetworks.so
	$(RUN) build/mixed $(STRESS_EXECUTIONS)

# The C parts under sanitizers for addresses, undefined behaviour and threads and, if it is installed, valgrind:
# every function of the API, and programs with threads, forks and what is hostile.
check-native: all $(VENV)/ready-test ## the C parts under sanitizers and valgrind
	$(PY) tests/memory/run_sanitized.py

# On every tier, the portable one as well, with one, two and five threads: all vectors pass, and
# results are the same bits.
check-threads: all $(VENV)/ready-test ## all vectors on every tier with 1, 2 and 5 threads
	@CC="$(CC)" $(PY) -m nnapi_shim.drivers.cpu.toolchain.build --out $(LIB_DIR) --tiers portable
	$(PY) -m tests.threads

# One random model per seed; a seed always gives the same one. SPECIAL=1: with infinities, NaN,
# the largest and the smallest numbers and scales among its contents. Then models in which each pass
# of nnapi-cpu acts ACTED times, with it and without it; ACTED=0: none. PASSES=fuse_gelu,...: only
# these passes, without the models of SEEDS. Half an hour more: `make mutations`, which takes guards
# of passes away and looks for a model that shows it, and puts faults into kernels, which the tests
# of each family have to find; with PASSES= only the first, of these passes.
SEEDS ?= 0:20000
SPECIAL ?=
ACTED ?= 1000
PASSES ?=
REWRITES = $(PY) -m tests.random_models.rewrites --jobs $$(nproc) $(if $(PASSES),--passes $(PASSES))
random-models: library best-kernels $(VENV)/ready-test ## compares the devices on random models; SEEDS=, SPECIAL=1, ACTED=, PASSES=
	$(if $(PASSES),,$(PY) -m tests.random_models --seeds $(SEEDS) $(if $(SPECIAL),--special) --jobs $$(nproc))
	$(REWRITES) --acted $(ACTED)

mutations: $(if $(PASSES),library best-kernels,all) $(VENV)/ready-test ## removes guards of passes, which random models have to find; PASSES=
	$(REWRITES) --mutations
	$(if $(PASSES),,$(PY) -m tests.kernel_mutations --jobs $$(nproc))

# Random calls of the C API: half of them on one thread, half on four; and a quarter as many in three
# processes whose result codes are compared, on either device alone and on both. FUZZ takes more
# options.
FUZZ_CALLS ?= 100000
fuzz: all $(VENV)/ready-test ## random calls of the C API; FUZZ_CALLS=
	$(PY) -m tests.fuzz --calls $$(($(FUZZ_CALLS) / 2)) --threads 1 $(FUZZ)
	$(PY) -m tests.fuzz --calls $$(($(FUZZ_CALLS) / 2)) --threads 4 $(FUZZ)
	$(PY) -m tests.fuzz --compare --calls $$(($(FUZZ_CALLS) / 4)) $(FUZZ)

# Changed .tflite files, for so many seconds: each is read or refused.
SECONDS_OF_FILES ?= 300
fuzz-tflite: all $(VENV)/ready-test ## damaged .tflite files; SECONDS_OF_FILES=
	$(PY) -m tests.formats.tflite.fuzzing $(SECONDS_OF_FILES)

# Everything that looks for defects at random, for this long; prints what it did and what it found.
MINUTES ?= 30
soak: all $(VENV)/ready-test ## everything that searches at random, for MINUTES=
	$(PY) -m tests.soak --minutes $(MINUTES) $(SOAK)

# 1,000 sweeps, each of which runs a program several times: ten minutes of processor time.
SWEEPS ?= 1000
check-sweeps: library best-kernels $(VENV)/ready-test ## sweeps give the same reports again and again; SWEEPS=
	$(PY) -m tests.phones.sweeps --sweeps $(SWEEPS)

# Where the processor lacks AVX-VNNI, its instructions are emulated one by one.
check-v3vnni: all $(VENV)/ready-test ## all vectors on AVX-VNNI kernels, emulated where the processor lacks it
	$(PY) -m tests.tier_v3vnni

# Longer than continuous integration should take; see the top of the script for what it needs.
check-v4: all $(VENV)/ready-test ## all vectors on AVX-512 kernels in an emulated processor
	$(PY) tests/tier_v4/run_in_bochs.py

# The wheel for AArch64 in an emulated root of Debian: the script says what runs. ARM= are its arguments.
test-arm: library best-kernels c_examples $(VENV)/ready-dev ## the aarch64 wheel under QEMU, on every tier; ARM="--quick --parts vectors"
	$(PY) -m tests.arm.run_emulated $(ARM)

# COUNT= are arguments of the script, such as "--models kws_dscnn_int8 --tiers neon".
count-instructions: $(VENV)/ready-dev ## instructions per inference under QEMU, next to LiteRT; COUNT=
	$(PY) -m tests.arm.instructions $(COUNT)

# The portable tier, in an emulated root of Debian for riscv64; before it: make ARCH=riscv64.
test-riscv: $(VENV)/ready-dev ## what make ARCH=riscv64 built, under QEMU; RISCV=--quick
	$(PY) -m tests.arm.run_riscv $(RISCV)

# The inner loops of all tiers, or of TIERS=, in LLVM's models of processors; fails where one spills.
check-kernels-by-analysis: $(VENV)/ready-test ## inner loops of kernels in LLVM's models of processors; TIERS=
	$(PY) -m tests.analysis.inner_loops $(TIERS)

# Programs that model the threads of the C code, in all executions that C11's memory orders allow; each order weakened in
# turn has to be found. With Debian's relacy-dev the same on Relacy.
check-memory-order: $(VENV)/ready-test ## the protocols of the C code under C11's memory orders
	$(PY) -m tests.memory_order

clean: ## removes build/ and generated sources
	rm -rf build nnapi_shim/api/methods

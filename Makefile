# make run    watch the fast half being checked against the reference (under 2 minutes)
# make test   lint and the tests (under 8 minutes on 2 cores); make test-long has those that take long
# Both make their own virtual environment in .venv first. The other targets are described in CONTRIBUTING.md.

PYTHON ?= python3
CC ?= cc
export CC

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready-for-counterfoil
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check
BUILD := $(BIN)/python fast/build_native.py
SAY := @printf '== %s\n'

.DEFAULT_GOAL := help
.PHONY: help venv native run test lint pytest test-long exhaustive histories mutants soak bench sanitize tsan clang arm64 clean
.PHONY: docs targets-venv test-targets cuda-venv emulated-driver test-cuda test-cuda-asan cuda-resources mutants-cuda
.PHONY: gpu-python test-gpu bench-gpu

help:
	@sed -n '/^# /{s/^# //;p;};/^$$/q' Makefile

# --- set-up ----------------------------------------------------------------------------------------------------------

venv: $(READY)

$(READY): pyproject.toml fast/hatch_build.py
	@PYTHON='$(PYTHON)' sh tools/doctor.sh
	$(SAY) 'virtual environment in $(VENV) (the first time, a few minutes of downloads)'
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV)
	@$(PIP) install --editable '.[check,dev,distributed,docs,examples]'
	@touch $(READY)

native: $(READY)
	@$(BUILD) > /dev/null

# --- the two commands ------------------------------------------------------------------------------------------------

run: native
	$(SAY) 'check: the fast half against the reference, 40 seconds'
	@$(BIN)/counterfoil check --seconds 40
	$(SAY) 'prove: the theorems behind the rules'
	@$(BIN)/counterfoil prove
	$(SAY) 'demo: the same check on a broken copy of the fast half'
	@$(BIN)/counterfoil demo
	$(SAY) 'digits: a network trained through a checked context'
	@$(BIN)/python examples/digits.py --short

test: lint pytest

# --- parts of the tests ----------------------------------------------------------------------------------------------

lint: native
	$(SAY) 'ruff: style'
	@$(BIN)/ruff check --quiet .
	$(SAY) 'mypy --strict: types'
	@$(BIN)/mypy --no-error-summary
	$(SAY) 'import-linter: the laws of the house'
	@$(BIN)/lint-imports --no-cache > build/import-linter.txt || { cat build/import-linter.txt; exit 1; }

pytest: native
	$(SAY) 'pytest'
	@$(BIN)/python -m pytest -q -n auto --dist worksteal -m 'not long'

# --- longer checks ---------------------------------------------------------------------------------------------------

test-long: native
	$(SAY) 'test-long: the tests that take long, each with a shorter sibling in make test'
	@$(BIN)/python -m pytest -q -n auto --dist worksteal -m long

exhaustive: native
	$(SAY) 'exhaustive: every float32 through every narrow store'
	@$(BIN)/counterfoil exhaustive

histories: native
	$(SAY) 'histories: every history of five commands over contexts, and the gradient rules on lineages of four routines'
	@$(BIN)/counterfoil exhaust --contexts
	@$(BIN)/counterfoil histories --long

mutants: native
	$(SAY) 'mutants: the planted defects, and how long the machine takes to find each'
	@$(BIN)/counterfoil mutants

soak: native
	$(SAY) 'soak: 10 000 whole programs, and 10 000 runs of one routine, that leave nothing behind'
	@$(BIN)/python -m tests.soak.soaking 10000

bench: native
	$(SAY) 'bench: ours against the peers, as ratios'
	@$(BIN)/python -m benchmarks
	@$(BIN)/python -m benchmarks.contexts

# The Python files beside a sanitized extension, ahead of the installed ones on the path.
SANITIZED := build/sanitize
PRELOAD = $(shell $(CC) -print-file-name=libasan.so):$(shell $(CC) -print-file-name=libubsan.so)
SANITIZED_TESTS ?= tests/memory_safety tests/contexts_fast

sanitize: native
	$(SAY) 'sanitize: the C core under AddressSanitizer and UBSan'
	@rm -rf $(SANITIZED) && mkdir -p $(SANITIZED) && cp -R fast/counterfoil $(SANITIZED)/ && rm -f $(SANITIZED)/counterfoil/_native*.so
	@$(BUILD) --sanitize address,undefined --output $(SANITIZED)/counterfoil > /dev/null
	@LD_PRELOAD='$(PRELOAD)' ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 PYTHONPATH=$(SANITIZED) \
		$(BIN)/python -m pytest -q $(SANITIZED_TESTS)

# C programs that link the core alone.
C_TESTS := tests/native/threads.c tests/native/contexts.c tests/native/parallel.c
C_FLAGS := -std=gnu11 -O2 -g -Wall -Wextra -pthread -Ifast/native

tsan: native
	$(SAY) 'tsan: threads over claims, donation, nibbles, ledgers and loops, under ThreadSanitizer'
	@$(BUILD) --core --sanitize thread --output build/tsan > /dev/null
	@set -e; for source in $(C_TESTS); do program=build/tsan/$$(basename $$source .c); \
		$(CC) $(C_FLAGS) -fsanitize=thread $$source build/tsan/counterfoil_core.o -o $$program -lm; \
		TSAN_OPTIONS=halt_on_error=1 $$program; done

# The core and emitted code by another compiler, apart from the installed ones.
CLANG ?= clang
BY_CLANG := build/clang
CLANG_TESTS ?= tests/compile tests/contexts_fast tests/native \
	$(addprefix tests/kernels/test_,battery.py casts.py drawn.py function_bounds.py)

clang: native
	$(SAY) 'clang: the C core without a warning, the code that contexts emit, and what both compute'
	@command -v $(CLANG) > /dev/null || { echo 'make clang needs $(CLANG) (Debian: apt-get install clang)' >&2; exit 1; }
	@rm -rf $(BY_CLANG) && mkdir -p $(BY_CLANG) && cp -R fast/counterfoil $(BY_CLANG)/ && rm -f $(BY_CLANG)/counterfoil/_native*.so
	@CC='$(CLANG)' COUNTERFOIL_CFLAGS=-Werror $(BUILD) --output $(BY_CLANG)/counterfoil > /dev/null
	@CC='$(CLANG)' PYTHONPATH=$(BY_CLANG) $(BIN)/python -m pytest -q -n auto --dist worksteal $(CLANG_TESTS)

ARM64_CC ?= aarch64-linux-gnu-gcc

arm64: $(READY)
	$(SAY) 'arm64: the C core cross-compiled'
	@command -v $(ARM64_CC) > /dev/null || { echo 'make arm64 needs $(ARM64_CC) (Debian: apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross)' >&2; exit 1; }
	@CC=$(ARM64_CC) $(BUILD) --core --output build/arm64 > /dev/null
	@set -e; for source in $(C_TESTS); do program=build/arm64/$$(basename $$source .c); \
		$(ARM64_CC) $(C_FLAGS) -static $$source build/arm64/counterfoil_core.o -o $$program -lm; \
		if command -v qemu-aarch64 > /dev/null; then qemu-aarch64 $$program; \
		else echo "$$program: compiled for arm64, untested (Debian: apt-get install qemu-user)"; fi; done

# --- the site --------------------------------------------------------------------------------------------------------

docs: native
	$(SAY) 'docs: the site, in build/site'
	@$(BIN)/python tools/render_reference.py
	@$(BIN)/python -m sphinx -q -W --keep-going -b html docs build/site

# --- other runtimes as targets ---------------------------------------------------------------------------------------

# PyTorch's CPU build, by whatever name pip finds it: TORCH='torch --index-url https://download.pytorch.org/whl/cpu'.
TARGETS_VENV := build/targets-venv
TORCH ?= torch==2.13.0

targets-venv: native
	$(SAY) 'virtual environment in $(TARGETS_VENV), with PyTorch and JAX'
	@test -x $(TARGETS_VENV)/bin/pip || $(PYTHON) -m venv $(TARGETS_VENV)
	@$(TARGETS_VENV)/bin/python -m pip -qq --disable-pip-version-check install $(TORCH)
	@$(TARGETS_VENV)/bin/python -m pip -qq --disable-pip-version-check install jax==0.10.2 numpy==2.4.6 --editable '.[check,dev]'

test-targets: targets-venv
	$(SAY) 'test-targets: NumPy, PyTorch and JAX as targets'
	@COUNTERFOIL_LIBRARIES=required $(TARGETS_VENV)/bin/python -m pytest -q tests/targets/test_libraries.py
	$(SAY) 'opinions: JAX on gradients'
	@$(TARGETS_VENV)/bin/counterfoil opinions jax

# --- CUDA ------------------------------------------------------------------------------------------------------------

# PyCUDA is built once, from its source, with headers from PyPI: no toolkit and no driver are needed. It stays in build/.
CUDA_VENV := build/cuda-venv
CUDA_BIN := $(CUDA_VENV)/bin
CUDA_READY := $(CUDA_VENV)/.ready-for-counterfoil

cuda-venv: $(CUDA_READY)

$(CUDA_READY): pyproject.toml tools/pycuda_wheel.py
	$(SAY) 'PyCUDA, built once (3 to 6 minutes), in $(CUDA_VENV)'
	@test -x $(CUDA_BIN)/pip || $(PYTHON) -m venv $(CUDA_VENV)
	@set -e; wheel=$$($(CUDA_BIN)/python tools/pycuda_wheel.py); \
		$(CUDA_BIN)/python -m pip -qq --disable-pip-version-check install "$$wheel" --editable '.[check,dev,cuda,distributed]'
	@touch $(CUDA_READY)

emulated-driver: native
	@$(BIN)/python oracles/emulated_driver/build.py > /dev/null

# The libcuda of the emulator, for a whole command.
EMULATED = LD_LIBRARY_PATH=$(CURDIR)/build/emulated_driver COUNTERFOIL_EMULATED=1 \
	COUNTERFOIL_CUDA_COMPILER=$(CURDIR)/build/emulated_driver/emu-nvcc COUNTERFOIL_CACHE=$(CURDIR)/build/emulated-cache
CUDA_SECONDS ?= 30
ASAN_SAMPLE ?= reductions transposes products lines families exact

test-cuda: cuda-venv emulated-driver
	$(SAY) 'test-cuda: the driver, arrays, kernels and contexts over the emulated driver'
	@$(EMULATED) $(CUDA_BIN)/python -m pytest -q -n auto tests/cuda_driver # apart: they count what the driver made
	@$(EMULATED) $(CUDA_BIN)/python -m pytest -q -n auto --dist worksteal tests/cuda_arrays tests/cuda_kernels \
		tests/contexts_cuda tests/compile_cuda tests/cuda_machines tests/gpu_script
	$(SAY) 'test-cuda: both machines over the emulated driver, eager, lazy and shuffled'
	@set -e; for mode in eager lazy shuffled; do for machine in arrays contexts; do \
		$(EMULATED) $(CUDA_BIN)/counterfoil check --device cuda --mode $$mode --machine $$machine --seconds $(CUDA_SECONDS); done; done

# Kernels by the files that index most, each access watched to the byte; their cubins lie apart from the others.
test-cuda-asan: cuda-venv emulated-driver
	$(SAY) 'test-cuda-asan: kernels under AddressSanitizer, over the emulated driver'
	@$(EMULATED) COUNTERFOIL_CACHE=$(CURDIR)/build/emulated-cache-asan EMUCUDA_CXXFLAGS=-fsanitize=address EMUCUDA_PROTECT=0 \
		ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD=$$($(CXX) -print-file-name=libasan.so):$$($(CXX) -print-file-name=libstdc++.so) \
		$(CUDA_BIN)/python -m pytest -q -p no:cacheprovider $(addprefix tests/cuda_kernels/test_,$(ASAN_SAMPLE:=.py))

# Planted defects of CUDA devices, each in the driver's mode that shows it. MUTANTS_CUDA: groups, ids, and options.
MUTANTS_CUDA ?= cuda-order cuda-memory cuda-kernels cuda-contexts

mutants-cuda: cuda-venv emulated-driver
	$(SAY) 'mutants-cuda: planted defects of CUDA devices, and how long the machines take to find each'
	@$(EMULATED) $(CUDA_BIN)/counterfoil mutants $(MUTANTS_CUDA)

cuda-resources: cuda-venv
	$(SAY) 'cuda-resources: registers, shared memory and spills of every kernel for sm_80, sm_90 and sm_100'
	@$(CUDA_BIN)/python tools/cuda_resources.py --check

# Where PyTorch and CuPy are, besides the extras check, dev and cuda: GPU_PYTHON=/path/to/python measures beside them.
ifdef GPU_PYTHON
gpu-python: native
else
GPU_PYTHON := $(CUDA_BIN)/python
gpu-python: cuda-venv native
endif

test-gpu: gpu-python
	$(SAY) 'test-gpu: kernel tests, context tests and both machines on the GPU'
	@$(GPU_PYTHON) -m benchmarks.gpu --checks

bench-gpu: gpu-python
	$(SAY) 'bench-gpu: ours beside the peers and the driver on the GPU'
	@$(GPU_PYTHON) -m benchmarks.gpu --measure

clean:
	@rm -rf build dist fast/counterfoil/_native*.so .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@find spec reference fast oracles tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2> /dev/null || true

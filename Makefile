# `make demo` sets everything up and runs a C program; `make test` passes all tests.

PYTHON ?= python3
BUILD := build
LIB_DIR := $(BUILD)/lib
VENV := .venv
PY := $(VENV)/bin/python

.PHONY: all demo test tiny kernels examples lint docs bench clean
all: library kernels companions examples

include nnapi_shim/native/companion/companion.mk
include c_examples/examples.mk

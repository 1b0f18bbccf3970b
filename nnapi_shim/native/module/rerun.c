/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nnapi_shim_rerun: the Python module with the function that repeats a bound execution with other arrays.
 *
 * Setting arguments through Python takes longer than running a small model. This function does it in one
 * call: it holds the buffers of the arrays, makes new arrays for outputs, stores the addresses in the program
 * and runs it. It is in the file of cffi's callbacks, which has the stable ABI of CPython.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#if Py_LIMITED_API < 0x030b0000
/* CPython 3.10 has the same buffers; its header declares them for other modules only. */
typedef struct bufferinfo {
    void *buf;
    PyObject *obj;
    Py_ssize_t len, itemsize;
    int readonly, ndim;
    char *format;
    Py_ssize_t *shape, *strides, *suboffsets;
    void *internal;
} Py_buffer;
enum { PyBUF_WRITABLE = 1, PyBUF_FORMAT = 4, PyBUF_C_CONTIGUOUS = 0x38 };
int PyObject_GetBuffer(PyObject *exporter, Py_buffer *view, int flags);
void PyBuffer_Release(Py_buffer *view);
#endif

/* What a caller keeps of its executions, a tuple. ARGUMENTS: bytes, words of 64 bits: the number of inputs, then
 * for each input and output its format, rank and sizes. OUTPUTS: for each output a tuple with the arguments of
 * EMPTY, which is numpy.empty. ARRAY: numpy.ndarray. FREE: a list of executions that no thread runs. */
enum { ARGUMENTS, OUTPUTS, EMPTY, ARRAY, FREE };

/* A free execution is a tuple. PROGRAM: the bytes of a struct program. EXECUTION: the object of the runtime,
 * which owns the memory of the program. */
enum { PROGRAM, EXECUTION };

/* drivers/cpu/program/program.py packs it. */
struct program {
    uintptr_t *addresses; /* of the arguments */
    int32_t (*bind)(uintptr_t block, int64_t tile);
    uintptr_t bind_block;
    int32_t (*run)(uintptr_t block, int64_t tile); /* NULL if the execution runs in Python */
    uintptr_t run_block;
};

/* The buffers that a run holds, inputs first. expected: words for the next one. states: for each argument the
 * address of a state's memory, which the caller owns, or 0; or NULL. */
struct held {
    const int64_t *expected;
    const uintptr_t *states;
    Py_ssize_t inputs, count;
    Py_buffer *buffers;
};

/* How many of the arguments from one to another are no states. */
static Py_ssize_t given_ones(const uintptr_t *states, Py_ssize_t first, Py_ssize_t end)
{
    Py_ssize_t count = end - first;
    for (Py_ssize_t at = first; states != NULL && at < end; at++)
        count -= states[at] != 0;
    return count;
}

/* Takes the memory of the next argument if it is a state: there is no buffer to release, and no other argument
 * has bytes of it. */
static bool is_state(struct held *held)
{
    if (held->states == NULL || held->states[held->count] == 0)
        return false;
    const Py_buffer memory = {.buf = (void *)held->states[held->count]};
    held->buffers[held->count++] = memory;
    held->expected += 2 + held->expected[1];
    return true;
}

/* Holds the buffer of the next argument; false if it is not as expected. */
static bool hold(struct held *held, PyObject *value, int writable)
{
    Py_buffer *buffer = &held->buffers[held->count];
    const int64_t format = held->expected[0], rank = held->expected[1], *sizes = &held->expected[2];
    if (PyObject_GetBuffer(value, buffer, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | writable) != 0) {
        if (PyErr_ExceptionMatches(PyExc_Exception))
            PyErr_Clear(); /* it has no such buffer */
        return false;
    }
    held->count++;
    held->expected += 2 + rank;
    /* numpy writes the order of the bytes for some arrays, which is that of the machine. */
    const char *const code = buffer->format == NULL ? "" : buffer->format + (buffer->format[0] == '<');
    if (code[0] != format || code[1] != '\0' || buffer->ndim != rank
        || (uintptr_t)buffer->buf % (size_t)buffer->itemsize != 0)
        return false;
    for (int64_t at = 0; at < rank; at++)
        if (buffer->shape[at] != sizes[at])
            return false;
    return true;
}

static bool hold_inputs(struct held *held, PyObject *inputs)
{
    for (Py_ssize_t at = 0; held->count < held->inputs;)
        if (!is_state(held) && !hold(held, PyTuple_GetItem(inputs, at++), 0))
            return false;
    return true;
}

/* Holds the destinations of outputs, and puts those that are no states into `results`. */
static bool hold_outputs(struct held *held, PyObject *kept, PyObject *targets, PyObject *results)
{
    PyObject *const type = PyTuple_GetItem(kept, ARRAY), *empty = PyTuple_GetItem(kept, EMPTY);
    PyObject *const outputs = PyTuple_GetItem(kept, OUTPUTS);
    for (Py_ssize_t at = 0, place = 0; at < PyTuple_Size(outputs); at++) {
        if (is_state(held))
            continue;
        PyObject *array = targets == Py_None ? Py_None : PyTuple_GetItem(targets, place);
        if (array == Py_None)
            array = PyObject_Call(empty, PyTuple_GetItem(outputs, at), NULL);
        else
            Py_XINCREF(array);
        if (array == NULL || PyTuple_SetItem(results, place++, array) != 0
            || (PyObject *)Py_TYPE(array) != type || !hold(held, array, PyBUF_WRITABLE))
            return false;
    }
    return true;
}

/* Whether an output has bytes in common with an input or another output. */
static bool overlap(const struct held *held)
{
    for (Py_ssize_t at = held->inputs; at < held->count; at++)
        for (Py_ssize_t other = 0; other < at; other++) {
            const Py_buffer *a = &held->buffers[at], *b = &held->buffers[other];
            if ((char *)a->buf < (char *)b->buf + b->len && (char *)b->buf < (char *)a->buf + a->len)
                return true;
        }
    return false;
}

/* Runs an execution that was taken from `free`, and puts it back; a failed one raises and is dropped. */
static bool run(const struct held *held, PyObject *item, PyObject *free)
{
    const char *bytes = PyBytes_AsString(PyTuple_GetItem(item, PROGRAM));
    const struct program *program = (const struct program *)(const void *)bytes;
    PyObject *execution = PyTuple_GetItem(item, EXECUTION), *none = NULL;
    for (Py_ssize_t at = 0; at < held->count; at++)
        program->addresses[at] = (uintptr_t)held->buffers[at].buf;
    program->bind(program->bind_block, 0);
    if (program->run != NULL) {
        int32_t code;
        Py_BEGIN_ALLOW_THREADS
        code = program->run(program->run_block, 0);
        Py_END_ALLOW_THREADS
        if (code == 0)
            return PyList_Append(free, item) == 0;
        none = PyObject_CallMethod(execution, "raise_failure", "i", code);
    } else
        none = PyObject_CallMethod(execution, "compute", NULL);
    if (none == NULL)
        return false;
    Py_DECREF(none);
    return PyList_Append(free, item) == 0;
}

/* Takes an execution from `free` and runs it; false if there is none. */
static bool run_free(const struct held *held, PyObject *free)
{
    const Py_ssize_t last = PyList_Size(free) - 1;
    if (last < 0)
        return false;
    PyObject *item = PyList_GetItem(free, last);
    Py_INCREF(item);
    const bool done = PyList_SetSlice(free, last, last + 1, NULL) == 0 && run(held, item, free);
    Py_DECREF(item);
    return done;
}

/* rerun(kept, inputs, targets[, states]): the outputs, a tuple. None, before any run, if an argument is not as
 * kept or no execution is free. targets: a tuple of arrays to write to, None for a new one; or None. states: bytes,
 * a word for each input and output: the address of a state's memory, or 0. Inputs, targets and outputs are those
 * that are no states. */
static PyObject *rerun(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    (void)module;
    if (count < 3 || count > 4 || !PyTuple_Check(given[0]) || PyTuple_Size(given[0]) != FREE + 1
        || !PyTuple_Check(given[1]) || (given[2] != Py_None && !PyTuple_Check(given[2]))
        || (count == 4 && !PyBytes_Check(given[3]))) {
        PyErr_SetString(PyExc_TypeError,
                        "rerun takes what is kept, a tuple of inputs, a tuple or None, and addresses of states");
        return NULL;
    }
    PyObject *kept = given[0], *inputs = given[1], *targets = given[2];
    const int64_t *words = (const int64_t *)(const void *)PyBytes_AsString(PyTuple_GetItem(kept, ARGUMENTS));
    const Py_ssize_t total = words[0] + PyTuple_Size(PyTuple_GetItem(kept, OUTPUTS));
    struct held held = {words + 1, NULL, words[0], 0, NULL};
    if (count == 4) {
        if (PyBytes_Size(given[3]) != total * (Py_ssize_t)sizeof *held.states)
            Py_RETURN_NONE;
        held.states = (const uintptr_t *)(const void *)PyBytes_AsString(given[3]);
    }
    if (PyTuple_Size(inputs) != given_ones(held.states, 0, held.inputs))
        Py_RETURN_NONE;
    held.buffers = PyMem_Malloc((size_t)total * sizeof *held.buffers);
    if (held.buffers == NULL)
        return PyErr_NoMemory();
    PyObject *results = PyTuple_New(given_ones(held.states, held.inputs, total));
    const bool done = results != NULL && hold_inputs(&held, inputs)
                      && hold_outputs(&held, kept, targets, results)
                      && (targets == Py_None || !overlap(&held))
                      && run_free(&held, PyTuple_GetItem(kept, FREE));
    while (held.count > 0)
        PyBuffer_Release(&held.buffers[--held.count]);
    PyMem_Free(held.buffers);
    if (done)
        return results;
    Py_XDECREF(results);
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"rerun", (PyCFunction)(void (*)(void))rerun, METH_FASTCALL, NULL}, {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "nnapi_shim_rerun", NULL, 0, functions,
                                        NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_nnapi_shim_rerun(void)
{
    return PyModuleDef_Init(&definition);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start-up of libneuralnetworks.so. Loading the library starts nothing; the first call of a
 * function that Python implements starts the interpreter and imports the package. Most programs
 * that link the Neural Networks API call it late or never.
 *
 * Search order of the package:
 *   NNAPI_SHIM_HOME, if set: the folder that holds the package nnapi_shim (a checkout, or a
 *   site-packages folder), and whose .venv, if it exists, holds the dependencies;
 *   libneuralnetworks.location, the file that the build puts beside the library (see location.c).
 * PYTHONPATH, PYTHONHOME, an activated environment and the current folder are ignored. find_python.c
 * chooses the Python.
 *
 * Start-up happens once per process. If it fails, it stays failed: every call returns OP_FAILED.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "boot.h"
#include "calls.h"
#include "libpython.h"
#include "signals.h"

enum state { UNTRIED, READY, FAILED, ENDED };

static _Atomic enum state state = UNTRIED;
/* Guards start-up. An error-checking mutex: it detects recursion from within start-up (EDEADLK). */
static pthread_mutex_t start_lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
/* Whether the library started the interpreter; if not, the program handles forks. */
static bool owns_python = false;

static bool python_is_alive(void)
{
    const struct nn_libpython *py = nn_py();
    return py->Py_IsInitialized() && !py->Py_IsFinalizing();
}

/* PyGILState_Check() without its exception: it returns 1 on every thread after the program has created
 * a subinterpreter. False before Python is known. */
bool nn_holds_python(void)
{
    const struct nn_libpython *py = nn_py();
    if (py == NULL || !py->Py_IsInitialized())
        return false;
    PyThreadState *mine = py->PyGILState_GetThisThreadState();
    return mine != NULL && mine == py->PyThreadState_GetUnchecked();
}

/* Releases the GIL if this thread holds it. */
static PyThreadState *suspend(void)
{
    return nn_holds_python() ? nn_py()->PyEval_SaveThread() : NULL;
}

/*
 * Takes start_lock. Returns 0; EDEADLK if this thread holds it; EBUSY if it is taken and this thread
 * holds the GIL, which the owner of the lock needs. Before Python is known, the owner of the GIL is
 * unknown, so it waits in small steps.
 */
static int take_start_lock(void)
{
    static const struct timespec at_once = {0}, step = {.tv_nsec = 200000};
    for (;;) {
        const int code = pthread_mutex_timedlock(&start_lock, &at_once);
        if (code != ETIMEDOUT)
            return code;
        if (nn_py() != NULL)
            return nn_holds_python() ? EBUSY : pthread_mutex_lock(&start_lock);
        nanosleep(&step, NULL);
    }
}

/* Py_Finalize() by the program: the attached functions are gone, also after a second
 * Py_Initialize(). */
static void python_has_ended(void)
{
    atomic_store(&state, ENDED);
}

/* *suspended: what suspend() gave, if it was called, or gives. */
static bool start(PyThreadState **suspended)
{
    static struct nn_location location;

    if (!nn_locate(&location) || !nn_find_python(&location))
        return false;
    if (*suspended == NULL)
        *suspended = suspend();

    const struct nn_libpython *py = nn_py();
    bool joins = py->Py_IsInitialized();
    if (!joins && !nn_python_start(&location))
        return false;
    owns_python = !joins;

    PyGILState_STATE gil = py->PyGILState_Ensure();
    bool ready = (!joins || nn_python_join(&location)) && nn_attach(&location, !joins);
    if (ready)
        py->Py_AtExit(python_has_ended);
    py->PyGILState_Release(gil);
    return ready;
}

/*
 * A signal handler may fork. Child and parent then share the file offsets of the files and folders
 * that are being read: each misses what the other has read. So signals are blocked while Python
 * starts, except synchronous ones (signals.py does the same for imports).
 */
static void defer_signals(sigset_t *kept)
{
    sigset_t waiting;
    nn_signals_of_the_program(&waiting);
    pthread_sigmask(SIG_BLOCK, &waiting, kept);
}

static __attribute__((noinline, cold)) bool start_once(void)
{
    PyThreadState *suspended = NULL;
    int code = take_start_lock();
    if (code == EBUSY) {
        suspended = suspend();
        code = pthread_mutex_lock(&start_lock);
    }
    if (code == EDEADLK) {
        nnapi_shim_storeError("called while the library was being started by the same thread");
    } else {
        if (atomic_load(&state) == UNTRIED) {
            sigset_t kept;
            defer_signals(&kept);
            atomic_store(&state, start(&suspended) ? READY : FAILED);
            pthread_sigmask(SIG_SETMASK, &kept, NULL);
        }
        pthread_mutex_unlock(&start_lock);
        if (atomic_load(&state) == FAILED)
            nn_repeat_failure();
        else if (atomic_load(&state) == ENDED)
            nnapi_shim_storeError("the program has shut Python down");
    }

    if (suspended != NULL)
        nn_py()->PyEval_RestoreThread(suspended);
    return atomic_load(&state) == READY;
}

static bool is_up(void)
{
    if (__builtin_expect(atomic_load_explicit(&state, memory_order_acquire) != READY, 0)
        && !start_once())
        return false;
    if (__builtin_expect(!python_is_alive(), 0)) {
        nnapi_shim_storeError("the program is shutting Python down");
        return false;
    }
    return true;
}

/* The stack that Python needs, in bytes: errors within imports need most. */
enum { STACK_NEEDED = 96 << 10, STACK_ADVISED = 256 << 10 };

/* The end of the stack of a thread; 0 before it is known, 1 if it cannot be determined. */
static __thread uintptr_t stack_end;

static __attribute__((noinline, cold)) void find_stack_end(void)
{
    pthread_attr_t attributes;
    void *lowest = NULL;
    size_t size;
    stack_end = 1;
    /* The stack of the first thread grows; asking for it would read a file. */
    if (getpid() == syscall(SYS_gettid) || pthread_getattr_np(pthread_self(), &attributes) != 0)
        return;
    if (pthread_attr_getstack(&attributes, &lowest, &size) == 0)
        stack_end = (uintptr_t)lowest;
    pthread_attr_destroy(&attributes);
}

/* Whether the stack has room for a call. For a stack that the program allocated, such as that of a
 * coroutine, this is unknown and assumed. */
static inline bool has_stack(uintptr_t here)
{
    if (__builtin_expect(stack_end == 0, 0))
        find_stack_end();
    return __builtin_expect(here - stack_end >= STACK_NEEDED, 1);
}

static __attribute__((noinline, cold)) bool refuse_for_stack(uintptr_t here)
{
    nn_refuse("OP_FAILED: this thread has %d KiB of stack left, and a call needs %d; create threads "
              "with %d or more (pthread_attr_setstacksize)", (int)((here - stack_end) >> 10),
              STACK_NEEDED >> 10, STACK_ADVISED >> 10);
    return false;
}

/*
 * Python has a state per thread. cffi creates it in the first call of a thread, and marks it for release
 * at the end of the thread. Both take locks other than the GIL, which would stay locked in a child that is
 * forked meanwhile. So both happen inside this gate, and a fork closes it.
 *
 * At its end, a thread enters the gate in the first round of destructors of thread-specific data, which
 * includes that of cffi, and leaves it in the second round.
 */
static const pthread_rwlock_t open_gate = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static pthread_rwlock_t gate = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static pthread_key_t end_key;
static bool has_end_key;
static char first_round, second_round; /* values of a thread for that key */
static __thread bool is_known, is_in_gate;

static void enter_gate(void)
{
    is_in_gate = pthread_rwlock_rdlock(&gate) == 0;
}

static void leave_gate(void)
{
    if (is_in_gate) /* not so in a child that was forked inside */
        pthread_rwlock_unlock(&gate);
    is_in_gate = false;
}

static void end_thread(void *round)
{
    if (round == &first_round) {
        enter_gate();
        if (pthread_setspecific(end_key, &second_round) == 0)
            return;
    }
    leave_gate();
}

static __attribute__((noinline, cold)) void begin_thread(void)
{
    is_known = true;
    if (!owns_python || nn_py()->PyGILState_GetThisThreadState() != NULL)
        return;
    enter_gate();
    nn_calls.begin_thread();
    leave_gate();
    if (has_end_key)
        pthread_setspecific(end_key, &first_round);
}

bool nn_enter(struct nn_thread *before)
{
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before->cancel_state);
    before->rounding = nn_round_to_nearest();
    if (has_stack(here) ? is_up() : refuse_for_stack(here)) {
        if (__builtin_expect(!is_known, 0))
            begin_thread();
        return true;
    }
    nn_leave(before);
    return false;
}

/*
 * Forks. Our interpreter is only usable in the child if no other thread was inside it at that
 * moment, so a fork waits for start-up to end and for the GIL, and then does what os.fork() does.
 * A thread that forks with the GIL held is inside Python, which prepares itself; waiting for the
 * start-up of another thread would be a deadlock there, so the child gets a fresh lock instead. So it
 * does where the thread forks from within start-up.
 *
 * It also waits until no other thread imports a module, as a partial import stays partial and locked in
 * the child, and until no thread is inside the gate. The wait has a time limit, as the import or the end
 * of a thread may wait for a lock that the program holds while it forks.
 */
enum fork_kind { FORK_INSIDE_PYTHON, FORK_WITHOUT_PYTHON, FORK_OWN_PYTHON };
enum { LONGEST_IMPORT_MS = 10000, LONGEST_IN_GATE_S = 10 };
static __thread bool has_closed_gate;
static __thread enum fork_kind fork_kind;
static __thread PyGILState_STATE fork_gil;
static __thread int fork_cancel; /* waits here must not be cancellation points, as the lock is held */

static void prepare_own_python(void)
{
    fork_gil = nn_py()->PyGILState_Ensure();
    nn_py()->PyOS_BeforeFork();
}

static void undo_preparation(void)
{
    nn_py()->PyOS_AfterFork_Parent();
    nn_py()->PyGILState_Release(fork_gil);
}

static void close_gate(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LONGEST_IN_GATE_S;
    has_closed_gate = !is_in_gate && pthread_rwlock_timedwrlock(&gate, &until) == 0;
}

static void reopen_gate(void)
{
    if (has_closed_gate)
        pthread_rwlock_unlock(&gate);
    has_closed_gate = false;
}

static void before_fork(void)
{
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &fork_cancel);
    if (stack_end == 0) /* in the child it will look like the first thread */
        find_stack_end();
    fork_kind = FORK_INSIDE_PYTHON;
    if (nn_holds_python() || take_start_lock() != 0)
        return;
    fork_kind = FORK_WITHOUT_PYTHON;
    if (owns_python && python_is_alive()) {
        fork_kind = FORK_OWN_PYTHON;
        close_gate();
        prepare_own_python();
        for (int waited = 0; nn_is_importing() && waited < LONGEST_IMPORT_MS; waited++) {
            undo_preparation();
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
            prepare_own_python();
        }
    }
}

static void after_fork_in_parent(void)
{
    if (fork_kind == FORK_OWN_PYTHON)
        undo_preparation();
    reopen_gate();
    if (fork_kind != FORK_INSIDE_PYTHON)
        pthread_mutex_unlock(&start_lock);
    pthread_setcancelstate(fork_cancel, NULL);
}

static void after_fork_in_child(void)
{
    static const pthread_mutex_t fresh = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

    if (fork_kind == FORK_OWN_PYTHON) {
        nn_py()->PyOS_AfterFork_Child();
        /* Not PyGILState_Release(): it may free the last thread state, after which CPython 3.11
         * cannot make another ("thread state already initialized"). */
        nn_py()->PyEval_SaveThread();
    }
    /* The child's thread has another id, so it cannot unlock what its parent locked. It tries to for
     * those who watch locks, such as ThreadSanitizer. */
    reopen_gate();
    gate = open_gate;
    is_in_gate = false;
    if (fork_kind != FORK_INSIDE_PYTHON)
        pthread_mutex_unlock(&start_lock);
    start_lock = fresh;
    pthread_setcancelstate(fork_cancel, NULL);
}

/* Installed when the library is loaded: a fork during start-up has to wait as well. */
__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    /* Created before the key of cffi: destructors are called in this order. */
    has_end_key = pthread_key_create(&end_key, end_thread) == 0;
}

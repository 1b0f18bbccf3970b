/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a program of tests/memory_order on Relacy, a model checker for C++ (Debian: relacy-dev).
 *
 * relacy.py, at the other end of standard input and output, knows what each thread does next. This
 * program asks for a step when a thread comes to it for the first time, does it with Relacy's
 * atomics and variables, and goes on with the result. First line of the input: number of threads,
 * executions, atomics and plain variables, and the first values of both. Last line of the output:
 * "end", a result of Relacy (0: no finding), the number of executions, and the result in words.
 */
#include <cstdio>
#include <cstdlib>
#include <ostream>
#include <sstream>
#include <relacy/relacy.hpp>

/* The results of a sleep; relacy.py has the same. */
enum { WOKEN = 1, CHANGED = 2 };

/* What a thread does: kind, place, order, a, b and otherwise as in relacy.py. */
struct step_t {
  int number;
  char kind;
  int place, order, a, b, otherwise;
};

struct question_t {
  char kind; /* B: the first step of a thread, A: the step after a result; U, L: a value */
  int number, value;
  step_t step;
  int answer;
};

/*
 * Answers so far, by what was asked. A table of its own, because Relacy replaces `new` and frees
 * at the end of an execution what a thread got.
 */
enum { QUESTIONS = 1 << 16 };
static question_t questions[QUESTIONS];

static const question_t& ask(char kind, int number, int value) {
  unsigned at = ((unsigned)kind * 31 + (unsigned)number) * 31 + (unsigned)value;
  for (unsigned tried = 0; tried < QUESTIONS; tried++, at++) {
    question_t& question = questions[at % QUESTIONS];
    if (question.kind == kind && question.number == number && question.value == value) {
      return question;
    }
    if (question.kind != 0) continue;
    question.kind = kind;
    question.number = number;
    question.value = value;
    std::printf("%c %d %d\n", kind, number, value);
    std::fflush(stdout);
    step_t& step = question.step;
    const int got =
        kind == 'A' || kind == 'B'
            ? std::scanf("%d %c %d %d %d %d %d", &step.number, &step.kind, &step.place,
                         &step.order, &step.a, &step.b, &step.otherwise) - 6
            : std::scanf("%d", &question.answer);
    if (got != 1) std::exit(2);
    return question;
  }
  std::exit(2);
}

/* What an update makes of a value ('U'), or whether a load accepts it ('L'). */
static int value_of(char kind, int number, int value) { return ask(kind, number, value).answer; }

/* An update in the place of the operand of an exchange. */
struct change_t {
  int number;
};

static std::ostream& operator<<(std::ostream& out, const change_t& change) {
  return out << "step " << change.number;
}

namespace rl {
inline int perform_rmw(rmw_type_t<rmw_type_swap>, int value, change_t change) {
  return value_of('U', change.number, value);
}
}  // namespace rl

static const rl::memory_order orders[] = {
    rl::mo_relaxed, rl::mo_acquire, rl::mo_release, rl::mo_acq_rel, rl::mo_seq_cst};

enum { MOST = 8 };
static int atomics_used, plains_used, atomic_values[MOST], plain_values[MOST];

template <int THREADS>
struct program_t : rl::test_suite<program_t<THREADS>, THREADS> {
  rl::atomic<int> atomics[MOST];
  rl::atomic<int> kernel[MOST]; /* the kernel's lock of the futex of each atomic */
  rl::var<int> plains[MOST];
  /* These are no part of the program: nothing is chosen between two accesses to them. */
  int sleepers[MOST][THREADS], sleeping[MOST];
  int writer[MOST];      /* of the last write */
  bool is_ordered[MOST]; /* it is sequentially consistent, or such a fence came after it */
  bool is_asleep[THREADS], is_parked[THREADS], may_last[THREADS], has_ended[THREADS];

  void before() {
    for (int at = 0; at < atomics_used; at++) {
      atomics[at].store(atomic_values[at], rl::mo_relaxed, $);
      kernel[at].store(0, rl::mo_relaxed, $);
      sleeping[at] = 0;
      writer[at] = -1;
      is_ordered[at] = false;
    }
    for (int at = 0; at < plains_used; at++) plains[at]($).store(plain_values[at]);
    for (int at = 0; at < THREADS; at++) {
      is_asleep[at] = is_parked[at] = may_last[at] = has_ended[at] = false;
    }
  }

  /* Whether every thread has ended, or waits and may do so for ever. Then those that sleep end. */
  bool is_over() {
    for (int at = 0; at < THREADS; at++) {
      if (!has_ended[at] && !may_last[at]) return false;
    }
    for (int at = 0; at < THREADS; at++) {
      if (!is_parked[at]) continue;
      is_parked[at] = false;
      rl::ctx().unpark_thread(at, false, $);
    }
    return true;
  }

  /*
   * Relacy orders sequentially consistent fences among each other, but not with operations. C11
   * does: who looks behind such a fence, or by such a load, does not miss a write that was ordered
   * before. A compare-and-swap that fails reads the last write, and relaxed it acquires nothing.
   */
  void see_ordered(int place) {
    if (!is_ordered[place]) return;
    rl::ctx().disable_preemption();
    int never = -1000;
    atomics[place].compare_exchange_strong(never, never, rl::mo_relaxed, $, rl::mo_relaxed, $);
    rl::ctx().enable_preemption();
  }

  void wrote(int me, const step_t& step) {
    writer[step.place] = me;
    is_ordered[step.place] = orders[step.order] == rl::mo_seq_cst;
  }

  void fence(int me, rl::memory_order order) {
    rl::atomic_thread_fence(order, $);
    for (int at = 0; at < atomics_used && order == rl::mo_seq_cst; at++) {
      is_ordered[at] |= writer[at] == me;
      see_ordered(at);
    }
  }

  /* Loads; waits for a value that is accepted. False: the thread ends. */
  bool load(int me, const step_t& step, int* result) {
    for (;;) {
      rl::ctx().sched();
      if (orders[step.order] == rl::mo_seq_cst) see_ordered(step.place);
      rl::ctx().disable_preemption();
      *result = atomics[step.place].load(orders[step.order], $);
      rl::ctx().enable_preemption();
      if (step.a == 0 || value_of('L', step.number, *result) != 0) return true;
      may_last[me] = step.b != 0;
      if (is_over()) return false;
      rl::yield(1, $);
      may_last[me] = false;
    }
  }

  /* Sleeps, as in the kernel: the thread is in the queue before its value is compared. */
  bool sleep(int me, const step_t& step, int* result) {
    kernel[step.place].fetch_add(0, rl::mo_acq_rel, $);
    sleepers[step.place][sleeping[step.place]++] = me;
    is_asleep[me] = true;
    if (atomics[step.place].load(rl::mo_relaxed, $) != step.a) {
      *result = is_asleep[me] ? CHANGED : WOKEN;
      if (is_asleep[me]) leave(step.place, me);
      return true;
    }
    *result = WOKEN;
    if (!is_asleep[me]) return true;
    may_last[me] = step.b != 0;
    if (is_over()) return false;
    is_parked[me] = true;
    rl::ctx().park_current_thread(false, false, false, $);
    may_last[me] = false;
    return !is_asleep[me];
  }

  /* Takes a thread out of a queue. */
  void leave(int place, int who) {
    int* queue = sleepers[place];
    int kept = 0;
    for (int at = 0; at < sleeping[place]; at++) {
      if (queue[at] != who) queue[kept++] = queue[at];
    }
    sleeping[place] = kept;
    is_asleep[who] = false;
  }

  void wake(const step_t& step) {
    kernel[step.place].fetch_add(0, rl::mo_acq_rel, $);
    if (sleeping[step.place] == 0) return;
    const int sleeper = sleepers[step.place][0];
    leave(step.place, sleeper);
    if (!is_parked[sleeper]) return;
    is_parked[sleeper] = false;
    rl::ctx().unpark_thread(sleeper, false, $);
  }

  /* Does a step. False: the thread ends. */
  bool run(int me, const step_t& step, int* result) {
    *result = 0;
    switch (step.kind) {
    case 'L': return load(me, step, result);
    case 'S': atomics[step.place].store(step.a, orders[step.order], $); wrote(me, step); return true;
    case 'U':
      *result = atomics[step.place].rmw(
          rl::rmw_type_t<rl::rmw_type_swap>(), change_t{step.number}, orders[step.order], $);
      wrote(me, step);
      return true;
    case 'C': /* compares with a; b: waits until it is equal */
      do {
        *result = step.a;
        if (atomics[step.place].compare_exchange_strong(
                *result, value_of('U', step.number, step.a), orders[step.order], $,
                orders[step.otherwise], $)) {
          wrote(me, step);
          return true;
        }
        if (step.b != 0) rl::yield(1, $);
      } while (step.b != 0);
      return true;
    case 'F': fence(me, orders[step.order]); return true;
    case 'R': *result = plains[step.place]($).load(); return true;
    case 'W': plains[step.place]($).store(step.a); return true;
    case 'P': return sleep(me, step, result);
    case 'K': wake(step); return true;
    case 'O': *result = (int)rl::rand((unsigned)step.a); return true;
    case 'X': RL_ASSERT(!"an assertion of the program"); return false;
    default: return false; /* it has returned */
    }
  }

  void thread(unsigned me) {
    int result;
    const step_t* step = &ask('B', (int)me, 0).step;
    while (run((int)me, *step, &result)) step = &ask('A', step->number, result).step;
    has_ended[me] = true;
    is_over();
  }
};

template <int THREADS>
static void check(rl::test_params& params) {
  typedef program_t<THREADS> test_t;
  std::ostringstream state;
  params.test_result =
      rl::run_test<test_t, rl::random_scheduler<test_t::params::thread_count> >(params, state, false);
}

int main() {
  int threads, executions;
  if (std::scanf("%d %d %d %d", &threads, &executions, &atomics_used, &plains_used) != 4) return 2;
  if (atomics_used > MOST || plains_used > MOST) return 2;
  for (int at = 0; at < atomics_used + plains_used; at++) {
    int* value = at < atomics_used ? &atomic_values[at] : &plain_values[at - atomics_used];
    if (std::scanf("%d", value) != 1) return 2;
  }
  std::ostream nowhere(NULL);
  rl::test_params params;
  params.iteration_count = (unsigned)executions;
  params.execution_depth_limit = 4000;
  params.search_type = rl::random_scheduler_type;
  params.output_stream = params.progress_stream = &nowhere;
  if (threads == 2) check<2>(params);
  else if (threads == 3) check<3>(params);
  else return 2;
  std::printf("end %d %d %s\n", (int)params.test_result, (int)params.stop_iteration,
              rl::test_result_str(params.test_result));
  return 0;
}

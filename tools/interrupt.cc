#include "tools/interrupt.h"

#include <csignal>

namespace tracekiln::tools {
namespace {

// A signal handler can reach nothing else.
std::atomic<bool> is_interrupted{false};
std::atomic<int> caught_signal{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void Handle(int signal_number) {
  caught_signal.store(signal_number);
  is_interrupted.store(true);
}

}  // namespace

const std::atomic<bool>* CatchInterrupts() {
  for (int signal_number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction old;
    if (sigaction(signal_number, nullptr, &old) != 0 || old.sa_handler == SIG_IGN) continue;
    struct sigaction action = {};
    action.sa_handler = Handle;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
    sigaction(signal_number, &action, nullptr);
  }
  return &is_interrupted;
}

void DieOfCaughtSignal() {
  const int signal_number = caught_signal.load();
  if (signal_number == 0) return;
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
}

}  // namespace tracekiln::tools

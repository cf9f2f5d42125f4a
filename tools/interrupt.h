// Ctrl-C as an orderly end: the command stops at its next batch, removes what it had begun to write, and the process
// then dies of the signal as if it had not been caught. A second signal ends it at once.
#ifndef TRACEKILN_TOOLS_INTERRUPT_H_
#define TRACEKILN_TOOLS_INTERRUPT_H_

#include <atomic>

namespace tracekiln::tools {

// Catches SIGINT, SIGTERM and SIGHUP (unless the process was started with them ignored, as by nohup) once. The result
// turns true when one came. For main only.
const std::atomic<bool>* CatchInterrupts();

// Ends the process by the signal that was caught, if one was; otherwise does nothing.
void DieOfCaughtSignal();

}  // namespace tracekiln::tools

#endif  // TRACEKILN_TOOLS_INTERRUPT_H_

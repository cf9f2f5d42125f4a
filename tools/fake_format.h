// A format for tests of the commands: lines of text, no compression, no dependencies.
//
//   FAKE
//   rank 3
//   slice NAME CATEGORY PID TID TS_NS DUR_NS
//   thread_name PID TID NAME
//   repaired REASON OFFSET     (an entry of the import report; an error with --strict)
//   broken                     (an error; with --salvage the end)
//
// Every three rows make a batch. Written files hold the same lines; the option "fail=on" for writing fails after the
// first line, and "prefix=TEXT" for reading is put before every name.
#ifndef TRACEKILN_TOOLS_FAKE_FORMAT_H_
#define TRACEKILN_TOOLS_FAKE_FORMAT_H_

#include "formats/format/format.h"

namespace tracekiln::tools {

// "fake", "*.fake".
const Format& FakeFormat();
// "fake2", which writes the same in two passes and can't be read.
const Format& FakeTwoPassFormat();

}  // namespace tracekiln::tools

#endif  // TRACEKILN_TOOLS_FAKE_FORMAT_H_

// A format for tests of the commands: lines of text, no compression, no dependencies.
//
//   FAKE
//   rank 3
//   slice NAME CATEGORY PID TID TS_NS DUR_NS
//   thread_name PID TID NAME
//   function FILE LINE NAME CALLS PRIMITIVE_CALLS OWN_NS CUMULATIVE_NS
//   call FILE LINE NAME FILE LINE NAME CALLS PRIMITIVE_CALLS OWN_NS CUMULATIVE_NS   (by the first one of the second)
//   repaired REASON OFFSET     (an entry of the import report; an error with --strict)
//   broken                     (an error; with --salvage the end)
//
// Every three rows make a batch. "function" and "call" make the trace's profile, known at the end. Written files hold
// the same lines but these; the option "fail=on" for writing fails after the first line, and "prefix=TEXT" for reading
// is put before every name.
#ifndef TRACEKILN_TOOLS_FAKE_FORMAT_H_
#define TRACEKILN_TOOLS_FAKE_FORMAT_H_

#include "formats/format/format.h"

namespace tracekiln::tools {

// "fake", "*.fake".
const Format& FakeFormat();
// "fake2", which writes the same in two passes and can't be read.
const Format& FakeTwoPassFormat();
// "fake3", which can't be read either. Written files hold the profile as well. With the option "per=category" for
// writing there is a file CATEGORY.fake, with names of slices only, for each run of slices of one category.
const Format& FakeProfileFormat();

}  // namespace tracekiln::tools

#endif  // TRACEKILN_TOOLS_FAKE_FORMAT_H_

// Walks calls given as text through CallRecorder and prints the rows and edges; for call_recorder_cprofile_test.py.
//
// Input, blank-separated:
//   + F T   function number F is entered at time T
//   - T     the innermost open call is left at time T
//   .       the end of a profile: its rows and edges are printed
// Output, lines: `row F nc cc tt ct`, `edge CALLER CALLEE nc cc tt ct`, and `.` behind each profile.
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "formats/intermediate/profile.h"
#include "formats/pstats/call_recorder.h"

namespace {

struct Open {
  int64_t begin;
  int64_t calls_inclusive;
};

void Print(const tracekiln::CallStats& s) {
  std::cout << ' ' << s.call_count << ' ' << s.primitive_call_count << ' ' << s.own_ns << ' ' << s.cumulative_ns
            << '\n';
}

void Print(const tracekiln::Profile& profile) {
  for (const tracekiln::Profile::Function& f : profile.functions()) {
    if (!f.is_row) continue;
    std::cout << "row " << f.line;
    Print(f.stats);
  }
  for (const tracekiln::Profile::Edge& e : profile.edges()) {
    std::cout << "edge " << profile.function(e.caller).line << ' ' << profile.function(e.callee).line;
    Print(e.stats);
  }
  std::cout << ".\n";
}

int Fail(const char* what) {
  std::fprintf(stderr, "call_recorder_main: %s\n", what);
  return 1;
}

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  auto profile = std::make_unique<tracekiln::Profile>();
  auto recorder = std::make_unique<tracekiln::pstats::CallRecorder>(profile.get());
  std::vector<Open> open;
  std::string word;
  int64_t time;
  while (std::cin >> word) {
    if (word == "+") {
      int64_t function;
      if (!(std::cin >> function >> time)) return Fail("expected a function and a time behind +");
      recorder->Enter(profile->AddFunction("f.py", function, "f"));
      open.push_back({time, 0});
    } else if (word == "-") {
      if (!(std::cin >> time)) return Fail("expected a time behind -");
      if (open.empty() || recorder->depth() != open.size()) return Fail("nothing is open");
      const int64_t inclusive = time - open.back().begin;
      recorder->Leave(inclusive, inclusive - open.back().calls_inclusive);
      open.pop_back();
      if (!open.empty()) open.back().calls_inclusive += inclusive;
    } else if (word == ".") {
      if (!open.empty()) return Fail("calls are open at the end of a profile");
      Print(*profile);
      profile = std::make_unique<tracekiln::Profile>();
      recorder = std::make_unique<tracekiln::pstats::CallRecorder>(profile.get());
    } else {
      return Fail("unknown word");
    }
  }
  return 0;
}

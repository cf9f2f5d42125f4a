#include "formats/intermediate/testing/profile_generator.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace tracekiln {
namespace {

// SplitMix64.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  uint64_t Below(uint64_t limit) { return Next() % limit; }

 private:
  uint64_t state_;
};

int64_t AnyNumber(Random& random) {
  switch (random.Below(8)) {
    case 0: return 0;
    case 1: return INT64_MIN;
    case 2: return INT64_MAX;
    case 3: return -static_cast<int64_t>(random.Below(1000));
    case 4: return static_cast<int64_t>(random.Next());
    default: return static_cast<int64_t>(random.Below(uint64_t{1} << random.Below(50)));
  }
}

CallStats AnyStats(Random& random) {
  CallStats stats;
  stats.call_count = AnyNumber(random);
  stats.primitive_call_count = random.Below(3) != 0 ? stats.call_count : AnyNumber(random);
  stats.own_ns = AnyNumber(random);
  stats.cumulative_ns = random.Below(2) != 0 ? stats.own_ns : AnyNumber(random);
  return stats;
}

std::string AnyText(Random& random) {
  switch (random.Below(10)) {
    case 0: return "";
    case 1: return std::string(1, static_cast<char>(random.Below(256)));
    case 2: return "\xed\xa0\x80 lone";
    case 3: return std::string("\0\n", 2);
    case 4: return std::string(random.Below(400), 'x');
    default: return absl::StrCat("name_", random.Below(1000));
  }
}

}  // namespace

Profile GenerateProfile(uint64_t seed, size_t functions) {
  Random random(seed);
  Profile profile;
  profile.strings.Intern("nobody uses this");
  const std::vector<std::string> files = {"", "~", "a.py", "/usr/lib/python3.11/threading.py", "\xed\xb2\x80.py"};
  std::vector<FunctionId> not_yet_rows;
  while (profile.functions().size() < functions) {
    const int64_t line = random.Below(5) == 0 ? AnyNumber(random) : static_cast<int64_t>(random.Below(3000));
    const size_t before = profile.functions().size();
    const FunctionId f = profile.AddFunction(files[random.Below(files.size())], line, AnyText(random));
    if (profile.functions().size() == before) continue;
    if (random.Below(4) == 0) {
      not_yet_rows.push_back(f);
    } else {
      profile.AddStats(f, AnyStats(random));
    }
  }
  for (const FunctionId f : not_yet_rows) {
    if (random.Below(2) == 0) profile.AddStats(f, AnyStats(random));
  }
  for (size_t i = 0; i < 2 * functions; ++i) {
    const FunctionId caller{static_cast<uint32_t>(random.Below(functions))};
    const FunctionId callee{static_cast<uint32_t>(random.Below(10) == 0 ? Index(caller) : random.Below(functions))};
    const CallStats stats = random.Below(4) == 0 ? profile.function(callee).stats : AnyStats(random);
    profile.AddCallerStats(caller, callee, stats);
  }
  return profile;
}

Profile GenerateProgramProfile(uint64_t seed, size_t functions) {
  Random random(seed);
  struct Node {
    std::vector<std::pair<uint32_t, CallStats>> callers;
    CallStats stats;
  };
  const size_t count = std::max<size_t>(functions, 2);
  std::vector<Node> nodes(count);
  nodes[0].stats = {1, 1, 1'000, 1'000'000'000};
  for (uint32_t f = 1; f < count; ++f) {
    const size_t caller_count = 1 + (random.Below(2) == 0 ? 0 : random.Below(5));
    for (size_t c = 0; c < caller_count; ++c) {
      const bool is_recursive = random.Below(12) == 0;
      const uint32_t caller = is_recursive ? f : static_cast<uint32_t>(random.Below(f));
      if (std::any_of(nodes[f].callers.begin(), nodes[f].callers.end(),
                      [&](const auto& known) { return known.first == caller; })) {
        continue;
      }
      CallStats stats;
      stats.call_count = 1 + static_cast<int64_t>(random.Below(uint64_t{1} << random.Below(12)));
      stats.primitive_call_count = is_recursive ? 1 : stats.call_count;
      stats.own_ns = stats.call_count * static_cast<int64_t>(100 + random.Below(20'000));
      stats.cumulative_ns =
          stats.own_ns + (random.Below(2) == 0 ? 0 : static_cast<int64_t>(random.Below(1'000'000'000)));
      nodes[f].stats.Add(stats);
      nodes[f].callers.emplace_back(caller, stats);
    }
  }
  Profile profile;
  profile.Reserve(count, count * 2);
  for (uint32_t f = 0; f < count; ++f) {
    FunctionId id;
    if (f == 0) {
      id = profile.AddFunction("~", 0, "<built-in method builtins.exec>");
    } else if (random.Below(8) == 0) {
      id = profile.AddFunction("~", 0, absl::StrCat("<method 'append_", f, "' of 'list' objects>"));
    } else {
      id = profile.AddFunction(
          absl::StrCat("/usr/lib/python3/dist-packages/torch/module_", random.Below(count / 12 + 1), ".py"),
          static_cast<int64_t>(1 + random.Below(2500)), absl::StrCat("function_", f));
    }
    profile.AddStats(id, nodes[f].stats);
  }
  for (uint32_t f = 0; f < count; ++f) {
    for (const auto& [caller, stats] : nodes[f].callers) {
      profile.AddCallerStats(FunctionId{caller}, FunctionId{f}, stats);
    }
  }
  return profile;
}

}  // namespace tracekiln

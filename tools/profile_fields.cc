#include "tools/profile_fields.h"

#include <string>

#include "analysis/profile_table/function_text.h"

namespace tracekiln::tools {
namespace {

bool IsBuiltin(const Profile& profile, FunctionId function) {
  return profile.file(function) == "~" && profile.function(function).line == 0;
}

void WriteText(absl::string_view text, json::Writer* w) {
  std::string out;
  profile_table::AppendWithoutSurrogates(text, &out);
  w->String(out);
}

}  // namespace

void WriteFunctionName(const Profile& profile, FunctionId function, json::Writer* w) {
  if (IsBuiltin(profile, function)) {
    w->Key("file"), w->Null();
    w->Key("line"), w->Null();
  } else {
    w->Key("file"), WriteText(profile.file(function), w);
    w->Key("line"), w->Int(profile.function(function).line);
  }
  w->Key("name"), WriteText(profile.name(function), w);
}

void WriteCallStats(const CallStats& stats, json::Writer* w) {
  w->Key("calls"), w->Int(stats.call_count);
  w->Key("primitive_calls"), w->Int(stats.primitive_call_count);
  w->Key("own_ns"), w->Int(stats.own_ns);
  w->Key("cumulative_ns"), w->Int(stats.cumulative_ns);
}

void WriteRatio(int64_t ns, int64_t count, json::Writer* w) {
  if (count == 0) {
    w->Null();
  } else {
    w->Double(static_cast<double>(ns) / static_cast<double>(count));
  }
}

void AppendFunctionCells(const Profile& profile, FunctionId function, CsvLine* line) {
  std::string text;
  if (IsBuiltin(profile, function)) {
    line->Empty().Empty();
  } else {
    profile_table::AppendPrintable(profile.file(function), &text);
    line->Text(text).Int(profile.function(function).line);
  }
  text.clear();
  profile_table::AppendPrintable(profile.name(function), &text);
  line->Text(text);
}

}  // namespace tracekiln::tools

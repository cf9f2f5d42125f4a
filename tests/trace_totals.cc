// Imports Chrome traces and prints, one JSON object a line, what real_traces_test compares with a plain parser: slices,
// their durations in ns by category and by thread, and whether the report adds up.
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "formats/chrome/chrome_importer.h"
#include "formats/io/executor.h"
#include "formats/io/input.h"
#include "formats/json/writer.h"

namespace {

using tracekiln::EventBatch;
using tracekiln::EventKind;
using tracekiln::TrackPart;

std::string Show(const EventBatch& batch, const TrackPart& part) {
  switch (part.type) {
    case TrackPart::Type::kAbsent: return "absent";
    case TrackPart::Type::kInt: return absl::StrCat(part.value);
    default: return absl::StrCat("text ", batch.Text(tracekiln::StringId{static_cast<uint32_t>(part.value)}));
  }
}

std::string Quoted(absl::string_view text) { return std::string(tracekiln::json::Escaped(text).text()); }

std::string AsObject(const std::map<std::string, int64_t>& sums) {
  std::string out = "{";
  for (const auto& [key, sum] : sums) absl::StrAppend(&out, out.size() > 1 ? "," : "", Quoted(key), ":", sum);
  return out + "}";
}

void PrintTotals(const char* path, tracekiln::io::Executor& executor) {
  auto input = tracekiln::io::OpenInput(path);
  if (!input.ok()) {
    std::printf("{\"error\":%s}\n", Quoted(input.status().message()).c_str());
    return;
  }
  auto source = tracekiln::chrome::OpenChromeJson(std::move(*input), {}, executor);
  int64_t slices = 0;
  std::map<std::string, int64_t> by_category;
  std::map<std::string, int64_t> by_track;
  EventBatch batch;
  for (;;) {
    const absl::StatusOr<bool> more = (*source)->Next(&batch);
    if (!more.ok()) {
      std::printf("{\"error\":%s}\n", Quoted(more.status().message()).c_str());
      return;
    }
    if (!*more) break;
    for (size_t row = 0; row < batch.rows(); ++row) {
      if (batch.kind[row] != EventKind::kSlice || batch.dur_ns[row] == tracekiln::kUnfinished) continue;
      ++slices;
      by_category[std::string(batch.CategoryOf(row))] += batch.dur_ns[row];
      const tracekiln::Track& track = batch.tracks()[static_cast<uint32_t>(batch.track[row])];
      by_track[absl::StrCat(Show(batch, track.pid), " / ", Show(batch, track.tid))] += batch.dur_ns[row];
    }
  }
  const tracekiln::ImportReport& report = (*source)->info().report;
  std::printf("{\"seen\":%llu,\"repaired\":%llu,\"balanced\":%s,\"slices\":%lld,\"by_category\":%s,\"by_track\":%s}\n",
              static_cast<unsigned long long>(report.seen), static_cast<unsigned long long>(report.repaired()),
              report.IsBalanced() ? "true" : "false", static_cast<long long>(slices), AsObject(by_category).c_str(),
              AsObject(by_track).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  tracekiln::io::ThreadPool executor(2);
  for (int i = 1; i < argc; ++i) PrintTotals(argv[i], executor);
  return 0;
}

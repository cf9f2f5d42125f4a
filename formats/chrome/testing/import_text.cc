#include "formats/chrome/testing/import_text.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "formats/intermediate/field_catalog.h"
#include "formats/intermediate/testing/batch_equality.h"
#include "formats/io/executor.h"
#include "formats/io/input.h"

namespace tracekiln::chrome {

size_t ImportedText::row_count() const {
  size_t count = 0;
  for (const EventBatch& b : batches) count += b.rows();
  return count;
}

std::vector<std::string> ImportedText::rows() const {
  std::vector<std::string> texts;
  for (const EventBatch& b : batches) {
    for (size_t row = 0; row < b.rows(); ++row) texts.push_back(RowText(b, row));
  }
  return texts;
}

std::vector<std::string> ImportedText::foreign_rows() const {
  std::vector<std::string> texts;
  for (const EventBatch& b : batches) {
    for (size_t row = 0; row < b.rows(); ++row) {
      const uint8_t link = b.flags[row] & (kFlowOut | kFlowIn);
      EventBatch one;
      if (!one.AppendFrom(b, row)) texts.push_back("cannot copy a row");
      one.flags[0] = static_cast<uint8_t>(one.flags[0] & ~link);
      texts.push_back(RowText(one, 0));
      if (link == 0) continue;
      const std::vector<Track>& tracks = one.tracks();
      EventRow flow;
      flow.kind = link == kFlowOut ? EventKind::kFlowStart : EventKind::kFlowEnd;
      flow.ts_ns = b.ts_ns[row];
      flow.name = one.strings.Intern(fields::kAc2g);
      flow.track = one.InternTrack(tracks[Index(one.track[0])]);
      (void)one.InternCategory(flow.name, &flow.category);
      std::vector<ArgField> arg_fields = {{one.strings.Intern("id"), ArgType::kInt, ArgPlace::kEvent}};
      std::vector<ArgValue> values = {ArgValue::Int(b.correlation[row])};
      if (link == kFlowIn) {
        arg_fields.push_back({one.strings.Intern("bp"), ArgType::kString, ArgPlace::kEvent});
        values.push_back(ArgValue::String(one.strings.Intern("e")));
      }
      // The order of "id" and "bp" is not kept in a flag.
      ShapeId shape;
      (void)one.args.InternShape(arg_fields, false, &shape);
      one.Append(flow, shape, values.data());
      texts.push_back(RowText(one, 1));
    }
  }
  return texts;
}

std::string ImportedText::report_text() const {
  std::vector<std::string> lines;
  for (const ImportReport::Entry& e : info.report.entries()) {
    std::vector<uint64_t> offsets = e.first_offsets;
    lines.push_back(absl::StrCat(static_cast<int>(e.severity), " ", e.reason, " ", e.count, " [",
                                 absl::StrJoin(offsets, ","), "]"));
  }
  std::sort(lines.begin(), lines.end());
  return absl::StrCat(info.report.seen, " = ", info.report.imported + info.report.merged, " + ", info.report.skipped(),
                      info.report.salvaged ? " salvaged" : "", "; ", absl::StrJoin(lines, "; "));
}

ImportedText ImportText(absl::string_view text, const ImportTextOptions& options) {
  ImportedText result;
  std::unique_ptr<io::Executor> executor;
  if (options.thread_count > 0) {
    executor = std::make_unique<io::ThreadPool>(options.thread_count);
  } else {
    executor = std::make_unique<io::InlineExecutor>();
  }
  io::OpenOptions open_options;
  open_options.read_ahead = false;
  auto input = io::OpenMemory(std::string(text), "t.json", open_options);
  if (!input.ok()) {
    result.status = input.status();
    return result;
  }
  ImportOptions import_options;
  import_options.strict = options.strict;
  import_options.salvage = options.salvage;
  auto source = OpenChromeJson(std::move(*input), import_options, *executor, options.tuning);
  if (!source.ok()) {
    result.status = source.status();
    return result;
  }
  for (;;) {
    EventBatch batch;
    const absl::StatusOr<bool> more = (*source)->Next(&batch);
    if (!more.ok()) result.status = more.status();
    if (!more.ok() || !*more) break;
    result.batches.push_back(std::move(batch));
  }
  result.info = (*source)->info();
  return result;
}

}  // namespace tracekiln::chrome

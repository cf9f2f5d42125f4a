// What every format of AllFormats() has to hold to, whatever it is. A new format is tested here without a line of its
// own, unless its default export is meant for people and another one is without loss: see LosslessOptions.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "formats/all_formats.h"
#include "formats/format/detect.h"
#include "formats/format/format.h"
#include "formats/format/spool.h"
#include "formats/intermediate/event_batch.h"
#include "formats/intermediate/graph.h"
#include "formats/intermediate/ids.h"
#include "formats/intermediate/import_report.h"
#include "formats/intermediate/profile.h"
#include "formats/intermediate/testing/batch_equality.h"
#include "formats/intermediate/testing/batch_generator.h"
#include "formats/intermediate/testing/graph_equality.h"
#include "formats/intermediate/testing/graph_generator.h"
#include "formats/intermediate/testing/profile_equality.h"
#include "formats/intermediate/testing/profile_generator.h"
#include "formats/intermediate/trace_source.h"
#include "formats/io/byte_sink.h"
#include "formats/io/executor.h"
#include "formats/io/input.h"
#include "formats/io/output.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tracekiln {
namespace {

using ::testing::HasSubstr;

// The export options with which a format keeps everything that its capabilities promise.
FormatOptions LosslessOptions(const Format& format) {
  for (const OptionSpec& option : format.export_options) {
    if (option.key == "lanes") return {{"lanes", "off"}};
  }
  return {};
}

struct Trace {
  std::vector<EventBatch> batches;
  std::optional<Profile> profile;
  std::optional<Graph> graph;
  TraceInfo info;
};

// False for formats of profiles alone. Such a format may make a profile of events, but has none to give back.
bool CarriesEvents(const Format& format) {
  return (format.capabilities & (kSlices | kInstants | kCounters | kFlows | kEveryEvent)) != 0;
}

class MemorySource final : public TraceSource {
 public:
  explicit MemorySource(const Trace* trace) : trace_(trace) {}

  absl::StatusOr<bool> Next(EventBatch* batch) override {
    if (next_ == fail_at) return absl::DataLossError("the source broke");
    if (next_ == trace_->batches.size()) return false;
    *batch = trace_->batches[next_++];
    return true;
  }
  absl::Status Rewind() override {
    next_ = 0;
    return absl::OkStatus();
  }
  bool can_rewind() const override { return true; }
  const TraceInfo& info() const override { return trace_->info; }
  const Profile* profile() const override { return trace_->profile ? &*trace_->profile : nullptr; }
  const Graph* graph() const override { return trace_->graph ? &*trace_->graph : nullptr; }

  size_t fail_at = SIZE_MAX;  // the batch in whose place an error comes

 private:
  const Trace* const trace_;
  size_t next_ = 0;
};

class FullDisk final : public io::ByteSink {
 public:
  explicit FullDisk(uint64_t capacity) : ByteSink("full"), left_(capacity) {}

 protected:
  void WriteSome(absl::string_view bytes) override {
    if (bytes.size() > left_) {
      set_status(absl::ResourceExhaustedError("full: no space left"));
    } else {
      left_ -= bytes.size();
    }
  }
  void Finish() override {}

 private:
  uint64_t left_;
};

absl::StatusOr<std::string> Write(const Format& format, const Trace& trace, const FormatOptions& options,
                                  io::Executor& executor) {
  MemorySource source(&trace);
  std::string bytes;
  io::StringSink sink(&bytes);
  const absl::Status status = format.write(source, ExportOptions{options}, sink, executor);
  if (!status.ok()) return status;
  if (const absl::Status closed = sink.Close(); !closed.ok()) return closed;
  return bytes;
}

std::string MustWrite(const Format& format, const Trace& trace, const FormatOptions& options) {
  io::InlineExecutor executor;
  const absl::StatusOr<std::string> bytes = Write(format, trace, options, executor);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return bytes.ok() ? *bytes : "";
}

// Nothing if a format of profiles finds nothing in the trace to make one of.
std::optional<std::string> WriteIfPossible(const Format& format, const Trace& trace, const FormatOptions& options) {
  io::InlineExecutor executor;
  const absl::StatusOr<std::string> bytes = Write(format, trace, options, executor);
  if (!CarriesEvents(format) && absl::IsFailedPrecondition(bytes.status())) return std::nullopt;
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return bytes.ok() ? *bytes : "";
}

absl::StatusOr<Trace> Read(const Format& format, const std::string& bytes, const ImportOptions& options,
                           io::Executor& executor) {
  absl::StatusOr<std::unique_ptr<io::Input>> input = io::OpenMemory(bytes, "made_up");
  if (!input.ok()) return input.status();
  absl::StatusOr<std::unique_ptr<TraceSource>> source = format.open(*std::move(input), options, executor);
  if (!source.ok()) return source.status();
  Trace trace;
  for (;;) {
    EventBatch batch;
    const absl::StatusOr<bool> more = (*source)->Next(&batch);
    if (!more.ok()) return more.status();
    if (!*more) break;
    EXPECT_FALSE(batch.empty());
    trace.batches.push_back(std::move(batch));
  }
  trace.info = (*source)->info();
  if (const Profile* profile = (*source)->profile(); profile != nullptr) trace.profile = *profile;
  EXPECT_TRUE(!trace.profile || (format.capabilities & kProfile) != 0);
  if (const Graph* graph = (*source)->graph(); graph != nullptr) trace.graph = *graph;
  EXPECT_TRUE(!trace.graph || (format.capabilities & kGraph) != 0);
  return trace;
}

Trace MustRead(const Format& format, const std::string& bytes) {
  io::InlineExecutor executor;
  absl::StatusOr<Trace> trace = Read(format, bytes, {}, executor);
  EXPECT_TRUE(trace.ok()) << trace.status();
  return trace.ok() ? *std::move(trace) : Trace{};
}

bool Carries(const Format& format, EventKind kind) {
  switch (kind) {
    case EventKind::kSlice: return (format.capabilities & kSlices) != 0;
    case EventKind::kInstant: return (format.capabilities & kInstants) != 0;
    case EventKind::kCounter: return (format.capabilities & kCounters) != 0;
    case EventKind::kFlowStart:
    case EventKind::kFlowStep:
    case EventKind::kFlowEnd: return (format.capabilities & kFlows) != 0;
    default: return (format.capabilities & kEveryEvent) != 0;
  }
}

// The rows that the format carries, as text, however they are cut into batches.
std::vector<std::string> Rows(const Format& format, const Trace& trace) {
  std::vector<std::string> rows;
  for (const EventBatch& batch : trace.batches) {
    for (size_t i = 0; i < batch.rows(); ++i) {
      if (Carries(format, batch.kind[i])) rows.push_back(RowText(batch, i, (format.capabilities & kArgs) != 0));
    }
  }
  if ((format.capabilities & kFileOrder) == 0) std::sort(rows.begin(), rows.end());
  return rows;
}

void ExpectSameRows(const std::vector<std::string>& got, const std::vector<std::string>& want) {
  for (size_t i = 0; i < std::min(got.size(), want.size()); ++i) ASSERT_EQ(got[i], want[i]) << "row " << i;
  ASSERT_EQ(got.size(), want.size());
}

// Functions, edges and numbers; nothing for no profile.
std::vector<std::string> ProfileOf(const Trace& trace) {
  return trace.profile ? UnorderedProfileTexts(*trace.profile) : std::vector<std::string>();
}

void ExpectSameInfo(const Format& format, const TraceInfo& got, const TraceInfo& want) {
  if ((format.capabilities & kMetadata) == 0) return;
  EXPECT_EQ(got.has_base, want.has_base);
  EXPECT_EQ(got.base_ns, want.base_ns);
  EXPECT_EQ(got.rank, want.rank);
  EXPECT_EQ(got.world_size, want.world_size);
  ASSERT_EQ(got.metadata.size(), want.metadata.size());
  for (size_t i = 0; i < want.metadata.size(); ++i) {
    EXPECT_EQ(got.metadata[i].key, want.metadata[i].key);
    EXPECT_EQ(got.metadata[i].json, want.metadata[i].json);
    EXPECT_EQ(got.metadata[i].after_events, want.metadata[i].after_events);
  }
}

// Kineto's kind of trace: what every format that has these capabilities must carry exactly.
Trace KinetoTrace(uint64_t seed, size_t batches, size_t rows) {
  Trace trace;
  trace.info.source_format = "chrome";
  trace.info.has_base = true;
  trace.info.base_ns = 1'700'000'000'000'000'000;
  trace.info.rank = 3;
  trace.info.world_size = 8;
  trace.info.metadata = {{"schemaVersion", "1", false},
                         {"distributedInfo", R"({"backend":"nccl","rank":3,"world_size":8})", false},
                         {"odd \"key\"\n", R"(["\u0001",1.0,null,{"a":[]}])", false},
                         {"traceName", "\"x.json\"", true}};
  ImportReport& report = trace.info.report;
  for (size_t i = 0; i < batches; ++i) {
    trace.batches.push_back(GenerateKinetoBatch(seed, rows, i * rows));
    const EventBatch& batch = trace.batches.back();
    for (size_t row = 0; row < batch.rows(); ++row)
      report.merged += static_cast<uint64_t>(batch.ForeignEvents(row)) - 1;
    report.imported += batch.rows();
  }
  report.seen = report.imported + report.merged;
  return trace;
}

// Fields of one row for AddRow.
struct Field {
  absl::string_view key;
  ArgType type;
  std::string text;  // kString, kJson, kNumber
  int64_t number = 0;
  ArgPlace place = ArgPlace::kArgs;
};

void AddRow(EventBatch* batch, EventRow row, absl::string_view name, absl::string_view category,
            const std::vector<Field>& specs) {
  row.name = batch->strings.Intern(name);
  ASSERT_TRUE(batch->InternCategory(batch->strings.Intern(category), &row.category));
  std::vector<ArgField> fields;
  std::vector<ArgValue> values;
  bool has_args = false;
  for (const Field& spec : specs) {
    fields.push_back({batch->strings.Intern(spec.key), spec.type, spec.place});
    has_args |= spec.place == ArgPlace::kArgs;
    const bool is_text = spec.type == ArgType::kString || spec.type == ArgType::kJson || spec.type == ArgType::kNumber;
    values.push_back(is_text                         ? ArgValue::String(batch->strings.Intern(spec.text))
                     : spec.type == ArgType::kDouble ? ArgValue::Double(static_cast<double>(spec.number) / 8)
                                                     : ArgValue::Int(spec.number));
  }
  ShapeId shape = ArgTable::kNoArgs;
  if (!fields.empty()) {
    ASSERT_TRUE(batch->args.InternShape(fields, has_args, &shape));
  }
  batch->Append(row, shape, values.data());
}

// Every kind that a trace outside an importer holds, with what makes it that kind.
Trace EveryKind() {
  Trace trace;
  trace.info.source_format = "chrome";
  EventBatch batch;
  const TrackId thread = batch.InternTrack({TrackPart::Int(1), TrackPart::Int(2)});
  const TrackId odd = batch.InternTrack({TrackPart::Text(batch.strings.Intern("Spans")), TrackPart::Int(-5)});
  const auto row = [&](EventKind kind, int64_t ts_ns, TrackId track, int64_t dur_ns = 0, uint8_t flags = 0) {
    EventRow r;
    r.kind = kind;
    r.ts_ns = ts_ns;
    r.dur_ns = dur_ns;
    r.track = track;
    r.flags = flags;
    return r;
  };
  const ArgPlace e = ArgPlace::kEvent;
  AddRow(&batch, row(EventKind::kMetadata, 0, thread, 0, kNoTimestamp), "process_name", "__metadata",
         {{"name", ArgType::kString, "python"}});
  AddRow(&batch, row(EventKind::kSlice, 1'000'001, thread, 2'000'002), "slice", "cpu_op",
         {{"Input Dims", ArgType::kJson, "[[2,3],[]]"}, {"b", ArgType::kBool, "", 1}, {"d", ArgType::kDouble, "", 12}});
  AddRow(&batch, row(EventKind::kSlice, 1'500'000, thread, kUnfinished), "never ends", "cpu_op", {});
  AddRow(&batch, row(EventKind::kSlice, 1'600'000, odd, 0), "no time", "cpu_op", {{"n", ArgType::kNull, ""}});
  AddRow(&batch, row(EventKind::kSlice, -7, odd, -3), "backwards", "cpu_op", {{"i", ArgType::kInt, "", INT64_MIN}});
  AddRow(&batch, row(EventKind::kInstant, 2'000'000, thread), "instant", "cpu_instant_event",
         {{"s", ArgType::kString, "t", 0, e}, {"Bytes", ArgType::kInt, "", -512}});
  AddRow(&batch, row(EventKind::kCounter, 3'000'000, thread), "counter", "memory",
         {{"a", ArgType::kInt, "", 5}, {"b", ArgType::kNumber, "18446744073709551616"}});
  for (const EventKind kind : {EventKind::kAsyncBegin, EventKind::kAsyncInstant, EventKind::kAsyncEnd}) {
    AddRow(&batch, row(kind, 4'000'000, thread), "async", "io", {{"id", ArgType::kString, "0x10", 0, e}});
  }
  for (const EventKind kind : {EventKind::kFlowStart, EventKind::kFlowStep, EventKind::kFlowEnd}) {
    AddRow(&batch, row(kind, 1'100'000, thread), "fwdbwd", "fwdbwd", {{"id", ArgType::kInt, "", 9, e}});
  }
  AddRow(&batch, row(EventKind::kSample, 5'000'000, thread), "sample", "p", {{"sf", ArgType::kInt, "", 3, e}});
  AddRow(&batch, row(EventKind::kObject, 6'000'000, thread), "object", "o",
         {{"id", ArgType::kString, "0x1", 0, e}, {"ph", ArgType::kString, "N", 0, e}});
  AddRow(&batch, row(EventKind::kOther, 7'000'000, thread), "other", "x", {{"ph", ArgType::kString, "v", 0, e}});
  trace.batches.push_back(std::move(batch));
  return trace;
}

// Formats that are read and written and hold more than graphs: those have tests of their own below.
class ConformanceTest : public ::testing::TestWithParam<const Format*> {
 protected:
  const Format& format() const { return *GetParam(); }
  FormatOptions lossless() const { return LosslessOptions(format()); }
};

TEST_P(ConformanceTest, CarriesKinetoTracesExactly) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const Trace trace = KinetoTrace(seed, 1 + seed % 3, 1 + 150 * seed);
    const std::optional<std::string> bytes = WriteIfPossible(format(), trace, lossless());
    if (!bytes) continue;
    const Trace again = MustRead(format(), *bytes);
    ASSERT_NO_FATAL_FAILURE(ExpectSameRows(Rows(format(), again), Rows(format(), trace))) << "seed " << seed;
    ASSERT_NO_FATAL_FAILURE(ExpectSameInfo(format(), again.info, trace.info));
    EXPECT_TRUE(again.info.report.IsBalanced()) << again.info.report.ToText();
  }
}

TEST_P(ConformanceTest, CarriesEveryKindOfEvent) {
  const Trace trace = EveryKind();
  std::vector<bool> is_there(kEventKindCount, false);
  for (const EventKind kind : trace.batches[0].kind) is_there[static_cast<size_t>(kind)] = true;
  // The last two exist in importers only.
  ASSERT_EQ(std::count(is_there.begin(), is_there.end(), true), kEventKindCount - 2);
  const Trace again = MustRead(format(), MustWrite(format(), trace, lossless()));
  ExpectSameRows(Rows(format(), again), Rows(format(), trace));
}

// A batch may hold what a format says in another way. What comes back must be stable, and nothing may be lost.
TEST_P(ConformanceTest, WritesAnyBatchAndReadsItBackTheSameWayEachTime) {
  for (uint64_t seed = 0; seed < 120; ++seed) {
    Trace trace;
    trace.info.source_format = "chrome";
    trace.batches.push_back(GenerateBatch(seed, 1 + seed * 3));
    const std::optional<std::string> bytes = WriteIfPossible(format(), trace, lossless());
    if (!bytes) continue;
    const Trace once = MustRead(format(), *bytes);
    const Trace twice = MustRead(format(), MustWrite(format(), once, lossless()));
    ASSERT_NO_FATAL_FAILURE(ExpectSameRows(Rows(format(), twice), Rows(format(), once))) << "seed " << seed;
    ASSERT_EQ(ProfileOf(twice), ProfileOf(once)) << "seed " << seed;
    // Rows that came from one event may come back as two (a flow that restates a correlation), never as fewer.
    const auto events = [&](const Trace& t) {
      size_t count = 0;
      for (const EventBatch& batch : t.batches) {
        for (size_t i = 0; i < batch.rows(); ++i) {
          if (Carries(format(), batch.kind[i])) count += static_cast<size_t>(batch.ForeignEvents(i));
        }
      }
      return count;
    };
    EXPECT_EQ(events(once), events(trace)) << "seed " << seed;
  }
}

TEST_P(ConformanceTest, CarriesEmptyTraces) {
  Trace trace;
  trace.info.source_format = "chrome";
  for (const FormatOptions& options : {lossless(), FormatOptions{}}) {
    const std::optional<std::string> bytes = WriteIfPossible(format(), trace, options);
    if (!bytes) continue;
    EXPECT_FALSE(bytes->empty());
    EXPECT_TRUE(MustRead(format(), *bytes).batches.empty());
    const absl::StatusOr<const Format*> found = DetectFormat(AllFormats(), *bytes, "made_up");
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ((*found)->name, format().name);
  }
}

TEST_P(ConformanceTest, CarriesEveryCharacterInNames) {
  Trace trace;
  trace.info.source_format = "chrome";
  EventBatch batch;
  EventRow row;
  row.track = batch.InternTrack({TrackPart::Int(1), TrackPart::Int(2)});
  std::vector<std::string> texts = {
      "\\",
      "\\\\",
      "a\\",
      "\"",
      "\\\"",
      "{\"ph\":\"X\"}",
      "]}",
      "},\n{",
      "\\u0000",
      "\\ud800",
      "</script>",
      "<!--",
      "\xef\xbb\xbf",
      "\xe2\x80\xa8\xe2\x80\xa9",
      "\xf0\x9f\x9a\x80",
      "\xf4\x8f\xbf\xbf",
      "\xef\xbf\xbd",
      "%s%n",
      "1e999",
      "null",
      std::string(70'000, 'x') + "\\",
  };
  for (int c = 0; c < 0x80; ++c) texts.push_back(absl::StrCat("a", std::string(1, static_cast<char>(c)), "b"));
  for (int c = 0; c < 0x80; ++c) texts.push_back(std::string(1, static_cast<char>(c)));
  for (int c = 0x80; c < 0x800; c += 7) {
    texts.push_back({static_cast<char>(0xc0 | c >> 6), static_cast<char>(0x80 | (c & 0x3f))});
  }
  for (const std::string& text : texts) {
    row.ts_ns += 1000;
    row.dur_ns = 10;
    AddRow(&batch, row, text, text, {{text, ArgType::kString, text}, {text + "+", ArgType::kInt, "", 1}});
  }
  trace.batches.push_back(std::move(batch));
  const Trace again = MustRead(format(), MustWrite(format(), trace, lossless()));
  ExpectSameRows(Rows(format(), again), Rows(format(), trace));
  // And in the layout for people no event goes missing.
  size_t slices = 0;
  for (const EventBatch& b : MustRead(format(), MustWrite(format(), trace, {})).batches) {
    slices += static_cast<size_t>(std::count(b.kind.begin(), b.kind.end(), EventKind::kSlice));
  }
  if ((format().capabilities & kSlices) != 0) {
    EXPECT_EQ(slices, texts.size());
  }
}

// Importers leave no invalid UTF-8 behind, but a capture library writes what the program gave it.
TEST_P(ConformanceTest, WritesBytesThatAreNotUtf8) {
  Trace trace;
  trace.info.source_format = "chrome";
  EventBatch batch;
  EventRow row;
  row.track = batch.InternTrack({TrackPart::Int(1), TrackPart::Int(2)});
  size_t count = 0;
  for (int c = 0x80; c < 0x100; ++c) {
    for (const std::string& tail : {std::string(), std::string("\x80"), std::string("\xbf\xbf\xbf")}) {
      const std::string text = std::string("x") + static_cast<char>(c) + tail;
      row.ts_ns += 1000;
      AddRow(&batch, row, text, text, {{text, ArgType::kString, text}});
      ++count;
    }
  }
  trace.batches.push_back(std::move(batch));
  for (const FormatOptions& options : {lossless(), FormatOptions{}}) {
    const Trace again = MustRead(format(), MustWrite(format(), trace, options));
    size_t slices = 0;
    for (const EventBatch& b : again.batches) {
      slices += static_cast<size_t>(std::count(b.kind.begin(), b.kind.end(), EventKind::kSlice));
    }
    if ((format().capabilities & kSlices) != 0) {
      EXPECT_EQ(slices, count);
    }
    EXPECT_EQ(again.info.report.repaired(), 0u) << again.info.report.ToText();
  }
}

TEST_P(ConformanceTest, OutputDoesNotDependOnTheExecutorOrTheRun) {
  Trace trace = KinetoTrace(7, 6, 3000);
  for (EventBatch& batch : trace.batches) batch.strings.Intern("unused");
  for (const FormatOptions& options : {lossless(), FormatOptions{}}) {
    const std::string bytes = MustWrite(format(), trace, options);
    EXPECT_EQ(MustWrite(format(), trace, options) == bytes, true);
    for (int threads : {1, 3}) {
      io::ThreadPool pool(threads);
      const absl::StatusOr<std::string> pooled = Write(format(), trace, options, pool);
      ASSERT_TRUE(pooled.ok()) << pooled.status();
      EXPECT_EQ(*pooled == bytes, true) << threads << " threads";
    }
  }
}

TEST_P(ConformanceTest, InputDoesNotDependOnTheExecutor) {
  const std::string bytes = MustWrite(format(), KinetoTrace(8, 12, 4000), lossless());
  const Trace trace = MustRead(format(), bytes);
  io::ThreadPool pool(3);
  const absl::StatusOr<Trace> pooled = Read(format(), bytes, {}, pool);
  ASSERT_TRUE(pooled.ok()) << pooled.status();
  ExpectSameRows(Rows(format(), *pooled), Rows(format(), trace));
  EXPECT_EQ(ProfileOf(*pooled), ProfileOf(trace));
  ExpectSameInfo(format(), pooled->info, trace.info);
}

TEST_P(ConformanceTest, IsFoundByItsContentInAnyContainer) {
  for (const FormatOptions& options : {lossless(), FormatOptions{}}) {
    const Trace trace = KinetoTrace(1, 2, 200);
    const std::string plain = MustWrite(format(), trace, options);
    const std::vector<std::string> want = Rows(format(), MustRead(format(), plain));
    for (const io::Compression compression : {io::Compression::kNone, io::Compression::kGzip, io::Compression::kZstd}) {
      std::string packed;
      auto sink = io::MakeCompressingSink(std::make_unique<io::StringSink>(&packed), compression);
      ASSERT_TRUE(sink.ok());
      (*sink)->Write(plain);
      ASSERT_TRUE((*sink)->Close().ok());
      const auto input = io::OpenMemory(packed, "made_up");
      ASSERT_TRUE(input.ok()) << input.status();
      const absl::StatusOr<const Format*> found = DetectFormat(AllFormats(), (*input)->Head(), "made_up");
      ASSERT_TRUE(found.ok()) << found.status();
      EXPECT_EQ((*found)->name, format().name);
      ExpectSameRows(Rows(format(), MustRead(format(), packed)), want);
    }
  }
}

TEST_P(ConformanceTest, RefusesUnknownOptionsByName) {
  const Trace trace = KinetoTrace(1, 1, 10);
  io::InlineExecutor executor;
  const absl::Status status = Write(format(), trace, {{"no_such_option", "1"}}, executor).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no_such_option"));
  ImportOptions import;
  import.format = {{ "no_such_option", "1" }};
  const absl::Status read = Read(format(), MustWrite(format(), trace, {}), import, executor).status();
  EXPECT_EQ(read.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(read.message()), HasSubstr("no_such_option"));
}

TEST_P(ConformanceTest, RefusesBadValuesOfItsOptionsByName) {
  const Trace trace = KinetoTrace(1, 1, 10);
  io::InlineExecutor executor;
  for (const OptionSpec& option : format().export_options) {
    const absl::string_view values = option.values;
    if (values.find('|') == absl::string_view::npos && values.find("..") == absl::string_view::npos) continue;
    const absl::Status status = Write(format(), trace, {{std::string(option.key), "no such value"}}, executor).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << option.key;
    EXPECT_THAT(std::string(status.message()), HasSubstr(std::string(option.key)));
  }
}

// A file cut anywhere: an error, or, where the format says that much of it is sure, a beginning of the rows with a
// warning. With salvage the rows are always a beginning.
TEST_P(ConformanceTest, TruncatedFilesAreErrorsOrBeginnings) {
  for (const size_t rows : {size_t{25}, size_t{900}}) {
    const std::string bytes = MustWrite(format(), KinetoTrace(5, 3, rows), lossless());
    const Trace whole_trace = MustRead(format(), bytes);
    const std::vector<std::string> whole = Rows(format(), whole_trace);
    const std::vector<std::string> profile = ProfileOf(whole_trace);
    const auto expect_beginning = [&](const absl::StatusOr<Trace>& cut, size_t length) {
      const bool is_told = cut->info.report.salvaged || cut->info.report.repaired() > 0;
      if (!is_told) {
        EXPECT_EQ(ProfileOf(*cut), profile) << length << ": a part of the profile is gone without a word";
      }
      if (!CarriesEvents(format())) return;
      ASSERT_TRUE((format().capabilities & kFileOrder) != 0);
      const std::vector<std::string> got = Rows(format(), *cut);
      ASSERT_LE(got.size(), whole.size()) << length;
      // What follows the last row may have been part of it (a flow event that is merged into its slice).
      for (size_t i = 0; i + 1 < got.size(); ++i) ASSERT_EQ(got[i], whole[i]) << length;
      if (got.size() < whole.size()) {
        EXPECT_TRUE(is_told) << length << ": " << whole.size() - got.size() << " rows are gone without a word";
      }
    };
    std::vector<size_t> lengths;
    const size_t step = bytes.size() < 6000 ? 1 : bytes.size() / 150;
    for (size_t length = 0; length < bytes.size(); length += step) lengths.push_back(length);
    for (size_t n = 1; n < 40; ++n) lengths.push_back(bytes.size() - n);
    io::InlineExecutor executor;
    for (const size_t length : lengths) {
      const std::string prefix = bytes.substr(0, length);
      const absl::StatusOr<Trace> cut = Read(format(), prefix, {}, executor);
      if (cut.ok()) {
        ASSERT_NO_FATAL_FAILURE(expect_beginning(cut, length));
      }
      ImportOptions salvage;
      salvage.salvage = true;
      const absl::StatusOr<Trace> kept = Read(format(), prefix, salvage, executor);
      if (kept.ok()) {
        ASSERT_NO_FATAL_FAILURE(expect_beginning(kept, length));
      }
      if (cut.ok()) {
        EXPECT_TRUE(kept.ok()) << length << ": salvage refuses what is taken without it";
      }
      ImportOptions strict;
      strict.strict = true;
      if (const absl::StatusOr<Trace> sure = Read(format(), prefix, strict, executor); sure.ok()) {
        ASSERT_EQ(Rows(format(), *sure).size(), whole.size()) << length << ": strict takes a torn file";
        ASSERT_EQ(ProfileOf(*sure), profile) << length << ": strict takes a torn file";
      }
    }
  }
}

// Any byte changed: an error or a trace, never a crash, a hang or a report that does not add up.
TEST_P(ConformanceTest, ChangedBytesNeverCrash) {
  const std::string bytes = MustWrite(format(), KinetoTrace(6, 2, 60), lossless());
  io::InlineExecutor executor;
  const size_t step = std::max<size_t>(1, bytes.size() / 1200);
  for (size_t at = 0; at < bytes.size(); at += step) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ (1 << at % 8));
    for (const bool is_salvage : {false, true}) {
      ImportOptions options;
      options.salvage = is_salvage;
      const absl::StatusOr<Trace> trace = Read(format(), changed, options, executor);
      if (trace.ok()) {
        EXPECT_TRUE(trace->info.report.IsBalanced()) << at << "\n" << trace->info.report.ToText();
      }
    }
  }
}

TEST_P(ConformanceTest, PassesErrorsOfTheSourceOn) {
  const Trace trace = KinetoTrace(2, 4, 500);
  for (const size_t at : {0, 1, 3}) {
    for (const FormatOptions& options : {lossless(), FormatOptions{}}) {
      io::ThreadPool pool(2);
      MemorySource source(&trace);
      source.fail_at = at;
      std::string bytes;
      io::StringSink sink(&bytes);
      const absl::Status status = format().write(source, ExportOptions{options}, sink, pool);
      EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    }
  }
}

TEST_P(ConformanceTest, PassesErrorsOfTheSinkOn) {
  const Trace trace = KinetoTrace(2, 4, 500);
  io::ThreadPool pool(2);
  const uint64_t size = MustWrite(format(), trace, lossless()).size();
  ASSERT_GT(size, 100u);
  for (const uint64_t capacity : {uint64_t{0}, uint64_t{100}, size / 2, size - 1}) {
    MemorySource source(&trace);
    FullDisk sink(capacity);
    absl::Status status = format().write(source, ExportOptions{lossless()}, sink, pool);
    if (status.ok()) status = sink.Close();
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << capacity << ": " << status;
  }
}

// What needs two passes gets them from a source that has only one.
TEST_P(ConformanceTest, WritesASpooledSourceAsTheSourceItself) {
  class OnePass final : public TraceSource {
   public:
    explicit OnePass(const Trace* trace) : source_(trace) {}
    absl::StatusOr<bool> Next(EventBatch* batch) override { return source_.Next(batch); }
    const TraceInfo& info() const override { return source_.info(); }

   private:
    MemorySource source_;
  };
  const Trace trace = KinetoTrace(4, 3, 700);
  io::ThreadPool pool(2);
  auto spooled = MakeRewindable(std::make_unique<OnePass>(&trace), pool);
  ASSERT_TRUE(spooled.ok()) << spooled.status();
  for (const FormatOptions& options : {lossless(), FormatOptions{}}) {
    ASSERT_TRUE((*spooled)->Rewind().ok());
    std::string bytes;
    io::StringSink sink(&bytes);
    ASSERT_TRUE(format().write(**spooled, ExportOptions{options}, sink, pool).ok());
    EXPECT_EQ(bytes == MustWrite(format(), trace, options), true);
  }
}

// What cProfile makes of a program: every format of profiles must carry it exactly, but for the order.
Trace ProfileTrace(uint64_t seed, size_t functions) {
  Trace trace;
  trace.profile = GenerateProgramProfile(seed, functions);
  return trace;
}

TEST_P(ConformanceTest, CarriesProfiles) {
  if ((format().capabilities & kProfile) == 0) return;
  for (const size_t functions : {2, 10, 300, 5000}) {
    const Trace trace = ProfileTrace(functions, functions);
    for (const FormatOptions& options : {lossless(), FormatOptions{}}) {
      const std::string bytes = MustWrite(format(), trace, options);
      const Trace again = MustRead(format(), bytes);
      EXPECT_TRUE(again.batches.empty());
      ASSERT_TRUE(again.profile.has_value());
      ASSERT_EQ(ProfileOf(again), ProfileOf(trace)) << functions;
      EXPECT_TRUE(again.info.report.IsBalanced()) << again.info.report.ToText();
      const absl::StatusOr<const Format*> found = DetectFormat(AllFormats(), bytes, "made_up");
      ASSERT_TRUE(found.ok()) << found.status();
      EXPECT_EQ((*found)->name, format().name);
      io::ThreadPool pool(3);
      const absl::StatusOr<std::string> pooled = Write(format(), trace, options, pool);
      ASSERT_TRUE(pooled.ok()) << pooled.status();
      EXPECT_EQ(*pooled == bytes, true);
    }
  }
}

// Any byte changed, and the file cut anywhere: an error or a profile, never a crash, and what is cut off is told.
TEST_P(ConformanceTest, DamagedProfilesNeverCrash) {
  if ((format().capabilities & kProfile) == 0) return;
  const Trace trace = ProfileTrace(3, 40);
  const std::string bytes = MustWrite(format(), trace, lossless());
  io::InlineExecutor executor;
  for (const bool is_salvage : {false, true}) {
    ImportOptions options;
    options.salvage = is_salvage;
    for (size_t at = 0; at < bytes.size(); ++at) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ (1 << at % 8));
      if (const absl::StatusOr<Trace> read = Read(format(), changed, options, executor); read.ok()) {
        EXPECT_TRUE(read->info.report.IsBalanced()) << at << "\n" << read->info.report.ToText();
      }
      const absl::StatusOr<Trace> cut = Read(format(), bytes.substr(0, at), options, executor);
      if (cut.ok() && !cut->info.report.salvaged && cut->info.report.repaired() == 0) {
        EXPECT_EQ(ProfileOf(*cut), ProfileOf(trace)) << at;
      }
    }
  }
}

// Formats that are read and written and have one of these capabilities.
std::vector<const Format*> BothWays(uint32_t capabilities) {
  std::vector<const Format*> formats;
  for (const Format* format : AllFormats()) {
    const bool has_one = (format->capabilities & capabilities) != 0;
    if (format->open != nullptr && format->write != nullptr && has_one) formats.push_back(format);
  }
  return formats;
}
std::vector<const Format*> BothWays() { return BothWays(~uint32_t{kGraph}); }

INSTANTIATE_TEST_SUITE_P(AllFormats, ConformanceTest, ::testing::ValuesIn(BothWays()),
                         [](const ::testing::TestParamInfo<const Format*>& info) {
                           return std::string(info.param->name);
                         });

TEST(AllFormatsTest, SayWhatTheyAre) {
  for (const Format* const f : AllFormats()) {
    const Format& format = *f;
    EXPECT_FALSE(format.name.empty());
    EXPECT_FALSE(format.description.empty());
    EXPECT_EQ(format.extension.substr(0, 1), ".");
    EXPECT_EQ(format.sniff == nullptr, format.open == nullptr);
    EXPECT_EQ(FindFormatByName(AllFormats(), format.name), f);
    for (const auto* options : {&format.import_options, &format.export_options}) {
      for (const OptionSpec& option : *options) {
        EXPECT_FALSE(option.key.empty());
        EXPECT_FALSE(option.values.empty()) << option.key;
        EXPECT_FALSE(option.help.empty()) << option.key;
      }
    }
  }
}

// A graph as every format of graphs must carry it exactly.
Trace GraphTrace(uint64_t seed, size_t nodes) {
  Trace trace;
  trace.graph = GenerateOperatorGraph(seed, nodes);
  // Not every format has a place for strides.
  Graph plain;
  const Graph& from = *trace.graph;
  for (const Graph::Attribute& a : from.graph_attributes()) {
    plain.AddGraphAttribute({IsText(a.type) ? Index(plain.strings.Intern(from.Text(a.text()))) : a.value,
                             plain.strings.Intern(from.Text(a.name)), a.type});
  }
  for (size_t i = 0; i < from.nodes().size(); ++i) {
    Graph::Node& node = plain.AddNode(from.nodes()[i].id, from.name(i));
    node.type = static_cast<NodeType>(i % 8);
    node.start_us = i * 7;
    node.duration_us = i % 5;
    node.inputs.values = plain.strings.Intern(from.Text(from.nodes()[i].inputs.values));
    node.inputs.shapes = plain.strings.Intern(from.Text(from.nodes()[i].inputs.shapes));
    for (const uint64_t dep : from.control_deps(i)) plain.AddControlDep(dep);
    if (i > 0) plain.AddDataDep(from.nodes()[i - 1].id);
    for (const Graph::Attribute& a : from.attributes(i)) {
      plain.AddAttribute({IsText(a.type) ? Index(plain.strings.Intern(from.Text(a.text()))) : a.value,
                          plain.strings.Intern(from.Text(a.name)), a.type});
    }
  }
  trace.graph = std::move(plain);
  return trace;
}

TEST(GraphConformanceTest, FormatsOfGraphsCarryThemExactly) {
  ASSERT_GE(BothWays(kGraph).size(), 2u);
  for (const Format* const format : BothWays(kGraph)) {
    SCOPED_TRACE(std::string(format->name));
    for (const size_t nodes : {4, 50, 3000}) {
      const Trace trace = GraphTrace(nodes, nodes);
      const std::string bytes = MustWrite(*format, trace, {});
      const absl::StatusOr<const Format*> found = DetectFormat(AllFormats(), bytes, "made_up");
      ASSERT_TRUE(found.ok()) << found.status();
      EXPECT_EQ((*found)->name, format->name);
      const Trace again = MustRead(*format, bytes);
      EXPECT_TRUE(again.batches.empty());
      ASSERT_TRUE(again.graph.has_value());
      ASSERT_EQ(FirstDifference(*again.graph, *trace.graph), "");
      EXPECT_TRUE(again.info.report.IsBalanced()) << again.info.report.ToText();
      io::ThreadPool pool(3);
      const absl::StatusOr<std::string> pooled = Write(*format, trace, {}, pool);
      ASSERT_TRUE(pooled.ok()) << pooled.status();
      EXPECT_EQ(*pooled == bytes, true);
      // And every other format of graphs after it.
      for (const Format* const second : BothWays(kGraph)) {
        const Trace last = MustRead(*second, MustWrite(*second, again, {}));
        ASSERT_TRUE(last.graph.has_value());
        ASSERT_EQ(FirstDifference(*last.graph, *trace.graph), "");
      }
    }
  }
}

// Any byte changed, and the file cut anywhere: an error or a graph, never a crash, and what is cut off is told, unless
// the file ends between two nodes and the format has no way to say how many there are.
TEST(GraphConformanceTest, DamagedGraphsNeverCrash) {
  for (const Format* const format : BothWays(kGraph)) {
    SCOPED_TRACE(std::string(format->name));
    const Trace trace = GraphTrace(3, 40);
    const std::string bytes = MustWrite(*format, trace, {});
    io::InlineExecutor executor;
    size_t untold = 0;
    for (const bool is_salvage : {false, true}) {
      ImportOptions options;
      options.salvage = is_salvage;
      for (size_t at = 0; at < bytes.size(); ++at) {
        std::string changed = bytes;
        changed[at] = static_cast<char>(changed[at] ^ (1 << at % 8));
        if (const absl::StatusOr<Trace> read = Read(*format, changed, options, executor); read.ok()) {
          EXPECT_TRUE(read->info.report.IsBalanced()) << at << "\n" << read->info.report.ToText();
        }
        const absl::StatusOr<Trace> cut = Read(*format, bytes.substr(0, at), options, executor);
        if (!cut.ok() || cut->info.report.salvaged || cut->info.report.repaired() > 0) continue;
        ASSERT_TRUE(cut->graph.has_value());
        EXPECT_LE(cut->graph->nodes().size(), trace.graph->nodes().size());
        if (cut->graph->nodes().size() < trace.graph->nodes().size()) ++untold;
      }
    }
    EXPECT_LE(untold, 2 * (trace.graph->nodes().size() + 1));
  }
}

TEST(GraphConformanceTest, FormatsOfGraphsAloneRefuseEvents) {
  for (const Format* const format : BothWays(kGraph)) {
    if ((format->capabilities & ~uint32_t{kGraph}) != 0) continue;
    io::InlineExecutor executor;
    const absl::Status status = Write(*format, KinetoTrace(1, 1, 10), {}, executor).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    const absl::Status unknown = Write(*format, GraphTrace(1, 4), {{"no_such_option", "1"}}, executor).status();
    EXPECT_EQ(unknown.code(), absl::StatusCode::kInvalidArgument) << unknown;
    for (const uint64_t capacity : {0, 100}) {
      const Trace trace = GraphTrace(1, 200);
      MemorySource source(&trace);
      FullDisk sink(capacity);
      absl::Status full = format->write(source, ExportOptions{}, sink, executor);
      if (full.ok()) full = sink.Close();
      EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted) << full;
    }
  }
}

TEST(AllFormatsTest, NamesDifferAndNothingElseIsTakenForATrace) {
  std::vector<std::string> names;
  for (const Format* format : AllFormats()) names.push_back(std::string(format->name));
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
  EXPECT_GE(BothWays().size(), 2u);
  for (const std::string& text : std::vector<std::string>{"", "<html><body>", "hello, world\n", std::string(3000, '\0'),
                                                          "\x7f"
                                                          "ELF\x02\x01\x01",
                                                          "PK\x03\x04", "%PDF-1.4"}) {
    EXPECT_FALSE(DetectFormat(AllFormats(), text, "made_up").ok()) << text;
  }
}

// Whatever stands in between, the last of a chain of formats says what the first said.
TEST(AllFormatsTest, ChainsOfFormatsKeepTheTrace) {
  const Trace trace = KinetoTrace(11, 2, 1500);
  for (const Format* first : BothWays()) {
    for (const Format* second : BothWays()) {
      const Trace between = MustRead(*first, MustWrite(*first, trace, LosslessOptions(*first)));
      const Trace last = MustRead(*second, MustWrite(*second, between, LosslessOptions(*second)));
      if (((first->capabilities ^ second->capabilities) & ~uint32_t{kProfile | kGraph}) != 0) continue;
      ExpectSameRows(Rows(*second, last), Rows(*second, trace));
      ExpectSameInfo(*second, last.info, trace.info);
    }
  }
}

TEST(AllFormatsTest, ChainsOfFormatsKeepTheProfile) {
  const Trace trace = ProfileTrace(4, 200);
  for (const Format* first : BothWays()) {
    for (const Format* second : BothWays()) {
      if ((first->capabilities & second->capabilities & kProfile) == 0) continue;
      const Trace between = MustRead(*first, MustWrite(*first, trace, LosslessOptions(*first)));
      const Trace last = MustRead(*second, MustWrite(*second, between, LosslessOptions(*second)));
      EXPECT_EQ(ProfileOf(last), ProfileOf(trace)) << first->name << ", " << second->name;
    }
  }
}

// The order as well: of functions, edges and rows, and whatever the profile holds.
TEST(AllFormatsTest, KilnKeepsProfilesInOrder) {
  const Format* const kiln = FindFormatByName(AllFormats(), "kiln");
  ASSERT_NE(kiln, nullptr);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Trace trace = KinetoTrace(seed, 1, 50);
    trace.profile = GenerateProfile(seed, 1 + seed * 10);
    const Trace again = MustRead(*kiln, MustWrite(*kiln, trace, {}));
    ASSERT_TRUE(again.profile.has_value());
    EXPECT_EQ(FirstDifference(*again.profile, *trace.profile), "");
    ExpectSameRows(Rows(*kiln, again), Rows(*kiln, trace));
  }
}

}  // namespace
}  // namespace tracekiln

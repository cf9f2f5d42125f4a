// tracekiln cat: events as JSON lines, with filters.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "formats/intermediate/graph.h"
#include "formats/intermediate/nanos.h"
#include "formats/intermediate/profile.h"
#include "formats/json/writer.h"
#include "re2/re2.h"
#include "tools/commands.h"
#include "tools/graph_summary.h"
#include "tools/open_trace.h"
#include "tools/profile_fields.h"
#include "tools/progress.h"
#include "tools/trace_summary.h"

namespace tracekiln::tools {
namespace {

constexpr size_t kBlockBytes = 64 << 10;

struct Filter {
  int64_t from_ns = INT64_MIN;
  int64_t to_ns = INT64_MAX;
  bool has_window = false;
  std::vector<std::string> categories;
  std::vector<EventKind> kinds;
  std::optional<int64_t> rank;
  std::optional<std::string> pid;
  std::optional<std::string> tid;
  std::unique_ptr<RE2> name;
  uint64_t limit = UINT64_MAX;
};

absl::Status ParseTime(const ParsedFlags& flags, absl::string_view flag, int64_t* ns, bool* has_window) {
  const std::optional<std::string> text = flags.Get(flag);
  if (!text) return absl::OkStatus();
  const ParsedNanos parsed = ParseMicros(*text);
  if (parsed.error != NanosError::kNone) {
    return absl::InvalidArgumentError(
        absl::StrCat("--", flag, " takes microseconds such as 1234.5, not \"", *text, "\""));
  }
  *ns = parsed.ns;
  *has_window = true;
  return absl::OkStatus();
}

absl::Status ParseFilter(const ParsedFlags& flags, Filter* filter) {
  for (absl::Status status : {ParseTime(flags, "from-us", &filter->from_ns, &filter->has_window),
                              ParseTime(flags, "to-us", &filter->to_ns, &filter->has_window)}) {
    if (!status.ok()) return status;
  }
  filter->categories = flags.GetAll("category");
  for (const std::string& name : flags.GetAll("kind")) {
    const std::optional<EventKind> kind = KindFromName(name);
    if (!kind) {
      return absl::InvalidArgumentError(
          absl::StrCat("--kind: no kind \"", name, "\"; there are slice, instant, counter, metadata, flow_start, …"));
    }
    filter->kinds.push_back(*kind);
  }
  if (flags.Has("rank")) {
    const absl::StatusOr<int64_t> rank = flags.GetInt("rank", 0, INT64_MIN, INT64_MAX);
    if (!rank.ok()) return rank.status();
    filter->rank = *rank;
  }
  if (const std::optional<std::string> track = flags.Get("track")) {
    const size_t colon = track->find(':');
    filter->pid = track->substr(0, colon);
    if (colon != std::string::npos) filter->tid = track->substr(colon + 1);
  }
  if (const std::optional<std::string> name = flags.Get("name")) {
    filter->name = std::make_unique<RE2>(*name, RE2::Quiet);
    if (!filter->name->ok()) return absl::InvalidArgumentError(absl::StrCat("--name: ", filter->name->error()));
  }
  const absl::StatusOr<int64_t> limit = flags.GetInt("limit", INT64_MAX, 0, INT64_MAX);
  if (!limit.ok()) return limit.status();
  filter->limit = static_cast<uint64_t>(*limit);
  return absl::OkStatus();
}

// What a filter says of the names, categories and tracks of one batch, each asked once.
class BatchFilter {
 public:
  BatchFilter(const Filter& filter, const EventBatch& batch) : filter_(filter), batch_(batch) {
    for (StringId category : batch.categories()) {
      bool is_wanted = filter.categories.empty();
      for (const std::string& wanted : filter.categories) is_wanted |= batch.Text(category) == wanted;
      categories_.push_back(is_wanted);
    }
    for (const Track& track : batch.tracks()) {
      tracks_.push_back((!filter.pid || *filter.pid == TrackPartText(batch, track.pid)) &&
                        (!filter.tid || *filter.tid == TrackPartText(batch, track.tid)));
    }
    if (filter.name != nullptr) names_.assign(batch.strings.size(), 0);
  }

  bool Wants(size_t row) {
    if (!tracks_[Index(batch_.track[row])]) return false;
    const CategoryId category = batch_.category[row];
    if (category == kNoCategory ? !filter_.categories.empty() : !categories_[Index(category)]) return false;
    if (!filter_.kinds.empty()) {
      bool is_wanted = false;
      for (EventKind kind : filter_.kinds) is_wanted |= kind == batch_.kind[row];
      if (!is_wanted) return false;
    }
    return InWindow(row) && (filter_.name == nullptr || NameMatches(batch_.name[row]));
  }

 private:
  // A slice is in the window if any part of it is.
  bool InWindow(size_t row) const {
    if (!filter_.has_window) return true;
    const int64_t start_ns = batch_.ts_ns[row];
    if (start_ns >= filter_.to_ns) return false;
    if (start_ns >= filter_.from_ns) return true;
    if (batch_.kind[row] != EventKind::kSlice) return false;
    const int64_t dur_ns = batch_.dur_ns[row];
    int64_t end_ns;
    return dur_ns == kUnfinished || __builtin_add_overflow(start_ns, dur_ns, &end_ns) || end_ns > filter_.from_ns;
  }

  bool NameMatches(StringId name) {
    if (name == kNoString) return false;
    char& known = names_[Index(name)];
    if (known == 0) {
      const absl::string_view text = batch_.Text(name);
      known = RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *filter_.name) ? 'y' : 'n';
    }
    return known == 'y';
  }

  const Filter& filter_;
  const EventBatch& batch_;
  std::vector<bool> categories_;
  std::vector<bool> tracks_;
  std::vector<char> names_;  // by StringId: 0 not asked yet, 'y', 'n'
};

void WritePart(const EventBatch& batch, absl::string_view key, const TrackPart& part, json::Writer* w) {
  switch (part.type) {
    case TrackPart::Type::kAbsent: return;
    case TrackPart::Type::kInt:
      w->Key(key);
      w->Int(part.value);
      return;
    case TrackPart::Type::kText:
      w->Key(key);
      w->String(batch.Text(StringId{static_cast<uint32_t>(part.value)}));
      return;
    case TrackPart::Type::kJson:
      w->Key(key);
      w->Json(batch.Text(StringId{static_cast<uint32_t>(part.value)}));
      return;
  }
}

void WriteFields(const EventBatch& batch, size_t row, ArgPlace place, absl::string_view key, bool even_if_empty,
                 json::Writer* w) {
  const ArgShape& shape = batch.args.shape(batch.shape[row]);
  bool is_open = even_if_empty;
  if (is_open) {
    w->Key(key);
    w->BeginObject();
  }
  for (size_t f = 0; f < shape.fields.size(); ++f) {
    const ArgField& field = shape.fields[f];
    if (field.place != place) continue;
    if (!is_open) {
      is_open = true;
      w->Key(key);
      w->BeginObject();
    }
    w->Key(batch.Text(field.key));
    const ArgValue value = shape.columns[f].Get(batch.args_row[row]);
    switch (field.type) {
      case ArgType::kNull: w->Null(); break;
      case ArgType::kBool: w->Bool(value.i != 0); break;
      case ArgType::kInt: w->Int(value.i); break;
      case ArgType::kDouble: w->Double(value.d); break;
      case ArgType::kString: w->String(batch.Text(value.s)); break;
      case ArgType::kJson: w->Json(batch.Text(value.s)); break;
      case ArgType::kNumber: w->Raw(batch.Text(value.s)); break;
    }
  }
  if (is_open) w->EndObject();
}

void WriteEvent(const EventBatch& batch, size_t row, uint64_t ordinal, absl::string_view file, std::string* out) {
  json::Writer w(out);
  w.BeginObject();
  if (!file.empty()) {
    w.Key("file");
    w.String(file);
  }
  w.Key("row");
  w.Uint(ordinal);
  w.Key("kind");
  w.String(KindName(batch.kind[row]));
  w.Key("ts_us");
  w.MicrosFromNanos(batch.ts_ns[row]);
  if (batch.kind[row] == EventKind::kSlice) {
    w.Key("dur_us");
    if (batch.dur_ns[row] == kUnfinished) {
      w.Null();
    } else {
      w.MicrosFromNanos(batch.dur_ns[row]);
    }
  }
  if (batch.name[row] != kNoString) {
    w.Key("name");
    w.String(batch.NameOf(row));
  }
  if (batch.category[row] != kNoCategory) {
    w.Key("cat");
    w.String(batch.CategoryOf(row));
  }
  const Track& track = batch.tracks()[Index(batch.track[row])];
  WritePart(batch, "pid", track.pid, &w);
  WritePart(batch, "tid", track.tid, &w);
  if (batch.correlation[row] != 0) {
    w.Key("correlation");
    w.Int(batch.correlation[row]);
  }
  if (batch.ForeignEvents(row) > 1) {
    w.Key("flow");
    w.String((batch.flags[row] & kFlowOut) != 0 ? "out" : "in");
  }
  WriteFields(batch, row, ArgPlace::kEvent, "fields", false, &w);
  WriteFields(batch, row, ArgPlace::kArgs, "args", batch.args.shape(batch.shape[row]).has_args_object, &w);
  w.EndObject();
}

void WriteFunction(const Profile& profile, const CallGraph& graph, FunctionId function, absl::string_view input,
                   std::string* out) {
  json::Writer w(out);
  w.BeginObject();
  if (!input.empty()) w.Key("input"), w.String(input);
  WriteFunctionName(profile, function, &w);
  WriteCallStats(profile.function(function).stats, &w);
  if (!profile.function(function).is_row) w.Key("is_row"), w.Bool(false);
  w.Key("callers");
  w.BeginArray();
  for (const uint32_t e : graph.CallersOf(function)) {
    const Profile::Edge& edge = profile.edges()[e];
    w.BeginObject();
    WriteFunctionName(profile, edge.caller, &w);
    WriteCallStats(edge.stats, &w);
    w.EndObject();
  }
  w.EndArray();
  w.EndObject();
}

// All functions that the filter wants: the rows in their order, then those that are only callers. Filters of times,
// categories, kinds and tracks are for events.
void WriteProfile(const Profile& profile, const Filter& filter, absl::string_view input, uint64_t* left,
                  io::ByteSink* sink) {
  if (filter.has_window || !filter.categories.empty() || !filter.kinds.empty() || filter.pid) return;
  const CallGraph graph(profile);
  std::vector<FunctionId> functions = profile.rows();
  for (uint32_t f = 0; f < profile.functions().size(); ++f) {
    if (!profile.functions()[f].is_row) functions.push_back(FunctionId{f});
  }
  std::string block;
  for (const FunctionId f : functions) {
    if (*left == 0 || !sink->status().ok()) break;
    const absl::string_view name = profile.name(f);
    if (filter.name != nullptr && !RE2::PartialMatch(re2::StringPiece(name.data(), name.size()), *filter.name))
      continue;
    WriteFunction(profile, graph, f, input, &block);
    block += '\n';
    --*left;
    if (block.size() >= kBlockBytes) {
      sink->Write(block);
      block.clear();
    }
  }
  sink->Write(block);
}

// All nodes that the filter wants, in the graph's order.
void WriteNodes(const Graph& graph, const Filter& filter, absl::string_view input, uint64_t* left, io::ByteSink* sink) {
  if (filter.has_window || !filter.categories.empty() || !filter.kinds.empty() || filter.pid) return;
  std::string block;
  for (size_t node = 0; node < graph.nodes().size() && *left > 0 && sink->status().ok(); ++node) {
    const absl::string_view name = graph.name(node);
    if (filter.name != nullptr && !RE2::PartialMatch(re2::StringPiece(name.data(), name.size()), *filter.name))
      continue;
    {
      json::Writer w(&block);
      WriteGraphNode(graph, node, input, &w);
    }
    block += '\n';
    --*left;
    if (block.size() >= kBlockBytes) {
      sink->Write(block);
      block.clear();
    }
  }
  sink->Write(block);
}

// Whether the trace is that of the wanted rank. A trace that can be read only once may tell its rank behind its events:
// then this reads it all, and *is_used_up is set.
absl::StatusOr<bool> HasRank(TraceSource& source, int64_t rank, bool* is_used_up) {
  if (!source.can_rewind()) {
    *is_used_up = true;
    const absl::Status status = ForEachBatch(source, [](const EventBatch&) { return true; });
    if (!status.ok()) return status;
  }
  return source.info().rank == rank;
}

int RunOne(const std::string& path, const ParsedFlags& flags, CommandContext& context, const Filter& filter,
           absl::string_view shown_file, uint64_t* left) {
  absl::StatusOr<OpenedTrace> trace = OpenTrace(path, flags, context);
  if (!trace.ok()) return context.Fail(trace.status());
  if (filter.rank) {
    bool is_used_up = false;
    const absl::StatusOr<bool> has_rank = HasRank(*trace->source, *filter.rank, &is_used_up);
    if (!has_rank.ok()) return context.Fail(has_rank.status());
    if (!*has_rank) return kDone;
    if (is_used_up) {
      if (path == "-") {
        return context.Fail(absl::FailedPreconditionError(
            "<stdin>: --rank needs a file: this format may tell its rank at the end, so it is read twice"));
      }
      trace = OpenTrace(path, flags, context);
      if (!trace.ok()) return context.Fail(trace.status());
    }
  }
  ProgressMeter meter(context.shows_progress, context.err);
  ProgressSource source(*trace->source, &meter, context.is_interrupted);
  uint64_t ordinal = 0;
  std::string block;
  const absl::Status status = ForEachBatch(source, [&](const EventBatch& batch) {
    BatchFilter wanted(filter, batch);
    for (size_t row = 0; row < batch.rows() && *left > 0; ++row) {
      if (!wanted.Wants(row)) continue;
      WriteEvent(batch, row, ordinal + row, shown_file, &block);
      block += '\n';
      --*left;
      if (block.size() >= kBlockBytes) {
        context.out.Write(block);
        block.clear();
      }
    }
    ordinal += batch.rows();
    return *left > 0 && context.out.status().ok();
  });
  meter.Finish();
  context.out.Write(block);
  if (!status.ok()) return context.Fail(status);
  if (ordinal == 0 && *left > 0 && source.profile() != nullptr) {
    WriteProfile(*source.profile(), filter, shown_file, left, &context.out);
  }
  if (ordinal == 0 && *left > 0 && source.graph() != nullptr) {
    WriteNodes(*source.graph(), filter, shown_file, left, &context.out);
  }
  if (*left == 0) return kDone;  // the report would be that of a part
  SayReport(context, path, source.info().report);
  return source.info().report.salvaged ? kDoneWithLosses : kDone;
}

int Run(const ParsedFlags& flags, CommandContext& context) {
  if (const absl::Status status = CheckReadFlags(flags, context.formats); !status.ok()) {
    return context.Misused(status.message());
  }
  Filter filter;
  if (const absl::Status status = ParseFilter(flags, &filter); !status.ok()) return context.Misused(status.message());
  if (flags.positional().empty())
    return context.Misused("which trace? give at least one file, or - for standard input");
  uint64_t left = filter.limit;
  std::vector<int> codes;
  for (const std::string& path : flags.positional()) {
    if (left == 0 || !context.out.status().ok()) break;
    codes.push_back(RunOne(path, flags, context, filter,
                           flags.positional().size() > 1 ? absl::string_view(path) : absl::string_view(), &left));
  }
  return CombinedStatus(codes);
}

}  // namespace

const Command& CatCommand() {
  static const Command* const command = [] {
    auto* c =
        new Command{"cat",
                    "IN… [filters]",
                    "print events as JSON lines, in file order, or the functions of a profile, or the nodes of a graph",
                    "Each line has the row's number, kind, ts_us and dur_us (microseconds from the trace's base; "
                    "dur_us is null for\n"
                    "a slice that never ended), name, cat, pid, tid, correlation, \"flow\" (the row stands for a "
                    "flow event as well),\n"
                    "\"args\", and \"fields\": the event's other keys. Filters of different kinds must all "
                    "match; of --category and\n"
                    "--kind, which can be repeated, one must.\n"
                    "A file that holds only a profile gives a line per function: file, line (null for "
                    "built-ins), name, calls,\n"
                    "primitive_calls, own_ns, cumulative_ns, callers. One that holds a graph gives a line per "
                    "node: id, name, type,\n"
                    "start_us, duration_us, control_deps, data_deps, inputs, outputs, attributes. Of the filters "
                    "--name, --rank and\n"
                    "--limit are for these too.",
                    "  tracekiln cat --category kernel --from-us 1000 --to-us 2500.5 rank0.json.gz\n"
                    "  tracekiln cat --kind slice --name '^aten::(mm|addmm)$' --limit 10 trace.kiln\n"
                    "  tracekiln cat --track 0:7 - < trace.json\n"
                    "  tracekiln cat --name forward train.prof",
                    ReadFlags(),
                    Run};
    for (const Flag& flag : std::initializer_list<Flag>{
             {"from-us", 0, "US", "only events that end after this time (slices) or are not before it"},
             {"to-us", 0, "US", "only events that start before this time"},
             {"category", 'c', "NAME", "only this category, exactly; repeatable"},
             {"kind", 'k', "KIND", "only this kind: slice, instant, counter, metadata, flow_start, …; repeatable"},
             {"rank", 'r', "N", "only traces of this rank"},
             {"track", 't', "PID[:TID]", "only this process, or this thread or stream"},
             {"name", 'n', "RE2", "only names in which this regular expression is found"},
             {"limit", 'l', "N", "stop after N events or functions"},
         }) {
      c->flags.push_back(flag);
    }
    return c;
  }();
  return *command;
}

}  // namespace tracekiln::tools

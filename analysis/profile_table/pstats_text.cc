#include "analysis/profile_table/pstats_text.h"

#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/profile_table/function_text.h"

namespace tracekiln::profile_table {
namespace {

constexpr size_t kBlockBytes = 1 << 16;

// The double nearest to the time: that of a file with such times, see the header.
double Seconds(int64_t ns) {
  constexpr int64_t kExact = int64_t{1} << 53;
  constexpr int64_t kNanosPerSecond = 1'000'000'000;
  if (ns >= -kExact && ns <= kExact) return static_cast<double>(ns) / 1e9;
  // Converting to double would round before dividing does. Of a time this long, doubles are 1.8 ns apart and more, so
  // the one in the file is the nearest to its nanoseconds, whoever wrote it.
  return static_cast<double>(ns / kNanosPerSecond) + static_cast<double>(ns % kNanosPerSecond) / 1e9;
}

// "%.3f", aligned right in `width`.
void AppendThousandths(double value, size_t width, std::string* out) {
  char text[400];
  const char* const end = std::to_chars(text, text + sizeof(text), value, std::chars_format::fixed, 3).ptr;
  const size_t size = static_cast<size_t>(end - text);
  if (size < width) out->append(width - size, ' ');
  out->append(text, size);
}

void AppendPadded(absl::string_view text, size_t width, std::string* out) {
  if (text.size() < width) out->append(width - text.size(), ' ');
  absl::StrAppend(out, text);
}

// "15/1", or "15" if all are primitive; aligned right.
void AppendCalls(const CallStats& stats, size_t width, std::string* out) {
  AppendPadded(stats.primitive_call_count == stats.call_count
                   ? absl::StrCat(stats.call_count)
                   : absl::StrCat(stats.call_count, "/", stats.primitive_call_count),
               width, out);
}

// Time per call; blank where there were none.
void AppendPerCall(int64_t ns, int64_t count, std::string* out) {
  if (count == 0) {
    out->append(8, ' ');
  } else {
    AppendThousandths(Seconds(ns) / static_cast<double>(count), 8, out);
  }
}

// Appends the name as it is shown; returns its width. `*scratch` is for the name as it is.
size_t AppendShownName(const Profile& profile, FunctionId function, std::string* scratch, std::string* out) {
  scratch->clear();
  AppendStandardName(profile, function, scratch);
  return AppendPrintable(*scratch, out);
}

void AppendHowSelected(const Selection& selection, std::string* out) {
  if (selection.order.empty()) {
    *out += "   Random listing order was used\n";
  } else {
    absl::StrAppend(out, "   Ordered by: ", selection.order, "\n");
  }
  for (const Reduction& r : selection.reductions) {
    absl::StrAppend(out, "   List reduced from ", r.before, " to ", r.after, " due to restriction <", r.restriction,
                    ">\n");
  }
  *out += '\n';
}

void FlushFullBlock(std::string* block, io::ByteSink* sink) {
  if (block->size() < kBlockBytes) return;
  sink->Write(*block);
  block->clear();
}

enum class Direction { kCallers, kCallees };

void WriteNeighbours(const Profile& profile, const CallGraph& graph, const Selection& selection, Direction direction,
                     io::ByteSink* sink) {
  if (selection.rows.empty()) return;
  const bool is_callers = direction == Direction::kCallers;
  std::string block, scratch;
  size_t width = 0;
  for (const FunctionId row : selection.rows) {
    std::string name;
    width = std::max(width, AppendShownName(profile, row, &scratch, &name));
  }
  width += 2;
  AppendHowSelected(selection, &block);
  block += "Function ";
  if (width > 9) block.append(width - 9, ' ');
  absl::StrAppend(&block, is_callers ? "was called by..." : "called...", "\n");
  if (std::any_of(profile.edges().begin(), profile.edges().end(),
                  [&](const Profile::Edge& e) { return profile.function(e.callee).is_row; })) {
    block.append(width, ' ');
    block += "    ncalls  tottime  cumtime\n";
  }
  const auto other_end = [&](uint32_t edge) {
    return is_callers ? profile.edges()[edge].caller : profile.edges()[edge].callee;
  };
  std::vector<uint32_t> edges;
  for (const FunctionId row : selection.rows) {
    const size_t shown = AppendShownName(profile, row, &scratch, &block);
    block.append(width - shown, ' ');
    block += is_callers ? "<- " : "-> ";
    const absl::Span<const uint32_t> all = is_callers ? graph.CallersOf(row) : graph.CalleesOf(row);
    edges.clear();
    for (const uint32_t e : all) {
      if (profile.function(profile.edges()[e].callee).is_row) edges.push_back(e);
    }
    // Python's order of the keys (file, line, name).
    std::sort(edges.begin(), edges.end(), [&](uint32_t a, uint32_t b) {
      const FunctionId fa = other_end(a), fb = other_end(b);
      if (const int files = profile.file(fa).compare(profile.file(fb)); files != 0) return files < 0;
      const int64_t line_a = profile.function(fa).line, line_b = profile.function(fb).line;
      if (line_a != line_b) return line_a < line_b;
      return profile.name(fa) < profile.name(fb);
    });
    if (edges.empty()) block += '\n';
    for (size_t i = 0; i < edges.size(); ++i) {
      if (i > 0) block.append(width + 1, ' ');
      const CallStats& stats = profile.edges()[edges[i]].stats;
      AppendCalls(stats, i == 0 ? 7 : 9, &block);
      block += ' ';
      AppendThousandths(Seconds(stats.own_ns), 8, &block);
      block += ' ';
      AppendThousandths(Seconds(stats.cumulative_ns), 8, &block);
      block += "  ";
      AppendShownName(profile, other_end(edges[i]), &scratch, &block);
      block += '\n';
      FlushFullBlock(&block, sink);
    }
    FlushFullBlock(&block, sink);
  }
  block += "\n\n";
  sink->Write(block);
}

}  // namespace

std::string PstatsFileLine(const std::string& path) {
  std::string line;
  struct stat facts;
  if (path == "-") return "<stdin>";
  if (stat(path.c_str(), &facts) == 0) {
    struct tm local;
    char text[64];
    if (localtime_r(&facts.st_mtime, &local) != nullptr && asctime_r(&local, text) != nullptr) {
      line = text;
      line.resize(line.find_last_not_of('\n') + 1);
      line += "    ";
    }
  }
  AppendPrintable(path, &line);
  return line;
}

void WriteHeader(const Profile& profile, absl::Span<const std::string> file_lines, io::ByteSink* sink) {
  std::string out;
  for (const std::string& line : file_lines) absl::StrAppend(&out, line, "\n");
  if (!file_lines.empty()) out += '\n';
  if (const std::optional<FunctionId> top = profile.FindFunction("jprofile", 0, "profiler")) {
    for (const Profile::Edge& e : profile.edges()) {
      if (e.caller != *top || !profile.function(e.callee).is_row) continue;
      out += "         ";
      AppendPrintable(profile.name(e.callee), &out);
      out += '\n';
    }
  }
  // Added up as pstats does, rounding errors included.
  double seconds = 0;
  for (const FunctionId row : profile.rows()) seconds += Seconds(profile.function(row).stats.own_ns);
  const CallStats total = profile.Total();
  absl::StrAppend(&out, "         ", total.call_count, " function calls ");
  if (total.call_count != total.primitive_call_count) {
    absl::StrAppend(&out, "(", total.primitive_call_count, " primitive calls) ");
  }
  out += "in ";
  AppendThousandths(seconds, 0, &out);
  out += " seconds\n\n";
  sink->Write(out);
}

void WriteTable(const Profile& profile, const Selection& selection, io::ByteSink* sink) {
  if (selection.rows.empty()) return;
  std::string block, scratch;
  AppendHowSelected(selection, &block);
  block += "   ncalls  tottime  percall  cumtime  percall filename:lineno(function)\n";
  for (const FunctionId row : selection.rows) {
    const CallStats& stats = profile.function(row).stats;
    AppendCalls(stats, 9, &block);
    block += ' ';
    AppendThousandths(Seconds(stats.own_ns), 8, &block);
    block += ' ';
    AppendPerCall(stats.own_ns, stats.call_count, &block);
    block += ' ';
    AppendThousandths(Seconds(stats.cumulative_ns), 8, &block);
    block += ' ';
    AppendPerCall(stats.cumulative_ns, stats.primitive_call_count, &block);
    block += ' ';
    AppendShownName(profile, row, &scratch, &block);
    block += '\n';
    FlushFullBlock(&block, sink);
  }
  block += "\n\n";
  sink->Write(block);
}

void WriteCallers(const Profile& profile, const CallGraph& graph, const Selection& selection, io::ByteSink* sink) {
  WriteNeighbours(profile, graph, selection, Direction::kCallers, sink);
}

void WriteCallees(const Profile& profile, const CallGraph& graph, const Selection& selection, io::ByteSink* sink) {
  WriteNeighbours(profile, graph, selection, Direction::kCallees, sink);
}

}  // namespace tracekiln::profile_table

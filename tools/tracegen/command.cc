#include "tools/tracegen/command.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "formats/io/executor.h"
#include "formats/io/output.h"
#include "tools/flags.h"
#include "tools/tracegen/tracegen.h"

namespace tracekiln::tracegen {
namespace {

constexpr tools::Flag kFlags[] = {
    {"out", 'o', "PATH",
     "directory for rank-N.json; with one rank also a file (*.json, *.json.gz) or - (standard output)"},
    {"ranks", 0, "N", "how many ranks (1)"},
    {"steps", 0, "N", "training steps (3)"},
    {"layers", 0, "N", "layers of the model (24); a step grows with it"},
    {"size", 0, "SIZE", "JSON per rank, like 50MB; chooses --steps, and fewer --layers for small files"},
    {"seed", 0, "N", "another seed, another run (1)"},
    {"kineto-version", 0, "YEAR", "layout of 2021, 2023, 2024, 2025 or 2026 (2025)"},
    {"gzip", 0, "", "write *.json.gz"},
    {"no-stacks", 0, "", "leave out Python frames"},
    {"slow-rank", 0, "N", "this rank computes slower"},
    {"slow-percent", 0, "N", "by how much (30)"},
    {"clock-skew", 0, "NS", "clocks of ranks are off by up to this many nanoseconds (0)"},
    {"damage", 0, "KIND", "truncate, utf8, control, nan, quote, trailing-comma or unclosed"},
    {"totals", 0, "", "list phase, category, events and summed duration in ns of all files together"},
    {"threads", 0, "N", "ranks written at the same time (all cores)"},
    {"help", 'h', "", "this text"},
};

constexpr char kUsage[] =
    "tracegen -o PATH [flags]: made-up traces of a distributed training run, as PyTorch's profiler writes them.\n\n"
    "  tracegen --ranks 4 --steps 3 -o run\n"
    "  tracegen --size 5GB -o big.json\n"
    "  tracegen --ranks 64 --slow-rank 17 --clock-skew 2000000 --gzip -o run\n\n";

struct Request {
  RunOptions run;
  KinetoOptions kineto;
  std::string out;
  bool is_gzip = false;
  bool has_totals = false;
  int thread_count = 1;
};

absl::StatusOr<Request> MakeRequest(const tools::ParsedFlags& flags) {
  Request request;
  absl::Status status;
  const auto read = [&](absl::string_view name, int64_t absent, int64_t least, int64_t most) -> int64_t {
    const absl::StatusOr<int64_t> value = flags.GetInt(name, absent, least, most);
    if (!value.ok()) status.Update(value.status());
    return value.value_or(absent);
  };
  RunOptions& run = request.run;
  run.rank_count = static_cast<int>(read("ranks", run.rank_count, 1, kMaxRankCount));
  run.step_count = static_cast<int>(read("steps", run.step_count, 1, 1'000'000'000));
  run.layer_count = static_cast<int>(read("layers", run.layer_count, 1, kMaxLayerCount));
  run.seed = static_cast<uint64_t>(read("seed", 1, 0, INT64_MAX));
  run.slow_rank = static_cast<int>(read("slow-rank", -1, 0, run.rank_count - 1));
  run.slow_percent = static_cast<int>(read("slow-percent", run.slow_percent, 0, 1000));
  run.max_clock_skew_ns = read("clock-skew", 0, 0, 1'000'000'000'000);
  run.has_python_stacks = !flags.Has("no-stacks");
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  request.thread_count = static_cast<int>(read("threads", cores, 1, 1024));
  if (!status.ok()) return status;

  const absl::StatusOr<Dialect> dialect = ParseDialect(flags.Get("kineto-version").value_or("2025"));
  if (!dialect.ok()) return dialect.status();
  const absl::StatusOr<Damage> damage = ParseDamage(flags.Get("damage").value_or("none"));
  if (!damage.ok()) return damage.status();
  request.kineto = {*dialect, *damage};

  if (!flags.positional().empty()) {
    return absl::InvalidArgumentError(absl::StrCat("no argument is expected, got ", flags.positional()[0]));
  }
  if (!flags.Has("out")) return absl::InvalidArgumentError("--out is missing: where to?");
  request.out = *flags.Get("out");
  request.is_gzip = flags.Has("gzip");
  request.has_totals = flags.Has("totals");
  if (const std::optional<std::string> text = flags.Get("size")) {
    if (flags.Has("steps")) return absl::InvalidArgumentError("--size chooses the steps; give only one of the two");
    const absl::StatusOr<int64_t> size = ParseSize(*text);
    if (!size.ok()) return size.status();
    FitToSize(*size, request.kineto, &run);
  }
  return request;
}

bool EndsWith(absl::string_view text, absl::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// What is there and not a directory, and what looks like a file.
bool IsFile(const std::string& out) {
  struct stat info = {};
  if (stat(out.c_str(), &info) == 0) return !S_ISDIR(info.st_mode);
  return out == "-" || EndsWith(out, ".json") || EndsWith(out, ".gz") || EndsWith(out, ".zst");
}

absl::StatusOr<Totals> WriteRank(const Request& request, int rank, const std::string& path, io::Executor* executor) {
  io::OutputOptions options;
  options.compression = request.is_gzip ? io::Compression::kGzip : io::CompressionForPath(path);
  options.executor = executor;
  options.is_durable = false;
  absl::StatusOr<std::unique_ptr<io::ByteSink>> sink = io::CreateOutput(path, options);
  if (!sink.ok()) return sink.status();
  return WriteKineto(request.run, rank, request.kineto, sink->get());
}

}  // namespace

absl::StatusOr<std::string> RunCommand(const std::vector<std::string>& args) {
  const absl::StatusOr<tools::ParsedFlags> flags = tools::ParseFlags(kFlags, args);
  if (!flags.ok()) return flags.status();
  if (flags->Has("help")) return kUsage + tools::FlagHelp(kFlags);
  const absl::StatusOr<Request> request = MakeRequest(*flags);
  if (!request.ok()) return request.status();
  const RunOptions& run = request->run;

  const std::string& out = request->out;
  const bool is_file = IsFile(out);
  if (is_file && run.rank_count > 1) {
    return absl::InvalidArgumentError(absl::StrCat(out, ": several ranks need a directory"));
  }
  if (!is_file && mkdir(out.c_str(), 0777) != 0 && errno != EEXIST) {
    return absl::UnavailableError(absl::StrCat(out, ": ", std::strerror(errno)));
  }
  const auto path = [&](int rank) {
    return is_file ? out : absl::StrCat(out, "/rank-", rank, request->is_gzip ? ".json.gz" : ".json");
  };

  std::mutex mutex;
  absl::Status status;
  int64_t event_count = 0;
  uint64_t json_bytes = 0;
  std::map<std::pair<char, std::string>, Totals::Row> rows;
  const auto write = [&](int rank, io::Executor* executor) {
    const absl::StatusOr<Totals> totals = WriteRank(*request, rank, path(rank), executor);
    const std::lock_guard<std::mutex> lock(mutex);
    status.Update(totals.status());
    if (!totals.ok()) return;
    event_count += totals->event_count;
    json_bytes += totals->json_bytes;
    for (const Totals::Row& row : totals->rows) {
      Totals::Row& sum = rows[{row.phase, row.category}];
      sum.event_count += row.event_count;
      sum.dur_ns += row.dur_ns;
    }
  };
  {
    io::ThreadPool pool(request->thread_count);
    if (run.rank_count == 1) {
      write(0, &pool);
    } else {
      for (int rank = 0; rank < run.rank_count; ++rank) {
        pool.Schedule([&write, rank] { write(rank, nullptr); });
      }
    }
  }
  if (!status.ok()) return status;
  std::string report = absl::StrCat(run.rank_count, " ranks, ", run.step_count, " steps, ", run.layer_count,
                                    " layers: ", event_count, " events, ", json_bytes, " bytes of JSON\n");
  if (!request->has_totals) return report;
  for (const auto& [key, row] : rows) {
    const std::string& category = key.second;
    absl::StrAppend(&report, std::string(1, key.first), "\t", category, "\t", row.event_count, "\t", row.dur_ns, "\n");
  }
  return report;
}

}  // namespace tracekiln::tracegen

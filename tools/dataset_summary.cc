#include "tools/dataset_summary.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "formats/json/text.h"
#include "tools/text_table.h"

namespace tracekiln::tools {
namespace {

using dataset::Dataset;
using dataset::DatasetFile;
using dataset::Finding;
using dataset::RankFiles;

constexpr size_t kShownRanks = 64;
constexpr size_t kShownOfACode = 20;
constexpr size_t kPathBytes = 100;

// Indices as names: the only one, or the first and how many.
std::string Names(const Dataset& found, const std::vector<size_t>& files) {
  if (files.empty()) return "-";
  const std::string first = Printable(found.files[files[0]].path, kPathBytes);
  return files.size() == 1 ? first : absl::StrCat(files.size(), ": ", first, ", …");
}

std::string Count(const std::vector<size_t>& files) { return files.empty() ? "-" : absl::StrCat(files.size()); }

std::string Optional(const std::optional<int64_t>& value, absl::string_view otherwise) {
  return value ? absl::StrCat(*value) : std::string(otherwise);
}

// How the ranks of an entry are known.
std::string SourceOf(const Dataset& found, const RankFiles& entry) {
  for (const auto* files : {&entry.timelines, &entry.kilns, &entry.execution_traces, &entry.chakras, &entry.profiles,
                            &entry.memory_snapshots, &entry.captures, &entry.linked}) {
    if (!files->empty()) return std::string(dataset::RankSourceName(found.files[(*files)[0]].rank_source));
  }
  return "";
}

struct Column {
  absl::string_view title;
  std::string (*text)(const Dataset& found, const RankFiles& entry);
};

// A table of one run, without the columns that have nothing to say.
std::string RankTable(const Dataset& found, absl::Span<const RankFiles* const> entries) {
  static constexpr Column kColumns[] = {
      {"rank", [](const Dataset&, const RankFiles& e) { return Optional(e.rank, "?"); }},
      {"by", [](const Dataset& d, const RankFiles& e) { return e.rank ? SourceOf(d, e) : std::string("-"); }},
      {"step", [](const Dataset&, const RankFiles& e) { return Optional(e.step, "-"); }},
      {"window", [](const Dataset&, const RankFiles& e) { return e.window == 0 ? "-" : absl::StrCat(e.window); }},
      {"timeline", [](const Dataset& d, const RankFiles& e) { return Names(d, e.timelines); }},
      {"kiln", [](const Dataset& d, const RankFiles& e) { return Names(d, e.kilns); }},
      {"execution trace", [](const Dataset& d, const RankFiles& e) { return Names(d, e.execution_traces); }},
      {"linked", [](const Dataset& d, const RankFiles& e) { return Names(d, e.linked); }},
      {"chakra", [](const Dataset& d, const RankFiles& e) { return Names(d, e.chakras); }},
      {"captures", [](const Dataset&, const RankFiles& e) { return Count(e.captures); }},
      {"profiles", [](const Dataset&, const RankFiles& e) { return Count(e.profiles); }},
      {"snapshots", [](const Dataset&, const RankFiles& e) { return Count(e.memory_snapshots); }},
  };
  std::vector<std::vector<std::string>> rows(1 + std::min(entries.size(), kShownRanks));
  for (const Column& column : kColumns) {
    std::vector<std::string> cells;
    bool says_something = column.title == "rank";
    for (size_t i = 0; i + 1 < rows.size(); ++i) {
      cells.push_back(column.text(found, *entries[i]));
      says_something = says_something || cells.back() != "-";
    }
    if (!says_something) continue;
    rows[0].emplace_back(column.title);
    for (size_t i = 0; i < cells.size(); ++i) rows[i + 1].push_back(std::move(cells[i]));
  }
  std::string text = TextTable(rows, "    ");
  if (entries.size() > kShownRanks) {
    absl::StrAppend(&text, "    and ", entries.size() - kShownRanks, " more (--format json has all)\n");
  }
  return text;
}

void WriteOptional(absl::string_view key, const std::optional<int64_t>& value, json::Writer* w) {
  w->Key(key);
  if (value) {
    w->Int(*value);
  } else {
    w->Null();
  }
}

void WriteIfAny(absl::string_view key, absl::string_view text, json::Writer* w) {
  if (!text.empty()) w->Key(key), w->String(text);
}

template <typename Numbers>
void WriteNumbers(absl::string_view key, const Numbers& numbers, json::Writer* w) {
  w->Key(key);
  w->BeginArray();
  for (const auto number : numbers) w->Int(static_cast<int64_t>(number));
  w->EndArray();
}

void WriteFile(const DatasetFile& file, json::Writer* w) {
  w->BeginObject();
  w->Key("path"), w->String(file.path);
  if (!json::IsCleanUtf8(file.path)) w->Key("path_hex"), w->String(absl::BytesToHexString(file.path));
  w->Key("bytes"), w->Uint(file.size_bytes);
  w->Key("kind"), w->String(dataset::KindName(file.kind));
  WriteIfAny("format", file.format, w);
  w->Key("container"), w->String(io::ContainerName(file.container));
  WriteOptional("rank", file.rank, w);
  w->Key("rank_source"), w->String(dataset::RankSourceName(file.rank_source));
  if (file.content_rank) WriteOptional("content_rank", file.content_rank, w);
  if (file.name_rank) WriteOptional("name_rank", file.name_rank, w);
  if (file.rank_is_local) w->Key("rank_is_local"), w->Bool(true);
  WriteOptional("world_size", file.world_size, w);
  w->Key("run"), w->String(file.run);
  WriteIfAny("rule", file.rule, w);
  WriteIfAny("series", file.series, w);
  WriteOptional("step", file.step, w);
  WriteIfAny("worker", file.worker, w);
  if (file.stamp) w->Key("stamp"), w->Uint(*file.stamp);
  WriteIfAny("stage", file.stage, w);
  WriteIfAny("action", file.action, w);
  WriteIfAny("role", dataset::RoleName(file.role), w);
  WriteIfAny("damage", file.damage, w);
  WriteIfAny("note", file.note, w);
  w->EndObject();
}

bool IsLoss(const Finding& finding) {
  return finding.code == "unreadable" || finding.code == "damaged" || finding.code == "empty_file" ||
         finding.code == "limit";
}

}  // namespace

std::string DatasetText(const Dataset& found) {
  std::string text = absl::StrCat(Printable(found.directory, kPathBytes), "\n");
  std::map<dataset::FileKind, std::pair<uint64_t, uint64_t>> kinds;
  for (const DatasetFile& file : found.files) {
    ++kinds[file.kind].first;
    kinds[file.kind].second += file.size_bytes;
  }
  std::vector<std::vector<std::string>> rows = {{"kind", "files", "bytes"}};
  for (const auto& [kind, sums] : kinds) {
    rows.push_back({std::string(dataset::KindName(kind)), absl::StrCat(sums.first), absl::StrCat(sums.second)});
  }
  if (found.files.empty()) {
    absl::StrAppend(&text, "  no files\n");
  } else {
    absl::StrAppend(&text, TextTable(rows, "  "));
  }

  for (const dataset::Run& run : found.runs) {
    absl::StrAppend(&text, "\n  run ", run.name.empty() ? "." : Printable(run.name, kPathBytes), ": ",
                    run.ranks.empty() ? "no rank known" : absl::StrCat("ranks ", dataset::RankRanges(run.ranks)),
                    run.world_size ? absl::StrCat(" of ", *run.world_size) : "", "\n");
    std::vector<const RankFiles*> entries;
    for (const RankFiles& entry : found.ranks) {
      if (entry.run == run.name) entries.push_back(&entry);
    }
    absl::StrAppend(&text, RankTable(found, entries));
  }

  if (!found.findings.empty()) absl::StrAppend(&text, "\n");
  std::map<std::string, size_t> counts;
  for (const Finding& finding : found.findings) ++counts[finding.code];
  std::map<std::string, size_t> shown;
  for (const Finding& finding : found.findings) {
    if (++shown[finding.code] > kShownOfACode) continue;
    absl::StrAppend(&text, "  ", dataset::SeverityName(finding.severity), " ", finding.code, ": ",
                    Printable(finding.detail, 2000), "\n");
    if (shown[finding.code] == kShownOfACode && counts[finding.code] > kShownOfACode) {
      absl::StrAppend(&text, "  ", dataset::SeverityName(finding.severity), " ", finding.code, ": and ",
                      counts[finding.code] - kShownOfACode, " more (--format json has all)\n");
    }
  }
  return text;
}

void WriteDataset(const Dataset& found, json::Writer* w) {
  w->BeginObject();
  w->Key("directory"), w->String(found.directory);
  w->Key("files");
  w->BeginArray();
  for (const DatasetFile& file : found.files) WriteFile(file, w);
  w->EndArray();
  w->Key("runs");
  w->BeginArray();
  for (const dataset::Run& run : found.runs) {
    w->BeginObject();
    w->Key("name"), w->String(run.name);
    WriteOptional("world_size", run.world_size, w);
    WriteNumbers("ranks", run.ranks, w);
    WriteNumbers("missing", run.missing, w);
    w->Key("missing_count"), w->Int(run.missing_count);
    w->EndObject();
  }
  w->EndArray();
  w->Key("ranks");
  w->BeginArray();
  for (const RankFiles& entry : found.ranks) {
    w->BeginObject();
    w->Key("run"), w->String(entry.run);
    WriteOptional("rank", entry.rank, w);
    WriteOptional("step", entry.step, w);
    w->Key("window"), w->Int(entry.window);
    WriteNumbers("timelines", entry.timelines, w);
    WriteNumbers("kilns", entry.kilns, w);
    WriteNumbers("execution_traces", entry.execution_traces, w);
    WriteNumbers("linked", entry.linked, w);
    WriteNumbers("profiles", entry.profiles, w);
    WriteNumbers("memory_snapshots", entry.memory_snapshots, w);
    WriteNumbers("chakras", entry.chakras, w);
    WriteNumbers("captures", entry.captures, w);
    w->EndObject();
  }
  w->EndArray();
  w->Key("findings");
  w->BeginArray();
  for (const Finding& finding : found.findings) {
    w->BeginObject();
    w->Key("severity"), w->String(dataset::SeverityName(finding.severity));
    w->Key("code"), w->String(finding.code);
    w->Key("detail"), w->String(finding.detail);
    w->Key("run"), w->String(finding.run);
    WriteNumbers("files", finding.files, w);
    WriteNumbers("ranks", finding.ranks, w);
    w->EndObject();
  }
  w->EndArray();
  w->EndObject();
}

int DescribeDirectory(const std::string& directory, const ParsedFlags& flags, CommandContext& context, bool is_json,
                      std::string* out) {
  dataset::ScanOptions options;
  options.layout = flags.Get("layout").value_or("");
  const absl::StatusOr<Dataset> found = dataset::ScanDataset(directory, options, context.formats, context.executor);
  if (!found.ok()) return context.Fail(found.status());
  if (is_json) {
    json::Writer w(out);
    WriteDataset(*found, &w);
  } else {
    *out += DatasetText(*found);
  }
  if (is_json) *out += '\n';
  return std::any_of(found->findings.begin(), found->findings.end(), IsLoss) ? kDoneWithLosses : kDone;
}

}  // namespace tracekiln::tools

#include "analysis/dataset/relate.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tracekiln::dataset {
namespace {

using Indices = std::vector<size_t>;

bool IsTrace(FileKind kind) { return kind == FileKind::kTimeline || kind == FileKind::kKiln; }
bool IsOutput(FileKind kind) {
  return IsTrace(kind) || kind == FileKind::kExecutionTrace || kind == FileKind::kProfile ||
         kind == FileKind::kMemorySnapshot || kind == FileKind::kChakra;
}

class Relation {
 public:
  Relation(const Walk& walk, absl::Span<const NameFacts> facts, bool has_users_layout, Dataset* dataset)
      : walk_(walk), facts_(facts), has_users_layout_(has_users_layout), dataset_(*dataset), files_(dataset->files) {}

  void Run() {
    SettleRanks();
    PartRunsBySeries();
    PairBySeries();
    for (size_t i = 0; i < files_.size(); ++i) {
      if (IsOutput(files_[i].kind)) by_run_[files_[i].run].push_back(i);
    }
    for (const auto& [run, files] : by_run_) RelateRun(run, files);
    FindInSingleFiles();
    FindInWalk();
    std::stable_sort(dataset_.findings.begin(), dataset_.findings.end(), [](const Finding& a, const Finding& b) {
      const auto key = [](const Finding& f) {
        return std::make_tuple(f.severity == Severity::kWarning ? 0 : 1, absl::string_view(f.code),
                               absl::string_view(f.run), f.files.empty() ? size_t{0} : f.files[0] + 1);
      };
      return key(a) < key(b);
    });
  }

 private:
  std::string Name(size_t i) const { return EscapedPath(files_[i].path); }

  // "a, b and 3 more".
  std::string Names(const Indices& files) const {
    constexpr size_t kShown = 4;
    std::string text;
    for (size_t i = 0; i < files.size() && i < kShown; ++i) absl::StrAppend(&text, i > 0 ? ", " : "", Name(files[i]));
    if (files.size() > kShown) absl::StrAppend(&text, " and ", files.size() - kShown, " more");
    return text;
  }

  std::string InRun(const std::string& run) const {
    return run.empty() ? "" : absl::StrCat(" in run ", EscapedPath(run));
  }

  Finding& Add(Severity severity, absl::string_view code, std::string detail, const std::string& run, Indices files,
               std::vector<int64_t> ranks = {}) {
    Finding& finding = dataset_.findings.emplace_back();
    finding.severity = severity;
    finding.code = std::string(code);
    finding.detail = std::move(detail);
    finding.run = run;
    finding.files = std::move(files);
    finding.ranks = std::move(ranks);
    return finding;
  }

  void SettleRanks() {
    for (size_t i = 0; i < files_.size(); ++i) {
      DatasetFile& file = files_[i];
      if (file.kind == FileKind::kText || (file.kind == FileKind::kStranger && file.damage.empty())) continue;
      const bool name_counts = file.name_rank.has_value() && (has_users_layout_ || !file.content_rank);
      if (name_counts) {
        file.rank = file.name_rank;
        file.rank_source = has_users_layout_ ? RankSource::kLayout : RankSource::kName;
      } else if (file.content_rank) {
        file.rank = file.content_rank;
        file.rank_source = RankSource::kContent;
      }
      // A name that says a rank within the node may well differ from the content.
      if (file.name_rank && file.content_rank && *file.name_rank != *file.content_rank && !file.rank_is_local) {
        Add(Severity::kWarning, "rank_conflict",
            absl::StrCat(Name(i), " is rank ", *file.content_rank, " by its content and rank ", *file.name_rank,
                         has_users_layout_ ? " by the layout rule" : " by its name", "; taken as rank ", *file.rank),
            file.run, {i},
            {std::min(*file.name_rank, *file.content_rank), std::max(*file.name_rank, *file.content_rank)});
      }
    }
  }

  // Several workloads in one directory (dlrm_host_0, resnet_host_0) are runs of their own; a single one has the
  // directory for itself.
  void PartRunsBySeries() {
    std::map<std::string, std::map<std::string, Indices>> series;
    for (size_t i = 0; i < files_.size(); ++i) {
      if (facts_[i].series_parts_runs && IsOutput(files_[i].kind)) series[files_[i].run][files_[i].series].push_back(i);
    }
    for (const auto& [run, by_series] : series) {
      if (by_series.size() < 2) continue;
      for (const auto& [name, members] : by_series) {
        if (name.empty()) continue;
        for (const size_t i : members) files_[i].run = run.empty() ? name : absl::StrCat(run, "/", name);
      }
    }
  }

  // X_et.json belongs to the rank of X_kineto.json or X_trace.json.
  void PairBySeries() {
    std::map<std::pair<std::string, std::string>, std::pair<Indices, Indices>> pairs;
    for (size_t i = 0; i < files_.size(); ++i) {
      if (files_[i].rule != "pair") continue;
      auto& [timelines, graphs] = pairs[{files_[i].run, files_[i].series}];
      if (files_[i].kind == FileKind::kTimeline) timelines.push_back(i);
      if (files_[i].kind == FileKind::kExecutionTrace) graphs.push_back(i);
    }
    for (const auto& [key, pair] : pairs) {
      const auto& [timelines, graphs] = pair;
      if (timelines.size() != 1 || graphs.size() != 1) continue;
      DatasetFile& graph = files_[graphs[0]];
      if (graph.rank) continue;
      if (files_[timelines[0]].rank) {
        graph.rank = files_[timelines[0]].rank;
        graph.rank_source = RankSource::kPair;
      } else {
        partner_[timelines[0]] = graphs[0];
      }
    }
  }

  void RelateRun(const std::string& name, const Indices& files) {
    dataset::Run run;
    run.name = name;
    std::set<int64_t> world_sizes, ranks, timeline_ranks, graph_ranks;
    Indices sized, unranked, coordinators, local;
    for (const size_t i : files) {
      const DatasetFile& file = files_[i];
      if (file.world_size) {
        world_sizes.insert(*file.world_size);
        sized.push_back(i);
      }
      if (file.role == FileRole::kCoordinator) {
        coordinators.push_back(i);
      } else if (!file.rank) {
        unranked.push_back(i);
      } else {
        ranks.insert(*file.rank);
        if (IsTrace(file.kind)) timeline_ranks.insert(*file.rank);
        if (file.kind == FileKind::kExecutionTrace && file.role != FileRole::kLinked) graph_ranks.insert(*file.rank);
      }
      if (file.rank_is_local) local.push_back(i);
    }
    if (!world_sizes.empty()) run.world_size = *world_sizes.rbegin();
    run.ranks.assign(ranks.begin(), ranks.end());
    if (world_sizes.size() > 1) {
      std::string text;
      for (const int64_t size : world_sizes) absl::StrAppend(&text, text.empty() ? "" : ", ", size);
      Add(Severity::kWarning, "world_size_mixture",
          absl::StrCat("files", InRun(name), " come from jobs of different world sizes: ", text), name, sized);
    }
    FindMissing(timeline_ranks.empty() ? ranks : timeline_ranks, files, &run);
    FindUnpaired(name, timeline_ranks, graph_ranks, files);
    if (!coordinators.empty()) {
      Add(Severity::kNote, "coordinator", absl::StrCat("of a process that is no rank: ", Names(coordinators)), name,
          coordinators);
    }
    if (!local.empty()) {
      Add(Severity::kNote, "local_rank",
          absl::StrCat("ranks in the names of ", local.size(), " files", InRun(name),
                       " count within one node; with several nodes they are not those of the job"),
          name, local);
    }
    FindUnranked(name, files, unranked, ranks.empty());
    MakeRanks(name, files);
    dataset_.runs.push_back(std::move(run));
  }

  void FindMissing(const std::set<int64_t>& present, const Indices& files, dataset::Run* run) {
    std::vector<int64_t> outside;
    for (const int64_t rank : run->ranks) {
      if (rank < 0 || (run->world_size && rank >= *run->world_size)) outside.push_back(rank);
    }
    if (!outside.empty()) {
      Indices culprits;
      for (const size_t i : files) {
        if (files_[i].rank && std::binary_search(outside.begin(), outside.end(), *files_[i].rank))
          culprits.push_back(i);
      }
      Add(Severity::kWarning, "rank_out_of_range",
          run->world_size
              ? absl::StrCat("rank ", RankRanges(outside), " of a job of ", *run->world_size, InRun(run->name))
              : absl::StrCat("negative rank", InRun(run->name)),
          run->name, culprits, outside);
    }
    // One rank alone says nothing of others if the world size is not known.
    if (!run->world_size && present.size() < 2) return;
    if (present.empty()) return;
    const int64_t end = run->world_size.value_or(*present.rbegin());
    int64_t next = 0;
    const auto add_gap = [&](int64_t gap_end) {
      if (gap_end <= next) return;
      run->missing_count += gap_end - next;
      for (; next < gap_end && run->missing.size() < kMaxListed; ++next) run->missing.push_back(next);
    };
    for (const int64_t rank : present) {
      if (rank < 0) continue;
      if (rank >= end) break;
      add_gap(rank);
      next = rank + 1;
    }
    add_gap(end);
    if (run->missing_count == 0) return;
    const bool is_all_listed = static_cast<size_t>(run->missing_count) == run->missing.size();
    Add(Severity::kWarning, "missing_rank",
        absl::StrCat(run->missing_count == 1 ? "rank " : "ranks ", RankRanges(run->missing), is_all_listed ? "" : ", …",
                     run->world_size ? absl::StrCat(" of ", *run->world_size) : "",
                     run->missing_count == 1 ? " is missing" : " are missing", InRun(run->name)),
        run->name, {}, run->missing);
  }

  void FindUnpaired(const std::string& run, const std::set<int64_t>& timelines, const std::set<int64_t>& graphs,
                    const Indices& files) {
    if (timelines.empty() || graphs.empty()) return;
    const auto find = [&](const std::set<int64_t>& have, const std::set<int64_t>& lack, absl::string_view text) {
      std::vector<int64_t> ranks;
      std::set_difference(have.begin(), have.end(), lack.begin(), lack.end(), std::back_inserter(ranks));
      if (ranks.empty()) return;
      Indices alone;
      for (const size_t i : files) {
        if (files_[i].rank && std::binary_search(ranks.begin(), ranks.end(), *files_[i].rank)) alone.push_back(i);
      }
      Add(Severity::kWarning, "unpaired",
          absl::StrCat(ranks.size() == 1 ? "rank " : "ranks ", RankRanges(ranks),
                       ranks.size() == 1 ? " has " : " have ", text, InRun(run)),
          run, alone, ranks);
    };
    find(timelines, graphs, "a timeline but no execution trace");
    find(graphs, timelines, "an execution trace but no timeline");
  }

  // A timeline alone, or profiles of one process, need no rank; where it matters which is which, it is a warning.
  void FindUnranked(const std::string& run, const Indices& files, const Indices& unranked, bool is_all) {
    Indices traces;
    for (const size_t i : unranked) {
      if (files_[i].kind != FileKind::kProfile) traces.push_back(i);
    }
    if (traces.empty() && is_all) return;
    const Indices& named = is_all ? traces : unranked;
    if (named.empty()) return;
    size_t timelines = 0;
    for (const size_t i : files) timelines += IsTrace(files_[i].kind) ? 1 : 0;
    const bool matters = !is_all || timelines > 1;
    Add(matters ? Severity::kWarning : Severity::kNote, "no_rank",
        absl::StrCat("neither content nor name tells the rank of ", Names(named), InRun(run),
                     matters ? "; a layout rule can" : ""),
        run, named);
  }

  // Which RankFiles an entry of a run is in: step and window.
  using Slot = std::pair<std::optional<int64_t>, int64_t>;

  void MakeRanks(const std::string& run, const Indices& files) {
    std::map<int64_t, Indices> by_rank;
    Indices unranked;
    for (const size_t i : files) {
      if (files_[i].rank) {
        by_rank[*files_[i].rank].push_back(i);
      } else {
        unranked.push_back(i);
      }
    }
    Indices windowed;
    for (const auto& [key, members] : by_rank) {
      const auto& rank = key;  // C++17: a lambda may not capture a structured binding
      std::map<Slot, RankFiles> slots;
      const auto slot = [&](std::optional<int64_t> step, int64_t window) -> RankFiles& {
        RankFiles& entry = slots[{step, window}];
        entry.run = run;
        entry.rank = rank;
        entry.step = step;
        entry.window = window;
        return entry;
      };
      // Timelines first: they decide which steps and windows there are.
      std::map<std::optional<int64_t>, Indices> timelines;
      for (const size_t i : members) {
        if (files_[i].kind == FileKind::kTimeline && files_[i].role != FileRole::kCapture) {
          timelines[files_[i].step].push_back(i);
        }
      }
      for (auto& [step, list] : timelines) {
        if (AreWindows(list)) {
          windowed.insert(windowed.end(), list.begin(), list.end());
          std::stable_sort(list.begin(), list.end(),
                           [this](size_t a, size_t b) { return *files_[a].stamp < *files_[b].stamp; });
          for (size_t n = 0; n < list.size(); ++n) slot(step, static_cast<int64_t>(n)).timelines = {list[n]};
        } else {
          slot(step, 0).timelines = list;
          FindDuplicates(run, rank, list, "timelines");
        }
      }
      const bool has_one_slot = slots.size() == 1;
      const Slot only = has_one_slot ? slots.begin()->first : Slot{std::nullopt, 0};
      for (const size_t i : members) {
        if (files_[i].kind == FileKind::kTimeline && files_[i].role != FileRole::kCapture) continue;
        // What names no step belongs to the only one there is.
        const bool joins = !files_[i].step && has_one_slot;
        AddTo(i, joins ? &slot(only.first, only.second) : &slot(files_[i].step, 0));
      }
      for (auto& [key, entry] : slots) {
        FindDuplicates(run, rank, entry.execution_traces, "execution traces");
        FindDuplicates(run, rank, entry.kilns, ".kiln files");
        dataset_.ranks.push_back(std::move(entry));
      }
    }
    if (!windowed.empty()) {
      std::sort(windowed.begin(), windowed.end());
      Add(Severity::kNote, "several_windows",
          absl::StrCat("some processes", InRun(run), " wrote several traces, told apart by the time in their names"),
          run, windowed);
    }
    RankFiles rest;
    rest.run = run;
    std::set<size_t> taken;
    for (const size_t i : unranked) {
      if (!IsTrace(files_[i].kind)) continue;
      RankFiles entry;
      entry.run = run;
      entry.step = files_[i].step;
      AddTo(i, &entry);
      if (const auto graph = partner_.find(i); graph != partner_.end()) {
        entry.execution_traces.push_back(graph->second);
        taken.insert(graph->second);
      }
      dataset_.ranks.push_back(std::move(entry));
    }
    for (const size_t i : unranked) {
      if (!IsTrace(files_[i].kind) && taken.count(i) == 0) AddTo(i, &rest);
    }
    if (!rest.execution_traces.empty() || !rest.profiles.empty() || !rest.memory_snapshots.empty() ||
        !rest.chakras.empty() || !rest.linked.empty()) {
      dataset_.ranks.push_back(std::move(rest));
    }
  }

  // Several files of one process, each with a time of its own in its name.
  bool AreWindows(const Indices& files) const {
    if (files.size() < 2) return false;
    std::set<uint64_t> stamps;
    for (const size_t i : files) {
      if (!files_[i].stamp || files_[i].worker != files_[files[0]].worker) return false;
      stamps.insert(*files_[i].stamp);
    }
    return stamps.size() == files.size();
  }

  void FindDuplicates(const std::string& run, int64_t rank, const Indices& files, absl::string_view what) {
    if (files.size() < 2) return;
    Add(Severity::kWarning, "duplicate_rank",
        absl::StrCat("rank ", rank, InRun(run), " has ", files.size(), " ", what,
                     files_[files[0]].step ? absl::StrCat(" of step ", *files_[files[0]].step) : "", ": ",
                     Names(files)),
        run, files, {rank});
  }

  void AddTo(size_t i, RankFiles* entry) const {
    switch (files_[i].kind) {
      case FileKind::kTimeline:
        (files_[i].role == FileRole::kCapture ? entry->captures : entry->timelines).push_back(i);
        break;
      case FileKind::kKiln: entry->kilns.push_back(i); break;
      case FileKind::kExecutionTrace:
        (files_[i].role == FileRole::kLinked ? entry->linked : entry->execution_traces).push_back(i);
        break;
      case FileKind::kProfile: entry->profiles.push_back(i); break;
      case FileKind::kMemorySnapshot: entry->memory_snapshots.push_back(i); break;
      case FileKind::kChakra: entry->chakras.push_back(i); break;
      default: break;
    }
  }

  void FindInSingleFiles() {
    bool is_layout_used = false;
    for (size_t i = 0; i < files_.size(); ++i) {
      const DatasetFile& file = files_[i];
      const NameFacts& facts = facts_[i];
      if (!facts.rule.empty()) is_layout_used = true;
      const std::string rank = file.rank ? absl::StrCat(" (rank ", *file.rank, ")") : "";
      if (facts.kind && *facts.kind != file.kind) {
        Add(Severity::kWarning, "kind_conflict",
            absl::StrCat(Name(i), " is ", KindName(*facts.kind), " by the layout rule and ", KindName(file.kind),
                         " by its content"),
            file.run, {i});
      }
      if (!file.damage.empty()) {
        Add(Severity::kWarning, "damaged", absl::StrCat(Name(i), rank, ": ", file.damage), file.run, {i});
      } else if (file.kind == FileKind::kUnreadable) {
        Add(Severity::kWarning, "unreadable", absl::StrCat(Name(i), rank, ": ", file.note), file.run, {i});
      } else if (file.kind == FileKind::kLeftover && file.size_bytes == 0 && file.note == "empty") {
        Add(Severity::kWarning, "empty_file", absl::StrCat(Name(i), rank, " is empty"), file.run, {i});
      } else if (file.kind == FileKind::kLeftover) {
        const bool is_second_name = file.note.compare(0, 15, "another name of") == 0;
        Add(Severity::kNote, is_second_name ? "same_file" : "leftover", absl::StrCat(Name(i), ": ", file.note),
            file.run, {i});
      } else if (file.kind == FileKind::kText) {
        Add(Severity::kNote, "text", absl::StrCat(Name(i), ": ", file.note), file.run, {i});
      } else if (file.kind == FileKind::kStranger) {
        Add(Severity::kNote, "stranger", absl::StrCat(Name(i), ": ", file.note), file.run, {i});
      }
    }
    if (has_users_layout_ && !is_layout_used && !files_.empty()) {
      Add(Severity::kWarning, "layout_unmatched", "the layout rule matches no file", "", {});
    }
    if (dataset_.runs.size() > 1) {
      Add(Severity::kNote, "several_runs", absl::StrCat("the directory holds ", dataset_.runs.size(), " runs"), "", {});
    }
  }

  void FindInWalk() {
    for (const auto& [path, why] : walk_.unreadable) {
      Add(Severity::kWarning, "unreadable", absl::StrCat("directory ", EscapedPath(path), ": ", why), "", {});
    }
    for (const std::string& path : walk_.loops) {
      Add(Severity::kNote, "link_loop",
          absl::StrCat(EscapedPath(path), " leads to a directory that was scanned already"), "", {});
    }
    for (const std::string& path : walk_.too_deep) {
      Add(Severity::kWarning, "limit", absl::StrCat("directory ", EscapedPath(path), " lies too deep, not scanned"), "",
          {});
    }
    if (walk_.is_cut_off) {
      Add(Severity::kWarning, "limit", absl::StrCat("more than ", files_.size(), " files, the others were not scanned"),
          "", {});
    }
  }

  const Walk& walk_;
  const absl::Span<const NameFacts> facts_;
  const bool has_users_layout_;
  Dataset& dataset_;
  std::vector<DatasetFile>& files_;
  std::map<size_t, size_t> partner_;  // unranked timeline -> its execution trace
  std::map<std::string, Indices> by_run_;
};

}  // namespace

void Relate(const Walk& walk, absl::Span<const NameFacts> facts, bool has_users_layout, Dataset* dataset) {
  Relation(walk, facts, has_users_layout, dataset).Run();
}

std::string EscapedPath(absl::string_view path) {
  constexpr size_t kShown = 200;
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : path.substr(0, kShown)) {
    const unsigned char u = static_cast<unsigned char>(c);
    if (u < 0x20 || u >= 0x7f || c == '\\') {
      text += "\\x";
      text += kDigits[u >> 4];
      text += kDigits[u & 15];
    } else {
      text += c;
    }
  }
  if (path.size() > kShown) text += "…";
  return text;
}

}  // namespace tracekiln::dataset

// One look at every file: the tree is listed first, then files are opened on the executor, as many at a time as it has
// threads, each writing its own DatasetFile. What relates files to each other is in relate.cc and runs at the end.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analysis/dataset/content_rules.h"
#include "analysis/dataset/dataset.h"
#include "analysis/dataset/layout_rules.h"
#include "analysis/dataset/relate.h"
#include "analysis/dataset/tree_walk.h"
#include "formats/intermediate/trace_source.h"
#include "formats/io/random_access.h"

namespace tracekiln::dataset {
namespace {

constexpr size_t kEndBytes = 64;

// What a message says behind the name of the file.
std::string WithoutName(absl::string_view message, absl::string_view path) {
  if (absl::StartsWith(message, path)) {
    message.remove_prefix(path.size());
    while (!message.empty() && (message[0] == ':' || message[0] == ' ')) message.remove_prefix(1);
  }
  return std::string(message);
}

// Whether the file ends as its beginning promises, as far as that costs one small read.
std::string DamageOf(io::Input& input, FileKind kind, absl::string_view head, bool is_whole, const std::string& path) {
  std::string end;
  if (is_whole) {
    // Nothing is left but, perhaps, an error.
    const std::unique_ptr<io::ByteSource> rest = input.Stream();
    char buffer[1024];
    while (rest->Read(buffer, sizeof(buffer)) > 0) {
    }
    if (!rest->status().ok()) return WithoutName(rest->status().message(), path);
    end = std::string(head.substr(head.size() - std::min(head.size(), kEndBytes)));
  } else {
    const std::shared_ptr<const io::RandomAccessFile> file = input.random_access();
    if (file == nullptr || file->size() < kEndBytes) return "";
    end.resize(kEndBytes);
    if (!file->ReadAt(file->size() - kEndBytes, end.size(), end.data()).ok()) return "";
  }
  const bool is_json = kind == FileKind::kExecutionTrace || kind == FileKind::kTimeline;
  if (is_json && !EndsLikeJson(head, end)) return "the text ends in the middle of its object: cut off, or not finished";
  return "";
}

void LookAt(const std::string& directory, const WalkedFile& walked, const ScanOptions& options,
            absl::Span<const Format* const> formats, const LayoutRules& rules, DatasetFile* file, NameFacts* facts) {
  file->path = walked.path;
  file->size_bytes = walked.size_bytes;
  *facts = rules.Match(file->path);
  file->rule = facts->rule;
  file->run = facts->run;
  file->series = facts->series;
  file->step = facts->step;
  file->worker = facts->worker;
  file->stamp = facts->stamp;
  file->stage = facts->stage;
  file->action = facts->action;
  file->role = facts->role;
  const auto leftover = [&](absl::string_view why) {
    file->kind = FileKind::kLeftover;
    file->note = std::string(why);
  };
  const size_t slash = walked.path.rfind('/');
  const absl::string_view name = absl::string_view(walked.path).substr(slash == std::string::npos ? 0 : slash + 1);
  if (const absl::string_view why = LeftoverByName(name); !why.empty()) return leftover(why);
  if (absl::StartsWith(walked.path, ".batch/") || absl::StrContains(walked.path, "/.batch/")) {
    return leftover("a note of tracekiln batch");
  }
  file->name_rank = facts->rank;
  file->rank_is_local = facts->rank_is_local;
  const auto unreadable = [&](absl::string_view why) {
    file->kind = FileKind::kUnreadable;
    file->note = std::string(why);
  };
  if (!walked.error.empty()) return unreadable(walked.error);
  if (!walked.same_as.empty()) {
    file->name_rank = std::nullopt;
    return leftover(absl::StrCat("another name of ", EscapedPath(walked.same_as)));
  }
  if (walked.is_special) {
    file->name_rank = std::nullopt;
    file->note = "no regular file";
    return;
  }
  if (walked.size_bytes == 0) return leftover("empty");

  const std::string path = absl::StrCat(directory, "/", walked.path);
  io::OpenOptions open;
  open.read_ahead = false;
  open.head_bytes = options.head_bytes;
  absl::StatusOr<std::unique_ptr<io::Input>> input = io::OpenInput(path, open);
  if (!input.ok()) {
    const std::string why = WithoutName(input.status().message(), path);
    if (absl::IsDataLoss(input.status())) {
      file->note = "nothing in it can be read";
      file->damage = why;
    } else if (absl::IsInvalidArgument(input.status()) || absl::IsUnimplemented(input.status()) ||
               absl::IsResourceExhausted(input.status())) {
      file->note = why;
    } else {
      unreadable(why);
    }
    return;
  }
  file->container = (*input)->container();
  const std::string head((*input)->Head());
  if (head.empty()) return leftover("nothing in its container");
  const bool is_whole = head.size() < std::min(options.head_bytes, io::kHeadBytes);
  Content content = ClassifyContent(head, is_whole, formats);
  file->kind = content.kind;
  file->world_size = content.world_size;
  file->note = std::move(content.note);
  if (content.format != nullptr) {
    file->format = std::string(content.format->name);
    if (content.format->peek != nullptr) {
      TraceInfo info;
      content.format->peek(**input, &info);
      file->content_rank = info.rank;
      file->world_size = info.world_size;
    }
  }
  file->damage = DamageOf(**input, file->kind, head, is_whole, path);
}

}  // namespace

absl::StatusOr<Dataset> ScanDataset(const std::string& directory, const ScanOptions& options,
                                    absl::Span<const Format* const> formats, io::Executor& executor) {
  absl::StatusOr<LayoutRules> rules = LayoutRules::Make(options.layout);
  if (!rules.ok()) return rules.status();
  absl::StatusOr<Walk> walk = WalkTree(directory, options.max_depth, options.max_file_count);
  if (!walk.ok()) return walk.status();

  Dataset dataset;
  dataset.directory = directory;
  const size_t count = walk->files.size();
  dataset.files.resize(count);
  std::vector<NameFacts> facts(count);
  {
    std::mutex mutex;
    std::condition_variable done;
    std::atomic<size_t> next = 0;
    size_t running = static_cast<size_t>(std::max(1, executor.concurrency()));
    for (size_t i = running; i > 0; --i) {
      executor.Schedule([&] {
        for (size_t n = next.fetch_add(1); n < count; n = next.fetch_add(1)) {
          LookAt(directory, walk->files[n], options, formats, *rules, &dataset.files[n], &facts[n]);
        }
        const std::lock_guard<std::mutex> lock(mutex);
        if (--running == 0) done.notify_one();
      });
    }
    std::unique_lock<std::mutex> lock(mutex);
    done.wait(lock, [&] { return running == 0; });
  }
  Relate(*walk, facts, !options.layout.empty(), &dataset);
  return dataset;
}

}  // namespace tracekiln::dataset

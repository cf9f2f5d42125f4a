#include "tools/fake_format.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "formats/intermediate/field_catalog.h"

namespace tracekiln::tools {
namespace {

constexpr absl::string_view kMagic = "FAKE\n";
constexpr size_t kRowsPerBatch = 3;

int64_t Int(const std::string& text) {
  int64_t value = 0;
  return absl::SimpleAtoi(text, &value) ? value : 0;
}

class FakeSource final : public TraceSource {
 public:
  FakeSource(std::string text, std::string name, ImportOptions options)
      : lines_(absl::StrSplit(text, '\n', absl::SkipEmpty())), options_(std::move(options)), size_(text.size()) {
    info_.source_format = "fake";
    info_.source_name = std::move(name);
  }

  absl::StatusOr<bool> Next(EventBatch* batch) override {
    batch->Clear();
    for (; next_ < lines_.size() && batch->rows() < kRowsPerBatch; ++next_) {
      const std::vector<std::string> words = absl::StrSplit(lines_[next_], ' ');
      if (words[0] == "broken") {
        if (!options_.salvage) {
          return absl::InvalidArgumentError(absl::StrCat(info_.source_name, ":", next_, ": broken"));
        }
        info_.report.salvaged = true;
        next_ = lines_.size();
        break;
      }
      if (words[0] == "rank" && words.size() == 2) info_.rank = Int(words[1]);
      if (words[0] == "repaired" && words.size() == 3) {
        if (options_.strict) return absl::InvalidArgumentError(absl::StrCat(info_.source_name, ": ", words[1]));
        info_.report.Repair(words[1], static_cast<uint64_t>(Int(words[2])));
      }
      EventRow row;
      if (words[0] == "slice" && words.size() == 7) {
        row.name = batch->strings.Intern(absl::StrCat(Prefix(), words[1]));
        if (!batch->InternCategory(batch->strings.Intern(words[2]), &row.category)) return absl::InternalError("full");
        row.track = batch->InternTrack({TrackPart::Int(Int(words[3])), TrackPart::Int(Int(words[4]))});
        row.ts_ns = Int(words[5]);
        row.dur_ns = Int(words[6]);
        batch->Append(row, ArgTable::kNoArgs, nullptr);
        ++info_.report.seen, ++info_.report.imported;
      } else if (words[0] == "thread_name" && words.size() == 4) {
        row.kind = EventKind::kMetadata;
        row.name = batch->strings.Intern(words[0]);
        row.track = batch->InternTrack({TrackPart::Int(Int(words[1])), TrackPart::Int(Int(words[2]))});
        const ArgField field{batch->strings.Intern(fields::kNameArg), ArgType::kString, ArgPlace::kArgs};
        ShapeId shape;
        if (!batch->args.InternShape({&field, 1}, true, &shape)) return absl::InternalError("full");
        const ArgValue value = ArgValue::String(batch->strings.Intern(words[3]));
        batch->Append(row, shape, &value);
        ++info_.report.seen, ++info_.report.imported;
      } else if (words[0] == "function" && words.size() == 8) {
        profile_.AddStats(Function(words, 1), Stats(words, 4));
      } else if (words[0] == "call" && words.size() == 11) {
        const FunctionId caller = Function(words, 1);
        profile_.AddCallerStats(caller, Function(words, 4), Stats(words, 7));
      }
    }
    return !batch->empty();
  }

  const TraceInfo& info() const override { return info_; }
  const Profile* profile() const override { return next_ < lines_.size() || profile_.empty() ? nullptr : &profile_; }
  Progress progress() const override { return {size_ * next_ / (lines_.size() + 1), size_}; }

 private:
  FunctionId Function(const std::vector<std::string>& words, size_t at) {
    return profile_.AddFunction(words[at], Int(words[at + 1]), words[at + 2]);
  }
  static CallStats Stats(const std::vector<std::string>& words, size_t at) {
    return {Int(words[at]), Int(words[at + 1]), Int(words[at + 2]), Int(words[at + 3])};
  }

  std::string Prefix() const {
    std::string prefix;
    for (const auto& [key, value] : options_.format) prefix = value;
    return prefix;
  }

  const std::vector<std::string> lines_;
  const ImportOptions options_;
  const uint64_t size_;
  size_t next_ = 1;  // behind the magic
  Profile profile_;
  TraceInfo info_;
};

absl::StatusOr<std::unique_ptr<TraceSource>> Open(std::unique_ptr<io::Input> input, const ImportOptions& options,
                                                  io::Executor&) {
  const std::unique_ptr<io::ByteSource> stream = input->Stream();
  absl::StatusOr<std::string> text = io::ReadAll(stream.get(), 1 << 20);
  if (!text.ok()) return text.status();
  return std::make_unique<FakeSource>(*std::move(text), input->name(), options);
}

absl::Status WriteRows(TraceSource& source, const ExportOptions& options, io::ByteSink& sink) {
  sink.Write(kMagic);
  for (const auto& [key, value] : options.format) {
    if (value == "on") return absl::InternalError("told to fail");
  }
  EventBatch batch;
  for (;;) {
    absl::StatusOr<bool> more = source.Next(&batch);
    if (!more.ok()) return more.status();
    if (!*more) return sink.status();
    for (size_t i = 0; i < batch.rows(); ++i) {
      const Track& track = batch.tracks()[Index(batch.track[i])];
      sink.Write(absl::StrCat("slice ", batch.NameOf(i), " ", batch.CategoryOf(i), " ", track.pid.value, " ",
                              track.tid.value, " ", batch.ts_ns[i], " ", batch.dur_ns[i], "\n"));
    }
  }
}

absl::Status Write(TraceSource& source, const ExportOptions& options, io::ByteSink& sink, io::Executor&) {
  return WriteRows(source, options, sink);
}

absl::Status CheckOptions(const ExportOptions& options) {
  for (const auto& [key, value] : options.format) {
    if (key == "fail" && value != "on" && value != "off") {
      return absl::InvalidArgumentError(absl::StrCat("fail: expected on or off, got \"", value, "\""));
    }
  }
  return absl::OkStatus();
}

std::string ProfileLines(const Profile& profile) {
  const auto function = [&](FunctionId id) {
    return absl::StrCat(profile.file(id), " ", profile.function(id).line, " ", profile.name(id));
  };
  const auto stats = [](const CallStats& s) {
    return absl::StrCat(s.call_count, " ", s.primitive_call_count, " ", s.own_ns, " ", s.cumulative_ns, "\n");
  };
  std::string text;
  for (const FunctionId row : profile.rows()) {
    absl::StrAppend(&text, "function ", function(row), " ", stats(profile.function(row).stats));
  }
  for (const Profile::Edge& edge : profile.edges()) {
    absl::StrAppend(&text, "call ", function(edge.caller), " ", function(edge.callee), " ", stats(edge.stats));
  }
  return text;
}

absl::Status WriteAll(TraceSource& source, const ExportOptions& options, io::ByteSink& sink, io::Executor&) {
  if (absl::Status status = WriteRows(source, options, sink); !status.ok()) return status;
  if (source.profile() != nullptr) sink.Write(ProfileLines(*source.profile()));
  return sink.status();
}

bool IsPerCategory(const ExportOptions& options) {
  bool is_per_category = false;
  for (const auto& [key, value] : options.format) {
    if (key == "per") is_per_category = value == "category";
  }
  return is_per_category;
}

// A file for each run of slices of one category.
absl::Status WriteDirectory(TraceSource& source, const ExportOptions& options, OutputDirectory& directory,
                            io::Executor&) {
  if (options.note != nullptr) options.note("one file per category");
  std::unique_ptr<io::ByteSink> sink;
  std::string category;
  EventBatch batch;
  for (;;) {
    absl::StatusOr<bool> more = source.Next(&batch);
    if (!more.ok()) return more.status();
    if (!*more) return sink == nullptr ? absl::OkStatus() : sink->Close();
    for (size_t i = 0; i < batch.rows(); ++i) {
      if (batch.kind[i] != EventKind::kSlice) continue;
      if (sink == nullptr || batch.CategoryOf(i) != category) {
        if (sink != nullptr) {
          if (absl::Status status = sink->Close(); !status.ok()) return status;
        }
        category = std::string(batch.CategoryOf(i));
        absl::StatusOr<std::unique_ptr<io::ByteSink>> made = directory.Create(absl::StrCat(category, ".fake"));
        if (!made.ok()) return made.status();
        sink = *std::move(made);
        sink->Write(kMagic);
      }
      sink->Write(absl::StrCat("slice ", batch.NameOf(i), "\n"));
    }
  }
}

absl::Status WriteTwoPasses(TraceSource& source, const ExportOptions& options, io::ByteSink& sink, io::Executor&) {
  for (int pass = 0; pass < 2; ++pass) {
    if (absl::Status status = source.Rewind(); !status.ok()) return status;
    std::string ignored;
    io::StringSink first(&ignored);
    if (absl::Status status = WriteRows(source, options, pass == 0 ? first : sink); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

const Format& FakeFormat() {
  static const Format* const format = [] {
    auto* f = new Format;
    f->name = "fake";
    f->description = "lines | of text";
    f->extension = ".fake";
    f->capabilities = kSlices | kFileOrder;
    f->import_options = {{"prefix", "TEXT", "", "put before every name"}};
    f->export_options = {{"fail", "on|off", "off", "fail after the first line"}};
    f->sniff = [](absl::string_view head) { return absl::StartsWith(head, kMagic) ? 100 : 0; };
    f->open = Open;
    f->check_export_options = CheckOptions;
    f->write = Write;
    return f;
  }();
  return *format;
}

const Format& FakeProfileFormat() {
  static const Format* const format = [] {
    auto* f = new Format(FakeFormat());
    f->name = "fake3";
    f->capabilities |= kProfile;
    f->sniff = nullptr;
    f->open = nullptr;
    f->import_options.clear();
    f->export_options.push_back({"per", "trace|category", "trace", "category: a file for each"});
    f->write = WriteAll;
    f->writes_directory = IsPerCategory;
    f->write_directory = WriteDirectory;
    return f;
  }();
  return *format;
}

const Format& FakeTwoPassFormat() {
  static const Format* const format = [] {
    auto* f = new Format(FakeFormat());
    f->name = "fake2";
    f->sniff = nullptr;
    f->open = nullptr;
    f->import_options.clear();
    f->write = WriteTwoPasses;
    f->needs_rewind = true;
    return f;
  }();
  return *format;
}

}  // namespace tracekiln::tools

#include "formats/pytorch_et/pytorch_et_reader.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "formats/intermediate/graph_faults.h"
#include "formats/intermediate/ids.h"
#include "formats/json/canonical.h"
#include "formats/json/damage.h"
#include "formats/json/scan.h"
#include "formats/pytorch_et/node_parser.h"

namespace tracekiln::pytorch_et {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr size_t kMaxNodeBytes = size_t{256} << 20;
// PyTorch cuts lists here.
constexpr size_t kCutListEntries = 4096;

// Elements of a canonical array; 0 if it is none.
size_t ElementCount(absl::string_view json) {
  if (json.size() < 3 || json[0] != '[') return 0;
  size_t count = 1;
  int depth = 0;
  for (size_t i = 1; i + 1 < json.size(); ++i) {
    const char c = json[i];
    if (c == '"') {
      for (++i; i < json.size() && json[i] != '"'; ++i) {
        if (json[i] == '\\') ++i;
      }
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      ++count;
    }
  }
  return count;
}

// Whether a list inside a canonical array has as many entries as PyTorch leaves of a longer one.
bool HasCutList(absl::string_view values) {
  if (values.size() < 2 * kCutListEntries) return false;
  std::vector<size_t> counts;  // commas of the open lists
  for (size_t i = 0; i < values.size(); ++i) {
    const char c = values[i];
    if (c == '"') {
      for (++i; i < values.size() && values[i] != '"'; ++i) {
        if (values[i] == '\\') ++i;
      }
    } else if (c == '[' || c == '{') {
      counts.push_back(0);
    } else if (c == ',') {
      if (!counts.empty()) ++counts.back();
    } else if (c == ']' || c == '}') {
      if (counts.empty()) return false;
      // The outermost list is the operator's own.
      if (counts.size() > 1 && counts.back() == kCutListEntries - 1) return true;
      counts.pop_back();
    }
  }
  return false;
}

class EtReader {
 public:
  EtReader(io::ByteSource& source, const ReadOptions& options, ImportReport* report)
      : source_(source), options_(options), report_(report), buffer_(kBufferBytes + json::kPadding, '\0') {
    begin_ = end_ = buffer_.data();
    base_ = source.position();
  }

  absl::StatusOr<Graph> Read() {
    absl::Status status = ReadDocument();
    report_->input_bytes = source_.position();
    if (!source_.status().ok() && (!options_.salvage || imported_ == 0)) return source_.status();
    if (!status.ok()) {
      const bool may_salvage = options_.salvage && imported_ > 0 && !absl::IsResourceExhausted(status);
      if (!may_salvage) {
        return absl::Status(status.code(),
                            absl::StrCat(source_.name(), ":", error_offset_, ": ", status.message(), " (", imported_,
                                         imported_ == 1 ? " whole node precedes)" : " whole nodes precede)"));
      }
      report_->salvaged = true;
      report_->Repair("trailing_damage", error_offset_, status.message());
    }
    report_->imported += imported_;
    report_->seen += imported_ + skipped_;
    NoteGraphFaults(graph_, FindGraphFaults(graph_), report_);
    return std::move(graph_);
  }

 private:
  // Of the element that was parsed last; parser_ points into the buffer as it was then.
  void CountDamage() {
    for (const auto& [damage, at] : parser_.damages()) report_->Repair(json::DamageName(damage), OffsetOf(at));
  }

  uint64_t OffsetOf(const char* p) const { return base_ + static_cast<uint64_t>(p - buffer_.data()); }

  // Reads more behind end_; moves what is left to the front. False at the end of the file.
  bool Fill() {
    const size_t left = static_cast<size_t>(end_ - begin_);
    if (begin_ > buffer_.data()) {
      std::memmove(buffer_.data(), begin_, left);
      base_ += static_cast<uint64_t>(begin_ - buffer_.data());
    }
    if (left + json::kPadding + kBufferBytes / 2 > buffer_.size()) buffer_.resize(buffer_.size() * 2);
    begin_ = buffer_.data();
    const size_t got = source_.ReadFully(buffer_.data() + left, buffer_.size() - json::kPadding - left);
    end_ = begin_ + left + got;
    std::memset(buffer_.data() + left + got, 0, json::kPadding);
    return got > 0;
  }

  absl::Status Error(const json::Error& error) {
    error_offset_ = OffsetOf(error.at);
    return error.is_truncation ? absl::DataLossError(error.reason) : absl::InvalidArgumentError(error.reason);
  }
  absl::Status Unexpected(absl::string_view expected) {
    json::Error error;
    error.at = begin_;
    error.is_truncation = begin_ == end_;
    error.reason = absl::StrCat("expected ", expected, ", got ", json::ShowByte(begin_, end_));
    return Error(error);
  }

  // Moves to the next byte that is not blank; false at the end of the file.
  bool SkipBlanks() {
    for (;;) {
      begin_ = const_cast<char*>(json::SkipBlanks(begin_, end_));
      if (begin_ < end_) return true;
      if (!Fill()) return false;
    }
  }
  bool Take(char c) {
    if (!SkipBlanks() || *begin_ != c) return false;
    ++begin_;
    return true;
  }

  // Calls parse(p, end, &error) with more and more text until it is whole, and moves behind it.
  template <typename Parse>
  absl::Status ParseWhole(Parse parse) {
    for (bool is_all = false;;) {
      json::Error error;
      const char* const after = parse(begin_, end_, &error);
      // A number may go on behind the end of what was read.
      if (after != nullptr && after < end_) {
        CountDamage();
        begin_ = const_cast<char*>(after);
        return absl::OkStatus();
      }
      const bool may_need_more = after != nullptr || error.is_truncation || parser_.needs_more();
      if (may_need_more && static_cast<size_t>(end_ - begin_) > kMaxNodeBytes) {
        error_offset_ = OffsetOf(begin_);
        return absl::ResourceExhaustedError("a node or value of more than 256 MiB");
      }
      if (may_need_more && !is_all) {
        // Also if there is no more: the text may have moved, and the error with it.
        is_all = !Fill();
        continue;
      }
      if (after != nullptr) {
        // It ends with the file.
        CountDamage();
        begin_ = end_;
        return absl::OkStatus();
      }
      return Error(error);
    }
  }

  absl::Status ReadDocument() {
    if (!SkipBlanks()) {
      error_offset_ = 0;
      return absl::InvalidArgumentError("the file is empty");
    }
    if (!Take('{')) return Unexpected("`{`");
    if (Take('}')) return EndDocument();
    for (;;) {
      if (!SkipBlanks() || *begin_ != '"') return Unexpected("a key");
      ParsedAttribute parsed_key;
      if (absl::Status status = ParseWhole([&](const char* p, const char* end, json::Error* error) {
            return parser_.ParseValue(p, end, &parsed_key, error);
          });
          !status.ok()) {
        return status;
      }
      if (!Take(':')) return Unexpected("`:`");
      if (!SkipBlanks()) return Unexpected("a value");
      if (parsed_key.text == "nodes" && *begin_ == '[') {
        ++begin_;
        has_nodes_ = true;
        if (absl::Status status = ReadNodes(); !status.ok()) return status;
      } else {
        ParsedAttribute attribute;
        if (absl::Status status = ParseWhole([&](const char* p, const char* end, json::Error* error) {
              return parser_.ParseValue(p, end, &attribute, error);
            });
            !status.ok()) {
          return status;
        }
        attribute.name = std::move(parsed_key.text);
        // Times and numbers of the file are unsigned, as the reference converter writes them.
        if (attribute.type == AttributeType::kInt64 && static_cast<int64_t>(attribute.value) >= 0) {
          attribute.type = AttributeType::kUint64;
        }
        const uint64_t value =
            attribute.type == AttributeType::kString ? Index(Intern(attribute.text)) : attribute.value;
        graph_.AddGraphAttribute({value, Intern(attribute.name), attribute.type});
      }
      if (Take('}')) return EndDocument();
      if (!Take(',')) return Unexpected("`,` or `}`");
      if (SkipBlanks() && *begin_ == '}') {
        report_->Repair(json::DamageName(json::Damage::kTrailingComma), OffsetOf(begin_));
        ++begin_;
        return EndDocument();
      }
    }
  }

  absl::Status EndDocument() {
    if (SkipBlanks()) return Unexpected("the end of the file");
    if (!has_nodes_) {
      error_offset_ = OffsetOf(begin_);
      return absl::InvalidArgumentError("expected a key \"nodes\" with an array, got none");
    }
    if (options_.strict && report_->repaired() > 0) {
      for (const ImportReport::Entry& entry : report_->entries()) {
        if (entry.severity != ImportReport::Severity::kRepaired) continue;
        error_offset_ = entry.first_offsets.empty() ? 0 : entry.first_offsets[0];
        return absl::InvalidArgumentError(absl::StrCat(entry.reason, ", which strict does not mend"));
      }
    }
    return absl::OkStatus();
  }

  // Behind the bracket.
  absl::Status ReadNodes() {
    if (Take(']')) return absl::OkStatus();
    for (;;) {
      if (!SkipBlanks()) return Unexpected("a node");
      const uint64_t offset = OffsetOf(begin_);
      absl::Status status = *begin_ == '{' ? ParseWhole([&](const char* p, const char* end, json::Error* error) {
        const char* const after = parser_.Parse(p, end, &node_, error);
        if (node_.literal_name != nullptr) name_offset_ = OffsetOf(node_.literal_name);
        return after;
      })
                                           : Unexpected("a node");
      if (status.ok() && SkipBlanks() && *begin_ != ',' && *begin_ != ']') status = Unexpected("`,` or `]`");
      if (!status.ok()) {
        if (!options_.salvage || absl::IsResourceExhausted(status) || !SkipToNextNode()) return status;
        ++skipped_;
        report_->salvaged = true;
        report_->Skip("malformed_node", offset, absl::StrCat("at byte ", error_offset_, ": ", status.message()));
        continue;
      }
      if (absl::Status added = AddNode(offset); !added.ok()) return added;
      if (Take(']')) return absl::OkStatus();
      if (!Take(',')) return Unexpected("`,` or `]`");
      if (SkipBlanks() && *begin_ == ']') {
        report_->Repair(json::DamageName(json::Damage::kTrailingComma), OffsetOf(begin_));
        ++begin_;
        return absl::OkStatus();
      }
    }
  }

  // Salvage: moves to the next object that begins with an id, behind begin_. False if there is none.
  bool SkipToNextNode() {
    size_t from = 1;
    do {
      const absl::string_view text(begin_, static_cast<size_t>(end_ - begin_));
      size_t at;
      while ((at = text.find('{', from)) != absl::string_view::npos) {
        from = at;
        const char* const p = json::SkipBlanks(begin_ + at + 1, end_);
        if (end_ - p < 5) break;
        if (absl::StartsWith(absl::string_view(p, 5), "\"id\":")) {
          begin_ += at;
          return true;
        }
        from = at + 1;
      }
      begin_ += at == absl::string_view::npos ? text.size() : from;
      from = 0;
    } while (Fill());
    return false;
  }

  StringId Intern(absl::string_view text) {
    const StringId id = graph_.strings.Intern(text);
    if (id == kNoString) is_full_ = true;
    return id;
  }

  void AddAttribute(const ParsedAttribute& attribute) {
    const uint64_t value = attribute.type == AttributeType::kString ? Index(Intern(attribute.text)) : attribute.value;
    graph_.AddAttribute({value, Intern(attribute.name), attribute.type});
  }

  // node_, which began at `offset`.
  absl::Status AddNode(uint64_t offset) {
    if (node_.attribute_count > Graph::kMaxAttributes) {
      error_offset_ = offset;
      return absl::ResourceExhaustedError("too many attributes");
    }
    Graph::Node& node = graph_.AddNode(node_.id, Intern(node_.name));
    for (const bool is_output : {false, true}) {
      const std::array<std::string, 4>& texts = node_.io[is_output];
      Graph::Io& io = is_output ? node.outputs : node.inputs;
      const auto intern = [&](ParsedNode::Io which) { return texts[which].empty() ? kNoString : Intern(texts[which]); };
      io = {intern(ParsedNode::kValues), intern(ParsedNode::kShapes), intern(ParsedNode::kTypes),
            intern(ParsedNode::kStrides)};
      if (HasCutList(texts[ParsedNode::kValues])) {
        report_->Note("truncated_list", offset, "a list of 4096 entries, where PyTorch cuts longer ones");
      }
      const size_t values = ElementCount(texts[ParsedNode::kValues]);
      const bool is_unequal =
          ElementCount(texts[ParsedNode::kShapes]) != values || ElementCount(texts[ParsedNode::kTypes]) != values;
      if (is_unequal) report_->Note("unequal_lists", offset, "values, shapes and types of different lengths");
    }
    for (const uint64_t dep : node_.control_deps) graph_.AddControlDep(dep);
    for (size_t i = 0; i < node_.attribute_count; ++i) AddAttribute(node_.attributes[i]);
    if (node_.type_mismatches > 0) {
      report_->Add(ImportReport::Severity::kNote, "attribute_type_mismatch", offset,
                   "a value that is not of the type which the file names", node_.type_mismatches);
    }
    if (node_.literal_name != nullptr) report_->Repair("unescaped_name", name_offset_, node_.name);
    if (is_full_) {
      error_offset_ = offset;
      return absl::ResourceExhaustedError("too much text");
    }
    ++imported_;
    return absl::OkStatus();
  }

  io::ByteSource& source_;
  const ReadOptions options_;
  ImportReport* const report_;
  NodeParser parser_;
  std::string buffer_;
  char* begin_;        // what is not yet taken
  char* end_;          // kPadding bytes may be read behind it
  uint64_t base_ = 0;  // offset of the buffer in the file
  uint64_t error_offset_ = 0;
  ParsedNode node_;
  uint64_t name_offset_ = 0;  // of a name that was not escaped
  Graph graph_;
  bool has_nodes_ = false;
  bool is_full_ = false;
  uint64_t imported_ = 0, skipped_ = 0;
};

}  // namespace

absl::StatusOr<Graph> ReadPytorchEt(io::ByteSource& source, const ReadOptions& options, ImportReport* report) {
  ImportReport unused;
  return EtReader(source, options, report == nullptr ? &unused : report).Read();
}

int SniffPytorchEt(absl::string_view head) {
  // Keys up to "nodes" are few and short.
  std::string padded(head.substr(0, 4096));
  const size_t size = padded.size();
  padded.append(json::kPadding, '\0');
  const char* const end = padded.data() + size;
  const char* p = json::SkipBlanks(padded.data(), end);
  if (p == end || *p != '{') return 0;
  ++p;
  class Ignore : public json::DamageSink {
    void OnDamage(json::Damage, const char*) override {}
  } ignore;
  bool has_schema = false;
  for (int i = 0; i < 16; ++i) {
    std::string key, value;
    json::Error error;
    p = json::SkipBlanks(p, end);
    if (p == end || *p != '"') return 0;
    p = json::AppendCanonical(p, end, &key, &ignore, &error);
    if (p == nullptr) return 0;
    p = json::SkipBlanks(p, end);
    if (p == end || *p != ':') return 0;
    p = json::SkipBlanks(p + 1, end);
    if (key == "\"nodes\"") return has_schema && p < end && *p == '[' ? 95 : 0;
    if (i == 0 && key != "\"schema\"") return 0;
    has_schema = true;
    p = json::AppendCanonical(p, end, &value, &ignore, &error);
    if (p == nullptr) return 0;
    p = json::SkipBlanks(p, end);
    if (p == end || *p != ',') return 0;
    ++p;
  }
  return 0;
}

}  // namespace tracekiln::pytorch_et

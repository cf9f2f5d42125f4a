#include "formats/chakra/chakra_reader.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "formats/chakra/et_fields.h"
#include "formats/intermediate/graph_faults.h"
#include "formats/intermediate/ids.h"
#include "formats/intermediate/wire.h"
#include "formats/json/text.h"

namespace tracekiln::chakra {
namespace {

using kiln::WireReader;
using kiln::WireType;
using kiln::WireWriter;

constexpr size_t kBufferBytes = size_t{1} << 20;

// What stands at one place of a message that can't be read.
struct Fault {
  const char* at = nullptr;
  const char* reason = nullptr;  // null: none
};

// Odd things of a message, by their reasons in the report.
constexpr absl::string_view kUnknownField = "unknown_field", kUnknownNodeType = "unknown_node_type",
                            kAttributeWithoutValue = "attribute_without_value", kInvalidUtf8 = "invalid_utf8";

// Appends the field that `r` is at to *out as it stands.
void KeepField(WireReader* r, std::string* out) {
  const char* const begin = r->field_begin();
  r->Skip();
  if (r->ok()) out->append(begin, static_cast<size_t>(r->position() - begin));
}

// Parses messages into a graph. One object per file; the strings serve as buffers.
class MessageParser {
 public:
  explicit MessageParser(Graph* graph) : graph_(graph) {}

  // What is odd about the last message. Each stands as often as it occurs.
  const std::vector<absl::string_view>& remarks() const { return remarks_; }

  Fault ParseMetadata(absl::string_view message) {
    WireReader r(message);
    unknown_.clear();
    remarks_.clear();
    while (r.NextField()) {
      switch (r.field()) {
        case kMetadataVersion: graph_->version = InternText(r.Bytes()); break;
        case kMetadataAttr:
          if (const Fault fault = ParseAttribute(r.Bytes()); fault.reason != nullptr && r.ok()) return fault;
          break;
        default: KeepField(&r, &unknown_);
      }
    }
    if (!r.ok()) return {r.field_begin(), "malformed field of the metadata"};
    if (!unknown_.empty()) {
      remarks_.push_back(kUnknownField);
      graph_->unknown_fields = Intern(unknown_);
    }
    return Check(graph_->graph_attributes().size());
  }

  Fault ParseNode(absl::string_view message) {
    Graph::Node& node = graph_->AddNode(0, kNoString);
    const size_t attributes_before = graph_->attributes().size();
    WireReader r(message);
    unknown_.clear();
    remarks_.clear();
    while (r.NextField()) {
      switch (r.field()) {
        case kNodeId: node.id = r.Varint(); break;
        case kNodeName: node.name = InternText(r.Bytes()); break;
        case kNodeType: node.type = static_cast<NodeType>(static_cast<int32_t>(r.Varint())); break;
        case kNodeControlDeps: ParseIds(&r, [this](uint64_t id) { graph_->AddControlDep(id); }); break;
        case kNodeDataDeps: ParseIds(&r, [this](uint64_t id) { graph_->AddDataDep(id); }); break;
        case kNodeStart: node.start_us = r.Varint(); break;
        case kNodeDuration: node.duration_us = r.Varint(); break;
        case kNodeInputs:
        case kNodeOutputs: {
          const bool is_input = r.field() == kNodeInputs;
          if (!ParseIo(r.field(), r.Bytes(), is_input ? &node.inputs : &node.outputs)) {
            return {r.field_begin(), "malformed inputs or outputs of a node"};
          }
          break;
        }
        case kNodeAttr:
          if (const Fault fault = ParseAttribute(r.Bytes()); fault.reason != nullptr && r.ok()) return fault;
          break;
        default: KeepField(&r, &unknown_);
      }
    }
    if (!r.ok()) return {r.field_begin(), "malformed field of a node"};
    if (!unknown_.empty()) {
      remarks_.push_back(kUnknownField);
      node.unknown_fields = Intern(unknown_);
    }
    if (NodeTypeName(node.type).empty()) remarks_.push_back(kUnknownNodeType);
    return Check(graph_->attributes().size() - attributes_before);
  }

 private:
  StringId Intern(absl::string_view text) {
    const StringId id = graph_->strings.Intern(text);
    if (id == kNoString) is_full_ = true;
    return id;
  }

  // A field of type string, which must be UTF-8: Python's protobuf refuses the whole message otherwise.
  StringId InternText(absl::string_view text) {
    text_.clear();
    if (json::AppendAsUtf8(text, &text_)) return Intern(text);
    remarks_.push_back(kInvalidUtf8);
    return Intern(text_);
  }

  // After a message.
  Fault Check(size_t attributes) const {
    if (attributes > Graph::kMaxAttributes) return {nullptr, "a node with more than 65,536 attributes"};
    if (is_full_) return {nullptr, "too much text"};
    return {};
  }

  template <typename Add>
  static void ParseIds(WireReader* r, Add add) {
    if (r->type() == WireType::kVarint) {
      const uint64_t id = r->Varint();
      if (r->ok()) add(id);
      return;
    }
    WireReader packed(r->Bytes());
    while (packed.ok() && !packed.at_end()) {
      const uint64_t id = packed.RawVarint();
      if (packed.ok()) add(id);
    }
    if (!packed.ok()) r->Fail();
  }

  // Fields that aren't known go to unknown_ in a message of their own: readers merge the two.
  bool ParseIo(uint32_t field, absl::string_view message, Graph::Io* io) {
    WireReader r(message);
    std::string unknown;
    if (io->values == kNoString) io->values = Intern("");  // the message is there
    while (r.NextField()) {
      switch (r.field()) {
        case kIoValues: io->values = InternText(r.Bytes()); break;
        case kIoShapes: io->shapes = InternText(r.Bytes()); break;
        case kIoTypes: io->types = InternText(r.Bytes()); break;
        default: KeepField(&r, &unknown);
      }
    }
    if (!unknown.empty()) WireWriter(&unknown_).Bytes(field, unknown);
    return r.ok();
  }

  Fault ParseAttribute(absl::string_view message) {
    Graph::Attribute attribute;
    StringId doc = kNoString;
    std::string unknown;
    list_.clear();
    WireReader r(message);
    while (r.NextField()) {
      const uint32_t field = r.field();
      if (field == kAttributeName) {
        attribute.name = InternText(r.Bytes());
      } else if (field == kAttributeDoc) {
        doc = InternText(r.Bytes());
      } else if (IsAttributeType(field)) {
        if (!ParseValue(static_cast<AttributeType>(field), &r, &attribute)) r.Fail();
      } else {
        KeepField(&r, &unknown);
      }
    }
    if (!r.ok()) return {r.field_begin(), "malformed attribute"};
    if (IsList(attribute.type)) attribute.value = Index(Intern(list_));
    if (attribute.name == kNoString) attribute.name = Intern("");
    if (attribute.type == AttributeType::kNone) remarks_.push_back(kAttributeWithoutValue);
    graph_->AddAttribute(attribute);
    if (doc != kNoString || !unknown.empty()) {
      if (!unknown.empty()) remarks_.push_back(kUnknownField);
      graph_->AddExtra(
          {static_cast<uint32_t>(graph_->attributes().size() - 1), doc, unknown.empty() ? kNoString : Intern(unknown)});
    }
    return {};
  }

  // The last value of an attribute counts; of the same list twice, all elements.
  bool ParseValue(AttributeType type, WireReader* r, Graph::Attribute* attribute) {
    if (IsList(type)) {
      if (attribute->type != type) list_.clear();
      const absl::string_view message = r->Bytes();
      list_.append(message.data(), message.size());
      attribute->type = type;
      return r->ok() && IsMessage(message);
    }
    attribute->type = type;
    switch (type) {
      case AttributeType::kDouble:
      case AttributeType::kFixed64:
      case AttributeType::kSfixed64: attribute->value = r->Fixed64(); break;
      case AttributeType::kFloat:
      case AttributeType::kFixed32: attribute->value = r->Fixed32(); break;
      case AttributeType::kSfixed32: attribute->value = SignExtended(r->Fixed32()); break;
      case AttributeType::kInt32: attribute->value = SignExtended(static_cast<uint32_t>(r->Varint())); break;
      case AttributeType::kUint32: attribute->value = static_cast<uint32_t>(r->Varint()); break;
      case AttributeType::kSint32:
        attribute->value = static_cast<uint64_t>(kiln::UnZigZag(static_cast<uint32_t>(r->Varint())));
        break;
      case AttributeType::kSint64: attribute->value = static_cast<uint64_t>(r->Signed()); break;
      case AttributeType::kBool: attribute->value = r->Varint() != 0 ? 1 : 0; break;
      case AttributeType::kString: attribute->value = Index(InternText(r->Bytes())); break;
      case AttributeType::kBytes: attribute->value = Index(Intern(r->Bytes())); break;
      default: attribute->value = r->Varint();  // int64, uint64
    }
    return r->ok();
  }

  static uint64_t SignExtended(uint32_t bits) {
    return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(bits)));
  }

  // Whether all fields of a message can be read.
  static bool IsMessage(absl::string_view message) {
    WireReader r(message);
    while (r.NextField()) r.Skip();
    return r.ok();
  }

  Graph* const graph_;
  std::vector<absl::string_view> remarks_;
  bool is_full_ = false;
  std::string unknown_;
  std::string list_;
  std::string text_;
};

// Whether a record could be a node rather than metadata: fields that only a node has, or an id.
bool LooksLikeNode(absl::string_view message) {
  WireReader r(message);
  bool is_node = false;
  while (r.NextField()) {
    const bool has_bytes = r.type() == WireType::kBytes;
    is_node |= r.field() > kMetadataAttr && r.field() <= kNodeAttr;
    is_node |= r.field() == kNodeId && !has_bytes;
    r.Skip();
  }
  return r.ok() && is_node;
}

bool HasUnknownField(const MessageParser& parser) {
  return std::count(parser.remarks().begin(), parser.remarks().end(), kUnknownField) > 0;
}

// The records of a file, one after another.
class RecordReader {
 public:
  explicit RecordReader(io::ByteSource& source) : source_(source), buffer_(kBufferBytes, '\0') {}

  // Offset of the record that was read last, or that could not be read.
  uint64_t offset() const { return record_offset_; }
  // Offset of the byte at `at`, which is in the last record.
  uint64_t OffsetOf(const char* at) const {
    return at == nullptr ? record_offset_ : base_ + static_cast<uint64_t>(at - buffer_.data());
  }

  // The next record, valid until the next call; false at the end of the file. Errors say nothing of the file.
  absl::StatusOr<bool> Next(absl::string_view* message) {
    record_offset_ = base_ + begin_;
    uint64_t size = 0;
    size_t at = begin_;
    for (int shift = 0;; shift += 7) {
      if (at == end_) {
        Fill(at - begin_ + 1, &at);
        if (at == end_) {
          if (at == begin_) return source_.status().ok() ? absl::StatusOr<bool>(false) : source_.status();
          return Cut("the file ends inside the size of a record");
        }
      }
      const uint8_t byte = static_cast<uint8_t>(buffer_[at++]);
      if (shift == 63 && byte > 1) return absl::InvalidArgumentError("the size of a record is no varint of 64 bits");
      size |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    if (size > kMaxRecordBytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("a record may have ", kMaxRecordBytes, " bytes, this one says ", size));
    }
    if (end_ - at < size) {
      Fill(at - begin_ + size, &at);
      if (end_ - at < size) {
        return Cut(absl::StrCat("expected a record of ", size, " bytes, got ", end_ - at, " and the end of the file"));
      }
    }
    *message = absl::string_view(buffer_.data() + at, size);
    begin_ = at + size;
    return true;
  }

  // Whether nothing but zeros is left, the last record included.
  bool OnlyZerosFollow() {
    begin_ = record_offset_ - base_;
    for (;;) {
      for (; begin_ < end_; ++begin_) {
        if (buffer_[begin_] != '\0') return false;
      }
      size_t at = begin_;
      Fill(1, &at);
      if (begin_ == end_) return source_.status().ok();
    }
  }

 private:
  absl::Status Cut(std::string reason) const {
    return source_.status().ok() ? absl::DataLossError(reason) : source_.status();
  }

  // Makes [begin_, end_) at least `size` bytes, if the file has so many. *at moves along.
  void Fill(uint64_t size, size_t* at) {
    if (begin_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      base_ += begin_;
      *at -= begin_;
      end_ -= begin_;
      begin_ = 0;
    }
    while (end_ < size) {
      // In steps, so that a size that the file does not have costs nothing.
      if (end_ == buffer_.size()) buffer_.resize(buffer_.size() * 2);
      const size_t got = source_.Read(buffer_.data() + end_, buffer_.size() - end_);
      if (got == 0) return;
      end_ += got;
    }
  }

  io::ByteSource& source_;
  std::string buffer_;
  size_t begin_ = 0, end_ = 0;  // what is not yet taken
  uint64_t base_ = 0;           // offset of the buffer in the file
  uint64_t record_offset_ = 0;
};

}  // namespace

absl::StatusOr<Graph> ReadChakra(io::ByteSource& source, const ReadChakraOptions& options, ImportReport* report) {
  ImportReport unused;
  if (report == nullptr) report = &unused;
  Graph graph;
  MessageParser parser(&graph);
  RecordReader records(source);
  absl::string_view message;
  absl::Status damage;
  uint64_t damage_offset = 0;
  uint64_t whole_nodes = 0, skipped_nodes = 0;
  bool is_first = true;
  for (;; is_first = false) {
    absl::StatusOr<bool> more = records.Next(&message);
    damage_offset = records.offset();
    if (!more.ok()) {
      damage = more.status();
      break;
    }
    if (!*more) {
      if (is_first) damage = absl::InvalidArgumentError("the file is empty");
      break;
    }
    if (message.empty() && !is_first) {
      if (!options.strict && records.OnlyZerosFollow()) {
        report->Repair("zero_padding", damage_offset, "nothing but zeros behind the last node");
        break;
      }
      damage = absl::InvalidArgumentError(
          "expected a node, got a record of 0 bytes, which Python's reader takes for the end");
      break;
    }
    const bool is_metadata = is_first && !LooksLikeNode(message);
    if (is_first && !is_metadata) report->Note("no_metadata", damage_offset, "the first record is a node");
    const Fault fault = is_metadata ? parser.ParseMetadata(message) : parser.ParseNode(message);
    if (fault.reason != nullptr && fault.at != nullptr && options.salvage && whole_nodes > 0) {
      // Where the next record begins is known all the same.
      report->salvaged = true;
      report->Skip("malformed_node", damage_offset,
                   absl::StrCat("at byte ", records.OffsetOf(fault.at), ": ", fault.reason));
      graph.Truncate(whole_nodes);
      ++skipped_nodes;
      continue;
    }
    if (fault.reason != nullptr) {
      damage_offset = records.OffsetOf(fault.at);
      damage =
          fault.at != nullptr ? absl::InvalidArgumentError(fault.reason) : absl::ResourceExhaustedError(fault.reason);
      break;
    }
    if (!is_metadata) ++whole_nodes;
    for (const absl::string_view remark : parser.remarks()) {
      if (remark == kInvalidUtf8) {
        report->Repair(remark, damage_offset, "texts that are not UTF-8, which Python's protobuf refuses");
      } else {
        report->Note(remark, damage_offset);
      }
    }
    if (options.strict && report->Find(kInvalidUtf8) != nullptr) {
      damage = absl::InvalidArgumentError("a text that is not UTF-8");
      break;
    }
  }
  report->input_bytes = source.position();
  if (!damage.ok()) {
    const bool may_salvage = options.salvage && whole_nodes > 0 && !absl::IsResourceExhausted(damage);
    const bool is_of_source = !source.status().ok();
    if (!may_salvage) {
      if (is_of_source) return source.status();
      return absl::Status(damage.code(),
                          absl::StrCat(source.name(), ":", damage_offset, ": ", damage.message(), " (", whole_nodes,
                                       whole_nodes == 1 ? " whole node precedes)" : " whole nodes precede)"));
    }
    report->salvaged = true;
    report->Repair("trailing_damage", damage_offset, damage.message());
    graph.Truncate(whole_nodes);
  }
  report->seen += whole_nodes + skipped_nodes;
  report->imported += whole_nodes;
  if (whole_nodes == 0) report->Note("no_nodes", ImportReport::kNoOffset, "the file has metadata and no node");
  NoteGraphFaults(graph, FindGraphFaults(graph), report);
  return graph;
}

int SniffChakra(absl::string_view head) {
  WireReader r(head);
  const uint64_t size = r.RawVarint();
  if (!r.ok() || size > kMaxRecordBytes) return 0;
  absl::string_view rest(r.position(), static_cast<size_t>(head.data() + head.size() - r.position()));
  // The first record must be whole: metadata are small, and text that happens to begin like a record must not pass.
  if (rest.size() < size || (size == 0 && rest.empty())) return 0;
  const absl::string_view first = rest.substr(0, size);
  rest.remove_prefix(size);
  Graph graph;
  MessageParser parser(&graph);
  const bool is_node = LooksLikeNode(first);
  const Fault fault = is_node ? parser.ParseNode(first) : parser.ParseMetadata(first);
  if (fault.reason != nullptr || HasUnknownField(parser)) return 0;
  const bool says_something =
      is_node ? graph.nodes()[0].name != kNoString : graph.version != kNoString || !graph.graph_attributes().empty();
  if (size > 0 && !says_something) return 0;
  if (rest.empty()) return size > 0 ? 85 : 0;
  WireReader second(rest);
  const uint64_t second_size = second.RawVarint();
  const absl::string_view body(second.position(), static_cast<size_t>(rest.data() + rest.size() - second.position()));
  const bool is_whole = second.ok() && second_size > 0 && second_size <= body.size();
  if (is_whole) {
    const Fault of_node = parser.ParseNode(body.substr(0, second_size));
    if (of_node.reason == nullptr && !HasUnknownField(parser)) return 85;
  }
  return size > 0 ? 60 : 0;
}

}  // namespace tracekiln::chakra

#include "formats/chakra/chakra_writer.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "formats/chakra/chakra_reader.h"
#include "formats/chakra/et_fields.h"
#include "formats/intermediate/ids.h"
#include "formats/intermediate/wire.h"
#include "formats/json/text.h"

namespace tracekiln::chakra {
namespace {

using kiln::WireWriter;

constexpr size_t kBufferBytes = size_t{1} << 20;

class ChakraWriter {
 public:
  ChakraWriter(const Graph& graph, io::ByteSink& sink) : graph_(graph), sink_(sink) {}

  absl::Status Write() {
    AppendText(kMetadataVersion, graph_.version, &record_);
    AppendAttributes(kMetadataAttr, graph_.graph_attributes());
    AppendRaw(graph_.unknown_fields, &record_);
    if (absl::Status status = EndRecord(); !status.ok()) return status;
    for (size_t i = 0; i < graph_.nodes().size() && sink_.status().ok(); ++i) {
      AppendNode(i);
      if (absl::Status status = EndRecord(); !status.ok()) return status;
    }
    sink_.Write(out_);
    return sink_.status();
  }

 private:
  void AppendNode(size_t i) {
    const Graph::Node& node = graph_.nodes()[i];
    WireWriter w(&record_);
    if (node.id != 0) w.Varint(kNodeId, node.id);
    AppendText(kNodeName, node.name, &record_);
    // Enums are int32 on the wire: negative ones take ten bytes.
    const int64_t type = static_cast<int32_t>(node.type);
    if (type != 0) w.Varint(kNodeType, static_cast<uint64_t>(type));
    AppendIds(kNodeControlDeps, graph_.control_deps(i));
    AppendIds(kNodeDataDeps, graph_.data_deps(i));
    if (node.start_us != 0) w.Varint(kNodeStart, node.start_us);
    if (node.duration_us != 0) w.Varint(kNodeDuration, node.duration_us);
    AppendIo(kNodeInputs, node.inputs);
    AppendIo(kNodeOutputs, node.outputs);
    AppendAttributes(kNodeAttr, graph_.attributes(i));
    AppendRaw(node.unknown_fields, &record_);
    // A record of 0 bytes is the end for Python's reader, and padding for ours.
    if (record_.empty()) w.Varint(kNodeId, 0);
  }

  void AppendText(uint32_t field, StringId id, std::string* out) const {
    const absl::string_view text = graph_.Text(id);
    if (!text.empty()) AppendUtf8(field, text, out);
  }

  static void AppendUtf8(uint32_t field, absl::string_view text, std::string* out) {
    WireWriter w(out);
    const size_t begin = out->size();
    w.BytesHeader(field, text.size());
    if (json::AppendAsUtf8(text, out)) return;
    out->resize(begin);
    std::string mended;
    json::AppendAsUtf8(text, &mended);
    w.Bytes(field, mended);
  }

  void AppendRaw(StringId id, std::string* out) const {
    const absl::string_view bytes = graph_.Text(id);
    out->append(bytes.data(), bytes.size());
  }

  void AppendIds(uint32_t field, absl::Span<const uint64_t> ids) {
    if (ids.empty()) return;
    message_.clear();
    WireWriter packed(&message_);
    for (const uint64_t id : ids) packed.Raw(id);
    WireWriter(&record_).Bytes(field, message_);
  }

  void AppendIo(uint32_t field, const Graph::Io& io) {
    if (io.values == kNoString && io.shapes == kNoString && io.types == kNoString) return;
    message_.clear();
    AppendText(kIoValues, io.values, &message_);
    AppendText(kIoShapes, io.shapes, &message_);
    AppendText(kIoTypes, io.types, &message_);
    WireWriter(&record_).Bytes(field, message_);
  }

  // `attributes` are some of the graph's, each behind those of the calls before.
  void AppendAttributes(uint32_t field, absl::Span<const Graph::Attribute> attributes) {
    for (const Graph::Attribute& attribute : attributes) {
      message_.clear();
      AppendText(kAttributeName, attribute.name, &message_);
      const std::vector<Graph::AttributeExtra>& extras = graph_.extras();
      const bool has_extra = next_extra_ < extras.size() && extras[next_extra_].attribute == next_attribute_;
      if (has_extra) AppendText(kAttributeDoc, extras[next_extra_].doc, &message_);
      AppendValue(attribute);
      if (has_extra) AppendRaw(extras[next_extra_++].unknown_fields, &message_);
      WireWriter(&record_).Bytes(field, message_);
      ++next_attribute_;
    }
  }

  // A member of a oneof is written even if it is 0.
  void AppendValue(const Graph::Attribute& attribute) {
    WireWriter w(&message_);
    const uint32_t field = static_cast<uint32_t>(attribute.type);
    if (attribute.type == AttributeType::kString) {
      AppendUtf8(field, graph_.Text(attribute.text()), &message_);
      return;
    }
    if (IsText(attribute.type)) {
      w.Bytes(field, graph_.Text(attribute.text()));
      return;
    }
    switch (attribute.type) {
      case AttributeType::kNone: break;
      case AttributeType::kDouble:
      case AttributeType::kFixed64:
      case AttributeType::kSfixed64: w.Fixed64(field, attribute.value); break;
      case AttributeType::kFloat:
      case AttributeType::kFixed32:
      case AttributeType::kSfixed32: w.Fixed32(field, static_cast<uint32_t>(attribute.value)); break;
      case AttributeType::kSint32:
        w.Varint(field, static_cast<uint32_t>(kiln::ZigZag(static_cast<int64_t>(attribute.value))));
        break;
      case AttributeType::kSint64: w.Signed(field, static_cast<int64_t>(attribute.value)); break;
      default: w.Varint(field, attribute.value);
    }
  }

  absl::Status EndRecord() {
    if (record_.size() > kMaxRecordBytes) {
      return absl::ResourceExhaustedError(absl::StrCat(sink_.name(), ": a record may have ", kMaxRecordBytes,
                                                       " bytes, one would have ", record_.size()));
    }
    WireWriter(&out_).Raw(record_.size());
    out_ += record_;
    record_.clear();
    if (out_.size() >= kBufferBytes) {
      sink_.Write(out_);
      out_.clear();
    }
    return sink_.status();
  }

  const Graph& graph_;
  io::ByteSink& sink_;
  std::string out_, record_, message_;
  size_t next_attribute_ = 0, next_extra_ = 0;
};

}  // namespace

absl::Status WriteChakra(const Graph& graph, io::ByteSink& sink) { return ChakraWriter(graph, sink).Write(); }

}  // namespace tracekiln::chakra

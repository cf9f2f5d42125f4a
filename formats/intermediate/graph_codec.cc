// How a graph is encoded.
//
// Its nodes are cut into chunks, each node a row. What zstd can't see is taken out first:
//
//  - A text stands once in the whole section, in the chunk that uses it first. Most texts of a column are either new
//    (the inputs of operators) or old (their names, shapes and types): code 0 is the next new text, so that a column of
//    new ones is constant.
//  - Nodes have few different sets of attributes: a set (its names and types) is a shape, as in a timeline, and the
//    values are columns of a shape and a place in it.
//  - A dependency is mostly a node nearby: it is coded as what its id is below the node's own.
//
// All differences wrap around, so any id survives.
#include "formats/intermediate/graph_codec.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "formats/intermediate/chunk_columns.h"
#include "formats/intermediate/part_codec.h"
#include "formats/intermediate/wire.h"

namespace tracekiln::kiln {
namespace {

// A chunk takes no more nodes when it has so much of one of these.
constexpr size_t kEnoughTextBytes = size_t{4} << 20;
constexpr size_t kEnoughItems = size_t{1} << 20;   // dependencies, attributes
constexpr size_t kEnoughFields = size_t{1} << 18;  // of all shapes

constexpr uint32_t kUnknown = 0xffffffffu;

// Codes of texts: the next one that was not used before, none, else its number + 2.
constexpr uint32_t kNewText = 0, kNoText = 1, kFirstText = 2;

// The columns of a node's texts, in the order in which they number new ones.
struct TextColumn {
  ColumnId id;
  StringId Graph::Node::*of_node;
  StringId Graph::Io::*of_io;  // of inputs or outputs
  Graph::Io Graph::Node::*io;
};
constexpr TextColumn kTextColumns[] = {
    {ColumnId::kNodeName, &Graph::Node::name, nullptr, nullptr},
    {ColumnId::kNodeInputValues, nullptr, &Graph::Io::values, &Graph::Node::inputs},
    {ColumnId::kNodeInputShapes, nullptr, &Graph::Io::shapes, &Graph::Node::inputs},
    {ColumnId::kNodeInputTypes, nullptr, &Graph::Io::types, &Graph::Node::inputs},
    {ColumnId::kNodeInputStrides, nullptr, &Graph::Io::strides, &Graph::Node::inputs},
    {ColumnId::kNodeOutputValues, nullptr, &Graph::Io::values, &Graph::Node::outputs},
    {ColumnId::kNodeOutputShapes, nullptr, &Graph::Io::shapes, &Graph::Node::outputs},
    {ColumnId::kNodeOutputTypes, nullptr, &Graph::Io::types, &Graph::Node::outputs},
    {ColumnId::kNodeOutputStrides, nullptr, &Graph::Io::strides, &Graph::Node::outputs},
    {ColumnId::kNodeUnknownFields, &Graph::Node::unknown_fields, nullptr, nullptr},
};

template <typename Node>  // Graph::Node, const or not
auto& TextOf(const TextColumn& column, Node& node) {
  return column.of_node != nullptr ? node.*column.of_node : node.*column.io.*column.of_io;
}

// The names and types of a node's attributes.
struct Shape {
  std::vector<std::pair<uint32_t, AttributeType>> fields;
  uint32_t rows = 0;  // nodes of the chunk that have it
};

std::string ShapeKey(absl::Span<const Graph::Attribute> attributes) {
  std::string key;
  key.reserve(attributes.size() * 5);
  for (const Graph::Attribute& attribute : attributes) {
    const uint32_t name = Index(attribute.name);
    key.append(reinterpret_cast<const char*>(&name), sizeof name);
    key.push_back(static_cast<char>(attribute.type));
  }
  return key;
}

// Numbers the texts of a section as it is encoded.
class TextCoder {
 public:
  explicit TextCoder(const StringPool& strings) : strings_(strings), map_(strings.size(), kUnknown) {}

  uint32_t Code(StringId id) {
    if (id == kNoString) return kNoText;
    uint32_t& known = map_[Index(id)];
    if (known != kUnknown) return known + kFirstText;
    known = count_++;
    const absl::string_view s = strings_.Get(id);
    sizes_.push_back(static_cast<int64_t>(s.size()));
    bytes_.append(s.data(), s.size());
    return kNewText;
  }
  void BeginChunk() { sizes_.clear(), bytes_.clear(); }
  const std::vector<int64_t>& sizes() const { return sizes_; }
  const std::string& bytes() const { return bytes_; }

 private:
  const StringPool& strings_;
  std::vector<uint32_t> map_;
  uint32_t count_ = 0;
  std::vector<int64_t> sizes_;  // of the chunk
  std::string bytes_;
};

class GraphEncoder {
 public:
  GraphEncoder(const Graph& graph, const EncodeOptions& options)
      : graph_(graph), part_(options.zstd_level), texts_(graph.strings) {}

  absl::Status Encode(const std::function<void(const ChunkHeader& header, absl::string_view parts)>& emit);

 private:
  // Takes nodes from `begin` on into shapes_ and shape_of_node_; returns the end of the chunk.
  size_t Cut(size_t begin);
  void EncodeNodes(size_t begin, size_t end);
  std::string Head();
  std::string Extras(size_t begin, size_t end);
  template <typename Value>
  void Ints(ColumnId id, size_t begin, size_t end, Value value) {
    ints_.clear();
    for (size_t i = begin; i < end; ++i) ints_.push_back(static_cast<int64_t>(value(i)));
    EmitInts(id, 0, 0);
  }
  void EmitInts(ColumnId id, uint32_t shape, uint32_t field) {
    ColumnContext context;
    context.rows = ints_.size();
    part_.EncodeInts(id, shape, field, ints_.data(), context);
  }
  void EmitCodes(ColumnId id, uint32_t shape, uint32_t field) {
    ColumnContext context;
    context.rows = codes_.size();
    part_.EncodeCodes(id, shape, field, codes_.data(), context);
  }

  const Graph& graph_;
  PartEncoder part_;
  TextCoder texts_;
  std::vector<Shape> shapes_;  // of the chunk
  std::vector<uint32_t> shape_of_node_;
  std::vector<int64_t> ints_;
  std::vector<uint32_t> codes_;
  size_t next_extra_ = 0;
  size_t next_attribute_ = 0;
};

size_t GraphEncoder::Cut(size_t begin) {
  const std::vector<Graph::Node>& nodes = graph_.nodes();
  shapes_.clear(), shape_of_node_.clear();
  absl::flat_hash_map<std::string, uint32_t> numbers;
  size_t text_bytes = 0, items = 0, fields = 0, i = begin;
  for (; i < nodes.size() && i - begin < EventBatch::kMaxRows && text_bytes < kEnoughTextBytes &&
         items < kEnoughItems && fields < kEnoughFields;
       ++i) {
    const absl::Span<const Graph::Attribute> attributes = graph_.attributes(i);
    items += graph_.control_deps(i).size() + graph_.data_deps(i).size() + attributes.size();
    // Old texts count too: simpler, and a chunk is large enough anyway.
    text_bytes += graph_.Text(nodes[i].inputs.values).size() + graph_.Text(nodes[i].outputs.values).size();
    const auto [shape, is_new] = numbers.emplace(ShapeKey(attributes), static_cast<uint32_t>(shapes_.size()));
    if (is_new) {
      Shape& added = shapes_.emplace_back();
      for (const Graph::Attribute& attribute : attributes) {
        added.fields.emplace_back(Index(attribute.name), attribute.type);
      }
      fields += attributes.size();
    }
    ++shapes_[shape->second].rows;
    shape_of_node_.push_back(shape->second);
  }
  return i;
}

std::string GraphEncoder::Head() {
  std::string head;
  WireWriter w(&head);
  w.Raw(texts_.Code(graph_.version));
  w.Raw(texts_.Code(graph_.unknown_fields));
  for (const Graph::Attribute& attribute : graph_.graph_attributes()) {
    w.Raw(texts_.Code(attribute.name));
    w.Raw(static_cast<uint64_t>(attribute.type));
    if (attribute.type != AttributeType::kNone) {
      w.Raw(IsText(attribute.type) ? texts_.Code(attribute.text()) : attribute.value);
    }
  }
  return head;
}

// Those of attributes [begin, end), numbered from `begin`.
std::string GraphEncoder::Extras(size_t begin, size_t end) {
  std::string table;
  WireWriter w(&table);
  const std::vector<Graph::AttributeExtra>& extras = graph_.extras();
  for (; next_extra_ < extras.size() && extras[next_extra_].attribute < end; ++next_extra_) {
    const Graph::AttributeExtra& extra = extras[next_extra_];
    w.Raw(extra.attribute - begin);
    w.Raw(texts_.Code(extra.doc));
    w.Raw(texts_.Code(extra.unknown_fields));
  }
  return table;
}

void GraphEncoder::EncodeNodes(size_t begin, size_t end) {
  const std::vector<Graph::Node>& nodes = graph_.nodes();
  Ints(ColumnId::kNodeId, begin, end, [&](size_t i) { return nodes[i].id; });
  Ints(ColumnId::kNodeType, begin, end, [&](size_t i) { return static_cast<int32_t>(nodes[i].type); });
  Ints(ColumnId::kNodeStart, begin, end, [&](size_t i) { return nodes[i].start_us; });
  Ints(ColumnId::kNodeDuration, begin, end, [&](size_t i) { return nodes[i].duration_us; });
  for (const TextColumn& column : kTextColumns) {
    codes_.clear();
    for (size_t i = begin; i < end; ++i) codes_.push_back(texts_.Code(TextOf(column, nodes[i])));
    EmitCodes(column.id, 0, 0);
  }
  for (const bool is_data : {false, true}) {
    const auto deps = [&](size_t i) { return is_data ? graph_.data_deps(i) : graph_.control_deps(i); };
    Ints(is_data ? ColumnId::kDataDepCount : ColumnId::kControlDepCount, begin, end,
         [&](size_t i) { return deps(i).size(); });
    ints_.clear();
    for (size_t i = begin; i < end; ++i) {
      for (const uint64_t dep : deps(i)) ints_.push_back(static_cast<int64_t>(nodes[i].id - dep));
    }
    if (!ints_.empty()) EmitInts(is_data ? ColumnId::kDataDep : ColumnId::kControlDep, 0, 0);
  }
  std::string table;
  WireWriter w(&table);
  w.Raw(shapes_.size());
  for (const Shape& shape : shapes_) {
    w.Raw(shape.fields.size());
    for (const auto& [name, type] : shape.fields) {
      w.Raw(texts_.Code(StringId{name}));
      w.Raw(static_cast<uint64_t>(type));
    }
  }
  part_.EmitTable(ColumnId::kNodeShapes, 0, 0, table);
  codes_ = shape_of_node_;
  EmitCodes(ColumnId::kNodeShape, 0, 0);
  // The nodes of each shape, so that a column is one walk over them and not over the chunk.
  std::vector<std::vector<uint32_t>> members(shapes_.size());
  for (size_t s = 0; s < shapes_.size(); ++s) members[s].reserve(shapes_[s].rows);
  for (size_t i = begin; i < end; ++i) members[shape_of_node_[i - begin]].push_back(static_cast<uint32_t>(i));
  for (uint32_t s = 0; s < shapes_.size(); ++s) {
    for (uint32_t f = 0; f < shapes_[s].fields.size(); ++f) {
      const AttributeType type = shapes_[s].fields[f].second;
      if (type == AttributeType::kNone) continue;
      if (IsText(type)) {
        codes_.clear();
        for (const uint32_t i : members[s]) codes_.push_back(texts_.Code(graph_.attributes(i)[f].text()));
        EmitCodes(ColumnId::kAttributeText, s, f);
      } else {
        ints_.clear();
        for (const uint32_t i : members[s]) ints_.push_back(static_cast<int64_t>(graph_.attributes(i)[f].value));
        EmitInts(ColumnId::kAttributeNumber, s, f);
      }
    }
  }
}

absl::Status GraphEncoder::Encode(const std::function<void(const ChunkHeader& header, absl::string_view parts)>& emit) {
  const std::vector<Graph::Node>& nodes = graph_.nodes();
  for (const size_t count :
       {nodes.size(), graph_.control_dep_count(), graph_.data_dep_count(), graph_.attributes().size()}) {
    if (count > kMaxGraphRows) {
      return absl::ResourceExhaustedError(
          absl::StrCat("a graph may have ", kMaxGraphRows, " nodes, dependencies or attributes, got ", count));
    }
  }
  bool too_many = graph_.graph_attributes().size() > Graph::kMaxAttributes;
  for (size_t i = 0; i < nodes.size(); ++i) too_many |= graph_.attributes(i).size() > Graph::kMaxAttributes;
  if (too_many) {
    return absl::ResourceExhaustedError(absl::StrCat("a node may have ", Graph::kMaxAttributes, " attributes"));
  }
  size_t begin = 0;
  do {
    const size_t end = Cut(begin);
    texts_.BeginChunk();
    part_.Begin();
    std::string counts;
    WireWriter w(&counts);
    w.Raw(nodes.size()), w.Raw(graph_.control_dep_count()), w.Raw(graph_.data_dep_count());
    w.Raw(graph_.attributes().size());
    part_.EmitTable(ColumnId::kGraphCounts, 0, 0, counts);
    if (begin == 0) part_.EmitTable(ColumnId::kGraphHead, 0, 0, Head());
    size_t attribute_end = begin == 0 ? graph_.graph_attributes().size() : next_attribute_;
    for (size_t i = begin; i < end; ++i) attribute_end += graph_.attributes(i).size();
    if (const std::string extras = Extras(next_attribute_, attribute_end); !extras.empty()) {
      part_.EmitTable(ColumnId::kAttributeExtras, 0, 0, extras);
    }
    next_attribute_ = attribute_end;
    if (end > begin) EncodeNodes(begin, end);
    ColumnContext context;
    context.rows = texts_.sizes().size();
    part_.EncodeInts(ColumnId::kStringSizes, 0, static_cast<uint32_t>(texts_.sizes().size()), texts_.sizes().data(),
                     context);
    part_.EmitTable(ColumnId::kStringBytes, 0, 0, texts_.bytes());
    ChunkHeader header;
    header.section = kGraphSection;
    header.first_row = begin;
    header.rows = static_cast<uint32_t>(std::max<size_t>(end - begin, 1));
    header.foreign_events = header.rows;
    std::string parts;
    if (absl::Status status = part_.Finish(PartId::kGraph, &header, &parts); !status.ok()) return status;
    emit(header, parts);
    begin = end;
  } while (begin < nodes.size());
  return absl::OkStatus();
}

}  // namespace

absl::Status EncodeGraph(const Graph& graph, const EncodeOptions& options,
                         const std::function<void(const ChunkHeader& header, absl::string_view parts)>& emit) {
  return GraphEncoder(graph, options).Encode(emit);
}

class GraphDecoder::Impl {
 public:
  absl::Status Add(const ChunkHeader& header, absl::string_view bytes, absl::string_view name, uint64_t offset) {
    if (absl::Status s = part_.LoadOf(header, kGraphSection, PartId::kGraph, bytes, name, offset); !s.ok()) return s;
    const char* const error = Decode(header);
    return error == nullptr ? absl::OkStatus()
                            : absl::InvalidArgumentError(absl::StrCat(name, ":", offset, ": ", error));
  }
  bool is_complete() const { return has_counts_ && graph_.nodes().size() == counts_.nodes; }
  absl::StatusOr<Graph> Finish(absl::string_view name);

 private:
  struct Counts {
    uint64_t nodes = 0, control_deps = 0, data_deps = 0, attributes = 0;
    bool operator==(const Counts& o) const {
      return nodes == o.nodes && control_deps == o.control_deps && data_deps == o.data_deps &&
             attributes == o.attributes;
    }
  };
  struct Field {
    uint32_t name;
    AttributeType type;
    size_t values;  // where its values begin in values_, one per node of the shape
  };
  struct DecodedShape {
    std::vector<Field> fields;
    uint32_t rows = 0;  // nodes of the chunk that have it
    uint32_t next = 0;  // of them, added to the graph so far
  };

  // These return nullptr, or what is wrong.
  const char* Decode(const ChunkHeader& header);
  const char* DecodeHead();
  const char* DecodeExtras(size_t first_attribute);
  const char* DecodeNodes(size_t count);
  const char* DecodeDeps(size_t count, bool is_data);
  const char* DecodeShapes(size_t count);
  const char* DecodeValues();
  const char* DecodeTexts(const Column* column, size_t count, uint32_t* ids);
  const char* DecodeInts(const Column* column, size_t count, std::vector<int64_t>* out);
  void AddNodes(size_t count);
  // The number of a text, from its code. False if there is no such text.
  bool ResolveText(uint64_t code, uint32_t* id) {
    if (code == kNewText) {
      *id = strings_used_;
      return strings_used_++ + 1 < ends_.size();
    }
    *id = code == kNoText ? Index(kNoString) : static_cast<uint32_t>(code - kFirstText);
    return code == kNoText || code - kFirstText < strings_used_;
  }

  PartDecoder part_;
  Graph graph_;  // its strings are in text_ and ends_ until the end
  std::string text_;
  std::vector<uint32_t> ends_ = {0};
  uint32_t strings_used_ = 0;
  bool has_counts_ = false;
  Counts counts_;
  struct Extra {
    uint32_t attribute, doc, unknown_fields;
  };
  std::vector<Extra> extras_;  // of the chunk
  // Columns of the chunk.
  std::vector<int64_t> ids_, types_, starts_, durations_;
  std::array<std::vector<uint32_t>, std::size(kTextColumns)> texts_;
  std::array<std::vector<int64_t>, 2> dep_counts_, deps_;  // control, data
  std::vector<DecodedShape> shapes_;
  std::vector<uint32_t> shape_of_node_, codes_;
  std::vector<int64_t> ints_;
  std::vector<uint64_t> values_;
};

const char* GraphDecoder::Impl::DecodeInts(const Column* column, size_t count, std::vector<int64_t>* out) {
  ColumnContext context;
  context.rows = count;
  out->resize(count);
  return part_.DecodeInts(column, context, out->data());
}

const char* GraphDecoder::Impl::DecodeTexts(const Column* column, size_t count, uint32_t* ids) {
  ColumnContext context;
  context.rows = count;
  if (const char* e = part_.DecodeCodes(column, context, ends_.size() - 1 + kFirstText, ids)) return e;
  for (size_t i = 0; i < count; ++i) {
    if (!ResolveText(ids[i], &ids[i])) return "a column names a text that is not there";
  }
  return nullptr;
}

const char* GraphDecoder::Impl::Decode(const ChunkHeader& header) {
  const Column* const column = part_.Find(ColumnId::kGraphCounts);
  if (column == nullptr) return "a column is missing";
  WireReader r(column->data);
  Counts counts;
  counts.nodes = r.RawVarint(), counts.control_deps = r.RawVarint();
  counts.data_deps = r.RawVarint(), counts.attributes = r.RawVarint();
  if (!r.ok() || !r.at_end() ||
      std::max({counts.nodes, counts.control_deps, counts.data_deps, counts.attributes}) > kMaxGraphRows) {
    return "the counts of a graph are out of range";
  }
  const bool is_first = !has_counts_;
  if (is_first) {
    has_counts_ = true;
    counts_ = counts;
  } else if (is_complete()) {
    return "a chunk behind the end of the graph";
  }
  if (!(counts == counts_)) return "a chunk of another graph";
  if (header.first_row != graph_.nodes().size()) return "a chunk of the graph is missing";
  const size_t count = counts.nodes == 0 ? 0 : header.rows;
  if (count > counts.nodes - graph_.nodes().size()) return "a chunk has more rows than the graph";
  if (const char* e = part_.DecodeStrings(ColumnId::kStringSizes, ColumnId::kStringBytes, &text_, &ends_)) return e;
  const size_t first_attribute = graph_.attributes().size();
  if (is_first) {
    if (const char* e = DecodeHead()) return e;
  }
  extras_.clear();
  if (const char* e = DecodeExtras(first_attribute)) return e;
  if (count > 0) {
    if (const char* e = DecodeNodes(count)) return e;
    AddNodes(count);
  }
  if (!extras_.empty() && extras_.back().attribute >= graph_.attributes().size()) {
    return "an attribute that is not there has a doc string";
  }
  for (const Extra& extra : extras_) {
    graph_.AddExtra({extra.attribute, StringId{extra.doc}, StringId{extra.unknown_fields}});
  }
  if (strings_used_ + 1 != ends_.size()) return "a text that nothing uses";
  if (!is_complete()) return nullptr;
  return graph_.control_dep_count() == counts_.control_deps && graph_.data_dep_count() == counts_.data_deps &&
                 graph_.attributes().size() == counts_.attributes
             ? nullptr
             : "the counts of a graph don't fit its nodes";
}

const char* GraphDecoder::Impl::DecodeHead() {
  const Column* const column = part_.Find(ColumnId::kGraphHead);
  if (column == nullptr) return "a column is missing";
  WireReader r(column->data);
  uint32_t version = 0, unknown_fields = 0;
  bool ok = ResolveText(r.RawVarint(), &version) && ResolveText(r.RawVarint(), &unknown_fields);
  while (ok && r.ok() && !r.at_end()) {
    uint32_t name = 0, text = 0;
    ok = ResolveText(r.RawVarint(), &name) && name != Index(kNoString);
    const uint64_t type = r.RawVarint();
    if (!ok || !IsAttributeType(type)) return "an attribute's name or type is out of range";
    Graph::Attribute attribute{0, StringId{name}, static_cast<AttributeType>(type)};
    if (IsText(attribute.type)) {
      ok = ResolveText(r.RawVarint(), &text) && text != Index(kNoString);
      attribute.value = text;
    } else if (attribute.type != AttributeType::kNone) {
      attribute.value = r.RawVarint();
    }
    graph_.AddAttribute(attribute);
  }
  if (!ok || !r.ok() || graph_.attributes().size() > Graph::kMaxAttributes) return "malformed head of a graph";
  graph_.version = StringId{version};
  graph_.unknown_fields = StringId{unknown_fields};
  return nullptr;
}

const char* GraphDecoder::Impl::DecodeExtras(size_t first_attribute) {
  const Column* const column = part_.Find(ColumnId::kAttributeExtras);
  if (column == nullptr) return nullptr;
  WireReader r(column->data);
  while (r.ok() && !r.at_end()) {
    Extra extra;
    const uint64_t at = r.RawVarint();
    const bool ok = ResolveText(r.RawVarint(), &extra.doc) && ResolveText(r.RawVarint(), &extra.unknown_fields);
    extra.attribute = static_cast<uint32_t>(first_attribute + at);
    if (!ok || !r.ok() || at > kMaxGraphRows || (!extras_.empty() && extra.attribute <= extras_.back().attribute)) {
      return "malformed doc strings";
    }
    extras_.push_back(extra);
  }
  return nullptr;
}

const char* GraphDecoder::Impl::DecodeNodes(size_t count) {
  if (const char* e = DecodeInts(part_.Find(ColumnId::kNodeId), count, &ids_)) return e;
  if (const char* e = DecodeInts(part_.Find(ColumnId::kNodeType), count, &types_)) return e;
  if (const char* e = DecodeInts(part_.Find(ColumnId::kNodeStart), count, &starts_)) return e;
  if (const char* e = DecodeInts(part_.Find(ColumnId::kNodeDuration), count, &durations_)) return e;
  for (const int64_t type : types_) {
    if (type < INT32_MIN || type > INT32_MAX) return "a node's type is out of range";
  }
  for (size_t c = 0; c < std::size(kTextColumns); ++c) {
    texts_[c].resize(count);
    if (const char* e = DecodeTexts(part_.Find(kTextColumns[c].id), count, texts_[c].data())) return e;
  }
  if (const char* e = DecodeDeps(count, false)) return e;
  if (const char* e = DecodeDeps(count, true)) return e;
  if (const char* e = DecodeShapes(count)) return e;
  return DecodeValues();
}

const char* GraphDecoder::Impl::DecodeDeps(size_t count, bool is_data) {
  std::vector<int64_t>& counts = dep_counts_[is_data];
  const Column* const column = part_.Find(is_data ? ColumnId::kDataDepCount : ColumnId::kControlDepCount);
  if (const char* e = DecodeInts(column, count, &counts)) return e;
  const uint64_t left =
      is_data ? counts_.data_deps - graph_.data_dep_count() : counts_.control_deps - graph_.control_dep_count();
  uint64_t total = 0;
  for (const int64_t n : counts) {
    if (n < 0 || (total += static_cast<uint64_t>(n)) > left) return "a node has more dependencies than the graph";
  }
  deps_[is_data].clear();
  if (total == 0) return nullptr;
  return DecodeInts(part_.Find(is_data ? ColumnId::kDataDep : ColumnId::kControlDep), total, &deps_[is_data]);
}

const char* GraphDecoder::Impl::DecodeShapes(size_t count) {
  const Column* const column = part_.Find(ColumnId::kNodeShapes);
  if (column == nullptr) return "a column is missing";
  WireReader r(column->data);
  const uint64_t shape_count = r.RawVarint();
  if (!r.ok() || shape_count > count) return "malformed shapes of nodes";
  shapes_.clear();
  shapes_.resize(shape_count);
  uint64_t fields = 0;
  for (DecodedShape& shape : shapes_) {
    const uint64_t field_count = r.RawVarint();
    if (!r.ok() || field_count > Graph::kMaxAttributes || (fields += field_count) > kMaxColumns) {
      return "malformed shapes of nodes";
    }
    shape.fields.reserve(std::min<uint64_t>(field_count, column->data.size()));
    for (uint64_t f = 0; f < field_count; ++f) {
      uint32_t name = 0;
      const bool ok = ResolveText(r.RawVarint(), &name) && name != Index(kNoString);
      const uint64_t type = r.RawVarint();
      if (!ok || !r.ok() || !IsAttributeType(type)) return "an attribute's name or type is out of range";
      shape.fields.push_back({name, static_cast<AttributeType>(type), 0});
    }
  }
  if (!r.at_end()) return "malformed shapes of nodes";
  ColumnContext context;
  context.rows = count;
  shape_of_node_.resize(count);
  if (const char* e =
          part_.DecodeCodes(part_.Find(ColumnId::kNodeShape), context, shape_count, shape_of_node_.data())) {
    return e;
  }
  for (const uint32_t shape : shape_of_node_) ++shapes_[shape].rows;
  return nullptr;
}

const char* GraphDecoder::Impl::DecodeValues() {
  uint64_t total = 0;
  for (const DecodedShape& shape : shapes_) {
    if (shape.rows == 0) return "a shape that no node has";
    total += uint64_t{shape.rows} * shape.fields.size();
  }
  if (total > counts_.attributes - graph_.attributes().size()) return "a node has more attributes than the graph";
  values_.clear();
  values_.reserve(total);
  // The columns stand in the order of shapes and fields.
  const std::vector<Column>& columns = part_.columns();
  size_t next = 0;
  for (uint32_t s = 0; s < shapes_.size(); ++s) {
    for (uint32_t f = 0; f < shapes_[s].fields.size(); ++f) {
      Field& field = shapes_[s].fields[f];
      const size_t rows = shapes_[s].rows;
      field.values = values_.size();
      if (field.type == AttributeType::kNone) {
        values_.resize(values_.size() + rows, 0);
        continue;
      }
      const ColumnId id = IsText(field.type) ? ColumnId::kAttributeText : ColumnId::kAttributeNumber;
      while (next < columns.size() &&
             !(columns[next].id == static_cast<uint32_t>(id) && columns[next].shape == s && columns[next].field == f)) {
        ++next;
      }
      if (next == columns.size()) return "a column is missing";
      if (id == ColumnId::kAttributeText) {
        codes_.resize(rows);
        if (const char* e = DecodeTexts(&columns[next], rows, codes_.data())) return e;
        for (const uint32_t text : codes_) {
          if (text == Index(kNoString)) return "an attribute lacks its text";
        }
        values_.insert(values_.end(), codes_.begin(), codes_.end());
      } else {
        if (const char* e = DecodeInts(&columns[next], rows, &ints_)) return e;
        for (const int64_t value : ints_) values_.push_back(static_cast<uint64_t>(value));
      }
      ++next;
    }
  }
  return nullptr;
}

void GraphDecoder::Impl::AddNodes(size_t count) {
  size_t next_dep[2] = {0, 0};
  for (size_t i = 0; i < count; ++i) {
    const uint64_t id = static_cast<uint64_t>(ids_[i]);
    Graph::Node& node = graph_.AddNode(id, kNoString);
    node.type = static_cast<NodeType>(static_cast<int32_t>(types_[i]));
    node.start_us = static_cast<uint64_t>(starts_[i]);
    node.duration_us = static_cast<uint64_t>(durations_[i]);
    for (size_t c = 0; c < std::size(kTextColumns); ++c) TextOf(kTextColumns[c], node) = StringId{texts_[c][i]};
    for (int64_t n = dep_counts_[0][i]; n > 0; --n) {
      graph_.AddControlDep(id - static_cast<uint64_t>(deps_[0][next_dep[0]++]));
    }
    for (int64_t n = dep_counts_[1][i]; n > 0; --n) {
      graph_.AddDataDep(id - static_cast<uint64_t>(deps_[1][next_dep[1]++]));
    }
    DecodedShape& shape = shapes_[shape_of_node_[i]];
    for (const Field& field : shape.fields) {
      graph_.AddAttribute({values_[field.values + shape.next], StringId{field.name}, field.type});
    }
    ++shape.next;
  }
}

absl::StatusOr<Graph> GraphDecoder::Impl::Finish(absl::string_view name) {
  if (!is_complete()) {
    return absl::DataLossError(
        absl::StrCat(name, ": expected a graph of ", counts_.nodes, " nodes, got ", graph_.nodes().size()));
  }
  if (!graph_.strings.Adopt(std::move(text_), std::move(ends_))) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": a text of the graph stands twice"));
  }
  return std::move(graph_);
}

GraphDecoder::GraphDecoder() : impl_(std::make_unique<Impl>()) {}
GraphDecoder::~GraphDecoder() = default;

absl::Status GraphDecoder::Add(const ChunkHeader& header, absl::string_view bytes, absl::string_view name,
                               uint64_t offset) {
  return impl_->Add(header, bytes, name, offset);
}
bool GraphDecoder::is_complete() const { return impl_->is_complete(); }
absl::StatusOr<Graph> GraphDecoder::Finish(absl::string_view name) && { return impl_->Finish(name); }

}  // namespace tracekiln::kiln

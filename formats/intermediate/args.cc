#include "formats/intermediate/args.h"

#include <algorithm>

namespace tracekiln {
namespace {
uint32_t HashFields(absl::Span<const ArgField> fields, bool has_args_object) {
  uint64_t h = has_args_object ? 0x9e3779b97f4a7c15u : 1;
  for (const ArgField& f : fields) {
    const uint64_t word =
        (uint64_t{Index(f.key)} << 16) | (static_cast<uint64_t>(f.type) << 8) | static_cast<uint64_t>(f.place);
    h = (h ^ word) * 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
  }
  return static_cast<uint32_t>(h >> 32) ^ static_cast<uint32_t>(h);
}
}  // namespace

bool ArgTable::InternShape(absl::Span<const ArgField> fields, bool has_args_object, ShapeId* id) {
  const uint32_t hash = HashFields(fields, has_args_object);
  const size_t mask = index_.size() - 1;
  size_t slot = hash & mask;
  for (; index_[slot].second != 0; slot = (slot + 1) & mask) {
    if (index_[slot].first != hash) continue;
    const ArgShape& shape = shapes_[index_[slot].second - 1];
    if (shape.has_args_object == has_args_object && shape.fields.size() == fields.size() &&
        std::equal(fields.begin(), fields.end(), shape.fields.begin())) {
      *id = ShapeId{static_cast<uint16_t>(index_[slot].second - 1)};
      return true;
    }
  }
  if (shapes_.size() >= kMaxShapes) return false;
  ArgShape shape;
  shape.fields.assign(fields.begin(), fields.end());
  shape.has_args_object = has_args_object;
  shape.columns.reserve(fields.size());
  for (const ArgField& f : fields) shape.columns.emplace_back(f.type);
  field_count_ += shape.fields.size();
  shapes_.push_back(std::move(shape));
  *id = ShapeId{static_cast<uint16_t>(shapes_.size() - 1)};
  index_[slot] = {hash, static_cast<uint32_t>(shapes_.size())};
  if (shapes_.size() * 2 > index_.size()) RebuildIndex();
  return true;
}

void ArgTable::RebuildIndex() {
  field_count_ = 0;
  for (const ArgShape& shape : shapes_) field_count_ += shape.fields.size();
  size_t slots = 64;
  while (slots < shapes_.size() * 4) slots *= 2;
  index_.assign(slots, {0, 0});
  for (size_t i = 0; i < shapes_.size(); ++i) {
    const uint32_t hash = HashFields(shapes_[i].fields, shapes_[i].has_args_object);
    size_t slot = hash & (slots - 1);
    while (index_[slot].second != 0) slot = (slot + 1) & (slots - 1);
    index_[slot] = {hash, static_cast<uint32_t>(i + 1)};
  }
}

void ArgTable::Clear() {
  shapes_.clear();
  field_count_ = 0;
  index_.assign(64, {0, 0});
  ShapeId none;
  (void)InternShape({}, false, &none);
}

size_t ArgTable::AllocatedBytes() const {
  size_t bytes = index_.capacity() * sizeof(index_[0]) + shapes_.capacity() * sizeof(ArgShape);
  for (const ArgShape& s : shapes_) {
    bytes += s.fields.capacity() * sizeof(ArgField) + s.columns.capacity() * sizeof(ArgColumn);
    for (const ArgColumn& c : s.columns) bytes += c.AllocatedBytes();
  }
  return bytes;
}

}  // namespace tracekiln

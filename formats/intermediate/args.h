// Arguments of events, stored by shape.
//
// Real traces have only 10 to 18 distinct sets of argument keys. A *shape* is one such set, in file order and with the
// type of each value; an event stores the id of its shape and the number of its row in that shape's columns. Reading
// one argument of all kernels is then a walk over one array.
//
// The type is part of the shape: `1` and `1.0` make different shapes, so both survive a round trip. Every key of the
// foreign event that is not a core column is kept here too, with place kEvent (`"tts"`, `"bp"`, `"id"`, unknown keys);
// what stood inside the event's "args" object has place kArgs.
//
// Memory of a value: 4 bytes for strings, nested values, booleans and integers that fit 32 bits, 8 bytes for doubles
// and for an integer column in which any value did not fit; nothing for null.
#ifndef TRACEKILN_FORMATS_INTERMEDIATE_ARGS_H_
#define TRACEKILN_FORMATS_INTERMEDIATE_ARGS_H_

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "formats/intermediate/ids.h"

namespace tracekiln {

enum class ArgType : uint8_t {
  kNull = 0,
  kBool = 1,    // ArgValue::i is 0 or 1
  kInt = 2,     // ArgValue::i
  kDouble = 3,  // ArgValue::d, finite; its shortest decimal text equals the number that was read
  kString = 4,  // ArgValue::s
  kJson = 5,    // ArgValue::s: canonical JSON text (no blanks outside strings) of an array or object
  kNumber = 6,  // ArgValue::s: the text of a number that neither int64 nor double holds exactly, such as 2^64
};

enum class ArgPlace : uint8_t {
  kArgs = 0,   // inside "args"
  kEvent = 1,  // beside "ph" and "ts"
};

struct ArgField {
  StringId key;
  ArgType type;
  ArgPlace place;

  friend bool operator==(const ArgField& a, const ArgField& b) {
    return a.key == b.key && a.type == b.type && a.place == b.place;
  }
};

// One value; which member counts follows from the field's type.
union ArgValue {
  int64_t i;
  double d;
  StringId s;

  static ArgValue Int(int64_t v) {
    ArgValue a;
    a.i = v;
    return a;
  }
  static ArgValue Double(double v) {
    ArgValue a;
    a.d = v;
    return a;
  }
  static ArgValue String(StringId v) {
    ArgValue a;
    a.i = 0;
    a.s = v;
    return a;
  }
};
static_assert(sizeof(ArgValue) == 8);

// The values of one field of one shape, one per row of the shape.
class ArgColumn {
 public:
  explicit ArgColumn(ArgType type) : type_(type), wide_(type == ArgType::kDouble) {}

  ArgType type() const { return type_; }

  void Append(ArgValue v) {
    switch (type_) {
      case ArgType::kNull: return;
      case ArgType::kBool:
      case ArgType::kInt:
        if (!wide_) {
          if (v.i == static_cast<int32_t>(v.i)) {
            narrow_values_.push_back(static_cast<uint32_t>(v.i));
            return;
          }
          Widen();
        }
        wide_values_.push_back(static_cast<uint64_t>(v.i));
        return;
      case ArgType::kDouble: {
        uint64_t bits;
        std::memcpy(&bits, &v.d, 8);
        wide_values_.push_back(bits);
        return;
      }
      case ArgType::kString:
      case ArgType::kJson:
      case ArgType::kNumber: narrow_values_.push_back(Index(v.s)); return;
    }
  }

  // Appends all values of `from`, which has the same type. String ids become new_ids[id].
  void AppendAll(const ArgColumn& from, const StringId* new_ids) {
    if (type_ == ArgType::kString || type_ == ArgType::kJson || type_ == ArgType::kNumber) {
      narrow_values_.reserve(narrow_values_.size() + from.narrow_values_.size());
      for (uint32_t v : from.narrow_values_) narrow_values_.push_back(Index(new_ids[v]));
      return;
    }
    if (from.wide_ && !wide_) Widen();
    if (!wide_) {
      narrow_values_.insert(narrow_values_.end(), from.narrow_values_.begin(), from.narrow_values_.end());
    } else if (from.wide_) {
      wide_values_.insert(wide_values_.end(), from.wide_values_.begin(), from.wide_values_.end());
    } else {
      for (uint32_t v : from.narrow_values_) {
        wide_values_.push_back(static_cast<uint64_t>(int64_t{static_cast<int32_t>(v)}));
      }
    }
  }

  // REQUIRES: row < number of appended values (any row for kNull).
  ArgValue Get(uint32_t row) const {
    ArgValue v = ArgValue::Int(0);
    switch (type_) {
      case ArgType::kNull: break;
      case ArgType::kBool:
      case ArgType::kInt:
        v.i = wide_ ? static_cast<int64_t>(wide_values_[row]) : static_cast<int32_t>(narrow_values_[row]);
        break;
      case ArgType::kDouble: std::memcpy(&v.d, &wide_values_[row], 8); break;
      case ArgType::kString:
      case ArgType::kJson:
      case ArgType::kNumber: v.s = StringId{narrow_values_[row]}; break;
    }
    return v;
  }

  // The raw arrays, for the chunk codec: exactly one of the two is in use, the wide one if is_wide(). Narrow integers
  // are int32 bit patterns, doubles IEEE bit patterns.
  bool is_wide() const { return wide_; }
  const std::vector<uint32_t>& narrow_values() const { return narrow_values_; }
  const std::vector<uint64_t>& wide_values() const { return wide_values_; }
  std::vector<uint32_t>& mutable_narrow_values() { return narrow_values_; }
  void AdoptNarrow(std::vector<uint32_t> values) {
    wide_ = false;
    narrow_values_ = std::move(values);
  }
  void AdoptWide(std::vector<uint64_t> values) {
    wide_ = true;
    wide_values_ = std::move(values);
  }

  size_t AllocatedBytes() const {
    return narrow_values_.capacity() * sizeof(uint32_t) + wide_values_.capacity() * sizeof(uint64_t);
  }

 private:
  void Widen() {
    wide_ = true;
    wide_values_.reserve(narrow_values_.size() + 1);
    for (uint32_t v : narrow_values_) wide_values_.push_back(static_cast<uint64_t>(int64_t{static_cast<int32_t>(v)}));
    narrow_values_ = {};
  }

  ArgType type_;
  bool wide_;
  std::vector<uint32_t> narrow_values_;
  std::vector<uint64_t> wide_values_;
};

struct ArgShape {
  std::vector<ArgField> fields;    // no two with the same key and place
  bool has_args_object = false;    // the event had an "args" object, be it empty
  std::vector<ArgColumn> columns;  // columns.size() == fields.size()
  uint32_t rows = 0;
};

// The shapes of one batch. Shape 0 always exists: no fields, no args object.
class ArgTable {
 public:
  ArgTable() { Clear(); }

  static constexpr ShapeId kNoArgs{0};
  static constexpr size_t kMaxShapes = 0xffff;

  // The id of the shape with these fields in this order. Makes it if it is new; CHECK-free limit: returns false when
  // the table holds kMaxShapes already.
  [[nodiscard]] bool InternShape(absl::Span<const ArgField> fields, bool has_args_object, ShapeId* id);

  // Appends one row to a shape; values.size() == fields.size(). Returns the row's number within the shape.
  uint32_t AppendRow(ShapeId id, const ArgValue* values) {
    ArgShape& shape = shapes_[Index(id)];
    ArgColumn* column = shape.columns.data();
    for (size_t f = 0, n = shape.columns.size(); f < n; ++f) column[f].Append(values[f]);
    return shape.rows++;
  }

  const ArgShape& shape(ShapeId id) const { return shapes_[Index(id)]; }
  const std::vector<ArgShape>& shapes() const { return shapes_; }
  // Of all shapes together.
  size_t field_count() const { return field_count_; }
  std::vector<ArgShape>& mutable_shapes() { return shapes_; }  // for the chunk decoder, which fills columns in bulk

  // Call after the keys of shapes were changed in place.
  void RebuildIndex();

  void Clear();
  size_t AllocatedBytes() const;

 private:
  std::vector<ArgShape> shapes_;
  size_t field_count_ = 0;
  std::vector<std::pair<uint32_t, uint32_t>> index_;  // open addressing: (hash, shape number + 1); 0 = empty
};

}  // namespace tracekiln

#endif  // TRACEKILN_FORMATS_INTERMEDIATE_ARGS_H_

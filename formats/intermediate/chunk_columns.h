// What encoder and decoder of a chunk share: the numbers of columns and predictors. Private to chunk_codec.
#ifndef TRACEKILN_FORMATS_INTERMEDIATE_CHUNK_COLUMNS_H_
#define TRACEKILN_FORMATS_INTERMEDIATE_CHUNK_COLUMNS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tracekiln::kiln {

// Column.id. Of timelines, those below 64 are in the core part, those from 64 on in the args part. Profiles and
// graphs have one part, with kStringSizes, kStringBytes and those from 128 or 192 on.
enum class ColumnId : uint32_t {
  kStringSizes = 1,  // int64 per string; the number of strings is in `field`
  kStringBytes = 2,  // table: the strings, back to back
  kTracks = 3,       // table: per track pid and tid, each type (varint) and value (zigzag number, string id)
  kCategories = 4,   // table: string id (varint) per category
  kName = 5,         // codes: 0 none, else string id + 1
  kTrack = 6,        // codes: track id
  kCategory = 7,     // codes: 0 none, else category id + 1
  kKind = 8,         // codes: EventKind
  kFlags = 9,        // codes: EventBatch::flags
  kTs = 10,          // int64
  kDur = 11,         // int64
  kCorrelation = 12,
  kArgStringSizes = 64,  // as kStringSizes: strings that only arguments use
  kArgStringBytes = 65,
  kShapes = 66,     // table: per shape but the first: 2 * fields + has_args_object, then per field string id of the key
                    // and 8 * place + type (varints)
  kShape = 67,      // codes: shape id
  kArgInt = 68,     // int64, of one field of one shape, in row order
  kArgCode = 69,    // codes: string id, or 0 and 1 of a boolean
  kArgDouble = 70,  // codes into kArgDoubleTable of the same shape and field
  kArgDoubleTable = 71,       // table: distinct doubles, 8 bytes each
  kProfileCounts = 128,       // table: functions and edges of the profile, functions of the chunk (varints)
  kFunctionFile = 129,        // codes: 0 the next string that no function before used, else string id + 1
  kFunctionName = 130,        // codes: the same
  kFunctionLine = 131,        // int64
  kFunctionRow = 132,         // int64: 0 no row, else the function's place among the rows + 1
  kFunctionCalls = 133,       // int64, this and the next three: the numbers of a function
  kFunctionRecursions = 134,  // calls - primitive calls
  kFunctionOwn = 135,
  kFunctionBelow = 136,  // cumulative - own
  kEdgeCallee = 137,     // int64: function id
  kEdgeCaller = 138,     // int64: function id
  kEdgeCalls = 139,      // int64, this and the next three: what is left of the callee's number behind this edge
  kEdgeRecursions = 140,
  kEdgeOwn = 141,
  kEdgeBelow = 142,
  kGraphCounts = 192,      // table: nodes, control dependencies, data dependencies, attributes of the graph (varints)
  kGraphHead = 193,        // table: codes of the version and of fields not known; per attribute of the graph its name's
                           // code, type and value, a text's as its code (varints)
  kAttributeExtras = 194,  // table: per attribute that has one its number in the chunk, codes of its doc string and of
                           // fields not known (varints)
  kNodeId = 195,           // int64, this and the next three
  kNodeType = 196,
  kNodeStart = 197,
  kNodeDuration = 198,
  kNodeName = 199,  // codes of texts, this and the next nine: 0 the next text that nothing used before, 1 none,
                    // else its number + 2
  kNodeInputValues = 200,
  kNodeInputShapes = 201,
  kNodeInputTypes = 202,
  kNodeInputStrides = 203,
  kNodeOutputValues = 204,
  kNodeOutputShapes = 205,
  kNodeOutputTypes = 206,
  kNodeOutputStrides = 207,
  kNodeUnknownFields = 208,
  kControlDepCount = 209,  // int64 per node
  kDataDepCount = 210,
  kControlDep = 211,  // int64 per dependency: id of the node - id of what it depends on
  kDataDep = 212,
  kNodeShapes = 213,       // table: number of shapes; per shape fields, per field code of its name and type (varints)
  kNodeShape = 214,        // codes: number of the shape
  kAttributeNumber = 215,  // int64, of one field of one shape, per node that has the shape
  kAttributeText = 216,    // codes of texts, the same
};

// Column.predictor. An int64 v with prediction p becomes ZigZag(v - p) (kNone: v - base, unsigned); a code c becomes 0
// if c == p, else c + 1 (kNone: c). Predictions start at `base`.
enum class Predictor : uint32_t {
  kNone = 0,
  kPrevious = 1,         // the value before
  kSameName = 2,         // the value of the last row with the same name
  kSameTrack = 3,        // the value of the last row on the same track
  kPreviousNonZero = 4,  // int64: 0 stays 0, else 1 + ZigZag(v - the last value that was not 0)
  kCorrelation = 5,      // int64 arguments: the row's correlation; no data
};

// The rows of a column, with what predictors may look at.
struct ColumnContext {
  size_t rows = 0;
  const uint32_t* name = nullptr;  // number of each row's name, below name_count; null while names are not known
  uint32_t name_count = 0;
  const uint32_t* track = nullptr;  // the same of the track
  uint32_t track_count = 0;
  const int64_t* correlation = nullptr;  // for argument columns
};

// Numbers the names (or tracks) within some of the rows densely, by first appearance, so that predictors of a shape
// with few rows need small tables. O(rows) per Assign, whatever `limit` is.
class LocalNumbers {
 public:
  explicit LocalNumbers(size_t limit) : stamps_(limit, 0) {}

  // (*local)[i] = the number of all[rows[i]]; returns how many there are. REQUIRES: all[rows[i]] < limit.
  uint32_t Assign(const uint32_t* all, const uint32_t* rows, size_t count, std::vector<uint32_t>* local) {
    ++round_;
    local->resize(count);
    uint32_t next = 0;
    for (size_t i = 0; i < count; ++i) {
      uint64_t& stamp = stamps_[all[rows[i]]];
      if (stamp >> 32 != round_) stamp = round_ << 32 | next++;
      (*local)[i] = static_cast<uint32_t>(stamp);
    }
    return next;
  }

 private:
  std::vector<uint64_t> stamps_;  // round, number
  uint64_t round_ = 0;
};

}  // namespace tracekiln::kiln

#endif  // TRACEKILN_FORMATS_INTERMEDIATE_CHUNK_COLUMNS_H_

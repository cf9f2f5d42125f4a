// How a profile is encoded.
//
// Its functions, then its edges are one sequence of rows, cut into chunks. What zstd can't see is taken out first:
//
//  - A text stands once in the whole section, in the chunk of the function that uses it first. Most functions have a
//  name
//    that is new, which is code 0; the texts follow in order.
//  - Calls and primitive calls differ only for recursive functions, own and cumulative time only for functions that
//  call
//    others: the differences are mostly 0.
//  - The numbers of a function are, but for calls from outside, the sums over the edges to it. So an edge is not coded
//  by
//    its numbers but by what they leave of the callee's: nothing, for the last edge of each function and for the many
//    that have only one.
//
// All differences wrap around, so any int64 survives.
#include "formats/intermediate/profile_codec.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "formats/intermediate/part_codec.h"
#include "formats/intermediate/wire.h"

namespace tracekiln::kiln {
namespace {

// A chunk ends when its texts reach this.
constexpr size_t kEnoughTextBytes = size_t{4} << 20;

constexpr uint32_t kNone = 0xffffffffu;

constexpr ColumnId kFunctionNumbers[4] = {ColumnId::kFunctionCalls, ColumnId::kFunctionRecursions,
                                          ColumnId::kFunctionOwn, ColumnId::kFunctionBelow};
constexpr ColumnId kEdgeNumbers[4] = {ColumnId::kEdgeCalls, ColumnId::kEdgeRecursions, ColumnId::kEdgeOwn,
                                      ColumnId::kEdgeBelow};

// The numbers of a function or edge as they are coded.
using Numbers = std::array<uint64_t, 4>;

Numbers Coded(const CallStats& stats) {
  const uint64_t calls = static_cast<uint64_t>(stats.call_count), own = static_cast<uint64_t>(stats.own_ns);
  return {calls, calls - static_cast<uint64_t>(stats.primitive_call_count), own,
          static_cast<uint64_t>(stats.cumulative_ns) - own};
}

CallStats Decoded(const Numbers& n) {
  CallStats stats;
  stats.call_count = static_cast<int64_t>(n[0]);
  stats.primitive_call_count = static_cast<int64_t>(n[0] - n[1]);
  stats.own_ns = static_cast<int64_t>(n[2]);
  stats.cumulative_ns = static_cast<int64_t>(n[2] + n[3]);
  return stats;
}

}  // namespace

absl::Status EncodeProfile(const Profile& profile, const EncodeOptions& options,
                           const std::function<void(const ChunkHeader& header, absl::string_view parts)>& emit) {
  const std::vector<Profile::Function>& functions = profile.functions();
  const std::vector<Profile::Edge>& edges = profile.edges();
  const uint64_t function_count = functions.size(), edge_count = edges.size();
  if (function_count > kMaxProfileRows || edge_count > kMaxProfileRows) {
    return absl::ResourceExhaustedError(absl::StrCat("a profile may have ", kMaxProfileRows,
                                                     " functions and as many edges, got ", function_count, " and ",
                                                     edge_count));
  }
  std::vector<uint32_t> place(function_count, 0);  // among the rows, + 1
  for (size_t i = 0; i < profile.rows().size(); ++i) place[Index(profile.rows()[i])] = static_cast<uint32_t>(i + 1);
  std::vector<Numbers> left(function_count);
  std::vector<uint32_t> string_map(profile.strings.size(), kNone);
  uint32_t string_count = 0;

  PartEncoder part(options.zstd_level);
  std::string text, parts;
  std::vector<int64_t> sizes, ints, lines, places;
  std::vector<uint32_t> files, names;
  std::array<std::vector<int64_t>, 4> numbers;
  ColumnContext context;
  const auto encode_ints = [&](ColumnId id, const std::vector<int64_t>& values) {
    context.rows = values.size();
    part.EncodeInts(id, 0, 0, values.data(), context);
  };
  uint64_t next_function = 0, next_edge = 0;
  do {
    text.clear(), sizes.clear(), lines.clear(), places.clear(), files.clear(), names.clear();
    for (std::vector<int64_t>& column : numbers) column.clear();
    const uint64_t first_row = next_function + next_edge;
    // 0 if the string is new, and then it is written.
    const auto code_of = [&](StringId id) {
      uint32_t& known = string_map[Index(id)];
      if (known != kNone) return known + 1;
      known = string_count++;
      const absl::string_view s = profile.strings.Get(id);
      sizes.push_back(static_cast<int64_t>(s.size()));
      text.append(s.data(), s.size());
      return 0u;
    };
    while (next_function < function_count && files.size() < EventBatch::kMaxRows && text.size() < kEnoughTextBytes) {
      const Profile::Function& f = functions[next_function];
      files.push_back(code_of(f.file));
      names.push_back(code_of(f.name));
      lines.push_back(f.line);
      places.push_back(place[next_function]);
      left[next_function] = Coded(f.stats);
      for (int k = 0; k < 4; ++k) numbers[k].push_back(static_cast<int64_t>(left[next_function][k]));
      ++next_function;
    }
    const size_t functions_here = files.size();
    const size_t edges_here = next_function < function_count
                                  ? 0
                                  : std::min<uint64_t>(edge_count - next_edge, EventBatch::kMaxRows - functions_here);

    part.Begin();
    std::string counts;
    WireWriter w(&counts);
    w.Raw(function_count), w.Raw(edge_count), w.Raw(functions_here);
    part.EmitTable(ColumnId::kProfileCounts, 0, 0, counts);
    if (functions_here > 0) {
      context.rows = sizes.size();
      part.EncodeInts(ColumnId::kStringSizes, 0, static_cast<uint32_t>(sizes.size()), sizes.data(), context);
      part.EmitTable(ColumnId::kStringBytes, 0, 0, text);
      context.rows = functions_here;
      part.EncodeCodes(ColumnId::kFunctionFile, 0, 0, files.data(), context);
      part.EncodeCodes(ColumnId::kFunctionName, 0, 0, names.data(), context);
      encode_ints(ColumnId::kFunctionLine, lines);
      encode_ints(ColumnId::kFunctionRow, places);
      for (int k = 0; k < 4; ++k) encode_ints(kFunctionNumbers[k], numbers[k]);
    }
    if (edges_here > 0) {
      ints.resize(edges_here);
      for (size_t i = 0; i < edges_here; ++i) ints[i] = Index(edges[next_edge + i].callee);
      encode_ints(ColumnId::kEdgeCallee, ints);
      for (size_t i = 0; i < edges_here; ++i) ints[i] = Index(edges[next_edge + i].caller);
      encode_ints(ColumnId::kEdgeCaller, ints);
      for (std::vector<int64_t>& column : numbers) column.resize(edges_here);
      for (size_t i = 0; i < edges_here; ++i) {
        const Profile::Edge& edge = edges[next_edge + i];
        const Numbers coded = Coded(edge.stats);
        Numbers& rest = left[Index(edge.callee)];
        for (int k = 0; k < 4; ++k) numbers[k][i] = static_cast<int64_t>(rest[k] -= coded[k]);
      }
      for (int k = 0; k < 4; ++k) encode_ints(kEdgeNumbers[k], numbers[k]);
      next_edge += edges_here;
    }
    ChunkHeader header;
    header.section = kProfileSection;
    header.first_row = first_row;
    header.rows = static_cast<uint32_t>(std::max<size_t>(functions_here + edges_here, 1));
    header.foreign_events = header.rows;
    parts.clear();
    if (absl::Status status = part.Finish(PartId::kProfile, &header, &parts); !status.ok()) return status;
    emit(header, parts);
  } while (next_function < function_count || next_edge < edge_count);
  return absl::OkStatus();
}

class ProfileDecoder::Impl {
 public:
  absl::Status Add(const ChunkHeader& header, absl::string_view bytes, absl::string_view name, uint64_t offset);
  bool is_complete() const {
    return has_counts_ && profile_.functions().size() == function_count_ && profile_.edges().size() == edge_count_;
  }
  absl::StatusOr<Profile> Finish(absl::string_view name);

 private:
  // These return nullptr, or what is wrong.
  const char* Decode(const ChunkHeader& header);
  const char* DecodeFunctions(size_t count);
  const char* MakeRows();
  const char* DecodeEdges(size_t count);
  bool HasEdgeTwice() const;

  PartDecoder part_;
  Profile profile_;  // its strings are in text_ and ends_ until the end
  std::string text_;
  std::vector<uint32_t> ends_ = {0};
  bool has_counts_ = false;
  uint64_t function_count_ = 0;
  uint64_t edge_count_ = 0;
  uint32_t strings_used_ = 0;
  std::vector<Numbers> left_;    // by function
  std::vector<uint32_t> place_;  // by function; empty once rows are made
  std::vector<uint32_t> files_, names_;
  std::vector<int64_t> lines_, ints_, callees_, callers_;
  std::array<std::vector<int64_t>, 4> numbers_;
};

absl::Status ProfileDecoder::Impl::Add(const ChunkHeader& header, absl::string_view bytes, absl::string_view name,
                                       uint64_t offset) {
  if (absl::Status s = part_.LoadOf(header, kProfileSection, PartId::kProfile, bytes, name, offset); !s.ok()) return s;
  const char* const error = Decode(header);
  return error == nullptr ? absl::OkStatus() : absl::InvalidArgumentError(absl::StrCat(name, ":", offset, ": ", error));
}

const char* ProfileDecoder::Impl::Decode(const ChunkHeader& header) {
  const Column* const counts = part_.Find(ColumnId::kProfileCounts);
  if (counts == nullptr) return "a column is missing";
  WireReader r(counts->data);
  const uint64_t functions = r.RawVarint(), edges = r.RawVarint(), functions_here = r.RawVarint();
  if (!r.ok() || !r.at_end() || functions > kMaxProfileRows || edges > kMaxProfileRows ||
      functions_here > header.rows) {
    return "the counts of a profile are out of range";
  }
  if (!has_counts_) {
    has_counts_ = true;
    function_count_ = functions;
    edge_count_ = edges;
    // Counts prove nothing: what is beyond this is allocated as it comes.
    constexpr uint64_t kAtOnce = uint64_t{1} << 20;
    profile_.Reserve(std::min(functions, kAtOnce), std::min(edges, kAtOnce));
  } else if (is_complete()) {
    return "a chunk behind the end of the profile";
  }
  if (functions != function_count_ || edges != edge_count_) return "a chunk of another profile";
  if (header.first_row != profile_.functions().size() + profile_.edges().size()) {
    return "a chunk of the profile is missing";
  }
  const uint64_t edges_here = functions == 0 && edges == 0 ? 0 : header.rows - functions_here;
  if (functions_here > functions - profile_.functions().size() || edges_here > edges - profile_.edges().size()) {
    return "a chunk has more rows than the profile";
  }
  if (functions_here > 0) {
    if (const char* error = DecodeFunctions(functions_here)) return error;
    if (profile_.functions().size() == functions) {
      if (const char* error = MakeRows()) return error;
    }
  }
  if (edges_here == 0) return nullptr;
  if (profile_.functions().size() != functions) return "an edge before the last function";
  return DecodeEdges(edges_here);
}

const char* ProfileDecoder::Impl::DecodeFunctions(size_t count) {
  if (const char* e = part_.DecodeStrings(ColumnId::kStringSizes, ColumnId::kStringBytes, &text_, &ends_)) return e;
  const uint32_t string_count = static_cast<uint32_t>(ends_.size() - 1);
  ColumnContext context;
  context.rows = count;
  files_.resize(count), names_.resize(count), lines_.resize(count), ints_.resize(count);
  for (const auto& [id, codes] : {std::pair(ColumnId::kFunctionFile, &files_), {ColumnId::kFunctionName, &names_}}) {
    if (const char* e = part_.DecodeCodes(part_.Find(id), context, uint64_t{string_count} + 1, codes->data())) return e;
  }
  if (const char* e = part_.DecodeInts(part_.Find(ColumnId::kFunctionLine), context, lines_.data())) return e;
  if (const char* e = part_.DecodeInts(part_.Find(ColumnId::kFunctionRow), context, ints_.data())) return e;
  for (int k = 0; k < 4; ++k) {
    numbers_[k].resize(count);
    if (const char* e = part_.DecodeInts(part_.Find(kFunctionNumbers[k]), context, numbers_[k].data())) return e;
  }
  for (size_t i = 0; i < count; ++i) {
    StringId ids[2];
    for (const auto& [id, code] : {std::pair(&ids[0], files_[i]), {&ids[1], names_[i]}}) {
      if (code > strings_used_ || (code == 0 && strings_used_ == string_count)) {
        return "a function names a text that is not there";
      }
      *id = StringId{code == 0 ? strings_used_++ : code - 1};
    }
    const size_t function = profile_.functions().size();
    if (Index(profile_.AddFunction(ids[0], lines_[i], ids[1])) != function) return "a function stands twice";
    if (ints_[i] < 0 || static_cast<uint64_t>(ints_[i]) > function_count_) return "a row's place is out of range";
    place_.push_back(static_cast<uint32_t>(ints_[i]));
    Numbers& numbers = left_.emplace_back();
    for (int k = 0; k < 4; ++k) numbers[k] = static_cast<uint64_t>(numbers_[k][i]);
    if (ints_[i] == 0 && numbers != Numbers{}) return "a function that is no row has numbers";
  }
  return strings_used_ == string_count ? nullptr : "a text that no function uses";
}

const char* ProfileDecoder::Impl::MakeRows() {
  size_t count = 0;
  for (const uint32_t place : place_) count += place != 0 ? 1 : 0;
  std::vector<uint32_t> rows(count, kNone);
  for (uint32_t f = 0; f < place_.size(); ++f) {
    if (place_[f] == 0) continue;
    if (place_[f] > count) return "a row's place is out of range";
    uint32_t& row = rows[place_[f] - 1];
    if (row != kNone) return "two rows have the same place";
    row = f;
  }
  for (const uint32_t f : rows) profile_.AddStats(FunctionId{f}, Decoded(left_[f]));
  place_ = {};
  return nullptr;
}

const char* ProfileDecoder::Impl::DecodeEdges(size_t count) {
  ColumnContext context;
  context.rows = count;
  callees_.resize(count), callers_.resize(count);
  if (const char* e = part_.DecodeInts(part_.Find(ColumnId::kEdgeCallee), context, callees_.data())) return e;
  if (const char* e = part_.DecodeInts(part_.Find(ColumnId::kEdgeCaller), context, callers_.data())) return e;
  for (int k = 0; k < 4; ++k) {
    numbers_[k].resize(count);
    if (const char* e = part_.DecodeInts(part_.Find(kEdgeNumbers[k]), context, numbers_[k].data())) return e;
  }
  for (size_t i = 0; i < count; ++i) {
    const uint64_t callee = static_cast<uint64_t>(callees_[i]), caller = static_cast<uint64_t>(callers_[i]);
    if (callee >= function_count_ || caller >= function_count_) return "an edge names a function that is not there";
    Numbers coded;
    Numbers& rest = left_[callee];
    for (int k = 0; k < 4; ++k) {
      const uint64_t after = static_cast<uint64_t>(numbers_[k][i]);
      coded[k] = rest[k] - after;
      rest[k] = after;
    }
    profile_.AppendEdge(FunctionId{static_cast<uint32_t>(caller)}, FunctionId{static_cast<uint32_t>(callee)},
                        Decoded(coded));
  }
  return is_complete() && HasEdgeTwice() ? "an edge stands twice" : nullptr;
}

// Sorts the callers by callee and looks at those of each callee: a third of the time of an index of all edges.
bool ProfileDecoder::Impl::HasEdgeTwice() const {
  const std::vector<Profile::Edge>& edges = profile_.edges();
  std::vector<uint32_t> end(function_count_ + 1, 0), callers(edges.size()), last_callee(function_count_, kNone);
  for (const Profile::Edge& edge : edges) ++end[Index(edge.callee) + 1];
  for (size_t f = 0; f < function_count_; ++f) end[f + 1] += end[f];
  for (const Profile::Edge& edge : edges) callers[end[Index(edge.callee)]++] = Index(edge.caller);
  size_t i = 0;
  for (uint32_t callee = 0; callee < function_count_; ++callee) {
    for (; i < end[callee]; ++i) {
      if (last_callee[callers[i]] == callee) return true;
      last_callee[callers[i]] = callee;
    }
  }
  return false;
}

absl::StatusOr<Profile> ProfileDecoder::Impl::Finish(absl::string_view name) {
  if (!is_complete()) {
    return absl::DataLossError(absl::StrCat(name, ": expected a profile of ", function_count_, " functions and ",
                                            edge_count_, " edges, got ", profile_.functions().size(), " and ",
                                            profile_.edges().size()));
  }
  if (!profile_.strings.Adopt(std::move(text_), std::move(ends_))) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": a text of the profile stands twice"));
  }
  return std::move(profile_);
}

ProfileDecoder::ProfileDecoder() : impl_(std::make_unique<Impl>()) {}
ProfileDecoder::~ProfileDecoder() = default;

absl::Status ProfileDecoder::Add(const ChunkHeader& header, absl::string_view bytes, absl::string_view name,
                                 uint64_t offset) {
  return impl_->Add(header, bytes, name, offset);
}
bool ProfileDecoder::is_complete() const { return impl_->is_complete(); }
absl::StatusOr<Profile> ProfileDecoder::Finish(absl::string_view name) && { return impl_->Finish(name); }

}  // namespace tracekiln::kiln

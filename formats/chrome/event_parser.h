// EventParser: the general tier. Parses any one element of a trace's event list, whatever its layout.
//
// Confined damage is mended and counted in the assembler's report; everything else that is not JSON is an error with
// its place. What JSON allows but a trace has no use for (null, an event without a timestamp) is counted as skipped.
#ifndef TRACEKILN_FORMATS_CHROME_EVENT_PARSER_H_
#define TRACEKILN_FORMATS_CHROME_EVENT_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "formats/chrome/event_assembler.h"
#include "formats/intermediate/import_report.h"
#include "formats/json/damage.h"

namespace tracekiln::chrome {

// Nested values by their raw text: parsed, checked and made canonical once per distinct text.
class NestedValues {
 public:
  // The canonical text of the value at `p`, interned in `batch`. *value_end is set to the byte behind it. kNoString
  // with *error set if it is not JSON.
  StringId Intern(const char* p, const char* end, EventBatch& batch, uint32_t epoch, json::DamageSink* sink,
                  const char** value_end, json::Error* error);

 private:
  struct Entry {
    uint64_t begin;  // in canonical_
    uint32_t size;
    uint32_t epoch;  // in which `id` is valid
    StringId id;
  };
  // The end of a value is searched for this far; longer ones are not looked up. Little after a failure: where ends are
  // missing, a damaged list would be searched far for each of its events.
  static constexpr ptrdiff_t kMinSearchBytes = 256;
  static constexpr ptrdiff_t kMaxSearchBytes = 16 << 10;
  ptrdiff_t search_bytes_ = kMaxSearchBytes;
  StringPool raw_;
  std::vector<Entry> entries_;  // by raw_ id
  std::string canonical_;
};

// Members of an event, those of its args included.
inline constexpr size_t kMaxMembers = size_t{1} << 19;

class EventParser : public json::DamageSink {
 public:
  explicit EventParser(EventAssembler* assembler) : assembler_(assembler) {}

  // Places in the text from now on are reported as base_offset + (place - base).
  void SetBase(const char* base, uint64_t base_offset) {
    base_ = base;
    base_offset_ = base_offset;
  }
  uint64_t OffsetOf(const char* p) const { return base_offset_ + static_cast<uint64_t>(p - base_); }

  // Parses the element at `p` (no blanks before it) and gives it to the assembler. Returns the byte behind it, or
  // nullptr with error() set; nothing was given to the assembler then.
  const char* Parse(const char* p, const char* end);

  const json::Error& error() const { return error_; }

  // Number of damages met so far, and the first of the last element parsed (for strict mode).
  uint64_t damage_count() const { return damage_count_; }
  json::Damage last_damage() const { return last_damage_; }
  const char* last_damage_place() const { return last_damage_place_; }

  // The members of the element parsed last; valid until the next Parse.
  const EventScratch& scratch() const { return scratch_; }
  // True if the element parsed last can be predicted by its layout: nothing mended, nothing of an unusual type.
  bool is_regular() const { return is_regular_; }

  NestedValues& nested_values() { return nested_; }

  // The id of what stands between the quotes of a string. kNoString with error set.
  StringId InternString(absl::string_view raw, bool escaped);

  // Damage and remarks count when the element they are in was parsed to its end.
  void OnDamage(json::Damage damage, const char* at) override;

 private:
  enum CoreKey : int { kPh, kTs, kDur, kPid, kTid, kCat, kName, kArgs, kOtherKey };

  struct Remark {
    ImportReport::Severity severity;
    absl::string_view reason;  // a constant
    const char* at;
  };

  const char* Fail(const char* at, absl::string_view expected);
  const char* ParseElement(const char* p);
  const char* ParseMembers(const char* p, bool in_args);
  void Note(absl::string_view reason, const char* at) {
    remarks_.push_back({ImportReport::Severity::kNote, reason, at});
  }
  const char* ParseCore(CoreKey key, const char* key_place, absl::string_view key_text, const char* p);
  // Any value as a field.
  const char* ParseField(StringId key, const char* key_place, ArgPlace place, const char* p);
  const char* ParseTime(const char* p, bool is_ts, absl::string_view key_text, const char* key_place);
  const char* ParseTrackPart(const char* p, TrackPart* part);
  // Any value; *type and *value are set.
  const char* ParseValue(const char* p, ArgType* type, ArgValue* value);
  const char* EndOfScalar(const char* p);
  size_t FindField(StringId key, ArgPlace place);
  static uint64_t FieldKey(StringId key, ArgPlace place) {
    return uint64_t{Index(key)} * 2 + static_cast<uint64_t>(place);
  }
  void SetField(StringId key, const char* key_place, ArgPlace place, ArgType type, ArgValue value);

  EventAssembler* const assembler_;
  NestedValues nested_;
  const char* base_ = nullptr;
  uint64_t base_offset_ = 0;
  const char* end_ = nullptr;
  json::Error error_;
  EventScratch scratch_;
  uint32_t core_seen_ = 0;
  uint64_t field_bloom_[2] = {0, 0};
  // (key, place) -> field, in use from kMaxScannedFields on.
  static constexpr size_t kMaxScannedFields = 64;
  absl::flat_hash_map<uint64_t, size_t> field_index_;
  const char* dur_place_ = nullptr;
  std::vector<Remark> remarks_;  // of this element
  bool is_regular_ = false;
  uint64_t damage_count_ = 0;
  json::Damage last_damage_ = json::Damage::kInvalidUtf8;
  const char* last_damage_place_ = nullptr;
  std::string decoded_;
};

}  // namespace tracekiln::chrome

#endif  // TRACEKILN_FORMATS_CHROME_EVENT_PARSER_H_

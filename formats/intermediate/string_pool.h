// StringPool: distinct byte strings, each stored once and named by a StringId.
//
// Every name, category, text argument and nested value of a batch is interned here, so a batch holds 4 bytes per use.
// Ids are dense and in order of first appearance: id 0 is the first string interned, which is what the chunk encoder
// writes.
//
//   StringPool pool;
//   StringId id = pool.Intern("aten::add");
//   absl::string_view text = pool.Get(id);
//
// Strings are bytes: importers intern valid UTF-8, but nothing here depends on it. Cost of Intern for a string already
// present: one hash over its bytes (8 at a time) and one comparison, 5 to 15 ns for typical names; no allocation.
// Limits: 2^32 - 2 bytes and 2^31 strings in all; Intern returns kNoString beyond (the caller ends its batch and starts
// another). Not thread-safe; concurrent reading is.
#ifndef TRACEKILN_FORMATS_INTERMEDIATE_STRING_POOL_H_
#define TRACEKILN_FORMATS_INTERMEDIATE_STRING_POOL_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "formats/intermediate/ids.h"

namespace tracekiln {

// Chosen at random when the process starts.
extern const uint64_t kHashSeed;

class StringPool {
 public:
  StringPool();

  // The id of `text`, which is copied if it is new.
  StringId Intern(absl::string_view text) {
    const uint32_t hash = Hash(text);
    for (size_t slot = hash & mask_;; slot = (slot + 1) & mask_) {
      const Slot& s = slots_[slot];
      if (s.id == kEmpty) return InsertNew(text, hash);
      if (s.hash == hash) {
        const absl::string_view known = Get(StringId{s.id});
        // memcmp may not be given null, as an empty text may be.
        if (known.size() == text.size() && (text.empty() || std::memcmp(known.data(), text.data(), text.size()) == 0)) {
          return StringId{s.id};
        }
      }
    }
  }

  // The id of `text`, or kNoString if it was never interned.
  StringId Find(absl::string_view text) const;

  // The bytes of a string. Valid until the next Intern or Clear. REQUIRES: Index(id) < size().
  absl::string_view Get(StringId id) const {
    const uint32_t i = Index(id);
    return absl::string_view(bytes_.data() + ends_[i], ends_[i + 1] - ends_[i]);
  }

  size_t size() const { return ends_.size() - 1; }

  // All strings back to back, and the size() + 1 offsets that part them: string i is bytes()[ends()[i], ends()[i + 1]).
  absl::string_view bytes() const { return absl::string_view(bytes_.data(), bytes_.size()); }
  const std::vector<uint32_t>& ends() const { return ends_; }

  // Replaces the contents in bulk, for decoders: string i becomes bytes[ends[i], ends[i + 1]). False, and the pool is
  // empty, if two strings are equal. REQUIRES: ends[0] == 0, ascending, the last is bytes.size(); the limits above.
  [[nodiscard]] bool Adopt(std::string bytes, std::vector<uint32_t> ends);

  // Makes room in the index for `string_count` strings in all.
  void Reserve(size_t string_count);

  // Forgets all strings and keeps the memory.
  void Clear();

  size_t AllocatedBytes() const;

  // Differs from process to process, so that nobody can prepare a file of strings that all collide. Ids don't depend on
  // it.
  static uint32_t Hash(absl::string_view text) {
    constexpr uint64_t kMul = 0x9e3779b97f4a7c15u;
    const char* p = text.data();
    size_t n = text.size();
    uint64_t h = kHashSeed ^ (n * kMul);
    while (n >= 8) {
      uint64_t word;
      std::memcpy(&word, p, 8);
      h = (h ^ word) * kMul;
      h ^= h >> 32;
      p += 8;
      n -= 8;
    }
    if (n > 0) {
      uint64_t word = 0;
      std::memcpy(&word, p, n);
      h = (h ^ word) * kMul;
      h ^= h >> 32;
    }
    h *= kMul;
    return static_cast<uint32_t>(h >> 32);
  }

 private:
  static constexpr uint32_t kEmpty = 0xffffffffu;
  struct Slot {
    uint32_t hash;
    uint32_t id;
  };

  StringId InsertNew(absl::string_view text, uint32_t hash);
  void Rehash(size_t slot_count);

  std::string bytes_;
  std::vector<uint32_t> ends_;
  std::vector<Slot> slots_;
  size_t mask_;
};

}  // namespace tracekiln

#endif  // TRACEKILN_FORMATS_INTERMEDIATE_STRING_POOL_H_

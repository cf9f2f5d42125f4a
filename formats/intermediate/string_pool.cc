#include "formats/intermediate/string_pool.h"

#include <algorithm>
#include <random>
#include <utility>

namespace tracekiln {

const uint64_t kHashSeed = [] {
  std::random_device random;
  return (uint64_t{random()} << 32) | random();
}();

namespace {
constexpr size_t kInitialSlots = 1024;
constexpr size_t kMaxBytes = 0xfffffffeu;
constexpr size_t kMaxStrings = size_t{1} << 31;
}  // namespace

StringPool::StringPool() : ends_{0}, slots_(kInitialSlots, Slot{0, kEmpty}), mask_(kInitialSlots - 1) {}

StringId StringPool::InsertNew(absl::string_view text, uint32_t hash) {
  if (text.size() > kMaxBytes - bytes_.size() || size() >= kMaxStrings) return kNoString;
  if ((size() + 1) * 2 > slots_.size()) Rehash(slots_.size() * 2);
  const uint32_t id = static_cast<uint32_t>(size());
  bytes_.append(text.data(), text.size());
  ends_.push_back(static_cast<uint32_t>(bytes_.size()));
  size_t slot = hash & mask_;
  while (slots_[slot].id != kEmpty) slot = (slot + 1) & mask_;
  slots_[slot] = Slot{hash, id};
  return StringId{id};
}

StringId StringPool::Find(absl::string_view text) const {
  const uint32_t hash = Hash(text);
  for (size_t slot = hash & mask_;; slot = (slot + 1) & mask_) {
    const Slot& s = slots_[slot];
    if (s.id == kEmpty) return kNoString;
    if (s.hash == hash && Get(StringId{s.id}) == text) return StringId{s.id};
  }
}

void StringPool::Reserve(size_t string_count) {
  size_t slot_count = slots_.size();
  while (slot_count < (std::min(string_count, kMaxStrings) + 1) * 2) slot_count *= 2;
  if (slot_count > slots_.size()) Rehash(slot_count);
}

void StringPool::Rehash(size_t slot_count) {
  std::vector<Slot> old = std::move(slots_);
  slots_.assign(slot_count, Slot{0, kEmpty});
  mask_ = slot_count - 1;
  for (const Slot& s : old) {
    if (s.id == kEmpty) continue;
    size_t slot = s.hash & mask_;
    while (slots_[slot].id != kEmpty) slot = (slot + 1) & mask_;
    slots_[slot] = s;
  }
}

bool StringPool::Adopt(std::string bytes, std::vector<uint32_t> ends) {
  bytes_ = std::move(bytes);
  ends_ = std::move(ends);
  size_t slot_count = kInitialSlots;
  while (slot_count < size() * 2 + 2) slot_count *= 2;
  slots_.assign(slot_count, Slot{0, kEmpty});
  mask_ = slot_count - 1;
  for (uint32_t id = 0; id < size(); ++id) {
    const absl::string_view text = Get(StringId{id});
    const uint32_t hash = Hash(text);
    size_t slot = hash & mask_;
    for (; slots_[slot].id != kEmpty; slot = (slot + 1) & mask_) {
      if (slots_[slot].hash == hash && Get(StringId{slots_[slot].id}) == text) {
        Clear();
        return false;
      }
    }
    slots_[slot] = Slot{hash, id};
  }
  return true;
}

void StringPool::Clear() {
  bytes_.clear();
  ends_.resize(1);
  std::fill(slots_.begin(), slots_.end(), Slot{0, kEmpty});
}

size_t StringPool::AllocatedBytes() const {
  return bytes_.capacity() + ends_.capacity() * sizeof(uint32_t) + slots_.capacity() * sizeof(Slot);
}

}  // namespace tracekiln

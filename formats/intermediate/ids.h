// Ids of the intermediate: small integers that mean something only inside the batch (or pool) that issued them.
//
// They are distinct types so that a track can't be passed for a string. None of them survives its batch: to relate two
// batches, compare the strings and track keys that the ids stand for.
#ifndef TRACEKILN_FORMATS_INTERMEDIATE_IDS_H_
#define TRACEKILN_FORMATS_INTERMEDIATE_IDS_H_

#include <cstdint>

namespace tracekiln {

enum class StringId : uint32_t {};    // index into a StringPool
enum class TrackId : uint32_t {};     // index into EventBatch::tracks()
enum class ShapeId : uint16_t {};     // index into ArgTable::shapes()
enum class CategoryId : uint16_t {};  // index into EventBatch::categories()

// "The event has no name" (which differs from an empty name) and "the event has no category".
inline constexpr StringId kNoString{0xffffffffu};
inline constexpr CategoryId kNoCategory{0xffffu};

constexpr uint32_t Index(StringId id) { return static_cast<uint32_t>(id); }
constexpr uint32_t Index(TrackId id) { return static_cast<uint32_t>(id); }
constexpr uint32_t Index(ShapeId id) { return static_cast<uint32_t>(id); }
constexpr uint32_t Index(CategoryId id) { return static_cast<uint32_t>(id); }

}  // namespace tracekiln

#endif  // TRACEKILN_FORMATS_INTERMEDIATE_IDS_H_

// Profile <-> the chunks of the profile section of a .kiln file. FORMAT.md has the encoding with its reasons.
//
//   absl::Status status = kiln::EncodeProfile(profile, {.zstd_level = 1},
//                                             [&](const kiln::ChunkHeader& header, absl::string_view parts) { … });
//
//   kiln::ProfileDecoder decoder;
//   for (…) status = decoder.Add(header, bytes, "x.kiln", offset);
//   absl::StatusOr<Profile> profile = std::move(decoder).Finish("x.kiln");
//
// What comes back has the same functions, edges and rows in the same order, with equal texts and numbers. String ids
// may differ: strings are numbered in the order in which functions use them, and those that none uses are left out.
#ifndef TRACEKILN_FORMATS_INTERMEDIATE_PROFILE_CODEC_H_
#define TRACEKILN_FORMATS_INTERMEDIATE_PROFILE_CODEC_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/intermediate/chunk_codec.h"
#include "formats/intermediate/kiln_records.h"
#include "formats/intermediate/profile.h"

namespace tracekiln::kiln {

// A profile may have so many functions, and so many edges.
inline constexpr uint64_t kMaxProfileRows = uint64_t{1} << 25;

// Calls `emit` for each chunk, in order; at least once. `parts` are the bytes behind the chunk's record, valid during
// the call. Depends only on the profile and the options. ResourceExhausted: over kMaxProfileRows or kMaxPartRawBytes.
absl::Status EncodeProfile(const Profile& profile, const EncodeOptions& options,
                           const std::function<void(const ChunkHeader& header, absl::string_view parts)>& emit);

// Puts a profile together again. Use it for one profile, on one thread.
class ProfileDecoder {
 public:
  ProfileDecoder();
  ~ProfileDecoder();
  ProfileDecoder(const ProfileDecoder&) = delete;
  ProfileDecoder& operator=(const ProfileDecoder&) = delete;

  // Takes the next chunk of the section. `bytes` are the header.parts_bytes() bytes behind the chunk's record; `name`
  // and `offset` (of these bytes) are for messages. An error is final: the profile is lost.
  // DataLoss: a part fails its checksum. InvalidArgument: intact but no valid chunk, or not the next one.
  // Unimplemented: the chunk needs features that this code does not know.
  absl::Status Add(const ChunkHeader& header, absl::string_view bytes, absl::string_view name, uint64_t offset);

  // Whether all chunks of the profile were taken.
  bool is_complete() const;

  // The profile. DataLoss if it is not complete, InvalidArgument if a text stands twice. REQUIRES: no Add failed.
  absl::StatusOr<Profile> Finish(absl::string_view name) &&;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracekiln::kiln

#endif  // TRACEKILN_FORMATS_INTERMEDIATE_PROFILE_CODEC_H_

// Reads any bytes as a `.prof` file. What can be read must survive being written and read again, in every mode, and
// must not depend on how the bytes arrive.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "formats/intermediate/import_report.h"
#include "formats/intermediate/profile.h"
#include "formats/io/byte_sink.h"
#include "formats/io/byte_source.h"
#include "formats/io/testing/slow_source.h"
#include "formats/pstats/pstats_reader.h"
#include "formats/pstats/pstats_writer.h"
#include "formats/pstats/safe_name.h"

namespace {

using tracekiln::ImportReport;
using tracekiln::Profile;
using tracekiln::StringId;
using tracekiln::pstats::WritePstatsOptions;

void Require(bool condition) {
  if (!condition) std::abort();
}

absl::StatusOr<Profile> Read(const std::string& bytes, bool strict, ImportReport* report) {
  return tracekiln::pstats::ReadPstats(*tracekiln::io::MakeMemorySource(bytes, "fuzz"), {strict}, report);
}

std::string Write(const Profile& profile, const WritePstatsOptions& options) {
  std::string bytes;
  tracekiln::io::StringSink sink(&bytes);
  Require(tracekiln::pstats::WritePstats(profile, options, sink).ok());
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const int score = tracekiln::pstats::SniffPstats(bytes);
  Require(score >= 0 && score <= 100);
  ImportReport report;
  const absl::StatusOr<Profile> profile = Read(bytes, false, &report);
  tracekiln::io::SlowSource slow(bytes, 1 + size % 7, "fuzz");
  const absl::StatusOr<Profile> again = tracekiln::pstats::ReadPstats(slow, {}, nullptr);
  Require(profile.status() == again.status());
  if (!profile.ok()) {
    Require(absl::StartsWith(profile.status().message(), "fuzz:"));
    return 0;
  }
  Require(score > 0);
  Require(report.IsBalanced());
  Require(report.imported == profile->row_count());
  Require(report.input_bytes == size);
  for (const bool references : {true, false}) {
    // As it is: a fixed point.
    const WritePstatsOptions raw{
        .references = references, .safe_names = false, .caller_rows = false, .allow_empty = true};
    const std::string written = Write(*profile, raw);
    Require(Write(*again, raw) == written);
    const absl::StatusOr<Profile> back = Read(written, true, nullptr);
    Require(back.ok());
    Require(back->row_count() == profile->row_count() && back->edges().size() == profile->edges().size());
    Require(Write(*back, raw) == written);
    // For viewers: no function is lost, and every name is safe.
    const absl::StatusOr<Profile> safe =
        Read(Write(*profile, {.references = references, .allow_empty = true}), true, nullptr);
    Require(safe.ok());
    Require(safe->row_count() == safe->functions().size());
    Require(safe->functions().size() == profile->functions().size());
    Require(safe->edges().size() == profile->edges().size());
    for (uint32_t i = 0; i < safe->strings.size(); ++i) {
      Require(tracekiln::pstats::IsSafeName(safe->strings.Get(StringId{i})));
    }
  }
  return 0;
}

// For tests: a `.prof` file as JSON, one function per line, or written again.
//
//   pstats_dump read FILE              {"file": "…", "line": 1, "name": "…", "is_row": true, "stats": [cc, nc, own ns,
//                                      cumulative ns], "callers": [[function number, nc, cc, own ns, cumulative ns],
//                                      …]}
//   pstats_dump references IN OUT      reads IN and writes OUT with references
//   pstats_dump plain IN OUT           … without
//   pstats_dump raw IN OUT             with references, names as they are
//   pstats_dump time FILE…             reads each file and writes it to memory: bytes, seconds
//
// Texts have every character outside of ASCII as \uXXXX, lone surrogates too. Exits with 1 and a message for errors.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "formats/intermediate/profile.h"
#include "formats/io/byte_sink.h"
#include "formats/io/input.h"
#include "formats/pstats/generalized_utf8.h"
#include "formats/pstats/pstats_reader.h"
#include "formats/pstats/pstats_writer.h"

namespace tracekiln::pstats {
namespace {

std::string Quote(absl::string_view text) {
  std::string out = "\"";
  const char* const end = text.data() + text.size();
  for (const char* p = text.data(); p < end;) {
    const int length = SequenceLength(p, end);
    if (length < 0) return "\"ILL-FORMED\"";
    const uint32_t code = CodePoint(p, length);
    p += length;
    const auto escape = [&out](uint32_t unit) { absl::StrAppend(&out, "\\u", absl::Hex(unit, absl::kZeroPad4)); };
    if (code >= 0x10000) {
      escape(0xd800 + ((code - 0x10000) >> 10));
      escape(0xdc00 + ((code - 0x10000) & 0x3ff));
    } else if (code < 0x20 || code >= 0x7f || code == '"' || code == '\\') {
      escape(code);
    } else {
      out.push_back(static_cast<char>(code));
    }
  }
  return out + "\"";
}

absl::StatusOr<Profile> ReadFile(const char* path) {
  absl::StatusOr<std::unique_ptr<io::Input>> input = io::OpenInput(path);
  if (!input.ok()) return input.status();
  const std::unique_ptr<io::ByteSource> source = (*input)->Stream();
  return ReadPstats(*source, {}, nullptr);
}

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return 1;
}

int Print(const Profile& profile) {
  const CallGraph graph(profile);
  std::string out;
  for (uint32_t i = 0; i < profile.functions().size(); ++i) {
    const FunctionId id{i};
    const Profile::Function& f = profile.function(id);
    absl::StrAppend(&out, "{\"file\": ", Quote(profile.file(id)), ", \"line\": ", f.line,
                    ", \"name\": ", Quote(profile.name(id)), ", \"is_row\": ", f.is_row ? "true" : "false",
                    ", \"stats\": [", f.stats.primitive_call_count, ", ", f.stats.call_count, ", ", f.stats.own_ns,
                    ", ", f.stats.cumulative_ns, "], \"callers\": [");
    const char* separator = "";
    for (const uint32_t e : graph.CallersOf(id)) {
      const Profile::Edge& edge = profile.edges()[e];
      absl::StrAppend(&out, separator, "[", Index(edge.caller), ", ", edge.stats.call_count, ", ",
                      edge.stats.primitive_call_count, ", ", edge.stats.own_ns, ", ", edge.stats.cumulative_ns, "]");
      separator = ", ";
    }
    out += "]}\n";
  }
  std::fwrite(out.data(), 1, out.size(), stdout);
  return 0;
}

int Time(const char* path) {
  const auto now = [] { return std::chrono::steady_clock::now(); };
  const auto seconds = [](auto from, auto to) { return std::chrono::duration<double>(to - from).count(); };
  const auto start = now();
  const absl::StatusOr<Profile> profile = ReadFile(path);
  if (!profile.ok()) return Fail(profile.status());
  const auto read = now();
  std::string bytes;
  io::StringSink sink(&bytes);
  if (absl::Status status = WritePstats(*profile, {}, sink); !status.ok()) return Fail(status);
  const auto written = now();
  std::printf("{\"rows\": %zu, \"callers\": %zu, \"read_s\": %.6f, \"write_s\": %.6f, \"written_bytes\": %zu}\n",
              profile->row_count(), profile->edges().size(), seconds(start, read), seconds(read, written),
              bytes.size());
  return 0;
}

int Main(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "time") {
    for (int i = 2; i < argc; ++i) {
      if (Time(argv[i]) != 0) return 1;
    }
    return 0;
  }
  if (argc < 3) return Fail(absl::InvalidArgumentError("usage: pstats_dump read|references|plain|raw|time FILE…"));
  const absl::StatusOr<Profile> profile = ReadFile(argv[2]);
  if (!profile.ok()) return Fail(profile.status());
  if (command == "read") return Print(*profile);
  if (argc < 4) return Fail(absl::InvalidArgumentError("no output file"));
  WritePstatsOptions options;
  options.references = command != "plain";
  options.safe_names = command != "raw";
  std::string bytes;
  io::StringSink sink(&bytes);
  if (absl::Status status = WritePstats(*profile, options, sink); !status.ok()) return Fail(status);
  return std::ofstream(argv[3], std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size())) ? 0
                                                                                                                  : 1;
}

}  // namespace
}  // namespace tracekiln::pstats

int main(int argc, char** argv) { return tracekiln::pstats::Main(argc, argv); }

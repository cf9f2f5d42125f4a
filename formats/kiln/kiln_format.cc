#include "formats/kiln/kiln_format.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "formats/format/spool.h"
#include "formats/intermediate/kiln_reader.h"
#include "formats/intermediate/kiln_writer.h"
#include "formats/kiln/kiln_peek.h"

namespace tracekiln {
namespace {

constexpr absl::string_view kLevel = "level";

absl::StatusOr<std::unique_ptr<TraceSource>> OpenKiln(std::unique_ptr<io::Input> input, const ImportOptions& options,
                                                      io::Executor& executor) {
  if (!options.format.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("format kiln: unknown import option \"", options.format[0].first, "\""));
  }
  std::shared_ptr<io::RandomAccessFile> file = input->random_access();
  if (file == nullptr) {
    std::unique_ptr<io::ByteSource> stream = input->Stream();
    if (stream == nullptr) return absl::FailedPreconditionError(absl::StrCat(input->name(), ": was read already"));
    absl::StatusOr<std::shared_ptr<io::RandomAccessFile>> spooled = SpoolBytes(*stream);
    if (!spooled.ok()) return spooled.status();
    file = *std::move(spooled);
  }
  kiln::ReadOptions read;
  read.strict = options.strict;
  read.salvage = options.salvage;
  absl::StatusOr<std::unique_ptr<kiln::KilnReader>> reader = kiln::KilnReader::Open(std::move(file), read, executor);
  if (!reader.ok()) return reader.status();
  return std::unique_ptr<TraceSource>(*std::move(reader));
}

absl::StatusOr<kiln::EncodeOptions> ParseOptions(const ExportOptions& options) {
  kiln::EncodeOptions encode;
  for (const auto& [key, value] : options.format) {
    if (key != kLevel) {
      return absl::InvalidArgumentError(absl::StrCat("format kiln: unknown export option \"", key, "\""));
    }
    if (!absl::SimpleAtoi(value, &encode.zstd_level) || encode.zstd_level < 1 || encode.zstd_level > 19) {
      return absl::InvalidArgumentError(absl::StrCat("format kiln: expected level=1 to 19, got \"", value, "\""));
    }
  }
  return encode;
}

absl::Status CheckOptions(const ExportOptions& options) { return ParseOptions(options).status(); }

absl::Status WriteKilnFormat(TraceSource& source, const ExportOptions& options, io::ByteSink& sink,
                             io::Executor& executor) {
  const absl::StatusOr<kiln::EncodeOptions> encode = ParseOptions(options);
  if (!encode.ok()) return encode.status();
  return kiln::WriteKiln(source, *encode, sink, executor);
}

Format MakeKilnFormat() {
  Format format;
  format.name = "kiln";
  format.description = "tracekiln's own trace file: columns, compressed, indexed";
  format.extension = ".kiln";
  format.capabilities =
      kSlices | kInstants | kCounters | kFlows | kArgs | kMetadata | kEveryEvent | kFileOrder | kProfile | kGraph;
  format.export_options = {{kLevel, "1..19", "1", "Level of the zstd compression."}};
  format.sniff = &kiln::SniffKiln;
  format.peek = &kiln::PeekKiln;
  format.open = &OpenKiln;
  format.check_export_options = &CheckOptions;
  format.write = &WriteKilnFormat;
  return format;
}

}  // namespace

const Format& KilnFormat() {
  static const Format* const format = new Format(MakeKilnFormat());
  return *format;
}

}  // namespace tracekiln

#include "tools/open_trace.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "formats/format/detect.h"

namespace tracekiln::tools {
namespace {

bool HasKey(absl::Span<const OptionSpec> specs, absl::string_view key) {
  return std::any_of(specs.begin(), specs.end(), [&](const OptionSpec& spec) { return spec.key == key; });
}

std::string KeyOf(absl::string_view option) { return std::string(option.substr(0, option.find('='))); }

}  // namespace

std::vector<Flag> ReadFlags() {
  return {
      {"from", 0, "FORMAT", "format of the input; default: found by its content"},
      {"option", 0, "KEY=VALUE", "option of a format, repeatable; tracekiln formats --verbose lists them"},
      {"strict", 0, "", "refuse an input with any damage, also such as could be repaired"},
      {"salvage", 0, "", "keep what is readable of a damaged input; exit status 3"},
  };
}

absl::Status CheckReadFlags(const ParsedFlags& flags, absl::Span<const Format* const> formats) {
  if (flags.Has("strict") && flags.Has("salvage")) {
    return absl::InvalidArgumentError("--strict and --salvage exclude each other");
  }
  if (const std::optional<std::string> from = flags.Get("from")) {
    const Format* format = FindFormatByName(formats, *from);
    if (format == nullptr || format->open == nullptr) {
      std::vector<absl::string_view> names;
      for (const Format* f : formats) {
        if (f->open != nullptr) names.push_back(f->name);
      }
      return absl::InvalidArgumentError(
          absl::StrCat("--from: no format \"", *from, "\" that can be read; there are ", absl::StrJoin(names, ", ")));
    }
  }
  for (const std::string& option : flags.GetAll("option")) {
    if (option.find('=') == std::string::npos || option[0] == '=') {
      return absl::InvalidArgumentError(absl::StrCat("--option takes KEY=VALUE, not \"", option, "\""));
    }
    const std::string key = KeyOf(option);
    const bool is_known = std::any_of(formats.begin(), formats.end(), [&](const Format* format) {
      return HasKey(format->import_options, key) || HasKey(format->export_options, key);
    });
    if (!is_known) {
      return absl::InvalidArgumentError(
          absl::StrCat("--option ", option, ": no format has an option \"", key, "\" (tracekiln formats --verbose)"));
    }
  }
  return absl::OkStatus();
}

FormatOptions OptionsFor(const ParsedFlags& flags, absl::Span<const OptionSpec> specs) {
  FormatOptions options;
  for (const std::string& option : flags.GetAll("option")) {
    std::string key = KeyOf(option);
    if (!HasKey(specs, key)) continue;
    std::string value = option.substr(key.size() + 1);
    options.emplace_back(std::move(key), std::move(value));
  }
  return options;
}

absl::StatusOr<OpenedTrace> OpenTrace(const std::string& path, const ParsedFlags& flags, const CommandContext& context,
                                      absl::Span<const OptionSpec> other_options) {
  absl::StatusOr<std::unique_ptr<io::Input>> input = io::OpenInput(path);
  if (!input.ok()) return input.status();
  for (const std::string& note : (*input)->notes()) context.Warn(absl::StrCat((*input)->name(), ": ", note));

  OpenedTrace trace;
  trace.container = (*input)->container();
  trace.member = (*input)->member();
  if (const std::optional<std::string> from = flags.Get("from")) {
    trace.format = FindFormatByName(context.formats, *from);
  } else {
    absl::StatusOr<const Format*> format = DetectFormat(context.formats, (*input)->Head(), (*input)->name());
    if (!format.ok()) return format.status();
    trace.format = *format;
  }
  ImportOptions options;
  options.strict = flags.Has("strict");
  options.salvage = flags.Has("salvage");
  options.format = OptionsFor(flags, trace.format->import_options);
  for (const std::string& option : flags.GetAll("option")) {
    if (!HasKey(trace.format->import_options, KeyOf(option)) && !HasKey(other_options, KeyOf(option))) {
      return absl::InvalidArgumentError(absl::StrCat((*input)->name(), ": --option ", option, " is not for reading ",
                                                     trace.format->name, " (tracekiln formats --verbose)"));
    }
  }
  absl::StatusOr<std::unique_ptr<TraceSource>> source =
      trace.format->open(*std::move(input), options, context.executor);
  if (!source.ok()) return source.status();
  trace.source = *std::move(source);
  return trace;
}

void SayReport(const CommandContext& context, absl::string_view name, const ImportReport& report) {
  if (context.is_quiet) return;
  const std::string report_text = report.ToText();
  absl::string_view text = report_text;
  if (report.entries().empty()) text = text.substr(0, text.find('\n'));
  context.Say(absl::StrCat(name, ": ", absl::StripSuffix(text, "\n")));
}

}  // namespace tracekiln::tools

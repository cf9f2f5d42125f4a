// tracekiln formats: what can be read and written, from the list of formats alone.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/commands.h"
#include "tools/text_table.h"

namespace tracekiln::tools {
namespace {

struct CapabilityName {
  Capability capability;
  absl::string_view name;
};
constexpr CapabilityName kCapabilityNames[] = {
    {kSlices, "slices"},   {kInstants, "instants"}, {kCounters, "counters"},      {kFlows, "links"},
    {kArgs, "args"},       {kMetadata, "metadata"}, {kEveryEvent, "every event"}, {kFileOrder, "file order"},
    {kProfile, "profile"}, {kGraph, "graph"},
};

std::string CapabilityText(uint32_t capabilities) {
  std::string out;
  for (const CapabilityName& c : kCapabilityNames) {
    if ((capabilities & c.capability) != 0) absl::StrAppend(&out, out.empty() ? "" : ", ", c.name);
  }
  return out;
}

std::vector<std::vector<std::string>> FormatRows(absl::Span<const Format* const> formats, bool is_markdown) {
  std::vector<std::vector<std::string>> rows = {{"format", "reads", "writes", "file name", "carries", "what it is"}};
  for (const Format* format : formats) {
    const std::string name(format->name);
    rows.push_back({is_markdown ? absl::StrCat("`", name, "`") : name, format->open != nullptr ? "yes" : "no",
                    format->write != nullptr ? "yes" : "no",
                    absl::StrCat(is_markdown ? "`" : "", "*", format->extension, is_markdown ? "`" : ""),
                    CapabilityText(format->capabilities), std::string(format->description)});
  }
  return rows;
}

void AppendOptions(absl::string_view title, const std::vector<OptionSpec>& options, std::string* out) {
  if (options.empty()) return;
  absl::StrAppend(out, "  ", title, "\n");
  std::vector<std::vector<std::string>> rows = {{"--option", "values", "default", ""}};
  for (const OptionSpec& option : options) {
    rows.push_back({std::string(option.key), std::string(option.values),
                    option.default_value.empty() ? "-" : std::string(option.default_value), std::string(option.help)});
  }
  absl::StrAppend(out, TextTable(rows, "    "));
}

int Run(const ParsedFlags& flags, CommandContext& context) {
  if (!flags.positional().empty()) return context.Misused("takes no arguments");
  const bool is_markdown = flags.Has("markdown");
  if (is_markdown && flags.Has("verbose")) return context.Misused("--markdown and --verbose exclude each other");
  const std::vector<std::vector<std::string>> rows = FormatRows(context.formats, is_markdown);
  if (is_markdown) {
    context.out.Write(MarkdownTable(rows));
    return kDone;
  }
  if (!flags.Has("verbose")) {
    context.out.Write(TextTable(rows, ""));
    return kDone;
  }
  std::string out;
  for (const Format* format : context.formats) {
    absl::StrAppend(&out, out.empty() ? "" : "\n", format->name, ": ", format->description, "\n  ",
                    format->open != nullptr && format->write != nullptr ? "read and written"
                    : format->open != nullptr                           ? "read only"
                                                                        : "written only",
                    ", files are called *", format->extension, "\n  carries ", CapabilityText(format->capabilities),
                    "\n");
    AppendOptions("options for reading:", format->import_options, &out);
    AppendOptions("options for writing:", format->export_options, &out);
  }
  context.out.Write(out);
  return kDone;
}

}  // namespace

const Command& FormatsCommand() {
  static const Command* const command = new Command{"formats",
                                                    "[--verbose | --markdown]",
                                                    "list the formats that can be read and written, with their options",
                                                    "",
                                                    "  tracekiln formats\n"
                                                    "  tracekiln formats --verbose",
                                                    {
                                                        {"verbose", 'v', "", "with the options of each format"},
                                                        {"markdown", 0, "", "the table of the README"},
                                                    },
                                                    Run};
  return *command;
}

}  // namespace tracekiln::tools

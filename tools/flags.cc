#include "tools/flags.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace tracekiln::tools {

std::optional<std::string> ParsedFlags::Get(absl::string_view name) const {
  for (auto it = values_.rbegin(); it != values_.rend(); ++it) {
    if (absl::string_view(it->first) == name) return it->second;
  }
  return std::nullopt;
}

std::vector<std::string> ParsedFlags::GetAll(absl::string_view name) const {
  std::vector<std::string> all;
  for (const auto& [flag, value] : values_) {
    if (absl::string_view(flag) == name) all.push_back(value);
  }
  return all;
}

std::vector<std::pair<std::string, std::string>> ParsedFlags::GetInOrder(
    absl::Span<const absl::string_view> names) const {
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& given : values_) {
    if (std::find(names.begin(), names.end(), absl::string_view(given.first)) != names.end()) all.push_back(given);
  }
  return all;
}

absl::StatusOr<int64_t> ParsedFlags::GetInt(absl::string_view name, int64_t absent, int64_t least, int64_t most) const {
  const std::optional<std::string> text = Get(name);
  if (!text) return absent;
  int64_t value;
  if (!absl::SimpleAtoi(*text, &value) || value < least || value > most) {
    return absl::InvalidArgumentError(
        absl::StrCat("--", name, " takes a whole number from ", least, " to ", most, ", not \"", *text, "\""));
  }
  return value;
}

absl::StatusOr<ParsedFlags> ParseFlags(absl::Span<const Flag> flags, absl::Span<const std::string> args) {
  ParsedFlags parsed;
  for (size_t i = 0; i < args.size(); ++i) {
    const absl::string_view arg = args[i];
    if (arg == "--") {
      parsed.positional_.insert(parsed.positional_.end(), args.begin() + i + 1, args.end());
      break;
    }
    if (arg.size() < 2 || arg[0] != '-') {
      parsed.positional_.emplace_back(arg);
      continue;
    }
    const bool is_long = arg[1] == '-';
    absl::string_view name = is_long ? arg.substr(2) : arg.substr(1, 1);
    std::optional<std::string> value;
    if (is_long) {
      const size_t equals = name.find('=');
      if (equals != absl::string_view::npos) {
        value = std::string(name.substr(equals + 1));
        name = name.substr(0, equals);
      }
    } else if (arg.size() > 2) {
      value = std::string(arg.substr(2));
    }
    const Flag* flag = nullptr;
    for (const Flag& f : flags) {
      if (is_long ? f.name == name : (f.short_name != 0 && f.short_name == name[0])) flag = &f;
    }
    if (flag == nullptr) {
      std::vector<absl::string_view> names;
      for (const Flag& f : flags) names.push_back(f.name);
      const absl::string_view nearest = is_long ? NearestWord(name, names) : absl::string_view();
      return absl::InvalidArgumentError(absl::StrCat("unknown flag ", is_long ? "--" : "-", name,
                                                     nearest.empty() ? "" : "; did you mean --", nearest,
                                                     nearest.empty() ? "" : "?"));
    }
    if (flag->value.empty()) {
      if (value) return absl::InvalidArgumentError(absl::StrCat("--", flag->name, " takes no value"));
      value = "";
    } else if (!value) {
      if (i + 1 == args.size()) {
        return absl::InvalidArgumentError(
            absl::StrCat("--", flag->name, " needs a value: --", flag->name, " ", flag->value));
      }
      value = args[++i];
    }
    parsed.values_.emplace_back(std::string(flag->name), *std::move(value));
  }
  return parsed;
}

std::string FlagHelp(absl::Span<const Flag> flags) {
  std::vector<std::string> left;
  size_t width = 0;
  for (const Flag& flag : flags) {
    std::string text = flag.short_name != 0 ? absl::StrCat("-", std::string(1, flag.short_name), ", ") : "    ";
    absl::StrAppend(&text, "--", flag.name, flag.value.empty() ? "" : " ", flag.value);
    width = std::max(width, text.size());
    left.push_back(std::move(text));
  }
  std::string out;
  for (size_t i = 0; i < flags.size(); ++i) {
    absl::StrAppend(&out, "  ", left[i], std::string(width - left[i].size() + 2, ' '), flags[i].help, "\n");
  }
  return out;
}

absl::string_view NearestWord(absl::string_view word, absl::Span<const absl::string_view> candidates) {
  absl::string_view nearest;
  size_t fewest = 3;
  for (absl::string_view candidate : candidates) {
    // Levenshtein, one row at a time.
    std::vector<size_t> row(candidate.size() + 1);
    for (size_t j = 0; j < row.size(); ++j) row[j] = j;
    for (size_t i = 0; i < word.size(); ++i) {
      size_t diagonal = row[0];
      row[0] = i + 1;
      for (size_t j = 0; j < candidate.size(); ++j) {
        const size_t cost = word[i] == candidate[j] ? 0 : 1;
        const size_t best = std::min({row[j] + 1, row[j + 1] + 1, diagonal + cost});
        diagonal = row[j + 1];
        row[j + 1] = best;
      }
    }
    if (row.back() < fewest && row.back() * 2 < word.size()) {
      fewest = row.back();
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace tracekiln::tools

// Sorting is by columns of integers: of each key every row gets a number whose ascending order is the wanted one. Texts
// get their rank among the distinct texts, so that long paths are compared once per text and not once per comparison of
// rows; descending numbers are complemented.
#include "analysis/profile_table/profile_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "analysis/profile_table/function_text.h"
#include "re2/re2.h"

namespace tracekiln::profile_table {
namespace {

struct NamedKey {
  absl::string_view name;
  std::vector<SortKey> keys;
  absl::string_view description;
};

// In pstats' order, on which the abbreviations depend.
const std::vector<NamedKey>& NamedKeys() {
  static const auto* const keys = new std::vector<NamedKey>{
      {"calls", {SortKey::kCalls}, "call count"},
      {"ncalls", {SortKey::kCalls}, "call count"},
      {"cumtime", {SortKey::kCumulative}, "cumulative time"},
      {"cumulative", {SortKey::kCumulative}, "cumulative time"},
      {"filename", {SortKey::kFile}, "file name"},
      {"line", {SortKey::kLine}, "line number"},
      {"module", {SortKey::kFile}, "file name"},
      {"name", {SortKey::kName}, "function name"},
      {"nfl", {SortKey::kName, SortKey::kFile, SortKey::kLine}, "name/file/line"},
      {"pcalls", {SortKey::kPrimitiveCalls}, "primitive call count"},
      {"stdname", {SortKey::kStandardName}, "standard name"},
      {"time", {SortKey::kOwn}, "internal time"},
      {"tottime", {SortKey::kOwn}, "internal time"},
  };
  return *keys;
}

// pstats' get_sort_arg_defs, which stops shortening at the first abbreviation that is taken: "cum" is ambiguous, "cu"
// is cumtime.
std::map<std::string, const NamedKey*> KeysByAbbreviation() {
  std::map<std::string, const NamedKey*> keys;
  std::vector<std::string> ambiguous;
  for (const NamedKey& key : NamedKeys()) {
    for (std::string part(key.name); !part.empty(); part.pop_back()) {
      if (!keys.emplace(part, &key).second) {
        ambiguous.push_back(part);
        break;
      }
    }
  }
  for (const std::string& part : ambiguous) keys.erase(part);
  return keys;
}

struct RankedText {
  absl::string_view text;
  uint32_t owner;
};

// rank_of[owner] = the place of its text among the distinct texts.
void RankTexts(std::vector<RankedText>* texts, std::vector<int64_t>* rank_of) {
  std::sort(texts->begin(), texts->end(), [](const RankedText& a, const RankedText& b) { return a.text < b.text; });
  int64_t rank = 0;
  for (size_t i = 0; i < texts->size(); ++i) {
    if (i > 0 && (*texts)[i].text != (*texts)[i - 1].text) ++rank;
    (*rank_of)[(*texts)[i].owner] = rank;
  }
}

// Ranks of the pool's strings, as far as `id_of` names them for a row.
template <typename IdOf>
std::vector<int64_t> RankStrings(const Profile& profile, IdOf id_of) {
  std::vector<int64_t> ranks(profile.strings.size(), -1);
  std::vector<RankedText> texts;
  for (const FunctionId row : profile.rows()) {
    const StringId id = id_of(profile.function(row));
    if (ranks[Index(id)] == 0) continue;
    ranks[Index(id)] = 0;
    texts.push_back({profile.strings.Get(id), Index(id)});
  }
  RankTexts(&texts, &ranks);
  return ranks;
}

// One number per row (in the order of profile.rows()), ascending as the rows shall stand.
std::vector<int64_t> SortColumn(const Profile& profile, SortKey key) {
  std::vector<int64_t> column;
  column.reserve(profile.row_count());
  const auto fill = [&](auto value_of) {
    for (const FunctionId row : profile.rows()) column.push_back(value_of(profile.function(row)));
  };
  using Function = Profile::Function;
  switch (key) {
    case SortKey::kCalls: fill([](const Function& f) { return ~f.stats.call_count; }); break;
    case SortKey::kPrimitiveCalls: fill([](const Function& f) { return ~f.stats.primitive_call_count; }); break;
    case SortKey::kOwn: fill([](const Function& f) { return ~f.stats.own_ns; }); break;
    case SortKey::kCumulative: fill([](const Function& f) { return ~f.stats.cumulative_ns; }); break;
    case SortKey::kLine: fill([](const Function& f) { return f.line; }); break;
    case SortKey::kFile: {
      const std::vector<int64_t> ranks = RankStrings(profile, [](const Function& f) { return f.file; });
      fill([&](const Function& f) { return ranks[Index(f.file)]; });
      break;
    }
    case SortKey::kName: {
      const std::vector<int64_t> ranks = RankStrings(profile, [](const Function& f) { return f.name; });
      fill([&](const Function& f) { return ranks[Index(f.name)]; });
      break;
    }
    case SortKey::kStandardName: {
      std::string bytes;
      std::vector<size_t> ends;
      for (const FunctionId row : profile.rows()) {
        AppendStandardName(profile, row, &bytes);
        ends.push_back(bytes.size());
      }
      std::vector<RankedText> texts;
      size_t begin = 0;
      for (uint32_t i = 0; i < ends.size(); ++i) {
        texts.push_back({absl::string_view(bytes).substr(begin, ends[i] - begin), i});
        begin = ends[i];
      }
      column.resize(texts.size());
      RankTexts(&texts, &column);
      break;
    }
  }
  return column;
}

std::vector<FunctionId> SortedRows(const Profile& profile, const SortOrder& order) {
  if (order.keys.empty()) return profile.rows();
  std::vector<std::vector<int64_t>> columns;
  for (const SortKey key : order.keys) columns.push_back(SortColumn(profile, key));
  struct Place {
    int64_t first;
    uint32_t row;
  };
  std::vector<Place> places;
  places.reserve(profile.row_count());
  for (uint32_t i = 0; i < profile.row_count(); ++i) places.push_back({columns[0][i], i});
  std::sort(places.begin(), places.end(), [&](const Place& a, const Place& b) {
    if (a.first != b.first) return a.first < b.first;
    for (size_t c = 1; c < columns.size(); ++c) {
      if (columns[c][a.row] != columns[c][b.row]) return columns[c][a.row] < columns[c][b.row];
    }
    return a.row < b.row;
  });
  std::vector<FunctionId> rows;
  rows.reserve(places.size());
  for (const Place& place : places) rows.push_back(profile.rows()[place.row]);
  return rows;
}

// Python's repr of a float in [0, 1].
std::string ShareText(double share) {
  if (share == 0) return "0.0";
  if (share == 1) return "1.0";
  char text[40];
  const auto format = share < 1e-4 ? std::chars_format::scientific : std::chars_format::fixed;
  return std::string(text, std::to_chars(text, text + sizeof(text), share, format).ptr);
}

// Python's repr of a string.
std::string QuotedText(absl::string_view text) {
  const bool has_single = text.find('\'') != absl::string_view::npos;
  const char quote = has_single && text.find('"') == absl::string_view::npos ? '"' : '\'';
  std::string out(1, quote);
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\\' || c == quote) {
      out += {'\\', c};
    } else {
      // A whole run, so that sequences of several bytes stay together.
      size_t end = i + 1;
      while (end < text.size() && absl::string_view("\n\r\t\\'\"").find(text[end]) == absl::string_view::npos) ++end;
      AppendPrintable(text.substr(i, end - i), &out);
      i = end - 1;
    }
  }
  out += quote;
  return out;
}

}  // namespace

absl::StatusOr<SortOrder> ParseSortOrder(absl::string_view text) {
  SortOrder order;
  if (text == "none") return order;
  static const auto* const keys = new std::map<std::string, const NamedKey*>(KeysByAbbreviation());
  for (const absl::string_view word : absl::StrSplit(text, ',')) {
    const auto found = keys->find(std::string(word));
    if (found == keys->end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("no sort key \"", word, "\"; there are ",
                       absl::StrJoin(NamedKeys(), ", ",
                                     [](std::string* out, const NamedKey& key) { absl::StrAppend(out, key.name); }),
                       ", their unique abbreviations, and none"));
    }
    order.keys.insert(order.keys.end(), found->second->keys.begin(), found->second->keys.end());
    absl::StrAppend(&order.description, order.description.empty() ? "" : ", ", found->second->description);
  }
  return order;
}

absl::StatusOr<Restriction> ParseLimit(absl::string_view text) {
  Restriction limit;
  if (absl::SimpleAtoi(text, &limit.count)) {
    limit.text = absl::StrCat(limit.count);
    return limit;
  }
  limit.kind = Restriction::Kind::kShare;
  if (!absl::SimpleAtod(text, &limit.share) || !(limit.share >= 0 && limit.share <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a limit is a number of rows, or a share of them between 0.0 and 1.0, not \"", text, "\""));
  }
  limit.share += 0.0;  // no negative zero
  limit.text = ShareText(limit.share);
  return limit;
}

absl::StatusOr<Restriction> ParseFilter(absl::string_view pattern) {
  Restriction filter;
  filter.kind = Restriction::Kind::kPattern;
  auto expression = std::make_shared<re2::RE2>(re2::StringPiece(pattern.data(), pattern.size()), re2::RE2::Quiet);
  if (!expression->ok()) {
    return absl::InvalidArgumentError(absl::StrCat("\"", pattern, "\": ", expression->error()));
  }
  filter.pattern = std::move(expression);
  filter.text = QuotedText(pattern);
  return filter;
}

Selection Select(const Profile& profile, const SortOrder& order, bool reverse,
                 absl::Span<const Restriction> restrictions) {
  Selection selection;
  selection.order = order.description;
  selection.rows = SortedRows(profile, order);
  if (reverse && !order.keys.empty()) std::reverse(selection.rows.begin(), selection.rows.end());
  std::string text;
  for (const Restriction& restriction : restrictions) {
    const size_t before = selection.rows.size();
    size_t after = before;
    switch (restriction.kind) {
      case Restriction::Kind::kCount: after = static_cast<size_t>(std::min<uint64_t>(restriction.count, before)); break;
      case Restriction::Kind::kShare:
        // As pstats: a share of 1 keeps all, as any share does that rounds to all.
        after = std::min(before, static_cast<size_t>(static_cast<double>(before) * restriction.share + 0.5));
        break;
      case Restriction::Kind::kPattern:
        after = static_cast<size_t>(std::stable_partition(selection.rows.begin(), selection.rows.end(),
                                                          [&](FunctionId row) {
                                                            text.clear();
                                                            AppendStandardName(profile, row, &text);
                                                            return re2::RE2::PartialMatch(text, *restriction.pattern);
                                                          }) -
                                    selection.rows.begin());
        break;
    }
    if (after == before) continue;
    selection.rows.resize(after);
    selection.reductions.push_back({before, after, restriction.text});
  }
  return selection;
}

}  // namespace tracekiln::profile_table

#include "formats/intermediate/testing/profile_equality.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace tracekiln {
namespace {

std::string StatsText(const CallStats& stats) {
  return absl::StrCat(stats.call_count, " calls, ", stats.primitive_call_count, " primitive, ", stats.own_ns, " own, ",
                      stats.cumulative_ns, " cumulative");
}

std::string FunctionText(const Profile& profile, FunctionId id) {
  return absl::StrCat("\"", absl::CHexEscape(profile.file(id)), "\":", profile.function(id).line, " \"",
                      absl::CHexEscape(profile.name(id)), "\"");
}

}  // namespace

std::vector<std::string> ProfileTexts(const Profile& profile) {
  std::vector<size_t> places(profile.functions().size(), SIZE_MAX);
  for (size_t i = 0; i < profile.rows().size(); ++i) places[Index(profile.rows()[i])] = i;
  std::vector<std::string> texts;
  for (uint32_t f = 0; f < profile.functions().size(); ++f) {
    const Profile::Function& function = profile.functions()[f];
    texts.push_back(absl::StrCat("function ", f, " ", FunctionText(profile, FunctionId{f}), ": ",
                                 function.is_row ? absl::StrCat("row ", places[f]) : "no row", ", ",
                                 StatsText(function.stats)));
  }
  for (const Profile::Edge& edge : profile.edges()) {
    texts.push_back(absl::StrCat("edge ", Index(edge.caller), " -> ", Index(edge.callee), ": ", StatsText(edge.stats)));
  }
  return texts;
}

std::vector<std::string> UnorderedProfileTexts(const Profile& profile) {
  std::vector<std::string> texts;
  for (uint32_t f = 0; f < profile.functions().size(); ++f) {
    const Profile::Function& function = profile.functions()[f];
    texts.push_back(absl::StrCat("function ", FunctionText(profile, FunctionId{f}), function.is_row ? "" : ", no row",
                                 ": ", StatsText(function.stats)));
  }
  for (const Profile::Edge& edge : profile.edges()) {
    texts.push_back(absl::StrCat("edge ", FunctionText(profile, edge.caller), " -> ",
                                 FunctionText(profile, edge.callee), ": ", StatsText(edge.stats)));
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

std::string FirstDifference(const Profile& a, const Profile& b) {
  const std::vector<std::string> texts_a = ProfileTexts(a), texts_b = ProfileTexts(b);
  for (size_t i = 0; i < std::max(texts_a.size(), texts_b.size()); ++i) {
    const std::string text_a = i < texts_a.size() ? texts_a[i] : "nothing";
    const std::string text_b = i < texts_b.size() ? texts_b[i] : "nothing";
    if (text_a != text_b) return absl::StrCat(text_a, "\nagainst\n", text_b);
  }
  return "";
}

}  // namespace tracekiln

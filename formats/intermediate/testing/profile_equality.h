// Compares profiles by what they say, not by their string ids.
#ifndef TRACEKILN_FORMATS_INTERMEDIATE_TESTING_PROFILE_EQUALITY_H_
#define TRACEKILN_FORMATS_INTERMEDIATE_TESTING_PROFILE_EQUALITY_H_

#include <string>
#include <vector>

#include "formats/intermediate/profile.h"

namespace tracekiln {

// A line for each function (with its place among the rows, or "no row") and each edge, in the profile's order.
std::vector<std::string> ProfileTexts(const Profile& profile);

// The same without places and numbers of functions: edges name both functions by their texts. Sorted, so that profiles
// which differ only in order have equal lists.
std::vector<std::string> UnorderedProfileTexts(const Profile& profile);

// Empty if the profiles have equal functions, edges and rows in equal order, else the first difference.
std::string FirstDifference(const Profile& a, const Profile& b);

}  // namespace tracekiln

#endif  // TRACEKILN_FORMATS_INTERMEDIATE_TESTING_PROFILE_EQUALITY_H_

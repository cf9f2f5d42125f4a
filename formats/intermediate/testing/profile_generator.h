// Seeded profiles for tests and benchmarks. The same seed gives the same profile everywhere.
#ifndef TRACEKILN_FORMATS_INTERMEDIATE_TESTING_PROFILE_GENERATOR_H_
#define TRACEKILN_FORMATS_INTERMEDIATE_TESTING_PROFILE_GENERATOR_H_

#include <cstddef>
#include <cstdint>

#include "formats/intermediate/profile.h"

namespace tracekiln {

// Any profile that profile.h allows, with `functions` functions and about twice as many edges: empty and odd texts
// (lone surrogates among them), negative and extreme numbers, callers that are no rows, rows in another order than
// their functions, calls of a function by itself, unused strings.
Profile GenerateProfile(uint64_t seed, size_t functions);

// A profile as cProfile makes of a program: Python files, names and lines, built-ins, a root, recursion; the numbers of
// each row are the sums over its callers. Texts are ASCII; every function is a row, in order; about `functions` of them
// and twice as many edges.
Profile GenerateProgramProfile(uint64_t seed, size_t functions);

}  // namespace tracekiln

#endif  // TRACEKILN_FORMATS_INTERMEDIATE_TESTING_PROFILE_GENERATOR_H_

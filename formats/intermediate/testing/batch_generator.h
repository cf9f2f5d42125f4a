// Seeded event batches for tests and benchmarks. The same seed gives the same batch everywhere.
#ifndef TRACEKILN_FORMATS_INTERMEDIATE_TESTING_BATCH_GENERATOR_H_
#define TRACEKILN_FORMATS_INTERMEDIATE_TESTING_BATCH_GENERATOR_H_

#include <cstddef>
#include <cstdint>

#include "formats/intermediate/event_batch.h"

namespace tracekiln {

// Any batch that the rules of event_batch.h allow: all kinds, flags, types of arguments and tracks; extreme numbers;
// missing and empty names; odd texts (valid UTF-8); unused strings, tracks, categories and shapes; columns that count,
// repeat or depend on the name.
EventBatch GenerateBatch(uint64_t seed, size_t rows);

// A batch with the mix of events, arguments and times that Kineto writes for a training run: operators with shapes,
// Python functions, launches, kernels, copies, memory instants. `first_row` continues a trace: times and ids go on.
EventBatch GenerateKinetoBatch(uint64_t seed, size_t rows, size_t first_row = 0);

}  // namespace tracekiln

#endif  // TRACEKILN_FORMATS_INTERMEDIATE_TESTING_BATCH_GENERATOR_H_

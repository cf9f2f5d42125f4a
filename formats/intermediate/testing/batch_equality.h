// Compares batches by what they say, not by their ids.
#ifndef TRACEKILN_FORMATS_INTERMEDIATE_TESTING_BATCH_EQUALITY_H_
#define TRACEKILN_FORMATS_INTERMEDIATE_TESTING_BATCH_EQUALITY_H_

#include <cstddef>
#include <string>

#include "formats/intermediate/event_batch.h"

namespace tracekiln {

// Everything that row `row` says as one line of text, its arguments with their types (doubles by their bits) if
// `with_args`. Equal texts: equal rows.
std::string RowText(const EventBatch& batch, size_t row, bool with_args = true);

// Empty if the batches have equal rows in equal order, else the first difference.
std::string FirstDifference(const EventBatch& a, const EventBatch& b, bool with_args = true);

}  // namespace tracekiln

#endif  // TRACEKILN_FORMATS_INTERMEDIATE_TESTING_BATCH_EQUALITY_H_

// BlockParser: one stretch of a trace's event list -> batches, on one thread.
//
// A block begins at an element of the list and ends, if it is not the last, exactly where the next block's first
// element begins. Each event goes through the tiers: predicted layout, then the general parser.
#ifndef TRACEKILN_FORMATS_CHROME_BLOCK_PARSER_H_
#define TRACEKILN_FORMATS_CHROME_BLOCK_PARSER_H_

#include <cstdint>
#include <vector>

#include "formats/chrome/event_assembler.h"
#include "formats/chrome/event_parser.h"
#include "formats/chrome/layout_predictor.h"
#include "formats/json/damage.h"

namespace tracekiln::chrome {

// Bytes that must be readable behind a block's text; their content does not matter, but they must not be digits.
inline constexpr size_t kBlockPadding = LayoutPredictor::kPadding;

// Where in the list's grammar a text stands.
enum class ListState : uint8_t {
  kStart,      // behind the opening bracket: an element or the closing bracket
  kElement,    // behind a comma: an element
  kSeparator,  // behind an element: a comma or the closing bracket
};

struct BlockResult {
  enum class End : uint8_t {
    kOpen,     // the text ended between elements (or at the block's end in state `state`)
    kPartial,  // the text ended inside an element (salvage: or in damage) that begins at `consumed`
    kListEnd,  // the closing bracket is the byte before `consumed`
    kError,    // `error`; `consumed` is the beginning of the element or the place that does not fit
  };
  End end = End::kOpen;
  ListState state = ListState::kStart;  // at `consumed`
  size_t consumed = 0;                  // bytes of the text that are dealt with
  bool has_comma = false;               // a comma between elements was met
  size_t last_comma = 0;                // where the last one is
  bool ends_with_comma_before = false;  // kListEnd or kError because of a superfluous comma that lies before the text
  json::Error error;                    // `at` is meaningless; see error_offset. kPartial: what more text might mend
  uint64_t error_offset = 0;            // in the file
  std::vector<EventBatch> batches;
  ImportReport report;
};

class BlockParser {
 public:
  enum class Tier : uint8_t {
    kPredictThenGeneral,
    kGeneral,  // the oracle of the fast tier
  };

  explicit BlockParser(Tier tier);
  BlockParser(const BlockParser&) = delete;
  BlockParser& operator=(const BlockParser&) = delete;

  struct Options {
    bool strict = false;   // damage is an error
    bool salvage = false;  // what is no event is skipped up to the next event
  };

  // Parses text[0, size), which lies at `offset` in the file.
  BlockResult Parse(const char* text, size_t size, uint64_t offset, ListState state, const Options& options);

  const LayoutPredictor& predictor() const { return predictor_; }

 private:
  const Tier tier_;
  EventAssembler assembler_;
  EventParser parser_;
  LayoutPredictor predictor_;
};

// The place of the last boundary in text[from, size) that looks like the beginning of an event of a list: behind `}`, a
// comma and blanks, a `{` followed by a key that events begin with. Returns 0 if there is none. It is a guess: text
// inside strings may look the same. Whoever cuts there must check that the parser agrees.
size_t FindLastEventStart(const char* text, size_t size, size_t from);
// The first such place in text[from, size), or `size`.
size_t FindNextEventStart(const char* text, size_t size, size_t from);

}  // namespace tracekiln::chrome

#endif  // TRACEKILN_FORMATS_CHROME_BLOCK_PARSER_H_

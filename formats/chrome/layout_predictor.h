// LayoutPredictor: the fast tier. Reads events by predicting what their writer puts between the values.
//
// Traces are written by machines: the bytes between values (braces, keys, colons, line feeds, indentation) repeat
// exactly; a whole file has some 100 distinct such *literals*. The predictor keeps a tree of them. A node is the
// literal before a value and what kind of value follows; its children are the literals seen next. Reading an event is a
// walk from the root: compare the likeliest child's literal with the input (one or two 32-byte compares), read the
// value, go on. No key is ever looked up: the path is the shape.
//
//     root ─ `{⏎ "ph": "X", "cat": "kernel", "name": "` string ─ `", "pid": ` int ─ `, "tid": ` int ─ … ─ `⏎    }⏎  }`
//     end
//          └ `{⏎ "ph": "f", "id": ` int ─ …
//
// The values of "ph" and "cat" count as part of the literal, so that a path knows what kind of event it reads.
//
// Nothing is guessed: an event is taken only if every byte of it was either compared or read as a value by the strict
// rules of the general tier (events that need mending, odd types and unusual phases are never taken). What can't be
// predicted is left to the general parser, and then *learned* from the text that it accepted. So both tiers give the
// same rows, which the tests check.
//
// Bounds: at most kMaxNodes nodes and kMaxChildren children of one; when many predictions fail and the tree is full,
// the predictor switches itself off. A hostile file costs one failed walk per event.
#ifndef TRACEKILN_FORMATS_CHROME_LAYOUT_PREDICTOR_H_
#define TRACEKILN_FORMATS_CHROME_LAYOUT_PREDICTOR_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "formats/chrome/event_assembler.h"
#include "formats/chrome/event_parser.h"

namespace tracekiln::chrome {

class LayoutPredictor {
 public:
  static constexpr size_t kMaxNodes = 8192;
  static constexpr size_t kMaxChildren = 64;
  static constexpr size_t kMaxLiteral = 256;
  // So many bytes behind `end` must be readable.
  static constexpr size_t kPadding = kMaxLiteral + 64;

  LayoutPredictor(EventAssembler* assembler, EventParser* parser);

  // Reads the event at `p` if its layout was learned: gives it to the assembler and returns the byte behind it.
  // Otherwise nullptr, and the assembler is as it was (strings may have been interned).
  const char* Parse(const char* p, const char* end);

  // Learns from the event [p, event_end), which the parser just accepted as regular.
  void Learn(const char* p, const char* event_end);

  bool is_enabled() const { return is_enabled_; }
  size_t node_count() const { return nodes_.size(); }

 private:
  enum class ValueKind : uint8_t {
    kNone,    // a literal too long for one node goes on in the next
    kString,  // the literal ends with the opening quote
    kInt,
    kDouble,
    kNested,
    kConstant,  // true, false, null, or a text that is part of the literal
    kTime,
    kEnd,  // the literal ends the event
  };
  enum class Role : uint8_t { kNone, kTs, kDur, kName, kPid, kTid, kField };

  struct Field {
    std::string key;
    ArgType type;
    ArgPlace place;
  };

  // A field whose text is part of the literal ("bp" and "s").
  struct ConstantText {
    size_t field;
    std::string text;
    StringId id;  // in the batch of the template's epoch
  };

  // Constants of ValueKind::kConstant.
  enum : uint8_t { kNull, kFalse, kTrue, kText };

  class DamageDetector : public json::DamageSink {
   public:
    void OnDamage(json::Damage, const char*) override { met = true; }
    bool met = false;
  };

  // What a path stands for; at its last node.
  struct EventTemplate {
    EventKind kind;
    char phase;
    bool has_ts;
    bool has_args;
    bool has_category;
    std::string category;
    std::vector<Field> fields;
    std::vector<ConstantText> texts;
    int correlation_field = -1;  // index into fields
    // If the event can be a flow that restates a correlation: the index of "id", else -1.
    int flow_id_field = -1;
    // Ids in the batch of this epoch.
    uint32_t epoch = 0;
    CategoryId category_id = kNoCategory;
    ShapeId shape{0};
    // The root's child that began the event after the last event of this template.
    uint32_t next_first = 0;
  };

  struct Node {
    uint32_t literal_begin;  // in literals_, 32-byte aligned, padded with zeros
    uint32_t literal_size;
    ValueKind kind;
    Role role;
    uint8_t constant;         // of kConstant
    uint32_t template_index;  // kEnd
    std::vector<uint32_t> children;
  };

  struct Step {
    const char* literal_begin;
    const char* value_begin;
    ValueKind kind;
    Role role;
    uint8_t constant;
  };

  bool Matches(const Node& node, const char* p) const;
  // Makes the steps and the template of an event; false if it can't be predicted.
  bool Describe(const char* p, const char* event_end, std::vector<Step>* steps, EventTemplate* event);
  uint32_t AddNode(uint32_t parent, absl::string_view literal, ValueKind kind, Role role, uint8_t constant);
  bool ResolveTemplate(EventTemplate& event);

  EventAssembler* const assembler_;
  EventParser* const parser_;
  std::vector<Node> nodes_;
  std::vector<EventTemplate> templates_;
  std::string literals_;
  EventScratch scratch_;
  std::vector<ArgValue> values_;
  std::string decoded_;
  DamageDetector damage_;
  uint32_t last_template_ = 0;
  bool has_last_template_ = false;
  bool is_enabled_ = true;
  uint64_t misses_ = 0;
  uint64_t hits_ = 0;
};

}  // namespace tracekiln::chrome

#endif  // TRACEKILN_FORMATS_CHROME_LAYOUT_PREDICTOR_H_

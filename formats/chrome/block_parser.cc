#include "formats/chrome/block_parser.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "formats/json/scan.h"

namespace tracekiln::chrome {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// True if at `brace` there is '{', before it a comma and `}`, and behind it a key that events have.
bool LooksLikeEventStart(const char* text, size_t size, size_t brace) {
  size_t before = brace;
  while (before > 0 && IsBlank(text[before - 1])) --before;
  if (before == 0 || text[before - 1] != ',') return false;
  --before;
  while (before > 0 && IsBlank(text[before - 1])) --before;
  if (before == 0 || text[before - 1] != '}') return false;
  size_t p = brace + 1;
  while (p < size && IsBlank(text[p])) ++p;
  if (p >= size || text[p] != '"') return false;
  const absl::string_view rest(text + p + 1, size - p - 1);
  for (const absl::string_view key :
       {"ph\"", "name\"", "cat\"", "ts\"", "pid\"", "tid\"", "args\"", "id\"", "dur\"", "s\"", "bp\""}) {
    if (rest.size() >= key.size() && std::memcmp(rest.data(), key.data(), key.size()) == 0) return true;
  }
  return false;
}

}  // namespace

size_t FindLastEventStart(const char* text, size_t size, size_t from) {
  for (size_t i = size; i > from;) {
    const void* const found = memrchr(text + from, '{', i - from);
    if (found == nullptr) return 0;
    i = static_cast<size_t>(static_cast<const char*>(found) - text);
    if (i > 0 && LooksLikeEventStart(text, size, i)) return i;
  }
  return 0;
}

size_t FindNextEventStart(const char* text, size_t size, size_t from) {
  while (from < size) {
    const void* const found = std::memchr(text + from, '{', size - from);
    if (found == nullptr) return size;
    const size_t i = static_cast<size_t>(static_cast<const char*>(found) - text);
    if (LooksLikeEventStart(text, size, i)) return i;
    from = i + 1;
  }
  return size;
}

BlockParser::BlockParser(Tier tier) : tier_(tier), parser_(&assembler_), predictor_(&assembler_, &parser_) {}

BlockResult BlockParser::Parse(const char* text, size_t size, uint64_t offset, ListState state,
                               const Options& options) {
  BlockResult result;
  const char* const end = text + size;
  const char* p = text;
  const char* comma = nullptr;
  parser_.SetBase(text, offset);
  const auto stop = [&](BlockResult::End how, const char* consumed) {
    result.end = how;
    result.state = state;
    result.consumed = static_cast<size_t>(consumed - text);
    result.has_comma = comma != nullptr;
    if (comma != nullptr) result.last_comma = static_cast<size_t>(comma - text);
    result.batches = assembler_.TakeBatches();
    for (EventBatch& batch : result.batches) batch.RenumberStrings();
    result.report = assembler_.TakeReport();
    return std::move(result);
  };
  const auto fail = [&](const char* consumed, const char* at, std::string reason) {
    result.error.reason = std::move(reason);
    result.error_offset = offset + static_cast<uint64_t>(at - text);
    return stop(BlockResult::End::kError, consumed);
  };
  for (;;) {
    p = json::SkipBlanks(p, end);
    if (p == end) return stop(BlockResult::End::kOpen, p);
    if (state == ListState::kSeparator) {
      if (*p == ',') {
        comma = p++;
        state = ListState::kElement;
        continue;
      }
      if (*p == ']') return stop(BlockResult::End::kListEnd, p + 1);
    } else {
      if (*p == ']') {
        if (state == ListState::kElement) {
          result.ends_with_comma_before = comma == nullptr;
          if (options.strict) return fail(p, comma != nullptr ? comma : p, "superfluous comma before `]`");
          if (comma != nullptr) {
            assembler_.report().Repair(json::DamageName(json::Damage::kTrailingComma), parser_.OffsetOf(comma));
          }
        }
        return stop(BlockResult::End::kListEnd, p + 1);
      }
      if (options.salvage && *p == ',') {
        assembler_.report().salvaged = true;
        assembler_.report().Repair("superfluous_comma", parser_.OffsetOf(p));
        ++p;
        continue;
      }
      const char* const element = p;
      const char* behind = nullptr;
      if (tier_ == Tier::kPredictThenGeneral && predictor_.is_enabled()) behind = predictor_.Parse(p, end);
      if (behind == nullptr) {
        const uint64_t damage = parser_.damage_count();
        behind = parser_.Parse(p, end);
        if (behind != nullptr && options.strict && parser_.damage_count() != damage) {
          return fail(element, parser_.last_damage_place(),
                      absl::StrCat("damaged event: ", json::DamageName(parser_.last_damage())));
        }
        if (behind != nullptr && tier_ == Tier::kPredictThenGeneral && predictor_.is_enabled()) {
          predictor_.Learn(element, behind);
        }
      }
      if (behind != nullptr) {
        p = behind;
        state = ListState::kSeparator;
        continue;
      }
      if (parser_.error().is_truncation) {
        result.error = parser_.error();
        result.error_offset = parser_.OffsetOf(parser_.error().at);
        return stop(BlockResult::End::kPartial, element);
      }
      if (!options.salvage) {
        return fail(element, parser_.error().at, parser_.error().reason);
      }
      const size_t next = FindNextEventStart(text, size, static_cast<size_t>(element - text) + 1);
      if (next == size) {  // the next event may begin across the end of the text
        result.error = parser_.error();
        result.error_offset = parser_.OffsetOf(parser_.error().at);
        return stop(BlockResult::End::kPartial, element);
      }
      assembler_.report().salvaged = true;
      ++assembler_.report().seen;
      assembler_.report().Skip("damaged", parser_.OffsetOf(parser_.error().at), parser_.error().reason);
      p = text + next;
      continue;  // in state kElement: at an event
    }
    if (!options.salvage) {
      return fail(p, p, absl::StrCat("expected `,` or `]` behind an event, got ", json::ShowByte(p, end)));
    }
    const char* next = p;
    if (*p != '{') {
      next = text + FindNextEventStart(text, size, static_cast<size_t>(p - text));
      if (next == end) {
        result.error.reason = absl::StrCat("expected `,` or `]` behind an event, got ", json::ShowByte(p, end));
        result.error_offset = parser_.OffsetOf(p);
        return stop(BlockResult::End::kPartial, p);
      }
    }
    assembler_.report().salvaged = true;
    assembler_.report().Repair("missing_separator", parser_.OffsetOf(p));
    p = next;
    state = ListState::kElement;
  }
}

}  // namespace tracekiln::chrome

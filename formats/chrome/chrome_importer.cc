// How the parts work together:
//
//   ByteSource -> ReadBlock (cuts at a guessed event start) -> executor: BlockParser -> Sequence (checks the cut, in
//   file order)
//              -> SlicePairing, FlowCensus -> Next()
//
// A small state machine reads what stands around the event list: kDocument is anywhere at the top level, kList inside a
// list. The bytes not yet given to a block or to the state machine are always text_[position_, end); everything else
// hangs on that.
#include "formats/chrome/chrome_importer.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "formats/chrome/block_parser.h"
#include "formats/chrome/slice_pairing.h"
#include "formats/intermediate/field_catalog.h"
#include "formats/json/canonical.h"
#include "formats/json/scan.h"
#include "formats/json/text.h"

namespace tracekiln::chrome {
namespace {

// Text with kBlockPadding zero bytes behind it. (Not a std::string: megabytes that a read overwrites at once need no
// zeros.)
class PaddedText {
 public:
  PaddedText() = default;
  explicit PaddedText(absl::string_view text) { Append(text); }
  PaddedText(PaddedText&& other) noexcept { *this = std::move(other); }
  PaddedText& operator=(PaddedText&& other) noexcept {
    bytes_ = std::move(other.bytes_);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
    return *this;
  }

  const char* data() const { return bytes_ == nullptr ? kEmpty : bytes_.get(); }
  size_t size() const { return size_; }
  absl::string_view view() const { return absl::string_view(data(), size_); }

  void Append(absl::string_view text) {
    if (text.empty()) return;
    Reserve(size_ + text.size());
    std::memcpy(bytes_.get() + size_, text.data(), text.size());
    SetSize(size_ + text.size());
  }

  void RemovePrefix(size_t count) {
    if (count == 0) return;
    std::memmove(bytes_.get(), bytes_.get() + count, size_ - count);
    SetSize(size_ - count);
  }

  // Appends up to `count` bytes of `source`; returns how many. Fewer only at the end or at a failure.
  size_t AppendFrom(io::ByteSource& source, size_t count) {
    Reserve(size_ + count);
    const size_t got = source.ReadFully(bytes_.get() + size_, count);
    SetSize(size_ + got);
    return got;
  }

  void Reserve(size_t count) {
    if (count <= capacity_ && bytes_ != nullptr) return;
    const size_t capacity = capacity_ == 0 ? count : std::max(count, 2 * capacity_);
    std::unique_ptr<char[]> bytes(new char[capacity + kBlockPadding]);
    if (size_ > 0) std::memcpy(bytes.get(), bytes_.get(), size_);
    bytes_ = std::move(bytes);
    capacity_ = capacity;
    SetSize(size_);
  }

  // Forgets the text and keeps the memory.
  void Clear() {
    if (bytes_ != nullptr) SetSize(0);
  }

 private:
  static constexpr char kEmpty[kBlockPadding] = {};

  void SetSize(size_t size) {
    size_ = size;
    std::memset(bytes_.get() + size, 0, kBlockPadding);
  }

  std::unique_ptr<char[]> bytes_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

struct Block {
  PaddedText text;
  size_t size = 0;      // of the text that belongs to this block; what is behind belongs to the next one
  uint64_t offset = 0;  // in the file
  ListState state = ListState::kElement;
  BlockResult result;
  bool is_done = false;
};

class ChromeImporter : public TraceSource, private json::DamageSink {
 public:
  ChromeImporter(std::unique_ptr<io::Input> input, const ImportOptions& options, io::Executor& executor,
                 const ImporterTuning& tuning)
      : input_(std::move(input)), source_(input_->Stream()), options_(options), executor_(executor), tuning_(tuning) {
    info_.source_format = "chrome";
    info_.source_name = input_->name();
    block_options_.strict = options.strict;
    block_options_.salvage = options.salvage;
    text_offset_ = source_->position();
  }

  ~ChromeImporter() override { WaitForAll(); }

  absl::StatusOr<bool> Next(EventBatch* batch) override {
    while (ready_.empty()) {
      if (!status_.ok()) return status_;
      if (phase_ == Phase::kDone) return false;
      status_ = phase_ == Phase::kList ? AdvanceList() : AdvanceDocument();
      if (status_.ok() && phase_ == Phase::kDone) status_ = Finish();
    }
    *batch = std::move(ready_.front());
    ready_.pop_front();
    return true;
  }

  const TraceInfo& info() const override { return info_; }

  Progress progress() const override { return {source_->raw_position(), source_->raw_size().value_or(0)}; }

 private:
  enum class Phase : uint8_t { kDocument, kList, kDone };
  enum class DocumentState : uint8_t {
    kBegin,        // nothing read yet
    kFirstMember,  // behind `{`
    kMember,       // behind a comma of the top-level object
    kAfterMember,  // behind a value of the top-level object
    kAfterAll,     // behind the closing bracket
  };

  // ---- Text
  // -------------------------------------------------------------------------------------------------------------

  const char* Cursor() const { return text_.data() + position_; }
  const char* End() const { return text_.data() + text_.size(); }
  uint64_t OffsetOf(const char* p) const { return text_offset_ + static_cast<uint64_t>(p - text_.data()); }

  // Reads at least `count` more bytes behind the text if there are any. False at the end of the input.
  bool ReadMore(size_t count) {
    if (position_ > 0) {
      text_.RemovePrefix(position_);
      text_offset_ += position_;
      position_ = 0;
    }
    if (is_input_at_end_) return false;
    const size_t got = text_.AppendFrom(*source_, count);
    if (got < count) is_input_at_end_ = true;
    return got > 0;
  }

  // Skips blanks; false at the end of the input.
  bool SkipBlanks() {
    for (;;) {
      position_ = static_cast<size_t>(json::SkipBlanks(Cursor(), End()) - text_.data());
      if (position_ < text_.size()) return true;
      if (!ReadMore(size_t{1} << 16)) return false;
    }
  }

  // ---- Errors
  // -----------------------------------------------------------------------------------------------------------

  absl::Status ErrorAt(uint64_t offset, absl::string_view reason, bool is_data_loss) const {
    const std::string message =
        absl::StrCat(input_->name(), ":", offset, ": ", reason, " (", info_.report.seen,
                     info_.report.seen == 1 ? " whole event precedes it)" : " whole events precede it)");
    return is_data_loss ? absl::DataLossError(message) : absl::InvalidArgumentError(message);
  }

  // The input ended where it should not. A damaged container explains it better than the text does.
  absl::Status Truncated(absl::string_view expected) {
    if (!source_->status().ok()) {
      if (!options_.salvage) return source_->status();
      info_.report.Repair("damaged_container", text_offset_ + text_.size(), std::string(source_->status().message()));
    }
    const uint64_t offset = text_offset_ + text_.size();
    if (!options_.salvage)
      return ErrorAt(offset, absl::StrCat("expected ", expected, ", got end of input: the file is truncated"), true);
    info_.report.salvaged = true;
    info_.report.Repair("truncated", offset, absl::StrCat("expected ", expected));
    // A quote too few makes the rest of the file one string, the events included.
    if (has_list_ || !FindList()) phase_ = Phase::kDone;
    return absl::OkStatus();
  }

  // An error of the document around the events. Salvage keeps what was read.
  absl::Status DocumentError(const char* at, absl::string_view reason) {
    const uint64_t offset = OffsetOf(at);
    if (!options_.salvage) return ErrorAt(offset, reason, false);
    if (!has_list_) {
      position_ = static_cast<size_t>(at - text_.data());
      if (!FindList()) return ErrorAt(offset, reason, false);
    } else {
      phase_ = Phase::kDone;
    }
    info_.report.salvaged = true;
    info_.report.Repair("damaged_document", offset, reason);
    return absl::OkStatus();
  }

  // Enters the next list of events that can be found by its key alone, wherever it stands. False if there is none.
  bool FindList() {
    // Its opening quote may have closed the string before it.
    const std::string key = absl::StrCat(fields::kTraceEvents, "\"");
    for (size_t from = position_;;) {
      const size_t found = text_.view().find(key, from);
      if (found == absl::string_view::npos) {
        // The key may be cut by the end of the text.
        position_ = std::max(position_, text_.size() - std::min(text_.size(), key.size()));
        if (!ReadMore(size_t{1} << 20)) return false;
        from = position_;
        continue;
      }
      position_ = found + key.size();
      if (SkipBlanks() && *Cursor() == ':') {
        ++position_;
        if (SkipBlanks() && *Cursor() == '[') {
          document_state_ = DocumentState::kAfterMember;
          EnterList();
          return true;
        }
      }
      from = position_;
    }
  }

  void OnDamage(json::Damage damage, const char* at) override { OnDamageAt(damage, OffsetOf(at)); }

  void OnDamageAt(json::Damage damage, uint64_t offset) {
    if (first_damage_.empty()) {
      first_damage_ = std::string(json::DamageName(damage));
      first_damage_offset_ = offset;
    }
    info_.report.Repair(json::DamageName(damage), offset);
  }

  // ---- The document around the event list
  // -------------------------------------------------------------------------------

  absl::Status AdvanceDocument() {
    switch (document_state_) {
      case DocumentState::kBegin: {
        if (!SkipBlanks()) {
          if (!source_->status().ok()) return source_->status();
          return absl::InvalidArgumentError(absl::StrCat(input_->name(), ":0: expected a trace, got an empty file"));
        }
        if (*Cursor() == '[') {
          info_.array_form = true;
          document_state_ = DocumentState::kAfterAll;
          EnterList();
          return absl::OkStatus();
        }
        if (*Cursor() == '{') {
          ++position_;
          document_state_ = DocumentState::kFirstMember;
          return absl::OkStatus();
        }
        return ErrorAt(
            OffsetOf(Cursor()),
            absl::StrCat("expected `{` or `[` at the beginning of a trace, got ", json::ShowByte(Cursor(), End())),
            false);
      }
      case DocumentState::kFirstMember:
      case DocumentState::kMember: {
        if (!SkipBlanks()) return Truncated("a key");
        if (*Cursor() == '}') {
          if (document_state_ == DocumentState::kMember) OnDamageAt(json::Damage::kTrailingComma, member_comma_offset_);
          ++position_;
          document_state_ = DocumentState::kAfterAll;
          return CheckStrict();
        }
        return ReadMember();
      }
      case DocumentState::kAfterMember:
        if (!SkipBlanks()) return Truncated("`,` or `}`");
        if (*Cursor() == ',') {
          member_comma_offset_ = OffsetOf(Cursor());
          document_state_ = DocumentState::kMember;
        } else if (*Cursor() == '}') {
          document_state_ = DocumentState::kAfterAll;
        } else {
          return DocumentError(Cursor(), absl::StrCat("expected `,` or `}`, got ", json::ShowByte(Cursor(), End())));
        }
        ++position_;
        return absl::OkStatus();
      case DocumentState::kAfterAll:
        if (!has_list_) {
          return absl::InvalidArgumentError(absl::StrCat(input_->name(), ":", OffsetOf(Cursor()), ": expected \"",
                                                         fields::kTraceEvents,
                                                         "\" in the object, got none: no Chrome trace"));
        }
        if (SkipBlanks()) {
          return DocumentError(
              Cursor(), absl::StrCat("trailing data: expected the end of the file, got ",
                                     json::ShowByte(Cursor(), End()), " (a second document, or a file appended to?)"));
        }
        if (!source_->status().ok()) return Truncated("the end of the container");
        phase_ = Phase::kDone;
        return absl::OkStatus();
    }
    return absl::InternalError("document state");
  }

  // One member of the top-level object: `position_` is at its key.
  absl::Status ReadMember() {
    for (size_t want = size_t{1} << 16;; want *= 2) {
      json::Error error;
      const char* p = Cursor();
      const char* const end = End();
      std::string key;
      bool is_list = false;
      std::string value;
      const ImportReport report_before = info_.report;
      if (*p != '"')
        return DocumentError(p, absl::StrCat("expected an object key in quotes, got ", json::ShowByte(p, end)));
      const char* const key_place = p;
      bool escaped = false;
      const char* const key_end = json::FindStringEnd(p + 1, end, &escaped);
      bool is_partial = key_end == end;
      if (!is_partial) {
        if (!json::DecodeString(absl::string_view(p + 1, static_cast<size_t>(key_end - p - 1)), &key, this, &error)) {
          return DocumentError(error.at, error.reason);
        }
        p = json::SkipBlanks(key_end + 1, end);
        if (p < end && *p != ':') return DocumentError(p, absl::StrCat("expected `:`, got ", json::ShowByte(p, end)));
        if (p < end) p = json::SkipBlanks(p + 1, end);
        is_partial = p >= end;
      }
      if (!is_partial && key == fields::kTraceEvents) {
        // Some writers have null for an empty list.
        const bool may_be_null = *p == 'n' && (end - p < 4 || absl::string_view(p, 4) == "null");
        if (*p != '[' && !may_be_null) {
          return DocumentError(p, absl::StrCat("expected a list of events, got ", json::ShowByte(p, end)));
        }
        is_list = *p == '[';
      }
      if (!is_partial && !is_list) {
        const char* const behind = json::AppendCanonical(p, end, &value, this, &error);
        if (behind == nullptr && !error.is_truncation) return DocumentError(error.at, error.reason);
        // A number that ends with the text may go on.
        is_partial = behind == nullptr || (behind == end && !is_input_at_end_);
        if (!is_partial) p = behind;
      }
      if (is_partial) {
        info_.report = report_before;
        if (is_input_at_end_) return Truncated("the value of a key");
        if (text_.size() > kMaxElementBytes) {
          return absl::ResourceExhaustedError(absl::StrCat(input_->name(), ":", OffsetOf(Cursor()),
                                                           ": a top-level value of more than ", kMaxElementBytes,
                                                           " bytes"));
        }
        (void)ReadMore(want);
        continue;
      }
      const bool is_events = key == fields::kTraceEvents;
      const bool is_duplicate =
          is_events ? has_list_
                    : (key == fields::kBaseTimeNanoseconds && info_.has_base) || metadata_place_.contains(key);
      if (is_duplicate) OnDamage(json::Damage::kDuplicateKey, key_place);
      if (absl::Status status = CheckStrict(); !status.ok()) return status;
      position_ = static_cast<size_t>(p - text_.data());
      document_state_ = DocumentState::kAfterMember;
      if (is_list) {
        EnterList();
      } else {
        if (is_events) {
          has_list_ = true;
          info_.report.Note("null_event_list", OffsetOf(key_place));
        } else {
          AddMetadata(std::move(key), std::move(value));
        }
      }
      return absl::OkStatus();
    }
  }

  absl::Status CheckStrict() const {
    if (!options_.strict || first_damage_.empty()) return absl::OkStatus();
    return ErrorAt(first_damage_offset_, absl::StrCat("damage: ", first_damage_), false);
  }

  void AddMetadata(std::string key, std::string value) {
    if (key == fields::kBaseTimeNanoseconds) {
      if (const std::optional<int64_t> base = json::AsInt(value)) {
        info_.base_ns = *base;
        info_.has_base = true;
        return;
      }
    }
    if (key == fields::kDistributedInfo) {
      const auto number = [&](absl::string_view name) -> std::optional<int64_t> {
        const std::optional<absl::string_view> member = json::Member(value, name);
        return member.has_value() ? json::AsInt(*member) : std::nullopt;
      };
      info_.rank = number(fields::kRank);
      info_.world_size = number(fields::kWorldSize);
    }
    MetadataEntry entry{std::move(key), std::move(value), has_list_};
    const auto [place, is_new] = metadata_place_.try_emplace(entry.key, info_.metadata.size());
    if (is_new) {
      info_.metadata.push_back(std::move(entry));
    } else {
      info_.metadata[place->second] = std::move(entry);
    }
  }

  // ---- The event list
  // ---------------------------------------------------------------------------------------------------

  // `position_` is at the opening bracket.
  void EnterList() {
    ++position_;
    phase_ = Phase::kList;
    has_list_ = true;
    next_block_state_ = ListState::kStart;
    list_state_ = ListState::kStart;
    left_over_ = PaddedText();
    left_over_offset_ = OffsetOf(Cursor());
  }

  // Cuts the next block from the text and the source. False at the end of the input.
  bool StartBlock() {
    auto block = std::make_shared<Block>();
    block->offset = OffsetOf(Cursor());
    if (!spare_texts_.empty()) {
      block->text = std::move(spare_texts_.back());
      spare_texts_.pop_back();
    }
    if (text_.size() - position_ > tuning_.block_bytes) {
      // Enough was read before, for the document around the list.
      block->text.Append(text_.view().substr(position_, tuning_.block_bytes));
      const size_t cut = FindLastEventStart(block->text.data(), block->text.size(), block->text.size() / 4);
      block->size = cut > 0 ? cut : block->text.size();
      position_ += block->size;
      Run(std::move(block));
      return true;
    }
    block->text.Reserve(std::max(tuning_.block_bytes, text_.size() - position_));
    block->text.Append(text_.view().substr(position_));
    text_offset_ += text_.size();
    text_ = PaddedText();
    position_ = 0;
    if (!is_input_at_end_ && block->text.size() < tuning_.block_bytes) {
      const size_t want = tuning_.block_bytes - block->text.size();
      if (block->text.AppendFrom(*source_, want) < want) is_input_at_end_ = true;
    }
    text_offset_ = block->offset + block->text.size();
    if (block->text.size() == 0) return false;
    block->size = block->text.size();
    if (!is_input_at_end_) {
      // A cut that leaves most of the block to the next one is no cut.
      const size_t cut = FindLastEventStart(block->text.data(), block->text.size(), block->text.size() / 4);
      if (cut > 0) {
        block->size = cut;
        text_ = PaddedText(block->text.view().substr(cut));
        text_offset_ = block->offset + cut;
      }
    }
    Run(std::move(block));
    return true;
  }

  void Run(std::shared_ptr<Block> block) {
    block->state = next_block_state_;
    next_block_state_ = ListState::kElement;
    in_flight_.push_back(block);
    executor_.Schedule([this, block] {
      std::unique_ptr<BlockParser> parser = BorrowParser();
      BlockResult result = parser->Parse(block->text.data(), block->size, block->offset, block->state, block_options_);
      std::lock_guard<std::mutex> lock(mutex_);
      parsers_.push_back(std::move(parser));
      block->result = std::move(result);
      block->is_done = true;
      done_.notify_all();
    });
  }

  std::unique_ptr<BlockParser> BorrowParser() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (!parsers_.empty()) {
        std::unique_ptr<BlockParser> parser = std::move(parsers_.back());
        parsers_.pop_back();
        return parser;
      }
    }
    return std::make_unique<BlockParser>(tuning_.general_tier_only ? BlockParser::Tier::kGeneral
                                                                   : BlockParser::Tier::kPredictThenGeneral);
  }

  void Wait(const std::shared_ptr<Block>& block) {
    std::unique_lock<std::mutex> lock(mutex_);
    done_.wait(lock, [&] { return block->is_done; });
  }

  void WaitForAll() {
    for (const std::shared_ptr<Block>& block : in_flight_) Wait(block);
  }

  absl::Status AdvanceList() {
    const size_t depth = static_cast<size_t>(executor_.concurrency()) + 1;
    while (in_flight_.size() < depth && StartBlock()) {
    }
    if (in_flight_.empty()) return ListAtEndOfInput();
    std::shared_ptr<Block> block = std::move(in_flight_.front());
    in_flight_.pop_front();
    Wait(block);
    if (left_over_.size() == 0 && block->state == list_state_) {
      absl::Status status = Accept(block->text.view().substr(0, block->size), block->offset, std::move(block->result));
      // A new block's memory costs a page fault every 4 KiB, which is as much as reading it.
      block->text.Clear();
      spare_texts_.push_back(std::move(block->text));
      return status;
    }
    // The cut was inside an event (or the event is longer than a block): join and parse again. Each try at least
    // doubles the text, so that the work stays linear.
    const size_t enough = 2 * left_over_.size();
    left_over_.Append(block->text.view().substr(0, block->size));
    while (left_over_.size() < enough) {
      if (in_flight_.empty() && !StartBlock()) break;
      block = std::move(in_flight_.front());
      in_flight_.pop_front();
      Wait(block);
      left_over_.Append(block->text.view().substr(0, block->size));
    }
    return ParseLeftOver();
  }

  absl::Status ParseLeftOver() {
    PaddedText text = std::exchange(left_over_, PaddedText());
    const uint64_t offset = left_over_offset_;
    std::unique_ptr<BlockParser> parser = BorrowParser();
    BlockResult result = parser->Parse(text.data(), text.size(), offset, list_state_, block_options_);
    {
      std::lock_guard<std::mutex> lock(mutex_);
      parsers_.push_back(std::move(parser));
    }
    return Accept(text.view(), offset, std::move(result));
  }

  // Takes the result of the text that follows everything accepted so far.
  absl::Status Accept(absl::string_view text, uint64_t offset, BlockResult result) {
    if (result.ends_with_comma_before) {
      result.error_offset = last_comma_offset_;
      if (result.end == BlockResult::End::kListEnd) {
        info_.report.Repair(json::DamageName(json::Damage::kTrailingComma), last_comma_offset_);
      }
    }
    if (result.has_comma) last_comma_offset_ = offset + result.last_comma;
    info_.report.Merge(result.report);
    for (EventBatch& batch : result.batches) {
      flows_.Process(batch);
      pairing_.Process(std::move(batch), &ready_, &info_.report);
    }
    list_state_ = result.state;
    left_over_offset_ = offset + result.consumed;
    switch (result.end) {
      case BlockResult::End::kOpen: left_over_ = PaddedText(); return absl::OkStatus();
      case BlockResult::End::kPartial:
        left_over_ = PaddedText(text.substr(result.consumed));
        partial_offset_ = result.error_offset;
        partial_reason_ = result.error.reason;
        partial_is_truncation_ = result.error.is_truncation;
        if (left_over_.size() > kMaxEventBytes) {
          return absl::ResourceExhaustedError(absl::StrCat(input_->name(), ":", left_over_offset_,
                                                           ": an event of more than ", kMaxEventBytes,
                                                           " bytes (an unclosed string?)"));
        }
        return absl::OkStatus();
      case BlockResult::End::kListEnd: {
        // What was cut into blocks behind the list is document again.
        PaddedText rest(text.substr(result.consumed));
        for (const std::shared_ptr<Block>& block : in_flight_) {
          Wait(block);
          rest.Append(block->text.view().substr(0, block->size));
        }
        in_flight_.clear();
        rest.Append(text_.view().substr(position_));
        text_ = std::move(rest);
        text_offset_ = left_over_offset_;
        position_ = 0;
        left_over_ = PaddedText();
        phase_ = Phase::kDocument;
        return absl::OkStatus();
      }
      case BlockResult::End::kError: return ErrorAt(result.error_offset, result.error.reason, false);
    }
    return absl::InternalError("block result");
  }

  // The input ended inside the list.
  absl::Status ListAtEndOfInput() {
    text_offset_ = left_over_offset_ + left_over_.size();
    if (left_over_.size() > 0) {
      // Inside an event.
      if (!options_.salvage) {
        if (!source_->status().ok()) return source_->status();
        return ErrorAt(partial_offset_, absl::StrCat(partial_reason_, ": the file is truncated"), true);
      }
      info_.report.salvaged = true;
      if (list_state_ == ListState::kSeparator) {
        info_.report.Repair("missing_separator", partial_offset_, partial_reason_);
      } else {
        ++info_.report.seen;
        if (partial_is_truncation_) {
          info_.report.Skip("truncated", left_over_offset_, partial_reason_);
        } else {
          info_.report.Skip("damaged", partial_offset_, partial_reason_);
        }
      }
      list_state_ = ListState::kElement;
      // Perhaps only a quote is missing: go on at the next event, if there is one.
      const size_t next = FindNextEventStart(left_over_.data(), left_over_.size(), 1);
      if (next < left_over_.size()) {
        left_over_offset_ += next;
        left_over_.RemovePrefix(next);
        return ParseLeftOver();
      }
      left_over_ = PaddedText();
      if (!source_->status().ok()) return Truncated("the end of the container");
      phase_ = Phase::kDone;
      return absl::OkStatus();
    }
    if (info_.array_form && source_->status().ok() && !options_.strict) {
      if (list_state_ == ListState::kElement) {
        info_.report.Repair(json::DamageName(json::Damage::kTrailingComma), last_comma_offset_);
      }
      info_.report.Repair("missing_closing_bracket", text_offset_);
      phase_ = Phase::kDone;
      return absl::OkStatus();
    }
    return Truncated(list_state_ == ListState::kElement ? "an event" : "`,` or `]`");
  }

  // ---- The end
  // ----------------------------------------------------------------------------------------------------------

  absl::Status Finish() {
    pairing_.Finish(&ready_, &info_.report);
    flows_.Finish(&info_.report);
    info_.report.input_bytes = source_->position();
    if (!info_.report.IsBalanced()) {
      return absl::InternalError(absl::StrCat(input_->name(), ": events got lost: ", info_.report.ToText()));
    }
    const ImportReport::Entry* const no_phase = info_.report.Find("no_phase");
    if (info_.array_form && no_phase != nullptr && no_phase->count == info_.report.seen) {
      return ErrorAt(no_phase->first_offsets[0],
                     "expected events, got an array of objects without \"ph\": no Chrome trace", false);
    }
    return absl::OkStatus();
  }

  const std::unique_ptr<io::Input> input_;
  const std::unique_ptr<io::ByteSource> source_;
  const ImportOptions options_;
  io::Executor& executor_;
  const ImporterTuning tuning_;
  BlockParser::Options block_options_;

  TraceInfo info_;
  absl::Status status_;
  std::deque<EventBatch> ready_;
  Phase phase_ = Phase::kDocument;
  DocumentState document_state_ = DocumentState::kBegin;
  absl::flat_hash_map<std::string, size_t> metadata_place_;  // by key, in info_.metadata
  bool has_list_ = false;
  std::string first_damage_;
  uint64_t first_damage_offset_ = 0;
  uint64_t member_comma_offset_ = 0;

  std::vector<PaddedText> spare_texts_;
  PaddedText text_;           // read, but not given to anybody yet, from position_ on
  uint64_t text_offset_ = 0;  // of text_[0] in the file
  size_t position_ = 0;
  bool is_input_at_end_ = false;

  ListState next_block_state_ = ListState::kStart;  // of the next block to be cut
  ListState list_state_ = ListState::kStart;        // behind everything accepted
  PaddedText left_over_;                            // accepted blocks' rest: an event that is not whole yet
  uint64_t left_over_offset_ = 0;
  uint64_t last_comma_offset_ = 0;
  uint64_t partial_offset_ = 0;
  std::string partial_reason_;
  bool partial_is_truncation_ = false;
  SlicePairing pairing_;
  FlowCensus flows_;

  std::mutex mutex_;
  std::condition_variable done_;
  std::vector<std::unique_ptr<BlockParser>> parsers_;
  std::deque<std::shared_ptr<Block>> in_flight_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<TraceSource>> OpenChromeJson(std::unique_ptr<io::Input> input,
                                                            const ImportOptions& options, io::Executor& executor,
                                                            const ImporterTuning& tuning) {
  if (!options.format.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("chrome: unknown import option ", options.format[0].first));
  }
  return std::unique_ptr<TraceSource>(new ChromeImporter(std::move(input), options, executor, tuning));
}

int SniffChromeJson(absl::string_view head) {
  const char* const end = head.data() + head.size();
  const char* p = head.data();
  while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) ++p;
  if (p == end) return 0;
  const absl::string_view text(p, static_cast<size_t>(end - p));
  const auto has = [&](absl::string_view word) { return text.find(word) != absl::string_view::npos; };
  if (*p == '{') {
    if (has(absl::StrCat("\"", fields::kTraceEvents, "\""))) return 90;
    if (has("\"nodes\"") && has("\"schema\"")) return 0;  // a PyTorch execution trace
    return 10;
  }
  if (*p != '[') return 0;
  if (has("\"ph\"")) return 80;
  return 10;
}

}  // namespace tracekiln::chrome

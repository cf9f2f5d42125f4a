// Input is cut into blocks of a fixed size, each compressed on its own, by whichever thread is free, and written in
// order. Output therefore does not depend on the threads.
//
// gzip as pigz does it: every block is deflated without history and flushed to a byte boundary by an empty stored block
// (a "full flush"); the concatenation is one deflate stream, closed by an empty final block. The CRCs of the blocks are
// combined to that of the whole. zstd: each block is a frame, and concatenated frames are a zstd file.
//
// A block that the writer must wait for and that no thread has begun is compressed by the writer itself. So a sink
// makes progress even if all threads of the executor are busy, or are themselves writing to such sinks: it never waits
// for work that has not started.
#include "formats/io/compressing_sink.h"

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace tracekiln::io {
namespace {

constexpr size_t kGzipBlockBytes = 512 << 10;
constexpr size_t kZstdBlockBytes = 4 << 20;

// Memory that compressing a block needs. It goes from block to block: fresh pages for each would cost as much as the
// compression itself.
struct Scratch {
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { ZSTD_freeCCtx(zstd); }

  std::string in;
  std::string out;       // larger than what it holds
  size_t out_bytes = 0;  // what it holds
  std::unique_ptr<isal_zstream> deflate;
  std::vector<uint8_t> deflate_level;
  ZSTD_CCtx* zstd = nullptr;

  void ReserveOut(size_t size) {
    if (out.size() < size) out.resize(size);
  }
};

struct Block {
  std::unique_ptr<Scratch> scratch;
  int level = 0;
  void (*encode)(Block*) = nullptr;

  uint32_t crc = 0;  // gzip: of the input
  const char* error = nullptr;

  std::atomic<bool> is_claimed{false};
  std::mutex mutex;
  std::condition_variable done;
  bool is_done = false;  // guarded by mutex

  // Encodes unless another thread does.
  void TryRun() {
    if (is_claimed.exchange(true)) return;
    encode(this);
    std::lock_guard<std::mutex> lock(mutex);
    is_done = true;
    done.notify_all();
  }

  void RunOrWait() {
    TryRun();
    std::unique_lock<std::mutex> lock(mutex);
    done.wait(lock, [this] { return is_done; });
  }
};

void EncodeGzip(Block* block) {
  Scratch& scratch = *block->scratch;
  std::string& in = scratch.in;
  block->crc = crc32_gzip_refl(0, reinterpret_cast<const unsigned char*>(in.data()), in.size());
  static constexpr uint32_t kLevelBytes[] = {ISAL_DEF_LVL0_DEFAULT, ISAL_DEF_LVL1_DEFAULT, ISAL_DEF_LVL2_DEFAULT,
                                             ISAL_DEF_LVL3_DEFAULT};
  scratch.deflate_level.resize(kLevelBytes[block->level]);
  if (scratch.deflate == nullptr) scratch.deflate = std::make_unique<isal_zstream>();
  isal_zstream* const stream = scratch.deflate.get();
  // Stateless: falls back to stored blocks where deflating would make the data larger.
  isal_deflate_stateless_init(stream);
  stream->level = static_cast<uint32_t>(block->level);
  stream->level_buf = scratch.deflate_level.data();
  stream->level_buf_size = static_cast<uint32_t>(scratch.deflate_level.size());
  stream->flush = FULL_FLUSH;
  stream->end_of_stream = 0;
  stream->next_in = reinterpret_cast<uint8_t*>(in.data());
  stream->avail_in = static_cast<uint32_t>(in.size());
  scratch.ReserveOut(in.size() + in.size() / 64 + 1024);  // stored blocks cost 5 bytes for each 64 KiB
  stream->next_out = reinterpret_cast<uint8_t*>(scratch.out.data());
  stream->avail_out = static_cast<uint32_t>(scratch.out.size());
  if (isal_deflate_stateless(stream) != COMP_OK || stream->avail_in != 0) {
    block->error = "the deflate library failed";
    return;
  }
  scratch.out_bytes = scratch.out.size() - stream->avail_out;
}

void EncodeZstd(Block* block) {
  Scratch& scratch = *block->scratch;
  if (scratch.zstd == nullptr) scratch.zstd = ZSTD_createCCtx();
  if (scratch.zstd == nullptr) {
    block->error = "no memory for the zstd compressor";
    return;
  }
  ZSTD_CCtx_setParameter(scratch.zstd, ZSTD_c_compressionLevel, block->level);
  ZSTD_CCtx_setParameter(scratch.zstd, ZSTD_c_checksumFlag, 1);
  scratch.ReserveOut(ZSTD_compressBound(scratch.in.size()));
  const size_t result =
      ZSTD_compress2(scratch.zstd, scratch.out.data(), scratch.out.size(), scratch.in.data(), scratch.in.size());
  if (ZSTD_isError(result)) {
    block->error = ZSTD_getErrorName(result);
    return;
  }
  scratch.out_bytes = result;
}

class BlockSink : public ByteSink {
 public:
  ~BlockSink() override {
    // Scheduled work holds its block and not this sink. What has not started need not: take it away.
    for (const std::shared_ptr<Block>& block : in_flight_) block->is_claimed = true;
  }

 protected:
  BlockSink(std::unique_ptr<ByteSink> sink, int level, Executor* executor, size_t block_bytes, void (*encode)(Block*))
      : ByteSink(sink->name()),
        sink_(std::move(sink)),
        level_(level),
        executor_(executor),
        block_bytes_(block_bytes),
        encode_(encode),
        max_in_flight_count_(executor == nullptr ? 0 : static_cast<size_t>(executor->concurrency()) + 1) {}

  void WriteSome(absl::string_view bytes) final {
    while (!bytes.empty() && status().ok()) {
      std::string& in = Pending()->in;
      const size_t size = std::min(bytes.size(), block_bytes_ - in.size());
      in.append(bytes.data(), size);
      bytes.remove_prefix(size);
      if (in.size() == block_bytes_) SubmitPending();
    }
  }

  void Finish() final {
    if (!Pending()->in.empty() || (!has_blocks_ && needs_a_block())) SubmitPending();
    while (!in_flight_.empty() && status().ok()) WriteOldest();
    if (!status().ok()) return;
    WriteEnd();
    if (absl::Status status = sink_->Close(); !status.ok()) set_status(std::move(status));
  }

  // Whether empty input still makes a block.
  virtual bool needs_a_block() const = 0;
  virtual void WriteStart() {}
  virtual void BlockWritten(const Block&) {}
  virtual void WriteEnd() {}

  void Emit(absl::string_view bytes) {
    sink_->Write(bytes);
    if (!sink_->status().ok()) set_status(sink_->status());
  }

 private:
  // Where input is gathered.
  Scratch* Pending() {
    if (pending_ == nullptr) {
      if (spare_.empty()) {
        pending_ = std::make_unique<Scratch>();
        pending_->in.reserve(block_bytes_);
      } else {
        pending_ = std::move(spare_.back());
        spare_.pop_back();
        pending_->in.clear();
      }
    }
    return pending_.get();
  }

  void SubmitPending() {
    has_blocks_ = true;
    auto block = std::make_shared<Block>();
    block->scratch = std::move(pending_);
    block->level = level_;
    block->encode = encode_;
    in_flight_.push_back(block);
    if (executor_ != nullptr) executor_->Schedule([block] { block->TryRun(); });
    while (in_flight_.size() > max_in_flight_count_ && status().ok()) WriteOldest();
  }

  void WriteOldest() {
    const std::shared_ptr<Block> block = std::move(in_flight_.front());
    in_flight_.pop_front();
    block->RunOrWait();
    if (block->error != nullptr) {
      set_status(absl::InternalError(absl::StrCat(name(), ": cannot compress: ", block->error)));
      return;
    }
    if (!is_started_) WriteStart();
    is_started_ = true;
    Emit(absl::string_view(block->scratch->out.data(), block->scratch->out_bytes));
    BlockWritten(*block);
    spare_.push_back(std::move(block->scratch));  // the block is done: nobody else will touch it
  }

  const std::unique_ptr<ByteSink> sink_;
  const int level_;
  Executor* const executor_;
  const size_t block_bytes_;
  void (*const encode_)(Block*);
  const size_t max_in_flight_count_;
  std::unique_ptr<Scratch> pending_;
  std::vector<std::unique_ptr<Scratch>> spare_;
  std::deque<std::shared_ptr<Block>> in_flight_;  // oldest first
  bool has_blocks_ = false;
  bool is_started_ = false;
};

class GzipSink final : public BlockSink {
 public:
  GzipSink(std::unique_ptr<ByteSink> sink, int level, Executor* executor)
      : BlockSink(std::move(sink), level, executor, kGzipBlockBytes, EncodeGzip) {}

 protected:
  bool needs_a_block() const override { return false; }

  void WriteStart() override {
    // No name, no time (the output is to be reproducible), unknown system.
    static constexpr char kHeader[10] = {'\x1f', '\x8b', 8, 0, 0, 0, 0, 0, 0, '\xff'};
    Emit(absl::string_view(kHeader, sizeof(kHeader)));
    is_header_written_ = true;
  }

  void BlockWritten(const Block& block) override {
    crc_ = static_cast<uint32_t>(crc32_combine(crc_, block.crc, static_cast<z_off_t>(block.scratch->in.size())));
  }

  void WriteEnd() override {
    if (!is_header_written_) WriteStart();
    std::string end("\x03\0", 2);  // an empty final block
    for (int i = 0; i < 4; ++i) end.push_back(static_cast<char>(crc_ >> 8 * i));
    for (int i = 0; i < 4; ++i) end.push_back(static_cast<char>(bytes_written() >> 8 * i));
    Emit(end);
  }

 private:
  bool is_header_written_ = false;
  uint32_t crc_ = 0;
};

class ZstdSink final : public BlockSink {
 public:
  ZstdSink(std::unique_ptr<ByteSink> sink, int level, Executor* executor)
      : BlockSink(std::move(sink), level, executor, kZstdBlockBytes, EncodeZstd) {}

 protected:
  bool needs_a_block() const override { return true; }  // an empty file is not a zstd file, an empty frame is
};

}  // namespace

std::unique_ptr<ByteSink> MakeGzipSink(std::unique_ptr<ByteSink> sink, int level, Executor* executor) {
  return std::make_unique<GzipSink>(std::move(sink), level, executor);
}

std::unique_ptr<ByteSink> MakeZstdSink(std::unique_ptr<ByteSink> sink, int level, Executor* executor) {
  return std::make_unique<ZstdSink>(std::move(sink), level, executor);
}

}  // namespace tracekiln::io

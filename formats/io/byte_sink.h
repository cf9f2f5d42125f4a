#ifndef TRACEKILN_FORMATS_IO_BYTE_SINK_H_
#define TRACEKILN_FORMATS_IO_BYTE_SINK_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace tracekiln::io {

// Where exporters put bytes: a file, a compressor before a file, a string. Errors are sticky, so that a writer checks
// once, at Close:
//
//   sink->Write("{\"traceEvents\": [");
//   ...
//   if (absl::Status status = sink->Close(); !status.ok()) return status;
//
// Without Close nothing is promised: a file sink then leaves its target as it was. Not thread-safe.
class ByteSink {
 public:
  virtual ~ByteSink();
  ByteSink(const ByteSink&) = delete;
  ByteSink& operator=(const ByteSink&) = delete;

  // Appends bytes. After an error, or after Close, does nothing. The bytes are copied or written before it returns.
  void Write(absl::string_view bytes) {
    if (is_closed_ || !status_.ok()) return;
    bytes_written_ += bytes.size();
    WriteSome(bytes);
  }

  // Finishes the output and makes it visible and durable. Returns status(). A second call does nothing.
  [[nodiscard]] absl::Status Close();

  // The first error, with the name of the output.
  const absl::Status& status() const { return status_; }

  // Bytes given to Write so far, before any compression.
  uint64_t bytes_written() const { return bytes_written_; }

  // The name for messages.
  const std::string& name() const { return name_; }

 protected:
  explicit ByteSink(std::string name) : name_(std::move(name)) {}

  // Implement Write and Close; called only while status() is OK. Report errors by set_status.
  virtual void WriteSome(absl::string_view bytes) = 0;
  virtual void Finish() = 0;

  // Keeps the first error only.
  void set_status(absl::Status status) {
    if (status_.ok()) status_ = std::move(status);
  }

 private:
  const std::string name_;
  absl::Status status_;
  uint64_t bytes_written_ = 0;
  bool is_closed_ = false;
};

// Appends to a string that the caller owns and that outlives the sink.
class StringSink final : public ByteSink {
 public:
  explicit StringSink(std::string* out, std::string name = "<memory>") : ByteSink(std::move(name)), out_(out) {}

 protected:
  void WriteSome(absl::string_view bytes) override { out_->append(bytes.data(), bytes.size()); }
  void Finish() override {}

 private:
  std::string* const out_;
};

}  // namespace tracekiln::io

#endif  // TRACEKILN_FORMATS_IO_BYTE_SINK_H_

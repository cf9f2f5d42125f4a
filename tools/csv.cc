#include "tools/csv.h"

#include <charconv>

#include "absl/strings/str_cat.h"

namespace tracekiln::tools {

void CsvLine::Cell() {
  if (is_finished_) {
    line_.clear();
    is_finished_ = false;
  } else {
    line_ += ',';
  }
}

CsvLine& CsvLine::Text(absl::string_view text) {
  Cell();
  const bool is_quoted =
      text.find_first_of(",\"\r\n") != absl::string_view::npos ||
      (!text.empty() &&
       (absl::string_view("=+-@ \t").find(text.front()) != absl::string_view::npos || text.back() == ' '));
  if (!is_quoted) {
    absl::StrAppend(&line_, text);
    return *this;
  }
  line_ += '"';
  for (const char c : text) {
    if (c == '"') line_ += '"';
    line_ += c;
  }
  line_ += '"';
  return *this;
}

CsvLine& CsvLine::Int(int64_t value) {
  Cell();
  absl::StrAppend(&line_, value);
  return *this;
}

CsvLine& CsvLine::Double(double value) {
  Cell();
  char text[40];
  line_.append(text, std::to_chars(text, text + sizeof(text), value).ptr);
  return *this;
}

CsvLine& CsvLine::Empty() {
  Cell();
  return *this;
}

absl::string_view CsvLine::Finish() {
  if (is_finished_) line_.clear();
  is_finished_ = true;
  line_ += '\n';
  return line_;
}

}  // namespace tracekiln::tools

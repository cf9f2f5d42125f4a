// Lines of comma-separated values, quoted as RFC 4180 says. Lines end with "\n".
//
//   CsvLine line;
//   line.Text("a,b").Int(-3).Empty().Text("=1+1");
//   out += line.Finish();                            // "a,b",-3,,"=1+1"
#ifndef TRACEKILN_TOOLS_CSV_H_
#define TRACEKILN_TOOLS_CSV_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace tracekiln::tools {

class CsvLine {
 public:
  // Quoted where it must be, and where it looks like a formula (= + - @ first): quotes don't keep a spreadsheet from
  // taking it for one, but the text stays as it is.
  CsvLine& Text(absl::string_view text);
  CsvLine& Int(int64_t value);
  // The shortest text that reads back as the same double.
  CsvLine& Double(double value);
  CsvLine& Empty();
  // The line with its end, and begins the next. Valid until then.
  absl::string_view Finish();

 private:
  void Cell();

  std::string line_;
  bool is_finished_ = true;
};

}  // namespace tracekiln::tools

#endif  // TRACEKILN_TOOLS_CSV_H_

#include "formats/format/detect.h"

#include <string>

#include "absl/strings/match.h"
#include "gtest/gtest.h"

namespace tracekiln {
namespace {

Format MakeFormat(absl::string_view name, int (*sniff)(absl::string_view)) {
  Format format;
  format.name = name;
  format.sniff = sniff;
  return format;
}

TEST(DetectFormat, TakesTheSurestAndOfEqualsTheFirst) {
  const Format never = MakeFormat("never", [](absl::string_view) { return 0; });
  const Format maybe = MakeFormat("maybe", [](absl::string_view) { return 50; });
  const Format other = MakeFormat("other", [](absl::string_view) { return 50; });
  const Format magic =
      MakeFormat("magic", [](absl::string_view head) { return absl::StartsWith(head, "!") ? 100 : 0; });
  const Format write_only = MakeFormat("write_only", nullptr);
  const Format* const formats[] = {&write_only, &never, &maybe, &other, &magic};
  EXPECT_EQ((*DetectFormat(formats, "x", "f"))->name, "maybe");
  EXPECT_EQ((*DetectFormat(formats, "!", "f"))->name, "magic");
  EXPECT_EQ(FindFormatByName(formats, "other"), &other);
  EXPECT_EQ(FindFormatByName(formats, "othe"), nullptr);
}

TEST(DetectFormat, SaysWhatTheFileLooksLike) {
  const Format never = MakeFormat("never", [](absl::string_view) { return 0; });
  const Format* const formats[] = {&never};
  const absl::StatusOr<const Format*> format = DetectFormat(formats, "<html>", "x.json");
  ASSERT_FALSE(format.ok());
  EXPECT_EQ(format.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(format.status().message(),
            "x.json:0: no known trace format, this looks like an HTML page (a download that wanted a login?)");
  EXPECT_FALSE(DetectFormat({}, "", "x").ok());
}

TEST(DescribeContent, Table) {
  struct Case {
    std::string head;
    const char* want;  // its beginning
  };
  const Case kCases[] = {
      {"", "an empty file"},
      {" \n\t", "a file of blanks only"},
      {"\xff\xfe{", "UTF-16 text"},
      {std::string("{\0\"\0", 4), "UTF-16 text without"},
      {std::string("\0{\0\"", 4), "UTF-16 text without"},
      {std::string("\0\5\x16\7\0\2\0\0Mac OS X", 16), "a resource fork"},
      {std::string("\x1f\x8b\x08", 3), "gzip"},
      {"PK\x03\x04", "a zip archive"},
      {"\x80\x04\x95", "a pickle, not marshal data"},
      {"(dp0\nVtimings\np1\n(dp2\nsVunit\np3\nF1e-06\ns.", "a pickle of line_profiler, not marshal data"},
      {"import time: self [us] | cumulative\n", "the text of python -X importtime"},
      {"Timer unit: 1e-06 s\n\nTotal time: 2 s\n", "the text of line_profiler"},
      {"\n <!DOCTYPE HTML>", "an HTML page"},
      {std::string("SQLite format 3\0abc", 19), "an SQLite database"},
      {"{\"nodes\": []}", "JSON that is no trace"},
      {"[1, 2]", "JSON that is no trace"},
      {"ts,dur\n1,2\n", "plain text"},
      {"\xd0\xb0\xd0", "plain text"},
      {std::string("\0\0\0\0", 4), "binary data"},
      {"\x01\x02", "binary data"},
      {"\x80", "plain text"},
      {"version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer"},
  };
  for (const Case& c : kCases) {
    EXPECT_TRUE(absl::StartsWith(DescribeContent(c.head), c.want)) << c.want << ": " << DescribeContent(c.head);
  }
}

}  // namespace
}  // namespace tracekiln

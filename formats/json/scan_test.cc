// The scanning primitives against loops over single bytes: exhaustively for short texts, randomly around the edges of
// vectors.
#include "formats/json/scan.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace tracekiln::json {
namespace {

size_t PlainSkipBlanks(const std::string& s) {
  size_t i = 0;
  while (i < s.size() && (s[i] == ' ' || s[i] == '\n' || s[i] == '\r' || s[i] == '\t')) ++i;
  return i;
}

size_t PlainStringEnd(const std::string& s, size_t i, bool* escaped) {
  while (i < s.size() && s[i] != '"') {
    if (s[i] == '\\') {
      *escaped = true;
      ++i;
    }
    ++i;
  }
  return i < s.size() ? i : s.size();
}

constexpr size_t kNone = ~size_t{0};

size_t PlainNestedEnd(const std::string& s) {
  int depth = 0;
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '"') {
      bool escaped = false;
      i = PlainStringEnd(s, i + 1, &escaped);
    } else if (s[i] == '[' || s[i] == '{') {
      ++depth;
    } else if ((s[i] == ']' || s[i] == '}') && --depth <= 0) {
      return i + 1;
    }
  }
  return kNone;
}

// `rest` stands behind the end and must make no difference.
void Check(const std::string& text, const std::string& rest) {
  const std::string padded = text + rest + std::string(kPadding, '\0');
  const char* const begin = padded.data();
  const char* const end = begin + text.size();
  ASSERT_EQ(SkipBlanks(begin, end), begin + PlainSkipBlanks(text)) << text;
  bool escaped = false;
  bool want_escaped = false;
  const size_t want = PlainStringEnd(text, 0, &want_escaped);
  ASSERT_EQ(FindStringEnd(begin, end, &escaped), begin + want) << text;
  ASSERT_EQ(escaped, want_escaped) << text;
  const size_t first = text.find_first_of("\"\\");
  ASSERT_EQ(FindQuoteOrBackslash(begin, end), first == std::string::npos ? end : begin + first) << text;
  if (!text.empty() && (text[0] == '[' || text[0] == '{')) {
    const size_t nested = PlainNestedEnd(text);
    ASSERT_EQ(FindNestedEnd(begin, end), nested == kNone ? nullptr : begin + nested) << text;
  }
}

TEST(Scan, EqualsThePlainLoopsOnAllShortTexts) {
  const std::string alphabet = "[]{}\"\\ a";
  for (size_t length = 0; length <= 5; ++length) {
    size_t count = 1;
    for (size_t i = 0; i < length; ++i) count *= alphabet.size();
    for (size_t n = 0; n < count; ++n) {
      std::string text;
      for (size_t i = 0, rest = n; i < length; ++i, rest /= alphabet.size()) text += alphabet[rest % alphabet.size()];
      Check(text, "]\"");
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Scan, EqualsThePlainLoopsAtAllPlacesAroundTheEdgesOfVectors) {
  for (size_t length = 0; length <= 100; ++length) {
    for (size_t place = 0; place < length; ++place) {
      for (const char c : {'"', '\\', ']', 'x'}) {
        for (const char fill : {' ', 'a', '\n'}) {
          std::string text(length, fill);
          text[place] = c;
          Check(text, "\"]]]");
          text[0] = '[';
          Check(text, "\"]]]");
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(Scan, EqualsThePlainLoopsOnRandomTexts) {
  std::mt19937 random(1);
  const std::string alphabet = "[]{}\"\\ \n\t\ra,:\x80\xdb\xfd;=";
  for (int round = 0; round < 100000; ++round) {
    std::string text = round % 2 == 0 ? "[" : "";
    const size_t length = random() % 120;
    const size_t letters = 1 + random() % 40;  // mostly "a" with few brackets and quotes, or the other way round
    while (text.size() < length) text += random() % letters == 0 ? alphabet[random() % alphabet.size()] : 'a';
    Check(text, std::string(1, alphabet[random() % alphabet.size()]));
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace tracekiln::json

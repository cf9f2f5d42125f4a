#include "formats/format/pickle.h"

#include <string>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace tracekiln {
namespace {

template <size_t N>
std::string S(const char (&literal)[N]) {
  return std::string(literal, N - 1);
}

// Bytes of CPython 3.11.
TEST(DescribePickle, KnowsAllProtocols) {
  struct Case {
    const char* name;
    std::string head;
  };
  const Case kCases[] = {
      {"dict, protocol 0", "(dp0\nVa\np1\nI1\nsVb\np2\n(lp3\nI1\naF2.5\nas."},
      {"dict, protocol 1", S("}q\0(X\1\0\0\0aq\1K\1X\1\0\0\0bq\2]q\3(K\1G@\4\0\0\0\0\0\0eu.")},
      {"dict, protocol 2", S("\x80\2}q\0.")},
      {"dict, protocol 5", S("\x80\5\x95\x1e\0\0\0\0\0\0\0}\x94.")},
      {"dict of Python 2", "(dp1\nS'a'\np2\nI1\nsS\"it's\"\np3\nL5L\ns."},
      {"empty dict, protocol 0", "(dp0\n."},
      {"empty list, protocol 1", S("]q\0.")},
      {"tuple, protocol 0", "(I1\nI-2\ntp0\n."},
      {"tuple, protocol 1", S("(K\1K\0tq\0.")},
      {"text, protocol 0", "Vabc\np0\n."},
      {"text, protocol 1", S("X\3\0\0\0abcq\0.")},
      {"bytes, protocol 0", "c_codecs\nencode\np0\n(Vabc\np1\nVlatin1\np2\ntp3\nRp4\n."},
      {"set, protocol 1", S("c__builtin__\nset\nq\0(]q\1(K\1K\2etq\2Rq\3.")},
      {"None", "N."},
      {"integer, protocol 0", "I5\n."},
      {"float, protocol 1", S("G?\xf8\0\0\0\0\0\0.")},
  };
  for (const Case& c : kCases) EXPECT_EQ(DescribePickle(c.head), "a pickle") << c.name;
}

TEST(DescribePickle, KnowsWhereTheHeadEnds) {
  const std::string whole = S("}q\0(X\1\0\0\0aq\1K\1X\1\0\0\0bq\2]q\3(K\1G@\4\0\0\0\0\0\0eu.");
  for (size_t size = 2; size <= whole.size(); ++size) {
    EXPECT_EQ(DescribePickle(absl::string_view(whole).substr(0, size)), "a pickle") << size;
  }
  EXPECT_EQ(DescribePickle(whole + "x"), "");
}

TEST(DescribePickle, NamesTheProgram) {
  EXPECT_EQ(DescribePickle("(dp0\nVtimings\np1\n(dp2\nsVunit\np3\nF1e-06\ns."), "a pickle of line_profiler");
  EXPECT_EQ(DescribePickle(S("\x80\2cline_profiler.line_profiler\nLineStats\nq\0)\x81q\1.")),
            "a pickle of line_profiler");
  EXPECT_EQ(DescribePickle("ccopy_reg\n_reconstructor\np0\n(cline_profiler\nLineStats\np1\n"),
            "a pickle of line_profiler");
  EXPECT_EQ(DescribePickle(S("\x80\4\x95\x10\0\0\0\0\0\0\0}\x94(\x8c\x08segments\x94]\x94u.")),
            "a pickle of a memory snapshot of PyTorch");
}

TEST(DescribePickle, LeavesTheRest) {
  const std::string kOthers[] = {
      "",
      "{\"a\": 1}",
      "[1, 2]",
      ".",
      "N",
      "None",
      "0.",
      "(a note)",
      "Version 3\nof this\n",
      "Stop\n.",
      "Io\n.",
      "copy this\nplease\n",
      "ncalls tottime\n",
      "pages\n",
      S("(\3\0\0\0i\1\0\0\0"),  // a marshalled tuple
      S("\x80\6}"),
      S("\x80"),
      S("\0\0\0\0"),
  };
  for (const std::string& other : kOthers) EXPECT_EQ(DescribePickle(other), "") << other;
}

}  // namespace
}  // namespace tracekiln

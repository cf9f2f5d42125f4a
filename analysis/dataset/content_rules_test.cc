#include "analysis/dataset/content_rules.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "analysis/dataset/dataset.h"
#include "gtest/gtest.h"

namespace tracekiln::dataset {
namespace {

using namespace std::string_literals;

struct Case {
  absl::string_view name;
  std::string head;
  FileKind kind;
};

// Without any Format: what is left to the rules of this library.
TEST(ContentRules, TellKinds) {
  const Case cases[] = {
      {"execution trace", R"({ "schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": [ {"id": 2)",
       FileKind::kExecutionTrace},
      {"nodes without schema", R"({"nodes": []})", FileKind::kStranger},
      {"schema behind a mark", "\n\n{\"schema\":\"1.0.1\",\"nodes\":[]}", FileKind::kExecutionTrace},
      {"snapshot", "\x80\x04\x95\x58\x02\0\0\0\0\0\0}\x94(\x8c\x08segments\x94"s, FileKind::kMemorySnapshot},
      {"snapshot, protocol 2", "\x80\x02}q\0(X\x08\0\0\0segmentsq\x01"s, FileKind::kMemorySnapshot},
      {"another pickle",
       "\x80\x04\x8c\x08"
       "builtins\x8c\x04"
       "exec\x93",
       FileKind::kStranger},
      {"protocol 9", "\x80\x09segments", FileKind::kStranger},
      {"chakra",
       "\x07\x0a\x05"
       "0.0.4J\x08\x01\x12\x14",
       FileKind::kChakra},
      {"chakra, header only",
       "\x07\x0a\x05"
       "0.0.4",
       FileKind::kChakra},
      {"chakra, attributes only",
       "\x0d\x12\x0b\x0a\x06"
       "schema\xea\x01\x00"s,
       FileKind::kChakra},
      {"chakra, attribute without name",
       "\x0d\x12\x0b\x12\x06"
       "schema\xea\x01\x00"s,
       FileKind::kStranger},
      {"chakra, size beyond the file",
       "\x7f\x0a\x05"
       "0.0.4",
       FileKind::kStranger},
      {"chakra, version too long",
       "\x07\x0a\x7f"
       "0.0.4",
       FileKind::kStranger},
      {"varint without end", std::string(20, '\xff'), FileKind::kStranger},
      {"log", "step 1\tloss 2.5\r\n\x1b[31mred\n", FileKind::kText},
      {"text in UTF-8", "\xc3\xa4\xc3\xb6 notes", FileKind::kText},
      {"JSON", R"({"lr": 0.1})", FileKind::kStranger},
      {"HTML", "<html><body>", FileKind::kStranger},
      {"LFS pointer", "version https://git-lfs.github.com/spec/v1\n", FileKind::kStranger},
      {"sqlite", "SQLite format 3\0xxxx"s, FileKind::kStranger},
      {"one byte", "\0"s, FileKind::kStranger},
      {"tar", absl::StrCat("rank0.json", std::string(247, '\0'), "ustar  ", std::string(300, '\0')),
       FileKind::kStranger},
  };
  for (const Case& c : cases) {
    const Content content = ClassifyContent(c.head, true, {});
    EXPECT_EQ(KindName(content.kind), KindName(c.kind)) << c.name;
    if (content.kind == FileKind::kStranger) {
      EXPECT_NE(content.note, "") << c.name;
    }
  }
}

TEST(ContentRules, TakeTheWorldSizeOfTheDefaultGroup) {
  const std::string head =
      R"({"schema": "1.1.1", "nodes": [{"name": "## process_group:init ##", "inputs": {"values": ["[{\"pg_name\": \"1\", )"
      R"(\"pg_desc\": \"tp\", \"group_size\": 2}, {\"pg_name\": \"0\", \"pg_desc\": \"default_pg\", \"ranks\": [], )"
      R"(\"group_size\": 16, \"group_count\": 4}]"]}}]})";
  EXPECT_EQ(ClassifyContent(head, true, {}).world_size, 16);
  // Cut anywhere, there is no wrong number.
  for (size_t size = 40; size < head.size(); ++size) {
    EXPECT_EQ(ClassifyContent(head.substr(0, size), false, {}).world_size.value_or(16), 16) << size;
  }
  EXPECT_EQ(ClassifyContent(R"({"schema": "1.0.1", "nodes": []})", true, {}).world_size, std::nullopt);
}

TEST(ContentRules, KnowLeftoversByName) {
  for (const char* name : {"rank1.json.tmp", "rank1.json.tmp-123-4", "rank0.tmp.json.gz", "a.json.part",
                           "a.kiln.partial", "._rank0.json", ".DS_Store", "a.json~", "a.json.bak", ".rank0.json.swp",
                           "#a.json#", ".nfs0000000001", ".rank0.json.Xy12zA", "a.lock", "A.TMP"}) {
    EXPECT_NE(LeftoverByName(name), "") << name;
  }
  for (const char* name : {"rank1.json", "tmp.json", "partial.json", "a.tmpx", ".hidden.json", "bak", "", "~a", "#a",
                           "temperature.json", ".gitignore"}) {
    EXPECT_EQ(LeftoverByName(name), "") << name;
  }
}

TEST(ContentRules, KnowWhereObjectsEnd) {
  EXPECT_TRUE(EndsLikeJson("{\"a\": 1", "1}\n \n"));
  EXPECT_FALSE(EndsLikeJson(" {\"a\": 1", "\"a\": 1"));
  EXPECT_FALSE(EndsLikeJson("{", ""));
  EXPECT_TRUE(EndsLikeJson("[{\"ph\"", "},"));
  EXPECT_TRUE(EndsLikeJson("", ""));
}

}  // namespace
}  // namespace tracekiln::dataset

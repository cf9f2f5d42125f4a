// Prints the file name of each action on standard input, a line each, or the parts of each path; for
// action_file_name_lightning_test.py.
//   action_file_name_main STAGE FILENAME RANK < ACTIONS   (RANK may be empty)
//   action_file_name_main --parse < PATHS                 (of one directory; prints the parts with tabs between them)
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "formats/pstats/action_file_name.h"

int main(int argc, char** argv) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(std::cin, line);) lines.push_back(line);
  if (argc == 2 && std::strcmp(argv[1], "--parse") == 0) {
    for (const auto& name : tracekiln::pstats::ParseActionFileNames(lines)) {
      if (name.has_value()) {
        std::cout << name->stage << '\t' << name->filename << '\t'
                  << (name->rank.has_value() ? absl::StrCat(*name->rank) : "") << '\t' << name->action << '\t'
                  << name->hash;
      }
      std::cout << '\n';
    }
    return 0;
  }
  int64_t rank = 0;
  if (argc != 4 || (argv[3][0] != '\0' && !absl::SimpleAtoi(argv[3], &rank))) {
    std::fprintf(stderr, "usage: action_file_name_main STAGE FILENAME RANK | --parse\n");
    return 2;
  }
  const bool has_rank = argv[3][0] != '\0';
  tracekiln::pstats::ActionFileNamer namer(argv[1], argv[2], has_rank ? std::optional<int64_t>(rank) : std::nullopt);
  for (const std::string& action : lines) std::cout << namer.NameFor(action) << '\n';
  return 0;
}

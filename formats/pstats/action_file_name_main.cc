// Prints the file name of each action on standard input, a line each; for action_file_name_lightning_test.py.
//   action_file_name_main STAGE FILENAME RANK < ACTIONS   (RANK may be empty)
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <optional>
#include <string>

#include "absl/strings/numbers.h"
#include "formats/pstats/action_file_name.h"

int main(int argc, char** argv) {
  int64_t rank = 0;
  if (argc != 4 || (argv[3][0] != '\0' && !absl::SimpleAtoi(argv[3], &rank))) {
    std::fprintf(stderr, "usage: action_file_name_main STAGE FILENAME RANK < ACTIONS\n");
    return 2;
  }
  tracekiln::pstats::ActionFileNamer namer(argv[1], argv[2],
                                           argv[3][0] == '\0' ? std::nullopt : std::optional<int64_t>(rank));
  std::string action;
  while (std::getline(std::cin, action)) std::cout << namer.NameFor(action) << '\n';
  return 0;
}

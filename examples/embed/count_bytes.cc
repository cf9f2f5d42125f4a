// How many bytes a file holds once it is unpacked, whatever it is packed with: count_bytes FILE
#include <cstdio>
#include <memory>
#include <vector>

#include "formats/io/byte_source.h"
#include "formats/io/input.h"

int main(int argc, char** argv) {
  const auto input = tracekiln::io::OpenInput(argc > 1 ? argv[1] : "-");
  if (!input.ok()) return std::fprintf(stderr, "%s\n", input.status().ToString().c_str()), 1;
  const std::unique_ptr<tracekiln::io::ByteSource> bytes = (*input)->Stream();
  std::vector<char> buffer(1 << 20);
  while (bytes->Read(buffer.data(), buffer.size()) != 0) {
  }
  std::printf("%llu\n", static_cast<unsigned long long>(bytes->position()));
  return bytes->status().ok() ? 0 : 1;
}

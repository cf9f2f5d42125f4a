#include "formats/intermediate/testing/batch_generator.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "formats/intermediate/field_catalog.h"

namespace tracekiln {
namespace {

// std::uniform_int_distribution differs between libraries; this does not.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  uint64_t Bits() { return engine_(); }
  size_t Below(size_t n) { return static_cast<size_t>(engine_() % n); }
  bool OneIn(size_t n) { return Below(n) == 0; }
  double Unit() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }

 private:
  std::mt19937_64 engine_;
};

int64_t UglyInt(Random& random) {
  switch (random.Below(8)) {
    case 0: return 0;
    case 1: return -1;
    case 2: return std::numeric_limits<int64_t>::min();
    case 3: return std::numeric_limits<int64_t>::max();
    case 4: return static_cast<int64_t>(random.Bits());
    case 5: return std::numeric_limits<int32_t>::min();
    case 6: return int64_t{std::numeric_limits<int32_t>::max()} + 1;
    default: return static_cast<int64_t>(random.Below(1000)) - 500;
  }
}

std::string UglyText(Random& random) {
  static const char* kTexts[] = {"aten::add",      "",         "a\"b\\c",        "\xc3\xa9\xe2\x82\xac\xf0\x9f\x9a\x80",
                                 "tab\tline\nend", "\x01\x1f", "ProfilerStep#12"};
  if (random.OneIn(4)) return std::string("zero\0byte", 9);
  if (random.OneIn(20)) return std::string(random.Below(3000), 'x');
  if (random.OneIn(2)) return absl::StrCat("name_", random.Below(200));
  return kTexts[random.Below(std::size(kTexts))];
}

double UglyDouble(Random& random) {
  switch (random.Below(5)) {
    case 0: return 0.0;
    case 1: return -0.0;
    case 2: return 1e308;
    case 3: return 5e-324;
    default: return std::ldexp(random.Unit() - 0.5, static_cast<int>(random.Below(80)) - 40);
  }
}

}  // namespace

EventBatch GenerateBatch(uint64_t seed, size_t rows) {
  Random random(seed);
  EventBatch batch;
  const auto text = [&] { return batch.strings.Intern(UglyText(random)); };
  const auto part = [&]() -> TrackPart {
    switch (random.Below(4)) {
      case 0: return {};
      case 1: return TrackPart::Int(UglyInt(random));
      case 2: return TrackPart::Text(text());
      default: return {TrackPart::Type::kJson, Index(batch.strings.Intern(random.OneIn(2) ? "1.5" : "null"))};
    }
  };

  std::vector<TrackId> tracks;
  for (size_t n = 1 + random.Below(random.OneIn(5) ? 700 : 6); n > 0; --n) {
    tracks.push_back(batch.InternTrack({part(), part()}));
  }
  std::vector<CategoryId> categories = {kNoCategory};
  for (size_t n = random.Below(random.OneIn(5) ? 700 : 6); n > 0; --n) {
    CategoryId id;
    if (batch.InternCategory(text(), &id)) categories.push_back(id);
  }
  struct Behaviour {
    int kind;  // 0 ugly, 1 constant, 2 counts, 3 by name, 4 by track, 5 the correlation, 6 zero or rising
    int64_t start;
  };
  std::vector<ShapeId> shapes = {ArgTable::kNoArgs};
  std::vector<std::vector<Behaviour>> behaviours = {{}};
  for (size_t n = random.Below(random.OneIn(5) ? 100 : 6); n > 0; --n) {
    std::vector<ArgField> fields;
    std::vector<Behaviour> behaviour;
    for (size_t f = random.Below(7); f > 0; --f) {
      ArgField field;
      field.key = text();
      field.type = static_cast<ArgType>(random.Below(7));
      field.place = static_cast<ArgPlace>(random.Below(2));
      const auto same = [&](const ArgField& other) { return other.key == field.key && other.place == field.place; };
      if (std::any_of(fields.begin(), fields.end(), same)) continue;
      fields.push_back(field);
      behaviour.push_back({static_cast<int>(random.Below(7)), UglyInt(random)});
    }
    ShapeId id;
    if (!batch.args.InternShape(fields, random.OneIn(2), &id)) break;
    if (Index(id) == behaviours.size()) {
      shapes.push_back(id);
      behaviours.push_back(behaviour);
    }
  }
  std::vector<StringId> names = {kNoString};
  for (size_t n = random.Below(50); n > 0; --n) names.push_back(text());

  const bool has_ugly_times = random.OneIn(2);
  int64_t ts = 0;
  std::vector<ArgValue> values;
  for (size_t i = 0; i < rows; ++i) {
    EventRow row;
    ts += static_cast<int64_t>(random.Below(2000)) - 100;
    row.ts_ns = has_ugly_times && random.OneIn(3) ? UglyInt(random) : ts;
    row.kind = static_cast<EventKind>(random.OneIn(2) ? 0 : random.Below(static_cast<size_t>(EventKind::kSliceBegin)));
    if (row.kind == EventKind::kSlice) {
      row.dur_ns = random.OneIn(8)                     ? kUnfinished
                   : has_ugly_times && random.OneIn(3) ? UglyInt(random)
                                                       : static_cast<int64_t>(random.Below(1 << 20));
      row.flags = static_cast<uint8_t>(random.Below(3));
    }
    if (row.kind == EventKind::kMetadata && random.OneIn(2)) {
      row.ts_ns = 0;
      row.flags = kNoTimestamp;
    }
    row.correlation = random.OneIn(2) ? 0 : random.OneIn(8) ? UglyInt(random) : static_cast<int64_t>(i);
    row.name = names[random.Below(names.size())];
    row.track = tracks[random.Below(tracks.size())];
    row.category = categories[random.Below(categories.size())];
    const size_t s = random.Below(shapes.size());
    const std::vector<ArgField>& fields = batch.args.shape(shapes[s]).fields;
    values.clear();
    for (size_t f = 0; f < fields.size(); ++f) {
      const Behaviour& b = behaviours[s][f];
      int64_t v = 0;
      switch (b.kind) {
        case 0: v = UglyInt(random); break;
        case 1: v = b.start; break;
        case 2: v = static_cast<int64_t>(static_cast<uint64_t>(b.start) + i); break;
        case 3: v = row.name == kNoString ? -7 : 3 * int64_t{Index(row.name)}; break;
        case 4: v = 1000 + int64_t{Index(row.track)}; break;
        case 5: v = row.correlation; break;
        default: v = random.OneIn(2) ? 0 : static_cast<int64_t>(i) * 5;
      }
      switch (fields[f].type) {
        case ArgType::kNull: values.push_back(ArgValue::Int(0)); break;
        case ArgType::kBool: values.push_back(ArgValue::Int(v & 1)); break;
        case ArgType::kInt: values.push_back(ArgValue::Int(v)); break;
        case ArgType::kDouble: values.push_back(ArgValue::Double(b.kind == 0 ? UglyDouble(random) : v / 8.0)); break;
        case ArgType::kString:
          values.push_back(ArgValue::String(b.kind == 0 ? text() : batch.strings.Intern(absl::StrCat("v", v % 100))));
          break;
        case ArgType::kJson:
          values.push_back(ArgValue::String(batch.strings.Intern(absl::StrCat("[[", v % 100, ",3],[]]"))));
          break;
        case ArgType::kNumber:
          values.push_back(ArgValue::String(batch.strings.Intern(absl::StrCat("1844674407370955", 1000 + (v & 511)))));
          break;
      }
    }
    batch.Append(row, shapes[s], values.data());
  }
  return batch;
}

EventBatch GenerateKinetoBatch(uint64_t seed, size_t rows, size_t first_row) {
  Random random(seed ^ (first_row * 0x9e3779b97f4a7c15u));
  EventBatch batch;
  const auto intern = [&](absl::string_view text) { return batch.strings.Intern(text); };
  const auto category = [&](absl::string_view text) {
    CategoryId id = kNoCategory;
    (void)batch.InternCategory(intern(text), &id);
    return id;
  };
  struct FieldSpec {
    absl::string_view key;
    ArgType type;
  };
  const auto shape = [&](std::initializer_list<FieldSpec> specs) {
    std::vector<ArgField> fields;
    for (const FieldSpec& s : specs) fields.push_back({intern(s.key), s.type, ArgPlace::kArgs});
    ShapeId id = ArgTable::kNoArgs;
    (void)batch.args.InternShape(fields, true, &id);
    return id;
  };
  constexpr ArgType kI = ArgType::kInt, kJ = ArgType::kJson, kD = ArgType::kDouble;
  const ShapeId op_shape = shape({{fields::kExternalId, kI},
                                  {fields::kRecordFunctionId, kI},
                                  {fields::kConcreteInputs, kJ},
                                  {fields::kInputType, kJ},
                                  {fields::kInputStrides, kJ},
                                  {fields::kInputDims, kJ},
                                  {fields::kEvIdx, kI}});
  const ShapeId small_op_shape =
      shape({{fields::kExternalId, kI}, {fields::kRecordFunctionId, kI}, {fields::kEvIdx, kI}});
  const ShapeId python_shape = shape({{fields::kPythonParentId, kI}, {fields::kPythonId, kI}, {fields::kEvIdx, kI}});
  const ShapeId runtime_shape = shape({{fields::kExternalId, kI}, {fields::kCbid, kI}, {fields::kCorrelation, kI}});
  const ShapeId kernel_shape = shape({{fields::kExternalId, kI},
                                      {fields::kQueued, kI},
                                      {fields::kDevice, kI},
                                      {fields::kContext, kI},
                                      {fields::kStream, kI},
                                      {fields::kCorrelation, kI},
                                      {fields::kRegistersPerThread, kI},
                                      {fields::kSharedMemory, kI},
                                      {fields::kBlocksPerSm, kD},
                                      {fields::kWarpsPerSm, kD},
                                      {fields::kGrid, kJ},
                                      {fields::kBlock, kJ},
                                      {fields::kOccupancyPercent, kI}});
  const ShapeId memcpy_shape = shape({{fields::kExternalId, kI},
                                      {fields::kDevice, kI},
                                      {fields::kContext, kI},
                                      {fields::kStream, kI},
                                      {fields::kCorrelation, kI},
                                      {fields::kBytes, kI},
                                      {fields::kMemoryBandwidth, kD}});
  const ShapeId memory_shape = shape({{fields::kTotalReserved, kI},
                                      {fields::kTotalAllocated, kI},
                                      {fields::kMemoryBytes, kI},
                                      {fields::kAddr, kI},
                                      {fields::kDeviceId, kI},
                                      {fields::kDeviceType, kI},
                                      {fields::kEvIdx, kI}});
  const CategoryId op = category("cpu_op"), python = category("python_function"), runtime = category("cuda_runtime"),
                   kernel = category("kernel"), memcpy = category("gpu_memcpy"), memory = category("cpu_instant_event");
  const TrackId main_thread = batch.InternTrack({TrackPart::Int(4711), TrackPart::Int(4711)});
  const TrackId backward_thread = batch.InternTrack({TrackPart::Int(4711), TrackPart::Int(5012)});
  const TrackId compute_stream = batch.InternTrack({TrackPart::Int(0), TrackPart::Int(7)});
  const TrackId copy_stream = batch.InternTrack({TrackPart::Int(0), TrackPart::Int(20)});

  int64_t ts = static_cast<int64_t>(first_row) * 4000 + 6'000'000'000'000;
  int64_t id = static_cast<int64_t>(first_row) + 17;
  int64_t correlation = static_cast<int64_t>(first_row) * 3 + 1000;
  int64_t allocated = 1 << 30;
  std::vector<ArgValue> v;
  const auto json = [&](size_t n) {
    return ArgValue::String(intern(absl::StrCat("[[", 1 << n % 6, ",", 64 * (n % 5 + 1), "],[", n, "]]")));
  };
  while (batch.rows() < rows) {
    EventRow row;
    ts += 300 + static_cast<int64_t>(random.Below(4000));
    row.ts_ns = ts;
    const size_t pick = random.Below(100);
    const size_t which = random.Below(40);
    v.clear();
    ++id;
    const auto add = [&](ArgValue value) { v.push_back(value); };
    if (pick < 35) {
      row.name = intern(absl::StrCat("aten::operator_", which));
      row.category = op;
      row.track = which < 25 ? main_thread : backward_thread;
      row.dur_ns = 1000 + static_cast<int64_t>(random.Below(60000));
      add(ArgValue::Int(id));
      add(ArgValue::Int(id * 2));
      if (which < 28) {
        for (size_t k = 0; k < 4; ++k) add(json(which * 7 + k + (random.OneIn(6) ? random.Below(9) : 0)));
      }
      add(ArgValue::Int(id));
      batch.Append(row, which < 28 ? op_shape : small_op_shape, v.data());
    } else if (pick < 60) {
      row.name = intern(absl::StrCat("torch/nn/modules/module_", random.Below(300), ".py(", which * 31, "): forward"));
      row.category = python;
      row.track = main_thread;
      row.dur_ns = 5000 + static_cast<int64_t>(random.Below(900000));
      add(ArgValue::Int(id - 1 - static_cast<int64_t>(random.Below(30))));
      add(ArgValue::Int(id));
      add(ArgValue::Int(id));
      batch.Append(row, python_shape, v.data());
    } else if (pick < 92) {
      // A launch and what it launched.
      ++correlation;
      const bool is_copy = pick >= 88;
      row.name = intern(is_copy ? "cudaMemcpyAsync" : "cudaLaunchKernel");
      row.category = runtime;
      row.track = which < 25 ? main_thread : backward_thread;
      row.dur_ns = 3000 + static_cast<int64_t>(random.Below(9000));
      row.correlation = correlation;
      row.flags = kFlowOut;
      add(ArgValue::Int(id));
      add(ArgValue::Int(is_copy ? 41 : 211));
      add(ArgValue::Int(correlation));
      batch.Append(row, runtime_shape, v.data());
      if (batch.rows() == rows) break;
      v.clear();
      row.ts_ns = ts + 20000 + static_cast<int64_t>(random.Below(4000));
      row.flags = kFlowIn;
      row.track = is_copy ? copy_stream : compute_stream;
      row.category = is_copy ? memcpy : kernel;
      row.dur_ns = 1500 + static_cast<int64_t>(random.Below(200000));
      add(ArgValue::Int(id));
      if (is_copy) {
        row.name = intern("Memcpy HtoD (Pageable -> Device)");
        const int64_t bytes = 4096 << random.Below(12);
        add(ArgValue::Int(0));
        add(ArgValue::Int(1));
        add(ArgValue::Int(20));
        add(ArgValue::Int(correlation));
        add(ArgValue::Int(bytes));
        add(ArgValue::Double(std::round(static_cast<double>(bytes) / static_cast<double>(row.dur_ns) * 1e6) / 1e6));
        batch.Append(row, memcpy_shape, v.data());
      } else {
        row.name =
            intern(absl::StrCat("void at::native::vectorized_elementwise_kernel<", which, ", float>(int, float)"));
        for (int64_t value : {int64_t{0}, int64_t{0}, int64_t{1}, int64_t{7}, correlation,
                              16 + 4 * static_cast<int64_t>(which % 20), static_cast<int64_t>(which % 3) * 16384}) {
          add(ArgValue::Int(value));
        }
        const size_t blocks = (which * 37 + 11 + (random.OneIn(4) ? random.Below(5) : 0)) % 4000;
        add(ArgValue::Double(static_cast<double>(blocks) / 128));
        add(ArgValue::Double(static_cast<double>(blocks) / 32));
        add(ArgValue::String(intern(absl::StrCat("[", blocks, ",1,1]"))));
        add(ArgValue::String(intern("[128,1,1]")));
        add(ArgValue::Int(static_cast<int64_t>(which * 13 % 101)));
        batch.Append(row, kernel_shape, v.data());
      }
    } else {
      row.kind = EventKind::kInstant;
      row.name = intern("[memory]");
      row.category = memory;
      row.track = main_thread;
      const int64_t bytes = (static_cast<int64_t>(random.Below(64)) - 32) * 512;
      allocated += bytes;
      for (int64_t value :
           {int64_t{1} << 31, allocated, bytes,
            int64_t{0x7f0000000000} + 512 * static_cast<int64_t>(random.Below(4096)), int64_t{0}, int64_t{1}, id}) {
        add(ArgValue::Int(value));
      }
      batch.Append(row, memory_shape, v.data());
    }
  }
  return batch;
}

}  // namespace tracekiln

#include "formats/intermediate/testing/batch_equality.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "formats/intermediate/kiln_records.h"

namespace tracekiln {

std::string RowText(const EventBatch& batch, size_t row, bool with_args) {
  const EventRow r = batch.Row(row);
  const auto quoted = [](absl::string_view text) { return absl::StrCat("'", absl::CEscape(text), "'"); };
  std::string out = absl::StrCat("kind ", static_cast<int>(r.kind), " ts ", r.ts_ns, " dur ", r.dur_ns, " corr ",
                                 r.correlation, " flags ", int{r.flags}, " name ");
  absl::StrAppend(&out, r.name == kNoString ? "-" : quoted(batch.Text(r.name)), " cat ",
                  r.category == kNoCategory ? "-" : quoted(batch.CategoryOf(row)));
  const kiln::TrackKey key = kiln::KeyOf(batch, batch.tracks()[Index(r.track)]);
  for (const kiln::TrackKeyPart& part : {key.pid, key.tid}) {
    absl::StrAppend(&out, " / ", static_cast<int>(part.type), ":", part.number, ":", quoted(part.text));
  }
  if (!with_args) return out;
  const ArgShape& shape = batch.args.shape(batch.shape[row]);
  absl::StrAppend(&out, shape.has_args_object ? " args" : " no args");
  for (size_t f = 0; f < shape.fields.size(); ++f) {
    const ArgField& field = shape.fields[f];
    absl::StrAppend(&out, " ", quoted(batch.Text(field.key)), "@", static_cast<int>(field.place), "#",
                    static_cast<int>(field.type), "=");
    const ArgValue value = batch.Arg(row, static_cast<int>(f));
    switch (field.type) {
      case ArgType::kNull: break;
      case ArgType::kBool:
      case ArgType::kInt: absl::StrAppend(&out, value.i); break;
      case ArgType::kDouble: {
        uint64_t bits;
        std::memcpy(&bits, &value.d, 8);
        absl::StrAppend(&out, absl::Hex(bits));
        break;
      }
      case ArgType::kString:
      case ArgType::kJson:
      case ArgType::kNumber: absl::StrAppend(&out, quoted(batch.Text(value.s))); break;
    }
  }
  return out;
}

std::string FirstDifference(const EventBatch& a, const EventBatch& b, bool with_args) {
  for (size_t i = 0; i < std::min(a.rows(), b.rows()); ++i) {
    const std::string x = RowText(a, i, with_args), y = RowText(b, i, with_args);
    if (x != y) return absl::StrCat("row ", i, ":\n  ", x, "\n  ", y);
  }
  if (a.rows() != b.rows()) return absl::StrCat(a.rows(), " rows against ", b.rows());
  return "";
}

}  // namespace tracekiln

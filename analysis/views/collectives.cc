#include "analysis/views/collectives.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "formats/intermediate/category_roles.h"
#include "formats/intermediate/field_catalog.h"

namespace tracekiln {
namespace {

// Kernels of NCCL, RCCL and their relatives.
bool IsCollectiveKernelName(absl::string_view name) {
  for (absl::string_view prefix : {"ncclDevKernel", "ncclKernel", "ncclSymk", "rcclGenericKernel", "mscclKernel"}) {
    if (absl::StartsWith(name, prefix)) return true;
  }
  return false;
}

// "gloo:all_reduce" -> "all_reduce"; empty if it is no such annotation.
absl::string_view AnnotatedCollective(absl::string_view name) {
  for (absl::string_view prefix : {"gloo:", "nccl:", "mpi:", "ucc:", "xccl:", "hccl:"}) {
    if (absl::ConsumePrefix(&name, prefix)) return name;
  }
  return {};
}

}  // namespace

absl::string_view CollectiveKindName(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kUnknown: return "unknown";
    case CollectiveKind::kAllReduce: return "all_reduce";
    case CollectiveKind::kAllGather: return "all_gather";
    case CollectiveKind::kReduceScatter: return "reduce_scatter";
    case CollectiveKind::kAllToAll: return "all_to_all";
    case CollectiveKind::kBroadcast: return "broadcast";
    case CollectiveKind::kReduce: return "reduce";
    case CollectiveKind::kGather: return "gather";
    case CollectiveKind::kScatter: return "scatter";
    case CollectiveKind::kBarrier: return "barrier";
    case CollectiveKind::kSendRecv: return "send_recv";
  }
  return "unknown";
}

CollectiveKind CollectiveKindOf(absl::string_view name) {
  struct Word {
    absl::string_view word;
    CollectiveKind kind;
  };
  // The longer words first: "reduce" is part of most.
  static constexpr Word kWords[] = {
      {"reducescatter", CollectiveKind::kReduceScatter},
      {"allreduce", CollectiveKind::kAllReduce},
      {"allgather", CollectiveKind::kAllGather},
      {"alltoall", CollectiveKind::kAllToAll},
      {"broadcast", CollectiveKind::kBroadcast},
      {"barrier", CollectiveKind::kBarrier},
      {"sendrecv", CollectiveKind::kSendRecv},
      {"reduce", CollectiveKind::kReduce},
      {"gather", CollectiveKind::kGather},
      {"scatter", CollectiveKind::kScatter},
      {"send", CollectiveKind::kSendRecv},
      {"recv", CollectiveKind::kSendRecv},
  };
  // Of a kernel the part before its parameters counts.
  name = name.substr(0, name.find('('));
  std::string plain;
  for (char c : name) {
    if (c != '_' && c != '-' && c != ' ') plain += absl::ascii_tolower(static_cast<unsigned char>(c));
  }
  for (const Word& w : kWords) {
    if (absl::StrContains(absl::string_view(plain), w.word)) return w.kind;
  }
  return CollectiveKind::kUnknown;
}

const std::vector<CollectiveSlice>& CollectiveReader::Read(const EventBatch& batch) {
  found_.clear();
  std::vector<CategoryRole> roles;
  for (StringId category : batch.categories()) roles.push_back(RoleOfCategory(batch.Text(category)));
  // Of each name, as that of a kernel and as that of an annotation: 0 not looked at, 1 no collective, else 2 + kind.
  std::vector<uint8_t> kernel_kind(batch.strings.size(), 0);
  std::vector<uint8_t> annotation_kind(batch.strings.size(), 0);
  // Whether rows of a shape have the argument: 0 not looked at, 1 no, 2 yes.
  std::vector<uint8_t> shape_has_name(batch.args.shapes().size(), 0);
  const auto encode = [](CollectiveKind kind) { return static_cast<uint8_t>(2 + static_cast<int>(kind)); };

  for (size_t row = 0; row < batch.rows(); ++row) {
    if (batch.kind[row] != EventKind::kSlice || batch.dur_ns[row] < 0 || batch.category[row] == kNoCategory ||
        batch.name[row] == kNoString) {
      continue;
    }
    const CategoryRole role = roles[Index(batch.category[row])];
    CollectiveSlice slice;
    slice.row = row;
    if (role == CategoryRole::kDeviceWork) {
      uint8_t& has_name = shape_has_name[Index(batch.shape[row])];
      if (has_name == 0) has_name = batch.FindField(batch.shape[row], fields::kCollectiveName) >= 0 ? 2 : 1;
      uint8_t& kind = kernel_kind[Index(batch.name[row])];
      if (kind == 0) {
        const absl::string_view name = batch.NameOf(row);
        kind = IsCollectiveKernelName(name) ? encode(CollectiveKindOf(name)) : 1;
      }
      if (has_name == 1 && kind == 1) continue;
      slice.is_on_device = true;
      slice.kind = kind == 1 ? CollectiveKind::kUnknown : static_cast<CollectiveKind>(kind - 2);
      if (has_name == 2) {
        if (const auto name = batch.StringArg(row, fields::kCollectiveName)) {
          const CollectiveKind said = CollectiveKindOf(*name);
          if (said != CollectiveKind::kUnknown) slice.kind = said;
        }
        slice.group = batch.StringArg(row, fields::kProcessGroupName).value_or(absl::string_view());
        slice.group_ranks = batch.StringArg(row, fields::kProcessGroupRanks).value_or(absl::string_view());
        slice.seq = batch.IntArg(row, fields::kSeq);
      }
    } else if (role == CategoryRole::kAnnotation || role == CategoryRole::kHostOther) {
      uint8_t& kind = annotation_kind[Index(batch.name[row])];
      if (kind == 0) {
        const absl::string_view name = AnnotatedCollective(batch.NameOf(row));
        kind = name.empty() ? 1 : encode(CollectiveKindOf(name));
      }
      if (kind == 1) continue;
      slice.kind = static_cast<CollectiveKind>(kind - 2);
    } else {
      continue;
    }
    found_.push_back(slice);
  }
  return found_;
}

}  // namespace tracekiln

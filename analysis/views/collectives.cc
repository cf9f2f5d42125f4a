#include "analysis/views/collectives.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "formats/intermediate/category_roles.h"
#include "formats/intermediate/field_catalog.h"

namespace tracekiln {
namespace {

// The name of a kernel's function: without return type, template arguments, parameters and anonymous namespaces.
absl::string_view FunctionOf(absl::string_view name) {
  absl::ConsumePrefix(&name, "void ");
  while (absl::ConsumePrefix(&name, "(anonymous namespace)::")) {
  }
  return name.substr(0, name.find_first_of("(<"));
}

// In lower case, without '_', '-' and blanks.
std::string Plain(absl::string_view name) {
  std::string plain;
  for (char c : name) {
    if (c != '_' && c != '-' && c != ' ') plain += absl::ascii_tolower(static_cast<unsigned char>(c));
  }
  return plain;
}

struct Word {
  absl::string_view word;
  CollectiveKind kind;
};
// In plain spelling. The longer words first: "reduce" is part of most.
constexpr Word kWords[] = {
    {"reducescatterblock", CollectiveKind::kReduceScatterBlock},
    {"reducescatter", CollectiveKind::kReduceScatter},
    {"allreduce", CollectiveKind::kAllReduce},
    {"crossdevicereduce", CollectiveKind::kAllReduce},  // vLLM, SGLang, AITER
    {"allgather", CollectiveKind::kAllGather},
    {"fcollect", CollectiveKind::kAllGather},  // NVSHMEM
    {"alltoall", CollectiveKind::kAllToAll},
    {"broadcast", CollectiveKind::kBroadcast},
    {"bcast", CollectiveKind::kBroadcast},
    {"barrier", CollectiveKind::kBarrier},
    {"sendrecv", CollectiveKind::kSendRecv},
    {"isendirecv", CollectiveKind::kSendRecv},
    {"reduce", CollectiveKind::kReduce},
    {"gather", CollectiveKind::kGather},
    {"scatter", CollectiveKind::kScatter},
    {"send", CollectiveKind::kSend},
    {"recv", CollectiveKind::kRecv},
    {"receive", CollectiveKind::kRecv},  // HCCL
};
constexpr size_t kCertainWords = 7;  // words that no kernel has that computes only

}  // namespace

bool IsCollectiveKernelName(absl::string_view name, CollectiveKind* kind) {
  CollectiveKind unused;
  if (kind == nullptr) kind = &unused;
  const absl::string_view function = FunctionOf(name);
  for (absl::string_view prefix : {"ncclDevKernel", "ncclKernel", "ncclSym", "rcclGenericKernel", "mscclKernel",
                                   "mscclpp", "nvshmem", "hcom_", "Hccl", "oneccl", "ccl_"}) {
    if (absl::StartsWith(function, prefix)) {
      *kind = CollectiveKindOf(function);
      return true;
    }
  }
  // DeepEP's two halves of an all-to-all; its notify kernels agree on sizes, its layout kernels don't communicate.
  if (absl::StrContains(function, "deep_ep::")) {
    const bool exchanges = absl::EndsWith(function, "::dispatch") || absl::EndsWith(function, "::combine");
    *kind = exchanges ? CollectiveKind::kAllToAll : CollectiveKindOf(function);
    return exchanges || *kind != CollectiveKind::kUnknown || absl::StrContains(function, "notify");
  }
  // Names that torch.compile gives to what it fuses list the operators around, too.
  if (absl::StartsWith(function, "triton_")) return false;
  const std::string plain = Plain(function);
  for (const Word& w : absl::MakeConstSpan(kWords).subspan(0, kCertainWords)) {
    if (absl::StrContains(absl::string_view(plain), w.word)) {
      *kind = w.kind;
      return true;
    }
  }
  return false;
}

absl::string_view AnnotatedCollective(absl::string_view name) {
  for (absl::string_view prefix : {"gloo:", "nccl:", "mpi:", "ucc:", "xccl:", "hccl:", "oneccl:"}) {
    if (absl::ConsumePrefix(&name, prefix) && !absl::StartsWith(name, ":")) return name;
  }
  return {};
}

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
    case CollectiveKind::kSend: return "send";
    case CollectiveKind::kRecv: return "recv";
    case CollectiveKind::kReduceScatterBlock: return "reduce_scatter_block";
  }
  return "unknown";
}

CollectiveKind CollectiveKindOf(absl::string_view name) {
  const std::string plain = Plain(FunctionOf(name));
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
        CollectiveKind of_name = CollectiveKind::kUnknown;
        kind = IsCollectiveKernelName(batch.NameOf(row), &of_name) ? encode(of_name) : 1;
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

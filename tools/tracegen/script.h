#ifndef TRACEKILN_TOOLS_TRACEGEN_SCRIPT_H_
#define TRACEKILN_TOOLS_TRACEGEN_SCRIPT_H_

#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/tracegen/tracegen.h"

namespace tracekiln::tracegen {

// Dense ids of names that are known before the run.
class NameTable {
 public:
  int32_t Intern(const std::string& name) {
    auto [it, is_new] = ids_.emplace(name, static_cast<int32_t>(names_.size()));
    if (is_new) names_.push_back(name);
    return it->second;
  }
  // Interns name + "0", name + "1", …; the ids are consecutive from the one returned. REQUIRES: `name` is new.
  int32_t InternNumbered(const std::string& name, int count) {
    const int32_t first = static_cast<int32_t>(names_.size());
    for (int i = 0; i < count; ++i) Intern(name + std::to_string(i));
    return first;
  }
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::unordered_map<std::string, int32_t> ids_;
  std::vector<std::string> names_;
};

// What one part of a step (a layer, say) does on the host, without times: those are laid out over the part's budget in
// proportion to the cost of the instructions.
struct Instruction {
  enum Code : uint8_t {
    kOpenFrame,       // a Python frame
    kOpenOp,          // an operator
    kOpenAnnotation,  // a user annotation
    kClose,           // ends the innermost of those
    kCall,            // a runtime call without device work
    kLaunch,          // a call with a kernel
    kLaunchGraph,     // a call with several: graph_kernels
    kCopy,            // cudaMemcpyAsync from pinned host memory
    kFill,            // cudaMemsetAsync
    kCollective,      // a call with a kernel on a communication stream
    kAllocate,
    kRelease,
  };
  enum Autograd : uint8_t { kNoGrad, kForward, kBackward };

  Code code = kClose;
  Autograd autograd = kNoGrad;
  bool is_driver = false;   // kLaunch: cuLaunchKernel
  int32_t name_stride = 0;  // the name is that of name_id + layer * name_stride
  int32_t name_id = -1;
  int32_t cbid = -1;
  int32_t module = -1;      // kOpenFrame of a module: its id in layer 0, -1 if it is none
  int32_t grad_index = 0;   // kForward, kBackward: which of the layer's autograd nodes
  int32_t weight = 1;       // kLaunch: its share of the device time
  int32_t cost = 0;         // host time, about in ns
  int32_t collective = -1;  // kCollective: see Collectives
  int64_t bytes = 0;
  const TensorArgs* tensors = nullptr;
  const KernelShape* kernel = nullptr;
};
using Script = std::vector<Instruction>;

// The collectives of a rank; indices of Catalog::collectives.
enum CollectiveKind { kAllGather, kReduceScatter, kSendRecv, kAllReduce, kCollectiveKindCount };

// The parts of a step and what they refer to. Forward layers differ in whether they gather the next layer's parameters
// and whether they exchange activations.
struct Catalog {
  // REQUIRES: info.groups is filled.
  Catalog(const RunOptions& run, const RankInfo& info);

  NameTable names;
  std::deque<TensorArgs> tensors;   // stable addresses
  std::deque<KernelShape> kernels;  // the same
  std::vector<Collective> collectives;
  std::vector<const KernelShape*> collective_kernels;
  std::vector<const KernelShape*> graph_kernels;
  Script prelude, loss, norm, optimizer;
  Script forward[2][2];            // [gathers the next][exchanges]
  Script backward, backward_last;  // of the last layer, after the loss
  int forward_grad_count = 0;      // autograd nodes of a layer
  int loss_grad_count = 0;
  int module_count = 0;  // modules of a layer; module ids of layer n are those of layer 0 + n * module_count
};

// "[0, 1, 2]"; of more than 30 the first 29, an ellipsis and the last, as the profiler writes it.
std::string RanksText(const std::vector<int>& ranks);

}  // namespace tracekiln::tracegen

#endif  // TRACEKILN_TOOLS_TRACEGEN_SCRIPT_H_

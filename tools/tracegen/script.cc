#include "tools/tracegen/script.h"

#include <initializer_list>

namespace tracekiln::tracegen {
namespace {

// The model: hidden size, rows of a micro batch, heads, inner size, vocabulary.
constexpr int64_t kHidden = 4096, kRows = 4096, kHeads = 32, kInner = 14336, kVocabulary = 128256;
constexpr int64_t kLayerParameters = 4 * kHidden * kHidden + 3 * kHidden * kInner;

std::string DimsText(std::initializer_list<int64_t> dims) {
  std::string text = "[";
  for (int64_t dim : dims) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(dim);
  }
  return text + "]";
}

// Row-major strides.
std::string StridesText(std::initializer_list<int64_t> dims) {
  std::string text;
  int64_t stride = 1;
  for (auto dim = dims.end(); dim != dims.begin();) {
    --dim;
    text = std::to_string(stride) + (text.empty() ? "" : ", ") + text;
    stride *= *dim;
  }
  return "[" + text + "]";
}

// One input of an operator.
struct Input {
  const char* type;
  std::initializer_list<int64_t> dims;
  const char* value;  // of a scalar
};

Input Tensor(std::initializer_list<int64_t> dims) { return {"c10::BFloat16", dims, ""}; }
Input Scalar(const char* value) { return {"Scalar", {}, value}; }
Input None() { return {"", {}, ""}; }

class Builder {
 public:
  Builder(Catalog* catalog, const RunOptions& run) : catalog_(*catalog), layer_count_(run.layer_count) {}

  const TensorArgs* Args(std::initializer_list<Input> inputs) {
    TensorArgs args;
    for (const Input& input : inputs) {
      const char* comma = args.dims.empty() ? "[" : ", ";
      const bool is_tensor = input.dims.size() > 0;
      args.dims += comma + DimsText(input.dims);
      args.strides += comma + (is_tensor ? StridesText(input.dims) : "[]");
      args.types += std::string(comma) + '"' + input.type + '"';
      args.concrete += std::string(comma) + '"' + input.value + '"';
    }
    for (std::string* text : {&args.dims, &args.strides, &args.types, &args.concrete}) {
      *text += text->empty() ? "[]" : "]";
    }
    catalog_.tensors.push_back(std::move(args));
    return &catalog_.tensors.back();
  }

  const KernelShape* Kernel(const char* name, int registers, int shared_memory_bytes, std::array<int, 3> grid,
                            std::array<int, 3> block, int occupancy_percent) {
    catalog_.kernels.push_back({.name_id = catalog_.names.Intern(name),
                                .registers_per_thread = registers,
                                .shared_memory_bytes = shared_memory_bytes,
                                .grid = grid,
                                .block = block,
                                .occupancy_percent = occupancy_percent});
    return &catalog_.kernels.back();
  }

  void Begin(Script* script) { script_ = script; }

  void Frame(const char* name) { Add({.code = Instruction::kOpenFrame, .name_id = Name(name), .cost = 1300}); }
  void Module(const char* name, int module) {
    Add({.code = Instruction::kOpenFrame, .name_id = Name(name), .module = module, .cost = 1800});
    Frame("torch/nn/modules/module.py(1775): _call_impl");
  }
  void EndModule() {
    End();
    End();
  }
  // The `index`th of the `per_layer` modules of a class that each layer has: "name_23".
  void LayerModule(const char* name, int module, int index, int per_layer) {
    auto [it, is_new] = numbered_.emplace(name, 0);
    if (is_new) it->second = catalog_.names.InternNumbered(name, layer_count_ * per_layer);
    Add({.code = Instruction::kOpenFrame,
         .name_stride = per_layer,
         .name_id = it->second + index,
         .module = module,
         .cost = 1800});
    Frame("torch/nn/modules/module.py(1775): _call_impl");
  }
  void Op(const char* name, const TensorArgs* tensors = nullptr) {
    Add({.code = Instruction::kOpenOp, .name_id = Name(name), .cost = 2600, .tensors = tensors});
  }
  // An operator that autograd records.
  void GradOp(const char* name, const TensorArgs* tensors) {
    Add({.code = Instruction::kOpenOp,
         .autograd = Instruction::kForward,
         .name_id = Name(name),
         .grad_index = forward_grad_count_++,
         .cost = 3100,
         .tensors = tensors});
  }
  // Opens two operators. The nodes of backward run through those of forward from last to first.
  void GradNode(const char* name) {
    const int index = --backward_grad_count_;
    for (const std::string& op : {std::string("autograd::engine::evaluate_function: ") + name, std::string(name)}) {
      Add({.code = Instruction::kOpenOp,
           .autograd = Instruction::kBackward,
           .name_id = Name(op),
           .grad_index = index,
           .cost = 2400});
    }
  }
  void Annotation(const char* name) {
    Add({.code = Instruction::kOpenAnnotation, .name_id = Name(name), .cost = 1500});
  }
  void End() { Add({.code = Instruction::kClose, .cost = 900}); }
  void Call(const char* name, int cbid) {
    Add({.code = Instruction::kCall, .name_id = Name(name), .cbid = cbid, .cost = 2200});
  }
  void Launch(const KernelShape* kernel, int weight) {
    Add({.code = Instruction::kLaunch,
         .name_id = Name("cudaLaunchKernel"),
         .cbid = 211,
         .weight = weight,
         .cost = 6500,
         .kernel = kernel});
  }
  void LaunchByDriver(const KernelShape* kernel, int weight) {
    Add({.code = Instruction::kLaunch,
         .is_driver = true,
         .name_id = Name("cuLaunchKernelEx"),
         .cbid = 652,
         .weight = weight,
         .cost = 5200,
         .kernel = kernel});
  }
  void LaunchGraph() {
    Add({.code = Instruction::kLaunchGraph, .name_id = Name("cudaGraphLaunch"), .cbid = 311, .cost = 15000});
  }
  void Copy(int64_t bytes) {
    Add({.code = Instruction::kCopy, .name_id = Name("cudaMemcpyAsync"), .cbid = 41, .cost = 9000, .bytes = bytes});
  }
  void Fill(int64_t bytes) {
    Add({.code = Instruction::kFill, .name_id = Name("cudaMemsetAsync"), .cbid = 51, .cost = 5500, .bytes = bytes});
  }
  void Allocate(int64_t bytes) { Add({.code = Instruction::kAllocate, .cost = 700, .bytes = bytes}); }
  void Release() { Add({.code = Instruction::kRelease, .cost = 600}); }

  // An operator without device work.
  void Plain(const char* name, const TensorArgs* tensors) {
    Op(name, tensors);
    End();
  }
  // An operator that allocates its result and launches one kernel.
  void Simple(const char* name, const TensorArgs* tensors, const KernelShape* kernel, int weight, int64_t bytes) {
    Op(name, tensors);
    Allocate(bytes);
    Launch(kernel, weight);
    End();
  }
  void SimpleGrad(const char* name, const TensorArgs* tensors, const KernelShape* kernel, int weight, int64_t bytes) {
    GradOp(name, tensors);
    Allocate(bytes);
    Launch(kernel, weight);
    End();
  }

  void DoCollective(CollectiveKind kind, const char* op, const char* annotation) {
    const Collective& collective = catalog_.collectives[kind];
    const TensorArgs* tensors =
        Args({Tensor({collective.in_element_count}), None(), None(), Scalar("0"), None(), None()});
    Op(op, tensors);
    Add({.code = Instruction::kOpenOp,
         .name_id = Name("record_param_comms"),
         .cost = 3000,
         .collective = kind,
         .tensors = tensors});
    Annotation(annotation);
    Call("cudaEventRecord", 135);
    Call("cudaStreamWaitEvent", 147);
    Add({.code = Instruction::kCollective,
         .name_id = Name("cudaLaunchKernelExC"),
         .cbid = 430,
         .cost = 12000,
         .collective = kind,
         .kernel = catalog_.collective_kernels[kind]});
    End();
    End();
    End();
  }

  void BeginForward() { forward_grad_count_ = 0; }
  int forward_grad_count() const { return forward_grad_count_; }
  void BeginBackward(int grad_count) { backward_grad_count_ = grad_count; }
  int backward_grad_count() const { return backward_grad_count_; }

 private:
  int32_t Name(const std::string& name) { return catalog_.names.Intern(name); }
  void Add(const Instruction& instruction) { script_->push_back(instruction); }

  Catalog& catalog_;
  const int layer_count_;
  Script* script_ = nullptr;
  int forward_grad_count_ = 0, backward_grad_count_ = 0;
  std::unordered_map<std::string, int32_t> numbered_;
};

}  // namespace

std::string RanksText(const std::vector<int>& ranks) {
  constexpr size_t kLimit = 30;
  std::string text = "[";
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) text += ", ";
    if (ranks.size() > kLimit && i == kLimit - 1) {
      text += "..., ";
      i = ranks.size() - 1;
    }
    text += std::to_string(ranks[i]);
  }
  return text + "]";
}

Catalog::Catalog(const RunOptions& run, const RankInfo& info) {
  Builder b(this, run);
  constexpr int64_t kActivationBytes = kRows * kHidden * 2;
  constexpr int64_t kInnerBytes = kRows * kInner * 2;

  // Kernels.
  const KernelShape* embedding = b.Kernel(
      "void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, long, unsigned int, 2, 2, -2, "
      "true>(at::cuda::detail::TensorInfo<c10::BFloat16, unsigned int>, at::cuda::detail::TensorInfo<c10::BFloat16 "
      "const, unsigned int>, at::cuda::detail::TensorInfo<long const, unsigned int>, int, int, unsigned int, unsigned "
      "int, long)",
      32, 0, {1056, 1, 1}, {128, 1, 1}, 50);
  const KernelShape* fill = b.Kernel(
      "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >(int, "
      "at::native::FillFunctor<float>, std::array<char*, 1ul>)",
      16, 0, {64, 1, 1}, {128, 1, 1}, 3);
  const KernelShape* mean_square = b.Kernel(
      "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float, float, "
      "float>, unsigned int, float, 4, 4> >(at::native::ReduceOp<float, at::native::MeanOps<float, float, float, "
      "float>, "
      "unsigned int, float, 4, 4>)",
      32, 16, {1024, 1, 1}, {32, 16, 1}, 100);
  const KernelShape* power = b.Kernel(
      "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous "
      "namespace)::pow_tensor_scalar_kernel_impl<float, float>(at::TensorIteratorBase&, float)::{lambda(float)#1}, "
      "std::array<char*, 2ul> >(int, at::native::(anonymous namespace)::pow_tensor_scalar_kernel_impl<float, "
      "float>(at::TensorIteratorBase&, float)::{lambda(float)#1}, std::array<char*, 2ul>)",
      24, 0, {16384, 1, 1}, {128, 1, 1}, 100);
  const KernelShape* multiply = b.Kernel(
      "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::BinaryFunctor<"
      "c10::BFloat16, c10::BFloat16, c10::BFloat16, at::native::binary_internal::MulFunctor<float> > "
      ">(at::TensorIteratorBase&, at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, "
      "at::native::binary_internal::MulFunctor<float> > const&)::{lambda(int)#1}>(int, "
      "at::native::gpu_kernel_impl_nocast<at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, "
      "at::native::binary_internal::MulFunctor<float> > >(at::TensorIteratorBase&, "
      "at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, "
      "at::native::binary_internal::MulFunctor<float> > const&)::{lambda(int)#1})",
      34, 0, {32768, 1, 1}, {128, 1, 1}, 94);
  const KernelShape* add = b.Kernel(
      "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, "
      "3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)",
      32, 0, {32768, 1, 1}, {128, 1, 1}, 100);
  const KernelShape* gemm =
      b.Kernel("nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNN", 168, 213504, {132, 1, 1}, {384, 1, 1}, 19);
  const KernelShape* gemm_nt = b.Kernel(
      "sm90_xmma_gemm_bf16bf16_bf16f32_f32_nt_n_tilesize128x256x64_warpgroupsize2x1x1_execute_segment_k_off_kernel__5x_"
      "cublas",
      168, 196608, {16, 32, 1}, {384, 1, 1}, 19);
  const KernelShape* attention = b.Kernel(
      "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, "
      "cutlass::bfloat16_t, pytorch_flash::Flash_kernel_traits<128, 128, 64, 4, cutlass::bfloat16_t> >, false, true, "
      "false, false, true, true, false, false>(pytorch_flash::Flash_fwd_params)",
      255, 65536, {32, 2, 32}, {128, 1, 1}, 12);
  const KernelShape* attention_backward = b.Kernel(
      "void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<pytorch_flash::Flash_bwd_kernel_traits<128, "
      "64, "
      "128, 8, 2, 4, 2, false, false, cutlass::bfloat16_t, pytorch_flash::Flash_kernel_traits<128, 64, 128, 8, "
      "cutlass::bfloat16_t> >, false, true, false, false, true, true, false>(pytorch_flash::Flash_bwd_params)",
      255, 147456, {16, 2, 32}, {256, 1, 1}, 12);
  const KernelShape* silu = b.Kernel("triton_poi_fused_mul_silu_0", 40, 0, {28672, 1, 1}, {256, 1, 1}, 75);
  const KernelShape* silu_backward =
      b.Kernel("triton_poi_fused_mul_silu_silu_backward_1", 48, 0, {28672, 1, 1}, {256, 1, 1}, 62);
  const KernelShape* reduce = b.Kernel(
      "void at::native::reduce_kernel<128, 4, at::native::ReduceOp<c10::BFloat16, "
      "at::native::func_wrapper_t<c10::BFloat16, at::native::sum_functor<c10::BFloat16, float, "
      "c10::BFloat16>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, c10::BFloat16, 4, 4> "
      ">(at::native::ReduceOp<c10::BFloat16, at::native::func_wrapper_t<c10::BFloat16, "
      "at::native::sum_functor<c10::BFloat16, float, c10::BFloat16>::operator()(at::TensorIterator&)::{lambda(float, "
      "float)#1}>, unsigned int, c10::BFloat16, 4, 4>)",
      56, 4096, {32, 1, 1}, {32, 16, 1}, 12);
  const KernelShape* softmax = b.Kernel(
      "void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float, float, float, at::native::(anonymous "
      "namespace)::LogSoftMaxForwardEpilogue>(float*, float const*, int)",
      34, 4096, {4096, 1, 1}, {1024, 1, 1}, 100);
  const KernelShape* nll = b.Kernel(
      "void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float, float, long>(float*, "
      "float*, "
      "float const*, long const*, float const*, bool, long, long, long, long)",
      30, 256, {1, 1, 1}, {32, 1, 1}, 0);
  const KernelShape* nll_backward = b.Kernel(
      "void at::native::(anonymous namespace)::nll_loss_backward_reduce_cuda_kernel_2d<float, long>(float*, float "
      "const*, "
      "long const*, float const*, float const*, bool, int, int, long, long)",
      24, 0, {1, 1, 1}, {32, 1, 1}, 0);
  const KernelShape* softmax_backward = b.Kernel(
      "void at::native::(anonymous namespace)::cunn_SoftMaxBackward<4, float, float, float, at::native::(anonymous "
      "namespace)::LogSoftMaxBackwardEpilogue>(float*, float const*, float const*, long)",
      40, 4096, {4096, 1, 1}, {1024, 1, 1}, 100);
  const KernelShape* norm_kernel = b.Kernel(
      "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
      "namespace)::TensorListMetadata<1>, at::native::(anonymous namespace)::LpNormFunctor<c10::BFloat16, "
      "(at::native::NormType)1, float, 1, 1, 0>, float*, int>(at::native::(anonymous "
      "namespace)::TensorListMetadata<1>, "
      "at::native::(anonymous namespace)::LpNormFunctor<c10::BFloat16, (at::native::NormType)1, float, 1, 1, 0>, "
      "float*, int)",
      40, 2048, {320, 1, 1}, {512, 1, 1}, 61);
  const KernelShape* adam = b.Kernel(
      "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
      "namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous namespace)::FusedAdamMathFunctor<float, "
      "4, "
      "(at::native::(anonymous namespace)::ADAM_MODE)1, false>, float const*, double, double, double, double, double, "
      "bool, float const*, float const*>(at::native::(anonymous namespace)::FusedOptimizerTensorListMetadata<4>, "
      "at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4, (at::native::(anonymous "
      "namespace)::ADAM_MODE)1, false>, float const*, double, double, double, double, double, bool, float const*, "
      "float "
      "const*)",
      62, 0, {320, 1, 1}, {512, 1, 1}, 48);
  graph_kernels = {
      b.Kernel("triton_poi_fused__to_copy_0", 32, 0, {4096, 1, 1}, {128, 1, 1}, 94),
      b.Kernel("triton_red_fused_add_mul_sum_1", 56, 1024, {264, 1, 1}, {256, 1, 1}, 50),
      b.Kernel("triton_poi_fused_lerp_2", 28, 0, {2048, 1, 1}, {128, 1, 1}, 94),
  };

  // Collectives, in the order of CollectiveKind. Groups: 0 all, 1 the shard, 2 the pair, if there is one.
  collective_kernels = {
      b.Kernel("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 96, 100384, {24, 1, 1}, {640, 1, 1},
               0),
      b.Kernel("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 96, 100384, {24, 1, 1},
               {640, 1, 1}, 0),
      b.Kernel("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", 80, 100384, {16, 1, 1}, {640, 1, 1}, 0),
      b.Kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 96, 100384, {24, 1, 1},
               {640, 1, 1}, 0),
  };
  const int64_t shard_size = static_cast<int64_t>(info.groups[1].ranks.size());
  const int64_t part = kLayerParameters / shard_size;
  const auto collective = [&](const char* name, const char* dtype, int64_t in, int64_t out, const ProcessGroup& group) {
    const int stride = group.ranks.size() > 1 ? group.ranks[1] - group.ranks[0] : 1;
    collectives.push_back({name, dtype, in, out, static_cast<int>(group.ranks.size()), group.name, group.description,
                           RanksText(group.ranks), group.ranks[0], stride});
  };
  const ProcessGroup& pair = info.groups.size() > 2 ? info.groups[2] : info.groups[1];
  collective("_allgather_base", "BFloat16", part, part * shard_size, info.groups[1]);
  collective("_reduce_scatter_base", "BFloat16", part * shard_size, part, info.groups[1]);
  collective("send", "BFloat16", kRows * kHidden, kRows * kHidden, pair);
  collective("allreduce", "Float", 1, 1, info.groups[0]);

  // Operators of a layer.
  const TensorArgs* one = b.Args({Tensor({1, kRows, kHidden})});
  const TensorArgs* scaled = b.Args({Tensor({1, kRows, kHidden}), Scalar("2")});
  const TensorArgs* mean_args =
      b.Args({Tensor({1, kRows, kHidden}), {"ScalarList", {}, "[-1]"}, Scalar("True"), None()});
  const TensorArgs* two = b.Args({Tensor({1, kRows, kHidden}), Tensor({1, kRows, kHidden})});
  const TensorArgs* three = b.Args({Tensor({1, kRows, kHidden}), Tensor({1, kRows, kHidden}), Scalar("1")});
  const TensorArgs* weighted = b.Args({Tensor({kHidden}), Tensor({1, kRows, kHidden})});
  const TensorArgs* qkv =
      b.Args({Tensor({1, kHeads, kRows, 128}), Tensor({1, kHeads, kRows, 128}), Tensor({1, kHeads, kRows, 128}),
              Scalar("0."), Scalar("True"), Scalar("False"), None()});
  const TensorArgs* view_args = b.Args({Tensor({1, kRows, kHidden}), {"ScalarList", {}, "[1, 4096, -1, 128]"}});
  const TensorArgs* transpose_args = b.Args({Tensor({1, kRows, kHeads, 128}), Scalar("1"), Scalar("2")});
  const TensorArgs* inner_two = b.Args({Tensor({1, kRows, kInner}), Tensor({1, kRows, kInner})});
  struct Linear {
    const TensorArgs *linear, *weight, *transpose, *mm;
    int64_t bytes;
  };
  const auto linear_args = [&](int64_t in, int64_t out) {
    return Linear{b.Args({Tensor({1, kRows, in}), Tensor({out, in}), None()}), b.Args({Tensor({out, in})}),
                  b.Args({Tensor({out, in}), Scalar("0"), Scalar("1")}),
                  b.Args({Tensor({kRows, in}), Tensor({in, out})}), kRows * out * 2};
  };
  const Linear square = linear_args(kHidden, kHidden), up = linear_args(kHidden, kInner),
               down = linear_args(kInner, kHidden);

  constexpr int kFirstLayerModule = 2;  // 0 is the model, 1 the embedding
  int module = 0, norm_index = 0, linear_index = 0;
  const auto linear = [&](const Linear& args, int weight) {
    b.LayerModule("nn.Module: Linear_", module++, linear_index++, 7);
    b.Frame("torch/nn/modules/linear.py(124): forward");
    b.Frame("<built-in function linear>");
    b.Op("aten::linear", args.linear);
    b.GradOp("aten::t", args.weight);
    b.Op("aten::transpose", args.transpose);
    b.Plain("aten::as_strided", args.transpose);
    b.End();
    b.End();
    b.Op("aten::matmul", args.linear);
    b.Plain("aten::view", args.linear);
    b.GradOp("aten::mm", args.mm);
    b.Allocate(args.bytes);
    b.Launch(gemm, weight);
    b.End();
    b.Plain("aten::_unsafe_view", args.linear);
    b.End();
    b.End();
    b.End();
    b.End();
    b.EndModule();
  };
  const auto rms_norm = [&] {
    b.LayerModule("nn.Module: LlamaRMSNorm_", module++, norm_index++, 2);
    b.Frame("transformers/models/llama/modeling_llama.py(62): forward");
    b.SimpleGrad("aten::pow", scaled, power, 40, kActivationBytes);
    b.SimpleGrad("aten::mean", mean_args, mean_square, 30, kRows * 4);
    b.SimpleGrad("aten::rsqrt", mean_args, fill, 4, kRows * 4);
    b.SimpleGrad("aten::mul", weighted, multiply, 45, kActivationBytes);
    b.End();
    b.EndModule();
  };
  for (const bool gathers : {false, true}) {
    for (const bool exchanges : {false, true}) {
      module = kFirstLayerModule;
      norm_index = linear_index = 0;
      b.Begin(&forward[gathers][exchanges]);
      b.BeginForward();
      b.LayerModule("nn.Module: LlamaDecoderLayer_", module++, 0, 1);
      if (gathers) {
        b.Frame("torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py(316): unshard");
        b.Allocate(kLayerParameters * 2);
        b.DoCollective(kAllGather, "c10d::_allgather_base_", "nccl:_all_gather_base");
        b.Release();
        b.End();
      }
      b.Frame("transformers/models/llama/modeling_llama.py(299): forward");
      rms_norm();
      b.LayerModule("nn.Module: LlamaAttention_", module++, 0, 1);
      b.Frame("transformers/models/llama/modeling_llama.py(244): forward");
      for (int i = 0; i < 3; ++i) {
        linear(square, 220);
        b.Plain("aten::view", view_args);
        b.GradOp("aten::transpose", transpose_args);
        b.Plain("aten::as_strided", transpose_args);
        b.End();
      }
      if (exchanges) {
        b.Frame("torch/distributed/distributed_c10d.py(2690): batch_isend_irecv");
        b.DoCollective(kSendRecv, "c10d::send", "nccl:send");
        b.End();
      }
      b.Frame("<built-in function scaled_dot_product_attention>");
      b.Op("aten::scaled_dot_product_attention", qkv);
      b.GradOp("aten::_scaled_dot_product_flash_attention", qkv);
      b.Op("aten::_flash_attention_forward", qkv);
      b.Allocate(kActivationBytes);
      b.Call("cudaStreamIsCapturing", 317);
      b.Launch(attention, 520);
      b.End();
      b.End();
      b.End();
      b.End();
      linear(square, 220);
      b.End();
      b.EndModule();
      b.SimpleGrad("aten::add", three, add, 45, kActivationBytes);
      rms_norm();
      b.LayerModule("nn.Module: LlamaMLP_", module++, 0, 1);
      b.Frame("transformers/models/llama/modeling_llama.py(155): forward");
      linear(up, 640);
      linear(up, 640);
      b.GradOp("CompiledFunction", inner_two);
      b.Allocate(kInnerBytes);
      b.LaunchByDriver(silu, 150);
      b.End();
      linear(down, 640);
      b.End();
      b.EndModule();
      b.SimpleGrad("aten::add", three, add, 45, kActivationBytes);
      b.End();
      b.EndModule();
    }
  }
  forward_grad_count = b.forward_grad_count();
  module_count = module - kFirstLayerModule;

  const TensorArgs* logits = b.Args({{"float", {kRows, kVocabulary}, ""}, Scalar("1"), None()});
  const TensorArgs* targets =
      b.Args({{"float", {kRows, kVocabulary}, ""}, {"long int", {kRows}, ""}, None(), Scalar("1"), Scalar("-100")});
  // Its autograd nodes are counted on from those of the last layer.
  b.Begin(&loss);
  b.Frame("<built-in method cross_entropy_loss of type object at 0x7f3a5c1d2e40>");
  b.Op("aten::cross_entropy_loss", targets);
  b.SimpleGrad("aten::log_softmax", logits, softmax, 300, kRows * kVocabulary * 4);
  b.SimpleGrad("aten::nll_loss_nd", targets, nll, 20, 8);
  b.End();
  b.End();
  loss_grad_count = b.forward_grad_count() - forward_grad_count;

  // Backward, node by node in the opposite order.
  const auto accumulate = [&] {
    b.Op("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad");
    b.Op("torch::autograd::AccumulateGrad", one);
    b.Plain("aten::detach", one);
    b.End();
    b.End();
  };
  const auto end_node = [&] {
    b.End();
    b.End();
  };
  const auto linear_backward = [&](const Linear& args, int weight) {
    b.GradNode("MmBackward0");
    b.Simple("aten::mm", args.mm, gemm_nt, weight, args.bytes);
    b.Simple("aten::mm", args.mm, gemm, weight, args.bytes);
    b.Release();
    end_node();
    b.GradNode("TBackward0");
    b.Op("aten::t", args.weight);
    b.Plain("aten::transpose", args.transpose);
    b.End();
    end_node();
    accumulate();
    b.Release();
  };
  const auto norm_backward = [&] {
    b.GradNode("MulBackward0");
    b.Simple("aten::mul", weighted, multiply, 45, kActivationBytes);
    b.Simple("aten::sum", one, reduce, 50, kHidden * 2);
    b.Release();
    b.Release();
    end_node();
    for (const char* node : {"RsqrtBackward0", "MeanBackward1", "PowBackward0"}) {
      b.GradNode(node);
      b.Simple("aten::mul", two, multiply, 45, kActivationBytes);
      b.Release();
      end_node();
    }
    for (int i = 0; i < 4; ++i) b.Release();
    accumulate();
  };
  const auto add_backward = [&] {
    b.GradNode("AddBackward0");
    b.Release();
    end_node();
  };
  for (const bool is_last_layer : {false, true}) {
    b.Begin(is_last_layer ? &backward_last : &backward);
    b.BeginBackward(is_last_layer ? forward_grad_count + loss_grad_count : forward_grad_count);
    if (is_last_layer) {
      b.GradNode("NllLossBackward0");
      b.Simple("aten::nll_loss_backward", targets, nll_backward, 20, kRows * kVocabulary * 4);
      b.Release();
      end_node();
      b.GradNode("LogSoftmaxBackward0");
      b.Simple("aten::_log_softmax_backward_data", logits, softmax_backward, 500, kRows * kVocabulary * 4);
      b.Release();
      b.Release();
      end_node();
    }
    add_backward();
    linear_backward(down, 640);
    b.Release();
    b.GradNode("CompiledFunctionBackward");
    b.Allocate(kInnerBytes);
    b.LaunchByDriver(silu_backward, 240);
    b.Release();
    end_node();
    b.Release();
    for (int i = 0; i < 2; ++i) {
      linear_backward(up, 640);
      b.Release();
    }
    norm_backward();
    add_backward();
    linear_backward(square, 220);
    b.Release();
    b.GradNode("ScaledDotProductFlashAttentionBackward0");
    b.Op("aten::_scaled_dot_product_flash_attention_backward", qkv);
    b.Op("aten::_flash_attention_backward", qkv);
    b.Allocate(kActivationBytes * 3);
    b.Fill(kRows * kHeads * 4);
    b.Launch(attention_backward, 1300);
    b.End();
    b.End();
    b.Release();
    end_node();
    b.Release();
    for (int i = 0; i < 3; ++i) {
      b.GradNode("TransposeBackward0");
      b.Plain("aten::transpose", transpose_args);
      end_node();
      linear_backward(square, 220);
      b.Release();
    }
    norm_backward();
    b.DoCollective(kReduceScatter, "c10d::_reduce_scatter_base_", "nccl:_reduce_scatter_base");
  }

  // The batch arrives, the tokens are embedded.
  const TensorArgs* tokens =
      b.Args({{"long int", {1, kRows}, ""}, None(), None(), Scalar("True"), Scalar("False"), None()});
  const TensorArgs* embed = b.Args(
      {Tensor({kVocabulary, kHidden}), {"long int", {1, kRows}, ""}, Scalar("-1"), Scalar("False"), Scalar("False")});
  b.Begin(&prelude);
  b.Annotation("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__");
  b.Frame("torch/utils/data/dataloader.py(733): __next__");
  b.Frame("torch/utils/data/dataloader.py(1482): _next_data");
  b.Frame("queue.py(154): get");
  b.End();
  b.Plain("aten::detach", tokens);
  b.End();
  b.End();
  b.End();
  b.Op("aten::to", tokens);
  b.Op("aten::_to_copy", tokens);
  b.Allocate(kRows * 8);
  b.Op("aten::copy_", tokens);
  b.Copy(kRows * 8);
  b.End();
  b.End();
  b.End();
  b.Annotation("Optimizer.zero_grad#AdamW.zero_grad");
  b.Frame("torch/optim/optimizer.py(1000): zero_grad");
  b.Simple("aten::zero_", one, fill, 2, 512);
  b.Fill(1024);
  b.End();
  b.End();
  b.DoCollective(kAllGather, "c10d::_allgather_base_", "nccl:_all_gather_base");
  b.Module("nn.Module: Embedding_0", 1);
  b.Frame("<built-in function embedding>");
  b.Op("aten::embedding", embed);
  b.Simple("aten::index_select", embed, embedding, 30, kActivationBytes);
  b.End();
  b.End();
  b.EndModule();

  const TensorArgs* gradients = b.Args({{"TensorList", {kLayerParameters / 2, 2}, ""}, Scalar("2"), None()});
  b.Begin(&norm);
  b.Frame("torch/nn/utils/clip_grad.py(177): clip_grad_norm_");
  b.Op("aten::_foreach_norm", gradients);
  b.Allocate(2048);
  for (int i = 0; i < 4; ++i) b.Launch(norm_kernel, 60);
  b.End();
  b.DoCollective(kAllReduce, "c10d::allreduce_", "nccl:all_reduce");
  b.Release();
  b.End();

  b.Begin(&optimizer);
  b.Frame("torch/optim/optimizer.py(465): wrapper");
  b.Frame("torch/optim/adamw.py(192): step");
  b.Frame("torch/optim/adam.py(757): _fused_adam");
  b.Op("aten::_foreach_add_", gradients);
  b.Launch(add, 6);
  b.End();
  b.Op("aten::_fused_adamw_", gradients);
  for (int i = 0; i < 8; ++i) b.Launch(adam, 60);
  b.End();
  b.LaunchGraph();
  b.End();
  b.End();
  b.End();
}

}  // namespace tracekiln::tracegen

#include "analysis/views/collectives.h"

#include <string>

#include "formats/intermediate/field_catalog.h"
#include "gtest/gtest.h"

namespace tracekiln {
namespace {

TEST(CollectiveKindTest, KnowsTheSpellingsOfAllSorts) {
  struct Case {
    const char* name;
    CollectiveKind want;
  };
  const Case kCases[] = {
      {"allreduce", CollectiveKind::kAllReduce},
      {"all_reduce", CollectiveKind::kAllReduce},
      {"allreduce_coalesced", CollectiveKind::kAllReduce},
      {"_allgather_base", CollectiveKind::kAllGather},
      {"all_gather_into_tensor_coalesced", CollectiveKind::kAllGather},
      {"_reduce_scatter_base", CollectiveKind::kReduceScatter},
      {"reduce_scatter_tensor", CollectiveKind::kReduceScatter},
      {"all_to_allv", CollectiveKind::kAllToAll},
      {"alltoall_base", CollectiveKind::kAllToAll},
      {"_broadcast_oop", CollectiveKind::kBroadcast},
      {"reduce", CollectiveKind::kReduce},
      {"gather", CollectiveKind::kGather},
      {"scatter", CollectiveKind::kScatter},
      {"barrier", CollectiveKind::kBarrier},
      {"reduce_scatter_block", CollectiveKind::kReduceScatterBlock},
      {"send", CollectiveKind::kSend},
      {"recv", CollectiveKind::kRecv},
      {"send 0->1", CollectiveKind::kSend},
      {"c10d::recv_any_source_", CollectiveKind::kRecv},
      {"batch_isend_irecv", CollectiveKind::kSendRecv},
      {"hcom_receive__123_0_1", CollectiveKind::kRecv},
      {"void vllm::cross_device_reduce_2stage<__nv_bfloat16, 8>(RankData*)", CollectiveKind::kAllReduce},
      {"coalesced", CollectiveKind::kUnknown},
      {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", CollectiveKind::kAllReduce},
      {"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)", CollectiveKind::kSendRecv},
      {"ncclKernel_ReduceScatter_RING_LL_Sum_half", CollectiveKind::kReduceScatter},
      {"ncclDevKernel_Reduce_Sum_f32_RING_LL", CollectiveKind::kReduce},
      {"ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", CollectiveKind::kUnknown},
      {"", CollectiveKind::kUnknown},
  };
  for (const Case& c : kCases) EXPECT_EQ(CollectiveKindOf(c.name), c.want) << c.name;
}

TEST(CollectiveKindTest, KnowsKernelsThatCommunicate) {
  struct Case {
    const char* name;
    bool is_collective;
    CollectiveKind kind;
  };
  const Case kCases[] = {
      {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", true, CollectiveKind::kAllReduce},
      {"ncclDevKernel_Generic(ncclDevComm*, unsigned long, ncclWork*)", true, CollectiveKind::kUnknown},
      {"ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", true, CollectiveKind::kUnknown},
      {"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", true, CollectiveKind::kSendRecv},
      {"ncclSymkDevKernel_AllReduce_RSxLDMC_AGxSTMC(ncclSymkDevWorkArgs4K)", true, CollectiveKind::kAllReduce},
      {"ncclSymDevKernel_AllGather_STMC(ncclSymDevArgs)", true, CollectiveKind::kAllGather},
      {"rcclGenericKernel<1, false>(ncclDevKernelArgsStorage<4096ul>)", true, CollectiveKind::kUnknown},
      {"mscclKernel_Sum_half_LL(ncclDevComm*, mscclAlgo*)", true, CollectiveKind::kUnknown},
      {"hcom_allReduce__816_0_1", true, CollectiveKind::kAllReduce},
      {"void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*, unsigned long)", true,
       CollectiveKind::kAllReduce},
      {"void vllm::cross_device_reduce_1stage<__half, 8>(vllm::RankData*)", true, CollectiveKind::kAllReduce},
      {"void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<1, __nv_bfloat16>(x)", true,
       CollectiveKind::kAllReduce},
      {"void deep_ep::internode_ll::dispatch<true, 3, 7168>(void*)", true, CollectiveKind::kAllToAll},
      {"void deep_ep::intranode::combine<__nv_bfloat16, 8>(x)", true, CollectiveKind::kAllToAll},
      {"void deep_ep::intranode::notify_dispatch<8>(int const*)", true, CollectiveKind::kUnknown},
      {"void deep_ep::layout::get_dispatch_layout<256>(long const*)", false, CollectiveKind::kUnknown},
      {"nvshmemi_fcollect_kernel", true, CollectiveKind::kAllGather},
      {"pack_for_nccl_buffer", false, CollectiveKind::kUnknown},
      {"triton_poi_fused_all_reduce_wait_tensor_3", false, CollectiveKind::kUnknown},
      {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>(x)", false, CollectiveKind::kUnknown},
      {"void at::native::_scatter_gather_elementwise_kernel<128, 8>(int)", false, CollectiveKind::kUnknown},
      {"void gemm<ncclDevKernel>(x)", false, CollectiveKind::kUnknown},
      {"", false, CollectiveKind::kUnknown},
  };
  for (const Case& c : kCases) {
    CollectiveKind kind = CollectiveKind::kUnknown;
    EXPECT_EQ(IsCollectiveKernelName(c.name, &kind), c.is_collective) << c.name;
    EXPECT_EQ(c.is_collective ? kind : c.kind, c.kind) << c.name;
  }
}

TEST(CollectiveKindTest, KnowsAnnotationsOfBackEnds) {
  EXPECT_EQ(AnnotatedCollective("gloo:all_reduce"), "all_reduce");
  EXPECT_EQ(AnnotatedCollective("nccl:send 0->1"), "send 0->1");
  EXPECT_EQ(AnnotatedCollective("mpi::thing"), "");
  EXPECT_EQ(AnnotatedCollective("allreduce hooks"), "");
}

TEST(CollectiveKindTest, EndsTogetherWhereAllNeedAll) {
  EXPECT_TRUE(EndsTogether(CollectiveKind::kBarrier));
  EXPECT_FALSE(EndsTogether(CollectiveKind::kBroadcast));
  EXPECT_FALSE(EndsTogether(CollectiveKind::kSendRecv));
}

size_t AddSlice(EventBatch* batch, const char* category, const char* name, int64_t dur_ns = 5) {
  EventRow row;
  row.dur_ns = dur_ns;
  row.track = batch->InternTrack({TrackPart::Int(1), TrackPart::Int(1)});
  row.name = batch->strings.Intern(name);
  EXPECT_TRUE(batch->InternCategory(batch->strings.Intern(category), &row.category));
  batch->Append(row, ArgTable::kNoArgs, nullptr);
  return batch->rows() - 1;
}

TEST(CollectiveReaderTest, TakesArgumentsFirst) {
  EventBatch batch;
  EventRow row;
  row.dur_ns = 5;
  row.track = batch.InternTrack({TrackPart::Int(1), TrackPart::Int(1)});
  row.name = batch.strings.Intern("ncclDevKernel_SendRecv(x)");
  ASSERT_TRUE(batch.InternCategory(batch.strings.Intern("kernel"), &row.category));
  const ArgField fields[] = {
      {batch.strings.Intern(fields::kCollectiveName), ArgType::kString, ArgPlace::kArgs},
      {batch.strings.Intern(fields::kProcessGroupName), ArgType::kString, ArgPlace::kArgs},
      {batch.strings.Intern(fields::kProcessGroupRanks), ArgType::kString, ArgPlace::kArgs},
      {batch.strings.Intern(fields::kSeq), ArgType::kInt, ArgPlace::kArgs},
  };
  ShapeId shape;
  ASSERT_TRUE(batch.args.InternShape(fields, true, &shape));
  const ArgValue values[] = {ArgValue::String(batch.strings.Intern("all_to_all")),
                             ArgValue::String(batch.strings.Intern("7")),
                             ArgValue::String(batch.strings.Intern("[0, 1]")), ArgValue::Int(42)};
  batch.Append(row, shape, values);
  CollectiveReader reader;
  ASSERT_EQ(reader.Read(batch).size(), 1u);
  const CollectiveSlice c = reader.Read(batch)[0];
  EXPECT_EQ(c.kind, CollectiveKind::kAllToAll);
  EXPECT_TRUE(c.is_on_device);
  EXPECT_EQ(c.group, "7");
  EXPECT_EQ(c.group_ranks, "[0, 1]");
  EXPECT_EQ(c.seq, 42);
}

TEST(CollectiveReaderTest, FindsKernelsAndAnnotationsByName) {
  EventBatch batch;
  const size_t kernel = AddSlice(&batch, "kernel", "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)");
  AddSlice(&batch, "kernel", "my_nccl_like_gemm");
  AddSlice(&batch, "cpu_op", "c10d::allreduce_");
  const size_t annotation = AddSlice(&batch, "user_annotation", "gloo:all_reduce");
  AddSlice(&batch, "user_annotation", "allreduce hooks");
  AddSlice(&batch, "user_annotation", "gloo:all_reduce", kUnfinished);
  CollectiveReader reader;
  const std::vector<CollectiveSlice>& found = reader.Read(batch);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].row, kernel);
  EXPECT_TRUE(found[0].is_on_device);
  EXPECT_EQ(found[1].row, annotation);
  EXPECT_FALSE(found[1].is_on_device);
  EXPECT_EQ(found[1].kind, CollectiveKind::kAllReduce);
  EXPECT_EQ(found[1].seq, std::nullopt);
}

}  // namespace
}  // namespace tracekiln

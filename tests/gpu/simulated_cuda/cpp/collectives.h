// Collectives between processes whose devices are simulated GPUs: gloo takes NCCL's place, on the same memory.
#pragma once

#include <torch/csrc/distributed/c10d/reducer_timer.hpp>

#include "kernels.h"

namespace sim {

// Returns what gloo is to be given for an argument: each tensor's twin, in lists of lists too.
inline c10::IValue for_gloo(const c10::IValue& value, std::optional<Launch>& launch, const std::string& name) {
  auto twin = [&](const at::Tensor& t) {
    if (!t.defined() || !t.is_cuda()) return t;
    if (!launch) launch.emplace(t.device().index(), name);
    launch->writes(t);
    return as_cpu(t, true);  // gloo may still read it when whoever sends has let go of it
  };
  if (value.isTensor()) return twin(value.toTensor());
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const auto& t : value.toTensorVector()) list.push_back(twin(t));
    return list;
  }
  if (value.isList() && value.type()->isSubtypeOf(*c10::ListType::create(c10::ListType::ofTensors()))) {
    c10::List<c10::List<at::Tensor>> lists;
    for (const auto& inner : value.toListRef()) lists.push_back(for_gloo(inner, launch, name).toTensorList());
    return lists;
  }
  return value;
}

inline void collective(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
  const auto& schema = op.schema();
  const size_t begin = stack->size() - schema.arguments().size();
  const c10::IValue into = (*stack)[begin];
  std::optional<Launch> launch;
  for (size_t i = begin; i < stack->size(); ++i) (*stack)[i] = for_gloo((*stack)[i], launch, schema.name());
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  if (launch) launch->done();
  if (schema.returns().size() > 1) (*stack)[stack->size() - schema.returns().size()] = into;  // what was written into
}

TORCH_LIBRARY_IMPL(c10d, CUDA, m) {
  for (const char* name :
       {"send", "recv_", "recv_any_source_", "broadcast_", "allreduce_", "allreduce_coalesced_", "reduce_",
        "allgather_", "_allgather_base_", "allgather_coalesced_", "allgather_into_tensor_coalesced_",
        "reduce_scatter_", "_reduce_scatter_base_", "reduce_scatter_tensor_coalesced_", "gather_", "scatter_",
        "alltoall_", "alltoall_base_", "barrier"})
    m.impl(name, torch::CppFunction::makeFromBoxedFunction<&collective>());
}

// DistributedDataParallel asks for a clock of its device.
class HostClock : public c10d::Timer {
 public:
  explicit HostClock(c10::Device) {}
  std::optional<int64_t> measureDifference(Event start, Event end) override {
    auto from = getTimeRef(start), to = getTimeRef(end);
    return from == c10d::kUnsetTime || to < from ? std::nullopt : std::optional<int64_t>(to - from);
  }
};

}  // namespace sim

namespace c10d {
C10_REGISTER_TYPED_CLASS(TimerRegistry, c10::kCUDA, sim::HostClock)
}

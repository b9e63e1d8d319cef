// Every operator of PyTorch on a simulated GPU: one boxed fallback that runs the CPU's kernel on the same memory.
#pragma once

#include "copies.h"

namespace sim {

inline bool is_view(const std::string& op) {  // needs no kernel, only another tensor on the same storage
  static const std::set<std::string> all = {"aten::view", "aten::as_strided", "aten::_reshape_alias", "aten::alias",
                                            "aten::unfold", "aten::view_as_real", "aten::view_as_complex"};
  return all.count(op);
}
inline bool waits_for_values(const std::string& op) {  // the shape of the result is in the values: the host waits
  static const std::set<std::string> all = {"aten::nonzero", "aten::equal", "aten::masked_select", "aten::_unique2",
                                            "aten::unique_consecutive", "aten::is_nonzero", "aten::repeat_interleave",
                                            "aten::bincount", "aten::linalg_svd", "aten::_linalg_svd"};
  return all.count(op);
}
inline bool is_product(const std::string& op) {  // of floating-point numbers, most of a step's work
  static const std::set<std::string> all = {"aten::mm", "aten::bmm", "aten::addmm", "aten::baddbmm",
                                            "aten::_slow_conv2d_forward", "aten::_slow_conv2d_backward"};
  return all.count(op);
}
inline bool takes_no_cpu_scalars(const std::string& op) {  // most take a tensor of no dimensions from the CPU
  static const std::set<std::string> all = {"aten::mm", "aten::bmm", "aten::addmm", "aten::addmv", "aten::dot",
                                            "aten::mv", "aten::convolution", "aten::embedding", "aten::index_select",
                                            "aten::gather", "aten::nll_loss_forward"};
  return all.count(op);
}

// Runs the CPU's kernel. A CPU without instructions for bfloat16 takes up to a hundred times as long for products of
// it: those are computed in float32 and rounded once, as the tensor cores of a GPU do it.
inline void run_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  auto rounded = [](const c10::IValue& value) {
    return value.isTensor() && value.toTensor().defined() && value.toTensor().scalar_type() == at::kBFloat16;
  };
  const auto& schema = op.schema();
  const auto arguments = stack->end() - schema.arguments().size();
  const bool widened = is_product(schema.name()) && !schema.is_mutable() && schema.overload_name() != "dtype" &&
                       std::any_of(arguments, stack->end(), rounded);
  if (widened)
    for (auto value = arguments; value != stack->end(); ++value)
      if (rounded(*value)) *value = value->toTensor().to(at::kFloat);
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  if (widened)
    for (auto value = stack->end() - schema.returns().size(); value != stack->end(); ++value)
      if (value->isTensor() && value->toTensor().defined()) *value = value->toTensor().to(at::kBFloat16);
}

// One call of an operator: its arguments on the stack, and the twin of each tensor of a GPU among them.
class Call {
 public:
  Call(const c10::OperatorHandle& op, torch::jit::Stack* stack)
      : op_(op), schema_(op.schema()), stack_(stack), begin_(stack->size() - schema_.arguments().size()) {
    check_devices();
  }
  const std::string& name() const { return schema_.name(); }

  void run() {
    c10::DeviceGuard guard(cuda(d_));
    for (size_t i = 0; i < schema_.arguments().size(); ++i) to_cpu((*stack_)[begin_ + i], written(i));
    if (is_view(name())) {
      op_.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack_);
      results_to_cuda(nullptr);
      return;
    }
    const bool waits = waits_for_values(name());
    if (waits) host_waits(name());
    Launch launch(d_, name());
    for (auto& twin : twins_) launch.touches(twin.cuda, twin.written);
    const double seconds = waits ? 0 : seconds_if_too_long();
    if (!seconds || !skip(launch, seconds)) compute(launch);
    if (waits) synchronize_stream(d_, current[d_]);
  }

 private:
  struct Twin { at::Tensor cuda, cpu; bool written; };

  bool written(size_t i) const {
    auto* alias = schema_.arguments()[i].alias_info();
    return alias && alias->isWrite();
  }

  template <class F>
  static void each_tensor(const c10::IValue& value, F&& use) {
    if (value.isTensor()) use(value.toTensor());
    else if (value.isTensorList()) for (const auto& t : value.toTensorVector()) use(t);
    else if (value.isList()) for (const auto& e : value.toListRef()) if (e.isTensor()) use(e.toTensor());
  }

  void check_devices() {
    std::optional<at::Device> common;
    bool on_cpu = false;
    for (size_t i = 0; i < schema_.arguments().size(); ++i)
      each_tensor((*stack_)[begin_ + i], [&](const at::Tensor& t) {
        if (!t.defined()) return;
        if (!t.is_cuda()) {
          on_cpu |= t.dim() > 0 || written(i) || takes_no_cpu_scalars(name());
          return;
        }
        if (!common) common = t.device();
        TORCH_CHECK(*common == t.device(), "Expected all tensors to be on the same device, but found at least two ",
                    "devices, ", *common, " and ", t.device(), "! (simulated, ", name(), ")");
      });
    TORCH_CHECK(common, "simulated CUDA: ", name(), " was asked for without a CUDA tensor");
    TORCH_CHECK(!on_cpu, "Expected all tensors to be on the same device, but found at least two devices, ", *common,
                " and cpu! (simulated, ", name(), ")");
    d_ = common->index();
  }

  at::Tensor twin_of(const at::Tensor& t, bool written) {
    if (!t.defined() || !t.is_cuda()) return t;
    for (auto& twin : twins_)
      if (twin.cuda.is_same(t)) {
        twin.written |= written;
        return twin.cpu;
      }
    twins_.push_back({t, as_cpu(t), written});
    return twins_.back().cpu;
  }

  void to_cpu(c10::IValue& value, bool written) {
    if (value.isTensor()) {
      value = twin_of(value.toTensor(), written);
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const auto& t : value.toTensorVector()) list.push_back(twin_of(t, written));
      value = list;
    } else if (value.isList() && value.type()->isSubtypeOf(*c10::ListType::ofOptionalTensors())) {
      c10::List<std::optional<at::Tensor>> list;
      for (const auto& e : value.toListRef())
        list.push_back(e.isTensor() ? std::optional<at::Tensor>(twin_of(e.toTensor(), written)) : std::nullopt);
      value = list;
    } else if (value.isGenerator()) {
      auto generator = value.toGenerator();
      if (generator.defined() && generator.device().is_cuda())
        value = static_cast<Generator*>(generator.unsafeGetGeneratorImpl())->inside;
    } else if (value.isDevice() && value.toDevice().is_cuda()) {
      value = c10::Device(c10::kCPU);
    }
  }

  void compute(Launch& launch) {
    torch::jit::Stack arguments(stack_->begin() + begin_, stack_->end());
    std::vector<at::Tensor> before;  // a capture only notes what is to be done: its kernels run to learn their shapes
    if (capturing) for (auto& twin : twins_) before.push_back(twin.written ? twin.cpu.clone() : at::Tensor());
    run_on_cpu(op_, stack_);
    for (auto& twin : twins_) if (twin.written) follow(twin.cuda, twin.cpu);
    auto fresh = results_to_cuda(&launch);
    launch.done();
    if (!capturing) return;
    for (size_t i = 0; i < twins_.size(); ++i) {
      capturing->held.push_back(twins_[i].cuda);
      auto now_there = as_cpu(twins_[i].cuda);
      if (before[i].defined() && before[i].sizes() == now_there.sizes()) copy_now(now_there, before[i]);
    }
    on_replay([op = op_, arguments, fresh] {
      auto stack = arguments;
      run_on_cpu(op, &stack);
      for (auto& [i, out] : fresh) {
        auto result = stack[i].toTensor();
        const auto bytes = out.storage().nbytes();
        if (bytes) std::memcpy(out.storage().mutable_data(), result.const_data_ptr(), bytes);
      }
    });
  }

  // The results on the stack become tensors of the GPU; returns those in new memory, with their places.
  std::vector<std::pair<size_t, at::Tensor>> results_to_cuda(Launch* launch) {
    std::vector<std::pair<size_t, at::Tensor>> fresh;
    const size_t results = schema_.returns().size(), first = stack_->size() - results;
    auto back = [&](const at::Tensor& result, size_t i) -> at::Tensor {
      if (!result.defined() || !result.device().is_cpu()) return result;
      for (auto& twin : twins_) if (twin.cpu.is_same(result)) return twin.cuda;
      for (auto& twin : twins_)
        if (result.storage().unsafeGetStorageImpl() == twin.cpu.storage().unsafeGetStorageImpl())
          return same_view(twin.cuda, result);
      auto out = as_cuda(result, d_);
      if (launch) launch->writes(out);
      fresh.emplace_back(i, out);
      return out;
    };
    for (size_t i = 0; i < results; ++i) {
      auto& value = (*stack_)[first + i];
      if (value.isTensor()) {
        value = back(value.toTensor(), i);
      } else if (value.isTensorList()) {
        c10::List<at::Tensor> list;
        for (const auto& t : value.toTensorVector()) list.push_back(back(t, i));
        value = list;
      }
    }
    return fresh;
  }

  // ---- kernels that are too long to be computed

  // Returns what the kernel would take on a GPU if it has more work than the rehearsal allows, else 0.
  double seconds_if_too_long() const {
    double elements = 0, bytes = 0;
    for (auto& twin : twins_) {
      if (twin.written && !twin.cuda.numel()) return 0;  // it will be resized: only the kernel knows to what
      elements = std::max(elements, double(twin.cuda.numel()));
      bytes += twin.cuda.nbytes();
    }
    const double flops = product_flops();
    const bool long_ = (MOST_ELEMENTS > 0 && elements > MOST_ELEMENTS) || (MOST_FLOPS > 0 && flops > MOST_FLOPS);
    return long_ ? std::max(flops / RATE, bytes / BANDWIDTH) : 0;
  }

  double product_flops() const {
    auto tensor = [&](size_t i) { return (*stack_)[begin_ + i].toTensor(); };
    if (name() == "aten::mm" || name() == "aten::bmm") return 2.0 * tensor(0).numel() * tensor(1).size(-1);
    if (name() == "aten::addmm" || name() == "aten::baddbmm") return 2.0 * tensor(1).numel() * tensor(2).size(-1);
    return 0;
  }

  // Lets time pass instead: what exists stays as it is, but for a few ones, and new results are of the right shape. False where it cannot.
  bool skip(Launch& launch, double seconds) {
    std::vector<c10::IValue> results;
    const bool in_place = results_in_place(results);
    if (!in_place && !results_in_shape(results, launch)) return false;
    { Lock lock(mutex); counts["skipped"]++; }
    for (auto& result : results) begin_with_ones(result.toTensor(), !in_place);
    torch::jit::drop(*stack_, schema_.arguments().size());
    for (auto& result : results) torch::jit::push(*stack_, std::move(result));
    launch.done(seconds);
    if (capturing) {
      for (auto& twin : twins_) capturing->held.push_back(twin.cuda);
      on_replay([d = d_, seconds] { passes(d, seconds); });
    }
    return true;
  }

  // Zeros all over would make quotients of nothing; what was in new memory may be no number. To fill more takes time.
  static void begin_with_ones(const at::Tensor& t, bool is_new) {
    if (!t.defined() || !t.numel()) return;
    at::AutoDispatchBelowADInplaceOrView below;
    const auto flat = [&](int64_t most) {
      return as_cpu(t).as_strided({std::min(t.numel(), most)}, {1}, t.storage_offset());
    };
    if (is_new && t.numel() <= 4'000'000) flat(t.numel()).zero_();
    flat(1000).fill_(1);
  }

  // Each result is one of the arguments, as in x.add_(1) and torch.mm(x, y, out=z).
  bool results_in_place(std::vector<c10::IValue>& results) {
    for (const auto& result : schema_.returns()) {
      if (!result.alias_info() || !result.alias_info()->isWrite()) return false;
      for (size_t i = 0; i < schema_.arguments().size(); ++i) {
        auto* alias = schema_.arguments()[i].alias_info();
        if (!alias || alias->beforeSets() != result.alias_info()->beforeSets()) continue;
        const auto cpu = (*stack_)[begin_ + i].toTensor();
        for (auto& twin : twins_) if (twin.cpu.is_same(cpu)) results.emplace_back(twin.cuda);
      }
    }
    return results.size() == schema_.returns().size();
  }

  // PyTorch's shape functions say what would come out.
  bool results_in_shape(std::vector<c10::IValue>& results, Launch& launch) {
    if (schema_.is_mutable()) return false;
    torch::jit::Stack shapes;
    for (size_t i = 0; i < schema_.arguments().size(); ++i) {
      const auto& value = (*stack_)[begin_ + i];
      if (value.isTensor() && value.toTensor().defined()) shapes.emplace_back(as_meta(value.toTensor()));
      else if (value.isTensorList() || value.isGenerator() || value.isDevice()) return false;
      else shapes.push_back(value);
    }
    try {
      if (name() == "aten::_slow_conv2d_forward") shapes = {convolved()};
      else op_.callBoxed(&shapes);
    } catch (const c10::Error&) {
      return false;
    }
    results.clear();
    for (auto& shape : shapes) {
      if (!shape.isTensor()) return false;
      if (!shape.toTensor().defined()) {
        results.emplace_back(at::Tensor());
        continue;
      }
      const auto& like = shape.toTensor();
      auto out = empty_on(d_, like.sizes(), like.strides(), like.scalar_type());
      launch.writes(out);
      results.emplace_back(out);
    }
    return true;
  }

  // PyTorch has no shape function for the convolution that a GPU without cuDNN is given.
  at::Tensor convolved() const {
    auto argument = [&](size_t i) { return (*stack_)[begin_ + i]; };
    const auto x = argument(0).toTensor(), w = argument(1).toTensor();
    const auto kernel = argument(2).toIntVector(), stride = argument(4).toIntVector(), pad = argument(5).toIntVector();
    auto side = [&](size_t i) { return (x.size(2 + i) + 2 * pad[i] - kernel[i]) / stride[i] + 1; };
    return at::empty({x.size(0), w.size(0), side(0), side(1)}, x.options().device(at::kMeta));
  }

  const c10::OperatorHandle op_;
  const c10::FunctionSchema& schema_;
  torch::jit::Stack* stack_;
  size_t begin_;
  int d_ = 0;
  std::vector<Twin> twins_;
};

inline void fallback(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
  Call(op, stack).run();
}

// ---- what has no CPU kernel to fall back to

using OptionalDevice = std::optional<at::Device>;

inline void refuse_pinning(std::optional<bool> pin) {
  TORCH_CHECK(!pin.value_or(false), "Only dense CPU tensors can be pinned");
}
inline at::ScalarType type_or_default(std::optional<at::ScalarType> type) {
  return type.value_or(at::typeMetaToScalarType(at::get_default_dtype()));
}
inline at::Tensor empty(c10::SymIntArrayRef size, std::optional<at::ScalarType> type, std::optional<at::Layout>,
                        OptionalDevice d, std::optional<bool> pin, std::optional<at::MemoryFormat> format) {
  refuse_pinning(pin);
  c10::DeviceGuard guard(d.value_or(cuda(device)));
  return at::detail::empty_generic(C10_AS_INTARRAYREF_SLOW(size), &allocator, ON_CUDA, type_or_default(type), format);
}
inline at::Tensor empty_strided(c10::SymIntArrayRef size, c10::SymIntArrayRef stride,
                                std::optional<at::ScalarType> type, std::optional<at::Layout>, OptionalDevice d,
                                std::optional<bool> pin) {
  refuse_pinning(pin);
  return empty_on(index_of(d.value_or(cuda(device))), C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride),
                  type_or_default(type));
}
inline at::Tensor& set_source(at::Tensor& self, at::Storage source, c10::SymInt offset, c10::SymIntArrayRef size,
                              c10::SymIntArrayRef stride) {
  const auto sizes = C10_AS_INTARRAYREF_SLOW(size), strides = C10_AS_INTARRAYREF_SLOW(stride);
  self.unsafeGetTensorImpl()->set_storage_keep_dtype(source);
  std::vector<int64_t> dense(sizes.size());
  if (strides.empty()) {
    int64_t step = 1;
    for (size_t i = sizes.size(); i-- > 0; step *= sizes[i]) dense[i] = step;
  } else {
    dense = strides.vec();
  }
  self.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, dense, offset.expect_int());
  return self;
}
inline at::Tensor& set_whole_source(at::Tensor& self, at::Storage source) {
  const std::vector<int64_t> length{int64_t(source.nbytes() / self.itemsize())}, dense{1};
  self.unsafeGetTensorImpl()->set_storage_keep_dtype(source);
  self.unsafeGetTensorImpl()->set_sizes_and_strides(length, dense, 0);
  return self;
}
inline void record_stream(at::Tensor& t, at::Stream s) {
  Lock lock(mutex);
  counts["record_stream"]++;
  Block* block = block_of(t);
  if (block && (s.device_index() != block->d || s.id() != block->s)) block->users.insert(id(s.device_index(), s.id()));
}

// What `UntypedStorage.resize_` does on a GPU; PyTorch for the CPU is built without it. FSDP frees memory by it.
void resize_storage(const at::Tensor& whole, int64_t bytes) {
  c10::StorageImpl* storage = whole.storage().unsafeGetStorageImpl();
  c10::DataPtr data = storage->allocator()->allocate(bytes);
  if (const size_t kept = std::min<size_t>(bytes, storage->nbytes())) {
    std::memcpy(data.get(), storage->data(), kept);
  }
  storage->set_data_ptr_noswap(std::move(data));
  storage->set_nbytes(bytes);
}

TORCH_LIBRARY(simulated, m) { m.def("resize_storage(Tensor whole, int bytes) -> ()"); }
TORCH_LIBRARY_IMPL(simulated, CUDA, m) { m.impl("resize_storage", TORCH_FN(resize_storage)); }

TORCH_LIBRARY_IMPL(_, CUDA, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>()); }
TORCH_LIBRARY_IMPL(aten, CUDA, m) {
  m.impl("empty.memory_format", TORCH_FN(empty));
  m.impl("empty_strided", TORCH_FN(empty_strided));
  m.impl("copy_", TORCH_FN(copy_));
  m.impl("_local_scalar_dense", TORCH_FN(item));
  m.impl("set_.source_Storage_storage_offset", TORCH_FN(set_source));
  m.impl("set_.source_Storage", TORCH_FN(set_whole_source));
  m.impl("record_stream", TORCH_FN(record_stream));
}

}  // namespace sim

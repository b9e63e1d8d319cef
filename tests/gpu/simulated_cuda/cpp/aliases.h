// Tensors of a simulated GPU and their twins on the CPU, which share their memory.
#pragma once

#include <ATen/EmptyTensor.h>
#include <c10/core/CPUAllocator.h>
#include <torch/library.h>

#include "device.h"
#include "launches.h"

namespace sim {

const c10::DispatchKeySet ON_CUDA{c10::DispatchKey::CUDA};

inline at::Tensor empty_on(int d, at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType type) {
  c10::DeviceGuard guard(cuda(d));
  return at::Tensor(at::detail::empty_strided_generic(sizes, strides, &allocator, ON_CUDA, type));
}

// Returns the CPU's view of a tensor: another tensor on the same memory, which with `keep` stays as long as that does.
inline at::Tensor as_cpu(const at::Tensor& t, bool keep = false) {
  auto& old = t.storage();
  void (*release)(void*) = [](void* held) { delete static_cast<c10::Storage*>(held); };
  c10::DataPtr same(old.mutable_data(), keep ? new c10::Storage(old) : nullptr, keep ? release : nullptr,
                    c10::Device(c10::kCPU));
  auto storage = c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), old.nbytes(),
                                                       std::move(same), c10::GetCPUAllocator(), true);
  auto out = at::detail::make_tensor<at::TensorImpl>(c10::Storage(storage),
                                                     c10::DispatchKeySet(c10::DispatchKey::CPU), t.dtype());
  out.unsafeGetTensorImpl()->set_sizes_and_strides(t.sizes(), t.strides(), t.storage_offset());
  if (t.is_neg()) out._set_neg(true);
  if (t.is_conj()) out._set_conj(true);
  return out;
}

// Returns a tensor without memory of the same shape, for PyTorch's shape functions.
inline at::Tensor as_meta(const at::Tensor& t) {
  return at::empty_strided(t.sizes(), t.strides(), t.options().device(c10::kMeta));
}

// Returns a GPU's copy of what a CPU's kernel returned.
inline at::Tensor as_cuda(const at::Tensor& result, int d) {
  auto out = empty_on(d, result.sizes(), result.strides(), result.scalar_type());
  if (out.storage().nbytes()) std::memcpy(out.storage().mutable_data(), result.const_data_ptr(), out.storage().nbytes());
  return out;
}

// Gives a tensor what a kernel did to its twin: a kernel may resize what it writes.
inline void follow(const at::Tensor& t, const at::Tensor& twin) {
  const auto& made = twin.storage();
  if (made.data() != t.storage().data() || made.nbytes() != t.storage().nbytes()) {
    c10::DeviceGuard guard(t.device());
    auto fresh = allocator.allocate(made.nbytes());
    if (made.nbytes()) std::memcpy(fresh.get(), made.data(), made.nbytes());
    t.storage().unsafeGetStorageImpl()->set_data_ptr_noswap(std::move(fresh));
    t.storage().unsafeGetStorageImpl()->set_nbytes(made.nbytes());
  }
  if (twin.sizes() != t.sizes() || twin.strides() != t.strides() || twin.storage_offset() != t.storage_offset())
    t.unsafeGetTensorImpl()->set_sizes_and_strides(twin.sizes(), twin.strides(), twin.storage_offset());
}

// Returns a view of a GPU's tensor as a kernel made one of its twin.
inline at::Tensor same_view(const at::Tensor& t, const at::Tensor& twin) {
  auto out = at::detail::make_tensor<at::TensorImpl>(c10::TensorImpl::VIEW, c10::Storage(t.storage()), t.key_set(),
                                                     twin.dtype());
  out.unsafeGetTensorImpl()->set_sizes_and_strides(twin.sizes(), twin.strides(), twin.storage_offset());
  return out;
}

}  // namespace sim

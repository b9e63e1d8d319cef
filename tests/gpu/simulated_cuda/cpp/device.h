// Devices as PyTorch's core asks for them: the guard that sets device and stream, the hooks, the generators.
#pragma once

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "memory.h"

namespace sim {

inline c10::Device cuda(int i) { return c10::Device(c10::kCUDA, c10::DeviceIndex(i)); }
inline int index_of(c10::Device d) {
  const int i = d.has_index() ? d.index() : device;
  TORCH_CHECK(i >= 0 && i < DEVICES, "CUDA error: invalid device ordinal");
  return i;
}

struct Guard final : c10::impl::DeviceGuardImplInterface {
  using Stream = c10::Stream;
  using Device = c10::Device;
  static Stream stream(int i, int64_t s) { return Stream(Stream::UNSAFE, cuda(i), s); }

  c10::DeviceType type() const override { return c10::kCUDA; }
  Device getDevice() const override { return cuda(device); }
  void setDevice(Device d) const override { device = index_of(d); }
  void uncheckedSetDevice(Device d) const noexcept override {
    if (d.has_index()) device = d.index();
  }
  Device exchangeDevice(Device d) const override {
    const auto old = cuda(device);
    device = index_of(d);
    return old;
  }
  c10::DeviceIndex deviceCount() const noexcept override { return DEVICES; }
  Stream getStream(Device d) const override { return stream(index_of(d), current[index_of(d)]); }
  Stream getDefaultStream(Device d) const override { return stream(index_of(d), 0); }
  Stream getNewStream(Device d, int) const override { return stream(index_of(d), new_stream(index_of(d))); }
  Stream exchangeStream(Stream s) const override {
    const auto old = getStream(s.device());
    current[index_of(s.device())] = s.id();
    return old;
  }
  void record(void** event, const Stream& s, const c10::DeviceIndex, const c10::EventFlag) const override {
    if (!*event) *event = new Clock;
    *static_cast<Clock*>(*event) = moment_of(index_of(s.device()), s.id());
  }
  void block(void* event, const Stream& s) const override {
    Lock lock(mutex);
    if (event) join(known[id(index_of(s.device()), s.id())], *static_cast<Clock*>(event));
  }
  bool queryEvent(void*) const override { return true; }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override { delete static_cast<Clock*>(event); }
  bool queryStream(const Stream&) const override { return true; }
  void synchronizeStream(const Stream& s) const override {
    host_waits("stream");
    synchronize_stream(index_of(s.device()), s.id());
  }
  void synchronizeDevice(const c10::DeviceIndex d) const override {
    host_waits("device");
    synchronize_device(d);
  }
};

struct Generator final : c10::GeneratorImpl {  // a CPU's under another name: kernels are handed the one inside
  at::Generator inside;
  explicit Generator(int d, uint64_t seed = c10::default_rng_seed_val)
      : c10::GeneratorImpl(cuda(d), c10::DispatchKeySet(c10::DispatchKey::CUDA)),
        inside(at::detail::createCPUGenerator(seed)) {}
  void set_current_seed(uint64_t seed) override { inside.set_current_seed(seed); }
  void set_offset(uint64_t) override {}
  uint64_t get_offset() const override { return 0; }
  uint64_t current_seed() const override { return inside.current_seed(); }
  uint64_t seed() override { return inside.seed(); }
  void set_state(const c10::TensorImpl& state) override { inside.unsafeGetGeneratorImpl()->set_state(state); }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    return inside.unsafeGetGeneratorImpl()->get_state();
  }
  Generator* clone_impl() const override {
    auto* copy = new Generator(device_.index());
    copy->inside = inside.clone();
    return copy;
  }
};

}  // namespace sim

namespace at {

struct CUDAHooks final : CUDAHooksInterface {  // PyTorch looks for this name
  CUDAHooks(CUDAHooksArgs) {}
  void init() const override {}
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return sim::DEVICES > 0; }
  bool hasCUDA() const override { return sim::DEVICES > 0; }
  bool hasCUDART() const override { return true; }
  bool hasPrimaryContext(DeviceIndex) const override { return true; }
  DeviceIndex deviceCount() const override { return sim::DEVICES; }
  int getNumGPUs() const override { return sim::DEVICES; }
  DeviceIndex current_device() const override { return sim::device; }
  DeviceIndex getCurrentDevice() const override { return sim::device; }
  void setCurrentDevice(DeviceIndex d) const override { sim::device = d; }
  DeviceIndex exchangeDevice(DeviceIndex d) const override { return std::exchange(sim::device, int(d)); }
  DeviceIndex maybeExchangeDevice(DeviceIndex d) const override { return exchangeDevice(d); }
  bool isPinnedPtr(const void* where) const override { return sim::is_pinned(where); }
  Allocator* getPinnedMemoryAllocator() const override { return &sim::pinned_allocator; }
  Allocator* getCUDADeviceAllocator() const override { return &sim::allocator; }
  Generator getNewGenerator(DeviceIndex d = -1) const override {
    return make_generator<sim::Generator>(d < 0 ? sim::device : d);
  }
  const Generator& getDefaultGenerator(DeviceIndex d = -1) const override {
    static std::vector<Generator> all = [] {
      std::vector<Generator> made;
      for (int i = 0; i < sim::MOST_DEVICES; ++i) made.push_back(make_generator<sim::Generator>(i));
      return made;
    }();
    return all[d < 0 ? sim::device : d];
  }
  void deviceSynchronize(DeviceIndex d) const override { sim::synchronize_device(d); }
};
C10_REGISTER_TYPED_CLASS(CUDAHooksRegistry, "CUDAHooks", CUDAHooks)

}  // namespace at

namespace sim {
C10_REGISTER_GUARD_IMPL(CUDA, Guard)
}

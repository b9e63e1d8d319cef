// Copies to, from and between simulated GPUs, and what of them arrives in main memory when.
#pragma once

#include "aliases.h"

namespace sim {

// A copy into pinned memory that nobody waits for arrives, for the host, when the host has waited for it: until then
// the memory holds 0xff bytes, which are NaNs. So a missing wait shows in the numbers.
struct Arrival {
  int stream;
  uint64_t number;
  at::Tensor target, content;
};
inline std::vector<Arrival> arrivals;

inline void copy_now(at::Tensor& to, const at::Tensor& from) {
  at::AutoDispatchBelowADInplaceOrView below;
  to.copy_(from);
}

inline void deliver(const Clock& clock) {
  std::vector<Arrival> due;  // outlives the lock: to free a tensor may take Python's
  {
    Lock lock(mutex);
    auto waits = [&](const Arrival& a) {
      auto it = clock.find(a.stream);
      return it == clock.end() || it->second < a.number;
    };
    auto first = std::stable_partition(arrivals.begin(), arrivals.end(), waits);
    std::move(first, arrivals.end(), std::back_inserter(due));
    arrivals.erase(first, arrivals.end());
  }
  for (auto& arrival : due) copy_now(arrival.target, arrival.content);
}

inline void post(const Launch& launch, at::Tensor target, const at::Tensor& source) {
  auto content = source.clone();
  if (target.is_non_overlapping_and_dense()) std::memset(target.mutable_data_ptr(), 0xff, target.nbytes());
  Lock lock(mutex);
  arrivals.push_back({launch.access.stream, launch.access.number, std::move(target), std::move(content)});
}

// Of what is too long to be copied, the beginning: what it holds may be asked for.
inline void copy_a_little(const at::Tensor& to, const at::Tensor& from) {
  const auto beginning = [&](const at::Tensor& t) {
    return t.as_strided({std::min<int64_t>(to.numel(), 1000)}, {1}, t.storage_offset());
  };
  auto a = beginning(to);
  copy_now(a, beginning(from));
}

inline bool too_large(const at::Tensor& t) { return MOST_ELEMENTS > 0 && double(t.numel()) > MOST_ELEMENTS; }

// From one GPU to another PyTorch copies in the source's stream, which waits for the target's; then that waits for it.
inline void between(at::Tensor& self, const at::Tensor& source) {
  const int d = source.device().index(), there = self.device().index();
  const int from = id(d, current[d]), to = id(there, current[there]);
  { Lock lock(mutex); join(known[from], moment_of(there, current[there])); }
  Launch launch(d, d == there ? "copy within" : "copy between");
  launch.reads(source);
  launch.writes(self);
  auto a = as_cpu(self), b = as_cpu(source);
  if (!too_large(a)) {
    if (!capturing) copy_now(a, b);
    on_replay([a, b]() mutable { copy_now(a, b); });
  } else {
    copy_a_little(a, b);
  }
  if (capturing) capturing->held.insert(capturing->held.end(), {self, source});
  launch.done(a.nbytes() / BANDWIDTH);
  Lock lock(mutex);
  if (from != to) {
    join(known[to], moment_of(d, current[d]));
    tail[there][current[there]] = std::max(tail[there][current[there]], tail[d][current[d]]);
  }
}

inline void across_the_bus(at::Tensor& self, const at::Tensor& source, bool non_blocking) {
  const bool up = self.is_cuda();
  const int d = (up ? self : source).device().index();
  const bool waits = !non_blocking || !is_pinned((up ? source : self).const_data_ptr());
  if (waits) host_waits(up ? "copy to GPU" : "copy from GPU");
  c10::DeviceGuard guard(cuda(d));
  Launch launch(d, up ? "copy to" : "copy from");
  launch.reads(source);
  launch.writes(self);
  if (up) deliver(known[launch.access.stream]);  // the stream reads what arrived in it before
  auto a = up ? as_cpu(self) : self, b = up ? source : as_cpu(source);
  if (!too_large(a)) {
    if (!capturing && (up || waits)) copy_now(a, b);
    else if (!capturing) post(launch, a, b);
    on_replay([a, b]() mutable { copy_now(a, b); });
  } else {
    copy_a_little(a, b);
  }
  if (capturing) capturing->held.insert(capturing->held.end(), {self, source});
  launch.done(a.nbytes() / (BANDWIDTH / 80));
  if (waits) synchronize_stream(d, current[d]);
}

inline at::Tensor& copy_(at::Tensor& self, const at::Tensor& source, bool non_blocking) {
  if (self.is_same(source)) return self;
  if (self.is_cuda() && source.is_cuda()) between(self, source);
  else across_the_bus(self, source, non_blocking);
  return self;
}

inline at::Scalar item(const at::Tensor& self) {
  host_waits("item");
  const int d = self.device().index();
  c10::DeviceGuard guard(cuda(d));
  Launch launch(d, "aten::item");
  launch.reads(self);
  launch.done();
  synchronize_stream(d, current[d]);
  return as_cpu(self).item();
}

}  // namespace sim

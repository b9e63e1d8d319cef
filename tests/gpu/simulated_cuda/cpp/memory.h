// Memory of a simulated GPU, which is main memory: a caching allocator, pinned memory, and who touched which block.
#pragma once

#include <c10/core/Allocator.h>

#include <cstring>
#include <set>

#include "streams.h"

namespace sim {

struct Access {
  int stream;
  uint64_t number;  // of the kernel in its stream
  std::string op;
  size_t low = 0, high = SIZE_MAX;  // the bytes, from the block's start
};
struct Accesses {
  std::vector<Access> writes, reads;  // that later ones have to wait for
};
struct Block : Accesses {
  void* start;
  size_t size;
  int d;
  int64_t s;                                // allocated in this stream, and handed out again there
  std::set<int> users;                      // other streams, by record_stream
  std::vector<std::pair<int, uint64_t>> until;  // what of them must be done before it is handed out again
  double when = 0;                          // and when that will be
};

inline std::multimap<std::tuple<int, int64_t, size_t>, Block*> freed;
inline std::vector<Block*> in_use;  // freed, but other streams have still to be done with them
inline size_t live[MOST_DEVICES] = {}, peak[MOST_DEVICES] = {}, reserved[MOST_DEVICES] = {};

inline void release(void* context) {
  Lock lock(mutex);
  auto* block = static_cast<Block*>(context);
  live[block->d] -= block->size;
  if (block->users.empty()) {
    freed.emplace(std::make_tuple(block->d, block->s, block->size), block);
    return;
  }
  for (int k : block->users) {
    block->until.emplace_back(k, launched[k]);
    block->when = std::max(block->when, tail[k / STREAMS][k % STREAMS]);
  }
  in_use.push_back(block);
}

// Blocks whose users are done may be handed out again: the allocator has asked an event, so they are no danger.
inline void reclaim() {
  std::erase_if(in_use, [](Block* block) {
    if (block->when > now()) return false;
    auto done = [&](const Access& access) {
      return std::any_of(block->until.begin(), block->until.end(),
                         [&](auto& u) { return u.first == access.stream && access.number <= u.second; });
    };
    std::erase_if(block->reads, done);
    std::erase_if(block->writes, done);
    block->users.clear();
    block->until.clear();
    block->when = 0;
    freed.emplace(std::make_tuple(block->d, block->s, block->size), block);
    return true;
  });
}

inline void empty_cache(int d) {
  Lock lock(mutex);
  reclaim();
  for (auto it = freed.begin(); it != freed.end();) {
    Block* block = it->second;
    if (block->d != d) {
      ++it;
      continue;
    }
    reserved[d] -= block->size;
    std::free(block->start);
    delete block;
    it = freed.erase(it);
  }
}

inline void* aligned(size_t alignment, size_t bytes) {
  void* start = nullptr;
  TORCH_CHECK(posix_memalign(&start, alignment, bytes) == 0, "CUDA out of memory. (main memory, simulated)");
  return start;
}

struct CachingAllocator final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    Lock lock(mutex);
    const int d = device;
    const int64_t s = current[d];
    const size_t size = (bytes + 511) / 512 * 512;
    if (!size) return {nullptr, nullptr, [](void*) {}, c10::Device(c10::kCUDA, d)};
    reclaim();
    Block* block;
    if (auto it = freed.find({d, s, size}); it != freed.end()) {
      block = it->second;
      freed.erase(it);
    } else {
      if (reserved[d] + size > MEMORY) empty_cache(d);
      TORCH_CHECK_WITH(OutOfMemoryError, reserved[d] + size <= MEMORY, "CUDA out of memory. Tried to allocate ", size,
                       " bytes on a simulated GPU of ", MEMORY, " bytes, of which ", live[d], " are allocated.");
      block = new Block{{}, aligned(512, size), size, d, s};
      reserved[d] += size;
    }
    live[d] += size;
    peak[d] = std::max(peak[d], live[d]);
    return {block->start, block, &release, c10::Device(c10::kCUDA, d)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, size_t bytes) const override { std::memcpy(to, from, bytes); }
};
inline CachingAllocator allocator;

// The block of a tensor's storage, or none: what from_blob or an empty tensor has is not ours.
inline Block* block_of(const at::Tensor& t) {
  if (!t.defined() || !t.is_cuda() || !t.has_storage()) return nullptr;
  auto& data = t.storage().data_ptr();
  return data.get_deleter() == &release ? static_cast<Block*>(data.get_context()) : nullptr;
}

inline std::map<char*, size_t> pinned;

struct PinnedAllocator final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    void* start = bytes ? aligned(4096, bytes) : nullptr;
    Lock lock(mutex);
    if (bytes) pinned[static_cast<char*>(start)] = bytes;
    counts["pinned allocation"]++;
    return {start, start, &drop, c10::Device(c10::kCPU)};
  }
  static void drop(void* start) {
    if (!start) return;
    Lock lock(mutex);
    pinned.erase(static_cast<char*>(start));
    std::free(start);
  }
  c10::DeleterFnPtr raw_deleter() const override { return &drop; }
  void copy_data(void* to, const void* from, size_t bytes) const override { std::memcpy(to, from, bytes); }
};
inline PinnedAllocator pinned_allocator;

inline bool is_pinned(const void* where) {
  Lock lock(mutex);
  auto* byte = static_cast<char*>(const_cast<void*>(where));
  auto it = pinned.upper_bound(byte);
  if (it == pinned.begin()) return false;
  --it;
  return byte < it->first + it->second;
}

}  // namespace sim

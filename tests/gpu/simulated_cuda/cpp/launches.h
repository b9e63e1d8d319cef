// A launch: a kernel in the current stream, what it reads and writes, and whether it waited for those before it.
// A graph: what was launched while a stream captured, to be done again at each replay.
#pragma once

#include <functional>

#include "memory.h"

namespace sim {

struct Graph {
  int origin;                                // the stream in which the capture began
  uint64_t serial;
  std::set<int> joined{origin};              // streams that capture: they waited for one that does
  std::vector<std::function<void()>> steps;  // what a replay does
  std::set<int> used;                        // streams that take part
  std::vector<at::Tensor> held;              // a graph's memory lives as long as it does
  std::map<Block*, Accesses> inside;         // who touched what within the capture
  std::map<Block*, bool> touched;            // and, seen from outside, whether it writes it
};

inline bool captures(int stream) { return capturing && capturing->joined.count(stream); }
inline uint64_t capture_serial() { return capturing->serial; }

// Notes an access among those before it; returns what it should have waited for, or an empty string.
inline std::string note(Accesses& before, const Access& access, bool writes) {
  std::string found;
  const Clock& mine = known[access.stream];
  auto check = [&](const Access& other, const char* kind) {
    if (other.high <= access.low || access.high <= other.low || other.stream == access.stream) return;
    if (auto it = mine.find(other.stream); it != mine.end() && it->second >= other.number) return;
    found = std::string(kind) + ": " + access.op + " in " + name(access.stream) + " does not wait for " + other.op +
            " in " + name(other.stream);
  };
  auto covered = [&](const Access& other) { return access.low <= other.low && other.high <= access.high; };
  for (auto& other : before.writes) check(other, writes ? "write after write" : "read after write");
  if (writes) {
    for (auto& other : before.reads) check(other, "write after read");
    std::erase_if(before.reads, covered);
    std::erase_if(before.writes, covered);
    before.writes.push_back(access);
  } else {
    std::erase_if(before.reads, [&](const Access& o) { return o.stream == access.stream && covered(o); });
    before.reads.push_back(access);
  }
  return found;
}

inline bool touch(Block* block, const Access& access, bool writes) {
  std::string race;
  if (capturing) {
    capturing->touched[block] |= writes;
    race = note(capturing->inside[block], access, writes);
  } else {
    race = note(*block, access, writes);
  }
  if (!race.empty()) report(race);
  return race.empty();
}

struct Launch {
  int d;
  int64_t s;
  Access access;
  double start = launch_time();

  Launch(int device_, const std::string& op) : d(device_), s(current[device_]) {
    Lock lock(mutex);
    const int k = id(d, s);
    join(known[k], host);  // what the host had waited for when it launched is done
    access = {k, ++launched[k], op};
    known[k][k] = launched[k];
    counts[op]++;
    if (!capturing) return;
    TORCH_CHECK(capturing->joined.count(k), "CUDA error: ", op, " in ", name(k), " is no part of the capture, whose ",
                "streams it did not wait for (simulated; CUDA would run it at once, and refuse to wait for it)");
    capturing->used.insert(k);
  }
  void reads(const at::Tensor& t) { touches(t, false); }
  void writes(const at::Tensor& t) { touches(t, true); }
  void touches(const at::Tensor& t, bool writes) {
    Lock lock(mutex);
    Block* block = block_of(t);
    TORCH_CHECK(!block || touch(block, of(t), writes), "simulated race: ", races.back());
  }
  Access of(const at::Tensor& t) const {  // the bytes from the first to the last
    int64_t span = 1;
    for (int64_t i = 0; i < t.dim(); ++i) span = t.size(i) ? span + (t.size(i) - 1) * t.stride(i) : 0;
    Access bytes = access;
    bytes.low = size_t(t.storage_offset()) * t.itemsize();
    bytes.high = bytes.low + size_t(std::max<int64_t>(span, 0)) * t.itemsize();
    return bytes;
  }
  // The stream is done when it was before, or began now, and as much later as the kernel took or would take.
  void done(double seconds = 0) {
    Lock lock(mutex);
    tail[d][s] = std::max(tail[d][s], start) + std::max(seconds, now() - start);
  }
};

// Adds to the graph that is being captured, if there is one, what a replay is to do.
inline void on_replay(std::function<void()> step) {
  if (capturing) capturing->steps.push_back(std::move(step));
}
inline void passes(int d, double seconds) {
  Lock lock(mutex);
  double& end = tail[d][current[d]];
  end = std::max(end, now()) + seconds;
}

}  // namespace sim

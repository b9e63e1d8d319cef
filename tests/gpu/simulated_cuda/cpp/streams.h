// Settings, and streams: when each will be done (virtual time), and what each has waited for (vector clocks).
//
// A vector clock (Fidge 1988, Mattern 1989) holds, for each stream, the number of the last kernel of that stream which
// is known to be done. A kernel may touch memory safely if its stream's clock covers the accesses before it.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace sim {

inline int setting(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text ? std::atoi(text) : otherwise;
}

constexpr int MOST_DEVICES = 8;
constexpr int POOL = 32;           // side streams of a device: PyTorch hands them out in turn, and then the first again
constexpr int STREAMS = POOL + 1;  // number 0 is the default stream

const int DEVICES = std::min(MOST_DEVICES, setting("SIMULATED_CUDA_DEVICES", 1));
const size_t MEMORY = size_t(setting("SIMULATED_CUDA_MIB", 4096)) << 20;
// Kernels with more work than this are not computed: time passes, as on a GPU, and their results stay what they were.
const double MOST_FLOPS = setting("SIMULATED_CUDA_MOST_MFLOP", 0) * 1e6;
const double MOST_ELEMENTS = setting("SIMULATED_CUDA_MOST_KILOELEMENTS", 0) * 1e3;
// What passes then: the virtual GPU's FLOP/s and B/s, roughly an H200's.
constexpr double RATE = 5e13, BANDWIDTH = 4e12;

// ---- the clock: the system's, or one that moves only when the host launches or waits, for programs that assert times
constexpr double LAUNCH = 1e-6;  // so many seconds does the host take to launch a kernel by the virtual clock
inline std::atomic<bool> is_virtual{false};
inline std::atomic<double> virtual_now{0};

inline double now() {
  if (is_virtual) return virtual_now;
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
inline void advance(double seconds) {  // has no effect on the system's clock
  double before = virtual_now;
  while (!virtual_now.compare_exchange_weak(before, before + seconds)) {}
}
inline double launch_time() {
  advance(LAUNCH);
  return now();
}
inline void sleep_until(double moment) {
  if (is_virtual) {
    double before = virtual_now;
    while (before < moment && !virtual_now.compare_exchange_weak(before, moment)) {}
  } else if (const double left = moment - now(); left > 0) {
    std::this_thread::sleep_for(std::chrono::duration<double>(left));
  }
}

using Clock = std::map<int, uint64_t>;
constexpr int CAPTURE = -1;  // in an event's clock: the serial number of the capture to which it belongs

inline void join(Clock& mine, const Clock& other) {
  for (auto& [stream, number] : other) mine[stream] = std::max(mine[stream], number);
}

inline std::recursive_mutex mutex;  // of all that follows, but for what belongs to a thread
using Lock = std::lock_guard<std::recursive_mutex>;

inline thread_local int device = 0;
inline thread_local int64_t current[MOST_DEVICES] = {};
inline double tail[MOST_DEVICES][STREAMS] = {};          // when a stream will be done
inline Clock known[MOST_DEVICES * STREAMS], host;        // what streams, and the host, have waited for
inline uint64_t launched[MOST_DEVICES * STREAMS] = {};   // how many kernels each stream was given
inline std::atomic<unsigned> handed_out[MOST_DEVICES];
inline int sync_mode = 0;  // torch.cuda.set_sync_debug_mode: 0 default, 1 warn, 2 error
inline std::map<std::string, long> counts;

inline int id(int d, int64_t s) { return d * STREAMS + int(s); }
inline std::string name(int k) {
  return "cuda:" + std::to_string(k / STREAMS) + "/stream " + std::to_string(k % STREAMS);
}
inline int64_t new_stream(int d) { return 1 + handed_out[d]++ % POOL; }

// ---- races: accesses that did not wait for an earlier one in another stream
inline std::vector<std::string> races;

inline void report(const std::string& race) {
  races.push_back(race);
  if (const char* path = std::getenv("SIMULATED_CUDA_RACES")) std::ofstream(path, std::ios::app) << race << std::endl;
}

// ---- what the host waits for
struct Graph;
inline thread_local Graph* capturing = nullptr;
void deliver(const Clock& clock);  // what has arrived in main memory by then (copies.h)

inline void refuse_in_capture() {
  TORCH_CHECK(!capturing, "CUDA error: operation not permitted when stream is capturing");
}
inline void host_waits(const std::string& what) {
  refuse_in_capture();
  { Lock lock(mutex); counts["sync:" + what]++; }
  TORCH_CHECK(sync_mode != 2, "called a synchronizing CUDA operation");
}
inline void hear(const Clock& clock) {
  Clock now_known;
  {
    Lock lock(mutex);
    join(host, clock);
    now_known = host;
  }
  deliver(now_known);
}
inline void synchronize_stream(int d, int64_t s) {
  Clock done;
  double moment;
  {
    Lock lock(mutex);
    const int k = id(d, s);
    done = known[k];
    done[k] = launched[k];
    moment = tail[d][s];
  }
  sleep_until(moment);
  hear(done);
}
inline void synchronize_device(int d) {
  for (int s = 0; s < STREAMS; ++s) synchronize_stream(d, s);
}

// ---- events
bool captures(int stream);
uint64_t capture_serial();

inline Clock moment_of(int d, int64_t s) {
  Lock lock(mutex);
  const int k = id(d, s);
  Clock clock = known[k];
  clock[k] = launched[k];
  clock.erase(CAPTURE);
  if (captures(k)) clock[CAPTURE] = capture_serial();
  return clock;
}

}  // namespace sim

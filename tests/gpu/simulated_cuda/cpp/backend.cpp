// A CUDA device without CUDA: tensors of device cuda:i whose memory is main memory and whose kernels are the CPU's.
// This file is what Python calls (library.py); the rest, from the bottom up: streams.h, memory.h, launches.h, device.h,
// aliases.h, copies.h, kernels.h, collectives.h.
#include "collectives.h"

using namespace sim;

namespace {
enum Answer { FINE = 0, CAPTURING = 1, WAITING = 2, UNCAPTURED = 3 };

int may_wait() { return capturing ? CAPTURING : sync_mode == 2 ? WAITING : FINE; }

long copied(const std::string& text, char* out, long size) {
  std::strncpy(out, text.c_str(), size);
  return long(text.size());
}
}  // namespace

extern "C" {

// ---- devices and streams
int sim_count() { return DEVICES; }
int sim_device() { return device; }
void sim_set_device(int d) { device = d; }
int64_t sim_current(int d) { return current[d]; }
void sim_set_current(int d, int64_t s) { current[d] = s; }
int64_t sim_new_stream(int d) { return new_stream(d); }
void sim_set_sync_mode(int mode) { sync_mode = mode; }
int sim_sync_mode() { return sync_mode; }

int sim_synchronize_stream(int d, int64_t s) {
  if (int refused = may_wait()) return refused;
  synchronize_stream(d, s);
  return FINE;
}
int sim_synchronize_device(int d) {
  if (int refused = may_wait()) return refused;
  synchronize_device(d);
  return FINE;
}
int sim_query_stream(int d, int64_t s) {  // who is told that a stream is done has waited for it
  { Lock lock(mutex); if (tail[d][s] > now()) return 0; }
  hear(moment_of(d, s));
  return 1;
}
void sim_busy(int d, double seconds) {
  Launch launch(d, "sleep");
  launch.done(seconds);
}

// ---- events: a clock and a moment
void* sim_record(int d, int64_t s) { return new Clock(moment_of(d, s)); }
double sim_tail(int d, int64_t s) { Lock lock(mutex); return std::max(tail[d][s], now()); }
double sim_now() { return now(); }
void sim_use_virtual_clock() {
  virtual_now = now();
  is_virtual = true;
}
void sim_advance(double seconds) { advance(seconds); }
int sim_block(int d, int64_t s, void* event, double moment) {
  Lock lock(mutex);
  const auto& clock = *static_cast<Clock*>(event);
  const int k = id(d, s);
  if (capturing) {
    auto it = clock.find(CAPTURE);
    const bool of_this = it != clock.end() && it->second == capturing->serial;
    if (!of_this && capturing->joined.count(k)) return UNCAPTURED;
    if (of_this) capturing->joined.insert(k);
  }
  join(known[k], clock);
  tail[d][s] = std::max(tail[d][s], moment);
  return FINE;
}
int sim_wait(void* event, double moment) {
  if (capturing) return CAPTURING;
  sleep_until(moment);
  hear(*static_cast<Clock*>(event));
  return FINE;
}
int sim_heard(void* event) {  // whether the host knows that this event has happened
  Lock lock(mutex);
  for (auto& [stream, number] : *static_cast<Clock*>(event))
    if (stream != CAPTURE && host[stream] < number) return 0;
  return 1;
}
void sim_drop_event(void* event) { delete static_cast<Clock*>(event); }

// ---- memory
size_t sim_bytes(int d, int which) {
  Lock lock(mutex);
  return which == 0 ? live[d] : which == 1 ? peak[d] : which == 2 ? reserved[d] : MEMORY;
}
void sim_reset_peak(int d) { Lock lock(mutex); peak[d] = live[d]; }
void sim_empty_cache(int d) { empty_cache(d); }

// ---- graphs
void* sim_capture_begin(int d, int64_t s) {
  static std::atomic<uint64_t> captured{0};
  capturing = new Graph{id(d, s), ++captured};
  return capturing;
}
int sim_capture_end(void* graph) {  // returns how many streams were not joined
  auto* g = static_cast<Graph*>(graph);
  capturing = nullptr;
  Lock lock(mutex);
  return int(std::count_if(g->used.begin(), g->used.end(), [&](int k) {
    return k != g->origin && known[g->origin][k] < launched[k];
  }));
}
int sim_capturing() { return capturing != nullptr; }
int sim_replay(void* graph, int d) {  // returns 1 where it does not wait for what it has to
  auto* g = static_cast<Graph*>(graph);
  Launch launch(d, "graph replay");
  {
    Lock lock(mutex);
    for (auto& [block, writes] : g->touched) if (!touch(block, launch.access, writes)) return 1;
  }
  for (auto& step : g->steps) step();
  launch.done();
  return 0;
}
void sim_drop_graph(void* graph) { delete static_cast<Graph*>(graph); }

// ---- what was seen
long sim_races(char* out, long size) {
  Lock lock(mutex);
  std::string all;
  for (auto& race : races) all += race + "\n";
  return copied(all, out, size);
}
long sim_counts(char* out, long size) {
  Lock lock(mutex);
  std::string all;
  for (auto& [what, number] : counts) all += what + " " + std::to_string(number) + "\n";
  return copied(all, out, size);
}
}

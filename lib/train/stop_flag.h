// How a signal asks a run to stop: the handler stores the signal's number, the run ends at the next update.
#pragma once

#include <atomic>
#include <functional>

namespace mpt {

struct StopFlag {
    std::atomic<int> signal{0};
    // Whether there is something that must be put in order before the end. Until then reading text, learning
    // a vocabulary or planning a deep model may take minutes, and the process may as well end at once.
    mutable std::atomic<bool> has_work{false};
    // What the first signal is answered with from then on; null: nothing.
    mutable std::atomic<const char*> answer{nullptr};
    int asked() const { return signal.load(std::memory_order_relaxed); }
    // `answered_with` must outlive the process.
    void begin_work(const char* answered_with = nullptr) const {
        answer.store(answered_with);
        has_work.store(true);
    }
};
// As the rooms below ask: they know no signals. Without a flag: never.
inline std::function<bool()> ask(const StopFlag* flag) {
    if (flag == nullptr) return {};
    return [flag] { return flag->asked() != 0; };
}
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free &&
                  std::atomic<const char*>::is_always_lock_free,
              "used from a signal handler");

}  // namespace mpt

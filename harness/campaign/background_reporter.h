// Concludes in a process of its own, so that the campaign goes on meanwhile.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "harness/base/forked_process.h"
#include "harness/base/pipe.h"

namespace qconform::campaign {

class BackgroundReporter {
 public:
  BackgroundReporter() = default;
  ~BackgroundReporter();
  BackgroundReporter(const BackgroundReporter&) = delete;
  BackgroundReporter& operator=(const BackgroundReporter&) = delete;

  /// Whether another conclusion may begin: none runs, and those so far took no more than a tenth of the time.
  [[nodiscard]] bool is_ready() const;
  /// `work` returns what it has to say. `close_files` is called in the child first.
  void begin(const std::function<void()>& close_files, const std::function<std::string()>& work);
  /// Takes what a child said that has ended.
  void poll();
  /// Ends a child that runs.
  void end();
  [[nodiscard]] const std::string& said() const { return said_; }

 private:
  using Clock = std::chrono::steady_clock;

  void receive();

  ForkedProcess process_;
  Descriptor from_;
  std::string receiving_;
  std::string said_;
  Clock::time_point begun_;
  Clock::time_point next_ = Clock::now() + std::chrono::seconds(2);
};

}  // namespace qconform::campaign

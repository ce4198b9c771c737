// Builds reports in a process of its own, while the campaign goes on.
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

  /// Whether another report may begin: none is being built, and those so far took at most a tenth of the time.
  [[nodiscard]] bool is_ready() const;
  /// Runs `close_files` and `work` in a child. `work` returns the report in a few words.
  void begin(const std::function<void()>& close_files, const std::function<std::string()>& work);
  /// Takes the words of a child that has ended.
  void poll();
  /// Kills the child, if one runs.
  void end();
  [[nodiscard]] const std::string& last_report() const { return last_report_; }

 private:
  using Clock = std::chrono::steady_clock;

  void receive();

  ForkedProcess process_;
  Descriptor from_;
  std::string receiving_;
  std::string last_report_;
  Clock::time_point begun_;
  Clock::time_point next_ = Clock::now() + std::chrono::seconds(2);
};

}  // namespace qconform::campaign

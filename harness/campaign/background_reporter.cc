#include "harness/campaign/background_reporter.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace qconform::campaign {
namespace {

constexpr std::chrono::seconds kShortestPause(2);
constexpr int kShare = 10;  ///< the pause after a report, in times that the report took
constexpr int kNice = 5;

}  // namespace

BackgroundReporter::~BackgroundReporter() {
  end();
}

bool BackgroundReporter::is_ready() const {
  return !process_.is_running() && Clock::now() >= next_;
}

void BackgroundReporter::begin(const std::function<void()>& close_files, const std::function<std::string()>& work) {
  Pipe pipe;
  if (!pipe.open(O_NONBLOCK)) return;
  process_ = ForkedProcess(ForkedProcess::Group::shared, [&] {
    (void)nice(kNice);
    close_files();
    write_all(pipe.write.get(), work().substr(0, 4096));  // which a pipe holds
  });
  from_ = std::move(pipe.read);
  receiving_.clear();
  begun_ = Clock::now();
  if (!process_.is_running()) end();
}

void BackgroundReporter::receive() {
  char bytes[4096];
  for (ssize_t count = 0; (count = ::read(from_.get(), bytes, sizeof bytes)) > 0;) {
    receiving_.append(bytes, static_cast<std::size_t>(count));
  }
}

void BackgroundReporter::poll() {
  if (!process_.is_running()) return;
  receive();
  if (!process_.poll()) return;
  receive();
  end();
  if (!receiving_.empty()) last_report_ = std::move(receiving_);
}

void BackgroundReporter::end() {
  process_.end();
  from_.close();
  next_ = Clock::now() + std::max<Clock::duration>(kShortestPause, (Clock::now() - begun_) * kShare);
}

}  // namespace qconform::campaign

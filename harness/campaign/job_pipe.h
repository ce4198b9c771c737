// The messages in the pipes between a campaign and its jobs. Both ends are the same program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/campaign/jobs.h"

namespace qconform::campaign {

struct BlockCommand {
  std::uint64_t block = 0;
  std::uint64_t cases = 0;
};

/// The job exits where the other end of the pipe is closed.
void send_command(int file, const BlockCommand& command);
/// False at the end of the requests.
[[nodiscard]] bool receive_command(int file, BlockCommand& command);

void send_error(int file, const std::string& error);
void send_infos(int file, const std::vector<BackendInfo>& infos);
void send_block(int file, const Span& span, const std::string& aggregate);

/// Removes the first complete message from `received` and returns it.
[[nodiscard]] std::optional<JobMessage> take_message(std::string& received);

}  // namespace qconform::campaign

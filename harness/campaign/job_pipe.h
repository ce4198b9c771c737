// What goes through the pipes between a campaign and its jobs. Both ends are the same program.
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

/// A job ends itself where nobody listens any more.
void send_command(int file, const BlockCommand& command);
/// False where there are no more.
[[nodiscard]] bool receive_command(int file, BlockCommand& command);

void send_error(int file, const std::string& error);
void send_infos(int file, const std::vector<BackendInfo>& infos);
void send_block(int file, const Span& span, const std::string& aggregate);

/// The first whole message of what was received, which it is taken from.
[[nodiscard]] std::optional<JobMessage> take_message(std::string& received);

}  // namespace qconform::campaign

#include "harness/campaign/job_pipe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>
#include <string_view>

#include "harness/base/pipe.h"

namespace qconform::campaign {
namespace {

struct Head {
  std::uint32_t kind = 0;
  std::uint32_t length = 0;
  Span span;
};

template <typename Plain>
std::string_view bytes_of(const Plain& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

void send(int file, JobMessage::Kind kind, const Span& span, const std::string& payload) {
  const Head head{static_cast<std::uint32_t>(kind), static_cast<std::uint32_t>(payload.size()), span};
  if (!write_all(file, bytes_of(head)) || !write_all(file, payload)) _exit(0);
}

// Texts, each behind its end.
std::vector<std::string> texts_in(const std::string& payload) {
  std::vector<std::string> texts;
  for (std::size_t at = 0; at < payload.size();) {
    const std::size_t end = payload.find('\0', at);
    texts.push_back(payload.substr(at, end - at));
    at = end == std::string::npos ? payload.size() : end + 1;
  }
  return texts;
}

// What five texts say, as send_infos() writes them.
BackendInfo info_in(const std::string* texts) {
  BackendInfo info{texts[0], texts[1], texts[2]};
  info.valid_only = texts[3] == "1";
  std::istringstream capabilities(texts[4]);
  for (std::string name; std::getline(capabilities, name, ',');) info.capabilities.push_back(name);
  return info;
}

}  // namespace

// wait() notices a dead job where its messages end.
void send_command(int file, const BlockCommand& command) {
  write_all(file, bytes_of(command));
}

bool receive_command(int file, BlockCommand& command) {
  char* to = reinterpret_cast<char*>(&command);
  for (std::size_t left = sizeof command; left > 0;) {
    const ssize_t count = ::read(file, to, left);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    to += count;
    left -= static_cast<std::size_t>(count);
  }
  return true;
}

void send_error(int file, const std::string& error) {
  send(file, JobMessage::Kind::failed, {}, error);
}

void send_infos(int file, const std::vector<BackendInfo>& infos) {
  std::string payload;
  for (const BackendInfo& info : infos) {
    const std::string capabilities = fmt::format("{}", fmt::join(info.capabilities, ","));
    for (const std::string& text :
         {info.name, info.version, info.kind, std::string(info.valid_only ? "1" : "0"), capabilities}) {
      payload += text.c_str() + std::string(1, '\0');
    }
  }
  send(file, JobMessage::Kind::opened, {}, payload);
}

void send_block(int file, const Span& span, const std::string& aggregate) {
  send(file, JobMessage::Kind::done, span, aggregate);
}

std::optional<JobMessage> take_message(std::string& received) {
  Head head;
  if (received.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, received.data(), sizeof head);
  if (received.size() - sizeof head < head.length) return std::nullopt;
  JobMessage message;
  message.kind = static_cast<JobMessage::Kind>(head.kind);
  std::string payload = received.substr(sizeof head, head.length);
  received.erase(0, sizeof head + head.length);
  if (message.kind == JobMessage::Kind::failed) message.error = std::move(payload);
  if (message.kind == JobMessage::Kind::done) message.record = {RecordKind::blocks, head.span, std::move(payload)};
  if (message.kind == JobMessage::Kind::opened) {
    const std::vector<std::string> texts = texts_in(payload);
    for (std::size_t i = 0; i + 4 < texts.size(); i += 5) message.infos.push_back(info_in(texts.data() + i));
  }
  return message;
}

}  // namespace qconform::campaign

#include "harness/base/error.h"

#include <cxxabi.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string_view>
#include <system_error>
#include <typeinfo>

namespace qconform {
namespace {

struct Limit {
  int error;
  decltype(RLIMIT_AS) resource;
  const char* shell;  // the command that sets the limit, and its unit
  rlim_t unit;        // how many of the kernel's units that unit is
};

constexpr Limit kLimits[] = {{EFBIG, RLIMIT_FSIZE, "ulimit -f, in KiB", 1024},
                             {EMFILE, RLIMIT_NOFILE, "ulimit -n", 1},
                             {ENOMEM, RLIMIT_AS, "ulimit -v, in KiB", 1024},
                             {EAGAIN, RLIMIT_NPROC, "ulimit -u", 1}};

}  // namespace

std::string machine_reason(int error) {
  std::string text = std::generic_category().message(error);
  for (const Limit& known : kLimits) {
    rlimit limit{};
    if (known.error != error || getrlimit(known.resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) continue;
    text += std::string(" (the limit is ") + std::to_string(limit.rlim_cur / known.unit) + ": " + known.shell + ")";
  }
  return text;
}

namespace {

constexpr std::size_t kLongest = 400;

std::string name_of(const std::type_info& type) {
  const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(type.name(), nullptr, nullptr, nullptr),
                                                    std::free);
  return name == nullptr ? type.name() : name.get();
}

// The message of the exception; empty where it has none.
std::string words_of(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const std::exception& error) {
    return error.what();
  } catch (const std::string& text) {
    return text;
  } catch (const char* text) {
    return text == nullptr ? "" : text;
  } catch (int number) {
    return std::to_string(number);
  } catch (...) {
    return {};
  }
}

}  // namespace

std::string thrown_text() {
  const std::exception_ptr exception = std::current_exception();
  if (exception == nullptr) return "an exception that is not C++'s";
  const std::string words = words_of(exception);
  const std::string text = name_of(*abi::__cxa_current_exception_type()) + (words.empty() ? "" : ": " + words);
  return text.size() <= kLongest ? text : text.substr(0, kLongest) + "...";
}

}  // namespace qconform

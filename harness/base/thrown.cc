#include "harness/base/thrown.h"

#include <cxxabi.h>

#include <cstdlib>
#include <exception>
#include <memory>
#include <string_view>
#include <typeinfo>

namespace qconform {
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

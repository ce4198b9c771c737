#include <algorithm>
#include <exception>
#include <optional>
#include <vector>

#include "harness/core/limits.h"
#include "harness/json/json_text.h"

namespace qconform {
namespace {

// nlohmann's messages quote the input, which need not be text.
std::string printable(std::string message) {
  const std::size_t end_of_prefix = message.find("] ");
  if (message.starts_with("[json.exception") && end_of_prefix != std::string::npos) {
    message.erase(0, end_of_prefix + 2);
  }
  constexpr std::size_t longest = 300;
  if (message.size() > longest) message = message.substr(0, longest) + "...";
  std::replace_if(
      message.begin(), message.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return message;
}

// Builds the value event by event. nlohmann's own builder takes the last of duplicate keys and knows
// no limits.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(const JsonLimits& limits) : limits_(limits) {}
  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  // A negative zero is the one number that arrives here and is not negative.
  bool number_integer(number_integer_t value) override { return value == 0 ? add(-0.0) : add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return refuse("binary data is no JSON"); }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& value) override;
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& error) override {
    return refuse(printable(error.what()));
  }

  Result<Json> take() {
    if (error_) return tl::unexpected<Error>(*error_);
    return std::move(root_);
  }

 private:
  bool refuse(std::string message, std::string rule = {}) {
    if (!error_) error_ = Error{"", std::move(message), std::move(rule)};
    return false;
  }
  bool add(Json value) { return place(std::move(value)) != nullptr; }
  bool open(Json container);
  bool close() {
    open_.pop_back();
    return true;
  }
  Json* place(Json value);

  Json root_;
  std::vector<Json*> open_;
  std::string key_;
  JsonLimits limits_;
  std::size_t values_ = 0;
  std::optional<Error> error_;
};

bool Builder::key(string_t& value) {
  const Json& object = *open_.back();
  if (object.size() >= limits_.keys) {
    return refuse("an object has more than " + std::to_string(limits_.keys) + " keys", "limit");
  }
  if (object.contains(value)) return refuse("duplicate key " + brief(value));
  key_ = std::move(value);
  return true;
}

bool Builder::open(Json container) {
  if (open_.size() >= limits::kJsonDepth) {
    return refuse("nested deeper than " + std::to_string(limits::kJsonDepth) + " levels", "limit");
  }
  Json* placed = place(std::move(container));
  if (placed == nullptr) return false;
  open_.push_back(placed);
  return true;
}

// A container's address stays valid while it is open: its parent grows only after it is closed.
Json* Builder::place(Json value) {
  if (++values_ > limits_.values) {
    refuse("more than " + std::to_string(limits_.values) + " values", "limit");
    return nullptr;
  }
  if (open_.empty()) {
    root_ = std::move(value);
    return &root_;
  }
  Json& parent = *open_.back();
  if (parent.is_object()) return &(parent[key_] = std::move(value));
  parent.push_back(std::move(value));
  return &parent.back();
}

}  // namespace

Result<Json> parse_json(std::string_view text, const JsonLimits& limits) {
  if (text.size() > static_cast<std::size_t>(limits.bytes)) {
    return fail("", "larger than the limit of " + std::to_string(limits.bytes) + " bytes", "limit");
  }
  try {
    Builder builder(limits);
    (void)Json::sax_parse(text, &builder);
    return builder.take();
  } catch (const std::exception& error) {
    return fail("", printable(error.what()));
  }
}

}  // namespace qconform

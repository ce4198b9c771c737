#include "harness/json/json_text.h"

namespace qconform {
namespace {

constexpr std::size_t kColumns = 100;

// Bytes that are not UTF-8 do not occur in what the harness writes; replaced rather than thrown at.
std::string scalar_text(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Appends the one-line form to `line`; false as soon as it is longer than `room`.
bool append_line(const Json& value, std::size_t room, std::string& line) {
  if (!value.is_structured()) {
    line += scalar_text(value);
    return line.size() <= room;
  }
  line += value.is_object() ? '{' : '[';
  bool first = true;
  for (auto item = value.begin(); item != value.end(); ++item) {
    if (!first) line += ", ";
    first = false;
    if (value.is_object()) line += scalar_text(item.key()) + ": ";
    if (!append_line(*item, room, line)) return false;
  }
  line += value.is_object() ? '}' : ']';
  return line.size() <= room;
}

bool all_scalars(const Json& array) {
  for (const Json& element : array) {
    if (element.is_structured()) return false;
  }
  return true;
}

class Printer {
 public:
  // `column` is where the value starts.
  void value(const Json& value, std::size_t indent, std::size_t column) {
    constexpr std::size_t comma = 1;
    const std::size_t room = column + comma < kColumns ? kColumns - column - comma : 0;
    std::string line;
    if (append_line(value, room, line) || !value.is_structured() || value.empty()) {
      text_ += line;
    } else if (value.is_object()) {
      members(value, indent);
    } else if (all_scalars(value)) {
      wrapped(value, indent);
    } else {
      elements(value, indent);
    }
  }

  std::string take() { return std::move(text_); }

 private:
  void new_line(std::size_t indent) { text_.append("\n").append(indent, ' '); }

  void members(const Json& object, std::size_t indent) {
    text_ += '{';
    bool first = true;
    for (auto member = object.begin(); member != object.end(); ++member) {
      if (!first) text_ += ',';
      first = false;
      new_line(indent + 2);
      const std::string key = scalar_text(member.key()) + ": ";
      text_ += key;
      value(*member, indent + 2, indent + 2 + key.size());
    }
    new_line(indent);
    text_ += '}';
  }

  void elements(const Json& array, std::size_t indent) {
    text_ += '[';
    bool first = true;
    for (const Json& element : array) {
      if (!first) text_ += ',';
      first = false;
      new_line(indent + 2);
      value(element, indent + 2, indent + 2);
    }
    new_line(indent);
    text_ += ']';
  }

  void wrapped(const Json& array, std::size_t indent) {
    text_ += '[';
    std::size_t column = kColumns;
    for (std::size_t i = 0; i < array.size(); ++i) {
      const std::string item = scalar_text(array[i]) + (i + 1 < array.size() ? "," : "");
      if (column + 1 + item.size() > kColumns) {
        new_line(indent + 2);
        column = indent + 2;
      } else {
        text_ += ' ';
        ++column;
      }
      text_ += item;
      column += item.size();
    }
    new_line(indent);
    text_ += ']';
  }

  std::string text_;
};

}  // namespace

std::string print_json(const Json& value) {
  Printer printer;
  printer.value(value, 0, 0);
  return printer.take() + "\n";
}

std::string brief(const Json& value) {
  if (value.is_array()) return "an array";
  if (value.is_object()) return "an object";
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  constexpr std::size_t longest = 60;
  if (text.size() > longest) text = text.substr(0, longest) + "...";
  return text;
}

}  // namespace qconform

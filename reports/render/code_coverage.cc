// The lines of a plugin that cases execute, in the forms that other tools show: lcov's and Cobertura's.
#include <fmt/format.h>
#include <tinyxml2.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "reports/render/terminal.h"

namespace qconform::report {
namespace {

// Each line that has code, and whether it was executed.
std::vector<std::pair<std::uint64_t, bool>> lines_of(const FileCode& file) {
  std::vector<std::pair<std::uint64_t, bool>> lines;
  for (const std::uint64_t line : file.with_code) {
    const bool is_missed = std::any_of(file.not_executed.begin(), file.not_executed.end(), [&](const LineRange& range) {
      return range.first <= line && line <= range.last;
    });
    lines.emplace_back(line, !is_missed);
  }
  return lines;
}

std::string rate_of(std::uint64_t executed, std::uint64_t lines) {
  return fmt::format("{:.4f}", lines == 0 ? 1.0 : static_cast<double>(executed) / static_cast<double>(lines));
}

void set_rates(tinyxml2::XMLElement* element, std::uint64_t executed, std::uint64_t lines) {
  element->SetAttribute("line-rate", rate_of(executed, lines).c_str());
  element->SetAttribute("branch-rate", "0");
  element->SetAttribute("complexity", "0");
}

}  // namespace

std::string to_lcov(const CoverResult& result) {
  std::string text = "TN:qconform\n";
  for (const FileCode& file : result.files) {
    text += fmt::format("SF:{}\n", file.file);
    for (const auto& [line, is_executed] : lines_of(file)) text += fmt::format("DA:{},{}\n", line, is_executed ? 1 : 0);
    text += fmt::format("LF:{}\nLH:{}\nend_of_record\n", file.lines, file.executed);
  }
  return text;
}

std::string to_cobertura(const CoverResult& result) {
  std::uint64_t lines = 0;
  std::uint64_t executed = 0;
  for (const FileCode& file : result.files) {
    lines += file.lines;
    executed += file.executed;
  }
  tinyxml2::XMLDocument document;
  document.InsertEndChild(document.NewDeclaration());
  document.InsertEndChild(
      document.NewUnknown("DOCTYPE coverage SYSTEM \"http://cobertura.sourceforge.net/xml/coverage-04.dtd\""));
  tinyxml2::XMLElement* const root = document.NewElement("coverage");
  document.InsertEndChild(root);
  set_rates(root, executed, lines);
  for (const auto& [name, value] : {std::pair("lines-valid", lines), std::pair("lines-covered", executed)})
    root->SetAttribute(name, std::to_string(value).c_str());
  for (const char* name : {"branches-valid", "branches-covered", "timestamp"}) root->SetAttribute(name, "0");
  root->SetAttribute("version", "qconform");
  tinyxml2::XMLElement* const sources = root->InsertNewChildElement("sources");
  sources->InsertNewChildElement("source")->SetText("/");
  tinyxml2::XMLElement* const package = root->InsertNewChildElement("packages")->InsertNewChildElement("package");
  package->SetAttribute("name", result.backend.c_str());
  set_rates(package, executed, lines);
  tinyxml2::XMLElement* const classes = package->InsertNewChildElement("classes");
  for (const FileCode& file : result.files) {
    tinyxml2::XMLElement* const one = classes->InsertNewChildElement("class");
    one->SetAttribute("name", file.file.substr(file.file.rfind('/') + 1).c_str());
    one->SetAttribute("filename", file.file.substr(file.file.starts_with('/') ? 1 : 0).c_str());
    set_rates(one, file.executed, file.lines);
    one->InsertNewChildElement("methods");
    tinyxml2::XMLElement* const list = one->InsertNewChildElement("lines");
    for (const auto& [line, is_executed] : lines_of(file)) {
      tinyxml2::XMLElement* const entry = list->InsertNewChildElement("line");
      entry->SetAttribute("number", std::to_string(line).c_str());
      entry->SetAttribute("hits", is_executed ? "1" : "0");
    }
  }
  tinyxml2::XMLPrinter printer;
  document.Print(&printer);
  return printer.CStr();
}

}  // namespace qconform::report

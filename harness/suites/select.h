// From a suite's name on the command line to its cases.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/limits.h"
#include "harness/core/suite.h"
#include "harness/suites/drawn.h"

namespace qconform {

struct ModelOptions;  // onnx_model.h

struct SuiteOptions {
  std::uint64_t seed = 1;
  std::optional<std::uint64_t> cases;  ///< cases of suites that take a number of them; absent: each its own
  std::size_t context = 0;             ///< nodes that each unit of model:FILE takes along, before it and behind it
  std::uint64_t model_mebibytes = limits::kModelMemory >> 20;  ///< memory for reading a model, and for running it
  /// How model:FILE runs the model and what it judges; null: it runs it as stated, and judges all.
  const ModelOptions* whole_model = nullptr;
  /// Told what is being done while a model is read and run, again and again.
  std::function<void(const std::string&)> tell = [](const std::string&) {};
};

struct SuiteInfo {
  std::string_view name;  ///< as it is written: "random", "onnx:DIR"
  std::string_view description;
};

[[nodiscard]] std::span<const SuiteInfo> suites();

/// The suite whose cases a suite of relations starts from: "random" for "relations", SUITE for
/// "relations:SUITE"; nullopt for any other suite.
[[nodiscard]] std::optional<std::string_view> relations_base(std::string_view suite);

/// Whether SuiteOptions::cases means anything to a suite: random, fuzz, directed, and relations on one of them. The
/// suite conformance has its own number of directed cases.
[[nodiscard]] bool takes_number_of_cases(std::string_view suite);

/// How a suite draws case `index` of `seed`; null for what is not drawn so: random, graphs and fuzz are.
[[nodiscard]] DrawnSuite::Draw draw_of_suite(std::string_view suite);

/// Opens `name`: one of suites(), or a case file (.json, .onnx) or backend-test folder by its path.
/// A suite may be made of several sources. A suite of relations gives the cases that it starts from.
[[nodiscard]] Result<std::vector<std::unique_ptr<Suite>>> open_suite(std::string_view name,
                                                                     const SuiteOptions& options);

/// One case from a file, case JSON, a one-node ONNX model or a backend-test folder, or from a line behind kLinePrefix.
/// Refuses operators that qconform does not know.
[[nodiscard]] Result<Case> load_single_case(const std::filesystem::path& path);

/// Offers the corpus of a program that is not qconform itself. Call it before the first corpus_folder().
void offer_corpus(std::filesystem::path folder);

/// Returns the folder of the corpus: $QCONFORM_CORPUS, else the one that was offered, else the one beside the installed
/// program, else the one in the source tree.
[[nodiscard]] std::filesystem::path corpus_folder();

}  // namespace qconform

#include "harness/bench/bench.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "harness/backends/select.h"
#include "harness/base/file.h"
#include "harness/bench/participant.h"
#include "harness/cli/arguments.h"
#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/cli/report_output.h"
#include "harness/engine/environment.h"
#include "reports/render/bench_document.h"

namespace qconform::cli {
namespace {

struct BenchOptions {
  std::string backend;
  std::vector<std::string> against;
  std::vector<std::string> layers;
  PolicyOptions policy;
  std::string layout = "nchw";
  std::string types = "u8s8";
  std::int64_t x_zero_point = 0;
  std::uint64_t seed = 1;
  int threads = 1;
  double seconds = 0.5;
  std::string out = "build/reports/bench";
  bool json = false;
};

Result<bench::LayerOptions> layer_options(const BenchOptions& options) {
  const auto types = bench::layer_types_named(options.types);
  if (!types) return fail("--types", fmt::format("expected u8s8, s8s8 or u8u8, got \"{}\"", options.types));
  const std::int64_t low = *types == bench::LayerTypes::s8s8 ? -128 : 0;
  if (options.x_zero_point < low || options.x_zero_point > low + 255) {
    return fail("--x-zero-point", fmt::format("expected {} to {}, got {}", low, low + 255, options.x_zero_point));
  }
  return bench::LayerOptions{*types, options.x_zero_point, options.seed};
}

Result<std::vector<bench::LayerSource>> open_sources(const BenchOptions& options) {
  QCONFORM_ASSIGN(const auto chosen, layer_options(options));
  std::vector<bench::LayerSource> sources;
  for (const std::string& name : options.layers) {
    QCONFORM_ASSIGN(auto source, bench::open_layers(name, chosen));
    sources.push_back(std::move(source));
  }
  return sources;
}

Result<bench::RoundOptions> round_options(const BenchOptions& options) {
  constexpr double kLongest = 3600;
  bench::RoundOptions rounds;
  QCONFORM_ASSIGN(rounds.policy, chosen_policy(options.policy));
  const auto layout = layout_named(options.layout);
  if (!layout) return fail("--layout", fmt::format("expected nchw or nhwc, got \"{}\"", options.layout));
  if (!(options.seconds > 0 && options.seconds <= kLongest)) {
    return fail("--time", fmt::format("expected seconds above 0 and up to {}, got {}", kLongest, options.seconds));
  }
  QCONFORM_ASSIGN(rounds.conditions.cpus, bench::choose_cpus(options.threads));
  rounds.conditions.wanted = {*layout, options.threads};
  rounds.seconds = options.seconds;
  return rounds;
}

Result<std::vector<bench::Contestant>> contestants(const BenchOptions& options, RoundingProfile arithmetic) {
  std::vector<std::string> names{options.backend};
  names.insert(names.end(), options.against.begin(), options.against.end());
  std::vector<bench::Contestant> list;
  for (const std::string& name : names) {
    const auto open = [name, arithmetic] {
      backend::SandboxPolicy here;  // its process is a participant's already
      here.which = backend::SandboxPolicy::Which::none;
      return backend::select(name, arithmetic, here);
    };
    QCONFORM_ASSIGN(auto program, backend::program_of(name, arithmetic));
    list.push_back({name, open, std::move(program)});
  }
  return list;
}

bench::BenchResult begin(const BenchOptions& options, const bench::RoundOptions& rounds) {
  bench::BenchResult result;
  result.environment = current_environment();
  result.command = given_arguments();
  result.seed = options.seed;
  result.profile = options.policy.profile;
  result.wanted = rounds.conditions.wanted;
  result.cpus = rounds.conditions.cpus;
  result.seconds_per_layer = options.seconds;
  return result;
}

Result<void> write_files(const std::string& out, const bench::BenchResult& result) {
  const std::filesystem::path folder(out);
  QCONFORM_TRY(write_file(folder / "bench.json", report::to_json(result)));
  return write_file(folder / "bench.md", report::bench_markdown(result));
}

// Right wherever it was asked to compute, and asked at least once.
bool first_conforms(const bench::BenchResult& result) {
  bool timed = false;
  for (const bench::LayerResult& layer : result.layers) {
    if (is_failure(layer.timings.front().verdict.kind)) return false;
    timed = timed || layer.timings.front().timed();
  }
  return timed;
}

Result<int> bench_backends(const BenchOptions& options) {
  QCONFORM_ASSIGN(const auto rounds, round_options(options));
  QCONFORM_ASSIGN(const auto competing, contestants(options, arithmetic_of(rounds.policy.profile)));
  QCONFORM_ASSIGN(const auto sources, open_sources(options));
  QCONFORM_TRY(make_folder("--out", options.out));
  bench::BenchResult result = begin(options, rounds);
  result.peaks = bench::measure_peaks(result.cpus);
  say(options.json ? stderr : stdout, "{}", report::bench_headline(result));
  std::fflush(options.json ? stderr : stdout);
  {
    ProgressLine line;
    const auto show = [&](const bench::BenchProgress& progress) {
      line.update([&] {
        return fmt::format("bench: {} of {} layers, {}, next {}", progress.done, progress.of,
                           line.times(static_cast<double>(progress.done), static_cast<double>(progress.of)),
                           progress.next);
      });
    };
    QCONFORM_TRY(bench::run_bench(sources, competing, rounds, show, result));
  }
  QCONFORM_TRY(write_files(options.out, result));
  if (options.json) {
    write_document_text(report::to_json(result));
  } else {
    say("{}result {}/bench.json\n", report::bench_table(result, painter(), width_of(stdout)), options.out);
  }
  return first_conforms(result) ? kConforms : kDoesNotConform;
}

std::string layers_help() {
  std::string text =
      "example: qconform bench --backend avx2 --against onnxruntime@opt,onednn --layers resnet50\n"
      "Layer sets:\n";
  for (const bench::LayerSetLine& set : bench::layer_sets())
    text += fmt::format("  {:<18} {}\n", set.name, set.description);
  return text +
         "  KERNEL IN->OUT @SIZE  one layer: \"3x3/2 64->128 @56\", \"31 512 @250 depthwise\" (docs/performance.md)\n"
         "  model:FILE         the quantized layers of an ONNX model\n"
         "  SUITE              the layers in any other suite (see: qconform list suites)\n"
         "Exit code: 0 every layer that the backend computes is right, 1 one is wrong, 2 wrong use.";
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command = app.add_subcommand("bench", "Time backends side by side, and judge what they compute");
  command->footer(layers_help());
  command->add_option("--backend", options->backend, "Backend that is compared with the others")->required();
  command->add_option_function<std::vector<std::string>>(
      "--against",
      [options](const std::vector<std::string>& lists) {
        for (const std::string& list : lists) {
          for (std::string& name : backend::split_specifications(list)) options->against.push_back(std::move(name));
        }
      },
      "Backends to compare with, separated by commas or repeated");
  command->add_option("--layers", options->layers, "Layer set, layer or suite, may be repeated")->required();
  command->add_option("--layout", options->layout, "Where x and y have their channels: nchw or nhwc")
      ->capture_default_str();
  command->add_option("--threads", options->threads, "Threads, and processors to pin them to")->capture_default_str();
  command->add_option("--time", options->seconds, "Seconds for each layer and backend")->capture_default_str();
  command->add_option("--types", options->types, "Element types of x and w in layer sets: u8s8, s8s8 or u8u8")
      ->capture_default_str();
  command->add_option("--x-zero-point", options->x_zero_point, "Zero point of x in layer sets")->capture_default_str();
  command->add_option("--seed", options->seed, "Seed of the data, and of the order in which backends run")
      ->capture_default_str();
  add_policy_options(*command, options->policy);
  command->add_option("--out", options->out, "Folder for bench.json and bench.md")->capture_default_str();
  command->add_flag("--json", options->json, "Print the result as JSON instead of the table");
  command->callback([options, &action] {
    action = [options] {
      const auto code = bench_backends(*options);
      return code ? *code : report_fault(code.error());
    };
  });
}

}  // namespace qconform::cli

#include "reports/render/environment_json.h"

namespace qconform::report {

nlohmann::ordered_json environment_json(const Environment& environment) {
  return {{"version", environment.version},
          {"commit", environment.commit},
          {"compiler", environment.compiler},
          {"cpu", environment.cpu},
          {"operating_system", environment.operating_system},
          {"started", environment.started},
          {"kernels", environment.kernels},
          {"kernels_not_run", environment.kernels_not_run}};
}

}  // namespace qconform::report

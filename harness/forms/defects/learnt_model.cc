#include "harness/forms/defects/learnt_model.h"

#include <fmt/format.h>

#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include "harness/base/file.h"
#include "harness/base/text.h"
#include "harness/core/limits.h"
#include "harness/forms/archive/json_archives.h"
#include "harness/forms/json/json_text.h"
#include "harness/model/operator.h"

namespace qconform::diagnose {
namespace {

struct Learnt {
  Expression expression;
  std::string id;
  std::string description;
  std::string operator_name;
  Defect defect;
};

// A list, since models are known by their addresses.
class LearntModels {
 public:
  const Defect& model_of(std::string_view op_type, const Expression& expression) {
    const std::lock_guard lock(mutex_);
    const ExpressionSlot& slot = expression.slot();
    std::string id = fmt::format("{} = {}", slot.name, expression.text());
    const auto [at, is_new] = by_name_.try_emplace({std::string(op_type), id}, nullptr);
    if (!is_new) return at->second->defect;
    std::string description = fmt::format("behaves as: {}; right is {} ({})", id, slot.reference, slot.describes);
    Learnt& learnt =
        all_.emplace_back(Learnt{expression, std::move(id), std::move(description), std::string(op_type), Defect{}});
    learnt.defect.id = learnt.id;
    learnt.defect.description = learnt.description;
    learnt.defect.operators = {learnt.operator_name};
    learnt.defect.rule = "formula";
    learnt.defect.expression = &learnt.expression;
    learnt.defect.is_learnt = true;
    at->second = &learnt;
    return learnt.defect;
  }

 private:
  std::mutex mutex_;
  std::deque<Learnt> all_;
  std::map<std::pair<std::string, std::string>, Learnt*> by_name_;
};

Result<const Defect*> model_of_file(const ModelFile& file) {
  QCONFORM_ASSIGN(const auto expression, expression_in(std::span(&file.op_type, 1), file.stage, file.expression));
  return &model_of(file.op_type, expression);
}

std::string unknown_id(std::string_view id) {
  std::vector<std::string_view> ids;
  for (const Defect& defect : defects()) ids.push_back(defect.id);
  std::string text = "no defect model \"" + std::string(id) + "\"";
  const std::vector<std::string_view> near = near_names(id, ids);
  for (std::size_t i = 0; i < near.size(); ++i) text += (i == 0 ? "; did you mean " : ", ") + std::string(near[i]);
  return text + (near.empty() ? "; see" : "? See") + " `qconform list defects`";
}

}  // namespace

const Defect& model_of(std::string_view op_type, const Expression& expression) {
  static LearntModels models;
  return models.model_of(op_type, expression);
}

Result<const Defect*> load_model(const std::string& path) {
  QCONFORM_ASSIGN(const auto text, read_file(path, limits::kJsonFileBytes));
  const auto read = [&]() -> Result<const Defect*> {
    QCONFORM_ASSIGN(const auto json, parse_json(text));
    QCONFORM_ASSIGN(const auto file, read_document<ModelFile>(json));
    return model_of_file(file);
  };
  return in_context(path, read());
}

std::string model_text(const Defect& defect, std::string_view note) {
  const Expression& expression = *defect.expression;
  return print_json(write_document(
      description_of(ModelFile{std::string(*defect.operators.begin()), std::string(expression.slot().name),
                               expression.text(), std::string(note)})));
}

bool names_a_file(std::string_view id) {
  return id.ends_with(".json") || id.find('/') != std::string_view::npos;
}

Result<Model> model_named(std::string_view ids, reference::RoundingProfile profile, const std::string& field) {
  Model model(profile);
  for (std::size_t begin = 0; begin <= ids.size();) {
    const std::size_t end = std::min(ids.find('+', begin), ids.size());
    const std::string_view id = ids.substr(begin, end - begin);
    const Defect* defect = find_defect(id);
    if (defect == nullptr && names_a_file(id)) {
      QCONFORM_ASSIGN(defect, in_context(field, load_model(std::string(id))));
    }
    if (defect == nullptr) return fail(field, unknown_id(id));
    if (const Result<void> added = model.add(*defect); !added) return fail(field, added.error().message);
    begin = end + 1;
  }
  return model;
}

}  // namespace qconform::diagnose

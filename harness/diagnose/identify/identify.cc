#include "harness/diagnose/identify/identify.h"

#include <algorithm>
#include <map>

#include "harness/diagnose/identify/elimination.h"
#include "harness/engine/execute.h"
#include "harness/operators/family.h"

namespace qconform::diagnose {
namespace {

constexpr int kDrawsForAForm = 2;
constexpr int kMostCases = 400;

struct Narrowing {
  const char* text;
  void (*narrow)(Form& form);
};

void drop_zero_points(Form& form) {
  form.x_zero_point = form.w_zero_point = form.y_zero_point = false;
}

constexpr Narrowing kNarrowings[] = {
    {"where the zero point of w is 0", [](Form& form) { form.w_zero_point = false; }},
    {"where all zero points are 0", drop_zero_points},
    {"where all zero points are 0 and there is no bias",
     [](Form& form) {
       drop_zero_points(form);
       form.bias = false;
     }},
};

std::string refusal_of(const Outcome& outcome) {
  if (const auto* unsupported = std::get_if<outcome::Unsupported>(&outcome)) return unsupported->reason;
  if (const auto* rejected = std::get_if<outcome::Rejected>(&outcome)) return rejected->reason;
  return "it did not come to an output";
}

bool is_known_by_types(const std::vector<Form>& forms, const Form& form) {
  return std::any_of(forms.begin(), forms.end(), [&](const Form& known) { return known.has_types_of(form); });
}

class Identifier {
 public:
  Identifier(Backend& backend, const IdentifyOptions& options) : backend_(backend), options_(options) {
    result_.backend = backend.info();
    result_.seed = options.seed;
  }

  Identification run() {
    for (const Experiment& experiment : experiments()) perform(experiment);
    return std::move(result_);
  }

 private:
  Rng next_stream() { return {options_.seed ^ 0x1DE47F1EU, draws_++}; }

  Outcome execute_on_backend(const Case& test_case) {
    ++result_.cases;
    Outcome outcome = execute(backend_, test_case, output_);
    if (options_.progress) options_.progress(result_.cases);
    return outcome;
  }

  [[nodiscard]] Case draw(const Experiment& experiment, const Form& form, const CandidatePairs& pairs) {
    const std::uint64_t number = draws_;
    Rng rng = next_stream();
    Case test_case = experiment.draw(rng, form, pairs);
    std::string topic;
    for (const std::string& choice : experiment.choices) topic += "-" + choice;
    test_case.id = "identify" + topic + "-" + std::to_string(options_.seed) + "-" + std::to_string(number);
    test_case.provenance = {"identify", options_.seed, number};
    return test_case;
  }

  // The first form of each list that the backend takes. What it once took of an operator is not searched again.
  std::vector<Form> accepted_forms(const Experiment& experiment, std::string& reason) {
    std::vector<Form> accepted;
    const std::vector<Form>& before = accepted_[experiment.op_type];
    for (const std::vector<Form>& chain : experiment.forms) {
      for (const Form& form : chain) {
        const bool is_candidate = before.empty() || std::find(before.begin(), before.end(), form) != before.end() ||
                                  (experiment.asks_again && !is_known_by_types(before, form));
        if (!is_candidate || !takes(experiment, form, reason)) continue;
        accepted.push_back(form);
        break;
      }
    }
    return accepted;
  }

  bool takes(const Experiment& experiment, const Form& form, std::string& reason) {
    for (int i = 0; i < kDrawsForAForm; ++i) {
      const Outcome outcome = execute_on_backend(draw(experiment, form, NoPairs()));
      if (std::holds_alternative<outcome::Produced>(outcome)) return true;
      if (reason.empty()) reason = refusal_of(outcome);
    }
    return false;
  }

  void perform(const Experiment& experiment) {
    std::string reason;
    const std::vector<Form> forms = accepted_forms(experiment, reason);
    if (accepted_[experiment.op_type].empty()) accepted_[experiment.op_type] = forms;
    Answer answer = ask(experiment, forms);
    if (forms.empty()) answer.declined = reason;
    if (!answer.survivors().empty()) return keep(std::move(answer));
    std::vector<Answer> by_types = ask_by_types(experiment, forms);
    const auto is_answered = [](const Answer& a) { return !a.survivors().empty(); };
    if (!by_types.empty() && std::all_of(by_types.begin(), by_types.end(), is_answered)) return keep_all(by_types);
    if (auto narrowed = ask_narrowed(experiment, forms)) return keep(std::move(*narrowed));
    if (std::any_of(by_types.begin(), by_types.end(), is_answered)) return keep_all(by_types);
    keep(std::move(answer));
  }

  // Types may have arithmetics of their own, which no candidate for all of them can follow.
  std::vector<Answer> ask_by_types(const Experiment& experiment, const std::vector<Form>& forms) {
    std::vector<Answer> answers;
    for (std::size_t i = 0; i < forms.size(); ++i) {
      if (is_known_by_types({forms.begin(), forms.begin() + static_cast<std::ptrdiff_t>(i)}, forms[i])) continue;
      std::vector<Form> alike;
      std::copy_if(forms.begin(), forms.end(), std::back_inserter(alike),
                   [&](const Form& form) { return form.has_types_of(forms[i]); });
      answers.push_back(ask(experiment, alike));
      answers.back().by_types = true;
    }
    if (answers.size() < 2) answers.clear();
    return answers;
  }

  // A backend may compute wrongly with a parameter, a defect beside its arithmetic, and rightly without.
  std::optional<Answer> ask_narrowed(const Experiment& experiment, const std::vector<Form>& forms) {
    for (const Narrowing& narrowing : kNarrowings) {
      std::vector<Form> narrowed;
      for (Form form : forms) {
        narrowing.narrow(form);
        std::string reason;
        const bool is_new = std::find(narrowed.begin(), narrowed.end(), form) == narrowed.end();
        if (is_new && takes(experiment, form, reason)) narrowed.push_back(form);
      }
      Answer answer = ask(experiment, narrowed);
      answer.narrowed = narrowing.text;
      if (!narrowed.empty() && !answer.survivors().empty()) return answer;
    }
    return std::nullopt;
  }

  Answer ask(const Experiment& experiment, const std::vector<Form>& forms) {
    Elimination elimination(experiment, known_[experiment.op_type]);
    int idle = 0;
    for (int i = 0; i < kMostCases && !forms.empty() && !elimination.is_over(idle); ++i) {
      const Form& form = forms[static_cast<std::size_t>(i) % forms.size()];
      const Case test_case = draw(experiment, form, elimination.pairs());
      ++idle;
      if (!elimination.predict(test_case)) continue;
      const Outcome outcome = execute_on_backend(test_case);
      const Tensor* const produced = output_of(outcome);
      if (produced != nullptr && elimination.eliminate(test_case, *produced)) idle = 0;
    }
    return elimination.take(forms);
  }

  void keep_all(std::vector<Answer>& answers) {
    for (Answer& answer : answers) keep(std::move(answer));
  }

  // Later experiments start from what this one found out.
  void keep(Answer answer) {
    const auto survivors = answer.survivors();
    if (!survivors.empty() && !answer.by_types && !answer.forms.empty()) {
      for (const Variant* const variant : survivors.front()->variants) variant->replace(known_[answer.op_type]);
    }
    result_.answers.push_back(std::move(answer));
  }

  Backend& backend_;
  const IdentifyOptions& options_;
  Identification result_;
  GuardedOutput output_;
  std::map<std::string_view, Stages> known_;  // by operator
  std::map<std::string_view, std::vector<Form>> accepted_;
  std::uint64_t draws_ = 0;
};

std::vector<Experiment> all_experiments() {
  std::vector<Experiment> all;
  for (const Family* family : families()) {
    if (family->experiments == nullptr) continue;
    std::vector<Experiment> own = family->experiments();
    std::move(own.begin(), own.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace

bool Form::has_types_of(const Form& other) const {
  return x == other.x && w == other.w && y == other.y;
}

std::string types_text(const Form& form) {
  std::string text = "x " + name_of(form.x);
  if (form.w != ElementType::undefined) text += ", w " + name_of(form.w);
  return form.y == ElementType::undefined ? text : text + ", y " + name_of(form.y);
}

std::span<const Experiment> experiments() {
  static const std::vector<Experiment> all = all_experiments();
  return all;
}

std::vector<const Candidate*> Answer::survivors() const {
  std::vector<const Candidate*> left;
  for (const Candidate& candidate : candidates) {
    if (candidate.survives()) left.push_back(&candidate);
  }
  return left;
}

const Candidate* Answer::nearest_eliminated() const {
  const Candidate* nearest = nullptr;
  for (const Candidate& candidate : candidates) {
    if (candidate.survives()) continue;
    if (nearest == nullptr || candidate.refuted_elements < nearest->refuted_elements) nearest = &candidate;
  }
  return nearest;
}

Identification identify(Backend& backend, const IdentifyOptions& options) {
  return Identifier(backend, options).run();
}

}  // namespace qconform::diagnose

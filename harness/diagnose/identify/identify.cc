#include "harness/diagnose/identify/identify.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "harness/engine/execute.h"
#include "harness/model/family.h"

namespace qconform::diagnose {
namespace {

using Run = std::function<Outcome(const Case&)>;

constexpr int kDrawsForAForm = 2;
constexpr int kMostCases = 400;
// Cases for each kind of node, once all kinds together seem to have one answer. A plain kind gets more, since its cases
// aim at a single tie.
constexpr int kCasesOfAKind = 6;
constexpr int kCasesOfAPlainKind = 18;

struct Narrowing {
  const char* text;
  void (*narrow)(ProbeForm& form);
};

void drop_zero_points(ProbeForm& form) {
  form.x_zero_point = form.w_zero_point = form.y_zero_point = false;
}

constexpr Narrowing kNarrowings[] = {
    {"where the zero point of w is 0", [](ProbeForm& form) { form.w_zero_point = false; }},
    {"where all zero points are 0", drop_zero_points},
    {"where all zero points are 0 and there is no bias",
     [](ProbeForm& form) {
       drop_zero_points(form);
       form.bias = false;
     }},
};

std::string refusal_of(const Outcome& outcome) {
  return is_refusal(outcome) ? reason_of(outcome) : "it gave no output";
}

// A case that was asked, of the form in that position, and the answer.
struct AskedCase {
  std::size_t form;
  Case test_case;
  Tensor got;
};

// The forms of one experiment that a backend takes, and on top of which stages candidates compute them.
struct Question {
  const Experiment& experiment;
  std::vector<ProbeForm> forms;
  std::vector<Stages> bases;
  std::vector<std::size_t> base_of;  // by form
};

std::vector<NodeKind> kinds_of(const std::vector<ProbeForm>& forms) {
  std::vector<NodeKind> kinds;
  for (const ProbeForm& form : forms) {
    if (std::find(kinds.begin(), kinds.end(), form.kind()) == kinds.end()) kinds.push_back(form.kind());
  }
  return kinds;
}

bool is_known(const std::vector<ProbeForm>& forms, const NodeKind& kind) {
  return std::any_of(forms.begin(), forms.end(), [&](const ProbeForm& known) { return known.kind() == kind; });
}

// Another answer to the same question, for further kinds of nodes.
void add(Answer& answer, const Answer& other) {
  answer.forms.insert(answer.forms.end(), other.forms.begin(), other.forms.end());
  answer.cases += other.cases;
  answer.elements += other.elements;
  for (std::size_t i = 0; i < answer.candidates.size(); ++i) {
    Candidate& candidate = answer.candidates[i];
    const Candidate& more = other.candidates[i];
    candidate.confirmed_elements += more.confirmed_elements;
    candidate.confirmed_cases += more.confirmed_cases;
    candidate.refuted_elements += more.refuted_elements;
    candidate.refuted_cases += more.refuted_cases;
    if (!candidate.refutation) candidate.refutation = more.refutation;
  }
}

// Whether one candidate fits both, or none fits either.
bool agree(const Answer& a, const Answer& b) {
  if (a.survivors().empty() || b.survivors().empty()) return a.survivors().empty() && b.survivors().empty();
  for (std::size_t i = 0; i < a.candidates.size(); ++i) {
    if (a.candidates[i].survives() && b.candidates[i].survives()) return true;
  }
  return false;
}

// As few answers as there can be; the one for the most kinds comes first. Those that leave the least open decide.
std::vector<Answer> united(std::vector<Answer> answers) {
  std::stable_sort(answers.begin(), answers.end(),
                   [](const Answer& a, const Answer& b) { return a.survivors().size() < b.survivors().size(); });
  std::vector<Answer> result;
  for (Answer& answer : answers) {
    const auto same = std::find_if(result.begin(), result.end(), [&](const Answer& one) { return agree(one, answer); });
    if (same == result.end()) {
      result.push_back(std::move(answer));
    } else {
      add(*same, answer);
    }
  }
  std::stable_sort(result.begin(), result.end(), [](const Answer& a, const Answer& b) {
    return kinds_of(a.forms).size() > kinds_of(b.forms).size();
  });
  return result;
}

// Says of each for which nodes it holds.
void tell_apart(std::vector<Answer>& answers) {
  std::vector<std::vector<NodeKind>> groups;
  for (const Answer& answer : answers) groups.push_back(kinds_of(answer.forms));
  const auto patterns = tell_apart(groups);
  const auto words = told_apart(groups);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    answers[i].only = patterns[i];
    answers[i].holds_for = words[i];
  }
}

class Identifier {
 public:
  Identifier(const Run& run, const BackendInfo& info, const IdentifyOptions& options) : run_(run), options_(options) {
    result_.backend = info;
    result_.seed = options.seed;
  }

  Identification run() {
    for (const Experiment& experiment : experiments()) {
      if (!options_.wants || options_.wants(experiment)) perform(experiment);
    }
    return std::move(result_);
  }

 private:
  Rng next_stream() { return {options_.seed ^ 0x1DE47F1EU, draws_++}; }

  Outcome execute_on_backend(const Case& test_case) {
    ++result_.cases;
    Outcome outcome = run_(test_case);
    if (options_.progress) options_.progress(result_.cases);
    return outcome;
  }

  [[nodiscard]] Case draw(const Experiment& experiment, const ProbeForm& form, const CandidatePairs& pairs) {
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
  std::vector<ProbeForm> accepted_forms(const Experiment& experiment, std::string& reason) {
    std::vector<ProbeForm> accepted;
    const std::vector<ProbeForm>& before = accepted_[experiment.op_type];
    for (const std::vector<ProbeForm>& chain : experiment.forms) {
      for (const ProbeForm& form : chain) {
        const bool is_candidate = before.empty() || std::find(before.begin(), before.end(), form) != before.end() ||
                                  (experiment.asks_again && !is_known(before, form.kind()));
        if (!is_candidate || !takes(experiment, form, reason)) continue;
        accepted.push_back(form);
        break;
      }
    }
    return accepted;
  }

  bool takes(const Experiment& experiment, const ProbeForm& form, std::string& reason) {
    for (int i = 0; i < kDrawsForAForm; ++i) {
      const Outcome outcome = execute_on_backend(draw(experiment, form, NoPairs()));
      if (std::holds_alternative<outcome::Produced>(outcome)) return true;
      if (reason.empty()) reason = refusal_of(outcome);
    }
    return false;
  }

  void perform(const Experiment& experiment) {
    std::string reason;
    std::vector<ProbeForm> forms = accepted_forms(experiment, reason);
    if (accepted_[experiment.op_type].empty()) accepted_[experiment.op_type] = forms;
    const Question question = question_of(experiment, std::move(forms));
    std::vector<AskedCase> asked;
    Answer answer = ask(question, asked);
    if (question.forms.empty()) answer.declined = reason;
    const bool is_settled = !answer.survivors().empty() || kinds_of(question.forms).size() < 2;
    std::vector<Answer> answers = is_settled ? std::vector{std::move(answer)} : ask_by_kind(question, asked);
    for (Answer& one : answers) {
      if (!one.survivors().empty()) continue;
      if (auto narrowed = ask_narrowed(experiment, one.forms)) one = std::move(*narrowed);
    }
    if (answers.size() > 1) tell_apart(answers);
    for (Answer& one : answers) result_.answers.push_back(std::move(one));
  }

  // Types and layouts may have arithmetics of their own, which no candidate for all of them can follow. What was asked
  // counts.
  std::vector<Answer> ask_by_kind(const Question& question, const std::vector<AskedCase>& asked) {
    std::vector<Answer> answers;
    for (const NodeKind& kind : kinds_of(question.forms)) {
      std::vector<ProbeForm> alike;
      std::copy_if(question.forms.begin(), question.forms.end(), std::back_inserter(alike),
                   [&](const ProbeForm& form) { return form.kind() == kind; });
      std::vector<AskedCase> before;
      for (const AskedCase& one : asked) {
        const auto form = std::find(alike.begin(), alike.end(), question.forms[one.form]);
        if (form == alike.end()) continue;
        before.push_back({static_cast<std::size_t>(form - alike.begin()), one.test_case, one.got});
      }
      answers.push_back(ask(question_of(question.experiment, std::move(alike)), before));
    }
    return united(std::move(answers));
  }

  // A backend may compute wrongly with a parameter, a defect beside its arithmetic, and rightly without.
  std::optional<Answer> ask_narrowed(const Experiment& experiment, const std::vector<ProbeForm>& forms) {
    for (const Narrowing& narrowing : kNarrowings) {
      std::vector<ProbeForm> narrowed;
      for (ProbeForm form : forms) {
        narrowing.narrow(form);
        std::string reason;
        const bool is_new = std::find(narrowed.begin(), narrowed.end(), form) == narrowed.end();
        if (is_new && takes(experiment, form, reason)) narrowed.push_back(form);
      }
      std::vector<AskedCase> asked;
      Answer answer = ask(question_of(experiment, narrowed), asked);
      answer.narrowed = narrowing.text;
      if (!narrowed.empty() && !answer.survivors().empty()) return answer;
    }
    return std::nullopt;
  }

  // Returns the candidates that earlier experiments found for nodes of that kind.
  [[nodiscard]] std::vector<const Candidate*> found_before(std::string_view op_type, const NodeKind& kind) const {
    std::vector<const Candidate*> found;
    for (const Answer& answer : result_.answers) {
      if (answer.op_type != op_type || answer.forms.empty() || !any_matches(answer.only, kind)) continue;
      const auto survivors = answer.survivors();
      if (!survivors.empty()) found.push_back(survivors.front());
    }
    return found;
  }

  [[nodiscard]] Question question_of(const Experiment& experiment, std::vector<ProbeForm> forms) const {
    Question question{experiment, std::move(forms), {}, {}};
    std::vector<std::vector<const Candidate*>> known;
    for (const ProbeForm& form : question.forms) {
      auto found = found_before(experiment.op_type, form.kind());
      const auto same = std::find(known.begin(), known.end(), found);
      question.base_of.push_back(static_cast<std::size_t>(same - known.begin()));
      if (same != known.end()) continue;
      Stages& base = question.bases.emplace_back();
      for (const Candidate* candidate : found) {
        for (const Variant* const variant : candidate->variants) variant->replace(base);
      }
      known.push_back(std::move(found));
    }
    return question;
  }

  // `asked`: what is known already; what is asked now is added.
  Answer ask(const Question& question, std::vector<AskedCase>& asked) {
    Elimination elimination(question.experiment, question.bases);
    for (const AskedCase& one : asked) {
      if (elimination.predict(one.test_case, question.base_of[one.form]))
        static_cast<void>(elimination.eliminate(one.test_case, one.got));
    }
    const bool of_one_kind = !asked.empty();
    int idle = 0;
    for (int i = 0; i < kMostCases && !question.forms.empty() && !elimination.is_over(idle); ++i) {
      const std::size_t form = static_cast<std::size_t>(i) % question.forms.size();
      const bool is_news = ask_case(question, form, elimination.pairs(question.base_of[form]), elimination, asked);
      idle = is_news ? 0 : idle + 1;
      // A single kind is asked after others have been: it suffices to watch the alternatives to the last candidate.
      if (is_news && of_one_kind && elimination.left() == 1) elimination.watch_neighbours();
    }
    if (kinds_of(question.forms).size() > 1) ask_every_kind(question, elimination, asked);
    return elimination.take(question.forms);
  }

  // Asks about every kind of node. The candidates that are left were found on the kinds that came up; each kind may be
  // the one that computes otherwise.
  void ask_every_kind(const Question& question, Elimination& elimination, std::vector<AskedCase>& asked) {
    elimination.watch_neighbours();
    for (std::size_t form = 0; form < question.forms.size(); ++form) {
      const ProbeForm& f = question.forms[form];
      const auto forms_of_kind = std::count_if(question.forms.begin(), question.forms.end(),
                                               [&](const ProbeForm& other) { return other.kind() == f.kind(); });
      const int cases = f.bias || f.channel_scales ? kCasesOfAKind : kCasesOfAPlainKind;
      for (int i = 0; i < cases && elimination.left() > 0; i += static_cast<int>(forms_of_kind)) {
        static_cast<void>(
            ask_case(question, form, elimination.neighbour_pairs(question.base_of[form]), elimination, asked));
      }
    }
  }

  // Whether the case eliminated a candidate.
  bool ask_case(const Question& question, std::size_t form, const CandidatePairs& pairs, Elimination& elimination,
                std::vector<AskedCase>& asked) {
    Case test_case = draw(question.experiment, question.forms[form], pairs);
    if (!elimination.predict(test_case, question.base_of[form])) return false;
    const Outcome outcome = execute_on_backend(test_case);
    const Tensor* const produced = output_of(outcome);
    if (produced == nullptr) return false;
    const bool is_news = elimination.eliminate(test_case, *produced);
    asked.push_back({form, std::move(test_case), *produced});
    return is_news;
  }

  const Run& run_;
  const IdentifyOptions& options_;
  Identification result_;
  std::map<std::string_view, std::vector<ProbeForm>> accepted_;  // by operator
  std::uint64_t draws_ = 0;
};

std::vector<Experiment> all_experiments() {
  std::vector<Experiment> all;
  for (const Family* family : families()) {
    if (family->arithmetic.experiments == nullptr) continue;
    std::vector<Experiment> own = family->arithmetic.experiments();
    std::move(own.begin(), own.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace

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

const Variant* Answer::settling(const Candidate& candidate, std::size_t choice) const {
  const auto& variants = candidate.variants;
  const auto found = std::find_if(variants.begin(), variants.end(),
                                  [&](const Variant* variant) { return variant->settles == choices[choice]->id; });
  return found == variants.end() ? nullptr : *found;
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
  GuardedOutput output;
  return identify([&](const Case& test_case) { return execute(backend, test_case, output); }, backend.info(), options);
}

Identification identify(const std::function<Outcome(const Case&)>& run, const BackendInfo& info,
                        const IdentifyOptions& options) {
  return Identifier(run, info, options).run();
}

}  // namespace qconform::diagnose

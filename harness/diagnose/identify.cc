#include "harness/diagnose/identify.h"

#include <algorithm>
#include <map>

#include "harness/diagnose/modelled_case.h"
#include "harness/operators/element_text.h"
#include "harness/run/execute.h"

namespace qconform::diagnose {
namespace {

constexpr int kDrawsForAForm = 2;
constexpr int kMostCases = 400;
// After so many cases in a row that eliminated nothing, what is left is the answer; after more of them
// where it is told from the nearest eliminated candidate by a few elements only.
constexpr int kIdleCases = 24;
constexpr int kIdleCasesInDoubt = 96;
// Where several are left: they may differ on few cases.
constexpr int kIdleCasesOfSeveral = 192;
constexpr std::uint64_t kFewElements = 5;

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

struct Hypothesis {
  Candidate candidate;
  Stages stages;
};

// Every combination of the aspects' ways, on top of `base`.
std::vector<Hypothesis> combinations(const std::vector<const Aspect*>& aspects, const Stages& base) {
  std::vector<Hypothesis> all{{{}, base}};
  for (const Aspect* const aspect : aspects) {
    std::vector<Hypothesis> extended;
    for (const Hypothesis& shorter : all) {
      for (const Way& way : aspect->ways) {
        extended.push_back(shorter);
        extended.back().candidate.ways.push_back(&way);
        way.replace(extended.back().stages);
      }
    }
    all = std::move(extended);
  }
  return all;
}

// Pairs of candidates that are left; when one is left, that one and an eliminated one, often the one that
// the fewest elements tell it from.
class NextRivals final : public Rivals {
 public:
  explicit NextRivals(const std::vector<Hypothesis>& hypotheses) {
    for (const Hypothesis& h : hypotheses) (h.candidate.survives() ? left_ : eliminated_).push_back(&h);
    const auto fewer = [](const Hypothesis* a, const Hypothesis* b) {
      return a->candidate.refuted_elements < b->candidate.refuted_elements;
    };
    std::stable_sort(eliminated_.begin(), eliminated_.end(), fewer);
  }

  [[nodiscard]] Pair next(Rng& rng) const override {
    if (left_.empty()) return {nullptr, nullptr};
    const auto draw = [&](std::size_t bound) {
      return static_cast<std::size_t>(rng.below(static_cast<std::uint32_t>(bound)));
    };
    const std::size_t first = draw(left_.size());
    if (left_.size() > 1) {
      const std::size_t second = (first + 1 + draw(left_.size() - 1)) % left_.size();
      return {&left_[first]->stages, &left_[second]->stages};
    }
    if (eliminated_.empty()) return {nullptr, nullptr};
    constexpr std::size_t kNearest = 4;
    const std::size_t of = rng.chance(1, 2) ? std::min(kNearest, eliminated_.size()) : eliminated_.size();
    return {&left_[0]->stages, &eliminated_[draw(of)]->stages};
  }

 private:
  std::vector<const Hypothesis*> left_;
  std::vector<const Hypothesis*> eliminated_;
};

std::string refusal_of(const Outcome& outcome) {
  if (const auto* unsupported = std::get_if<outcome::Unsupported>(&outcome)) return unsupported->reason;
  if (const auto* rejected = std::get_if<outcome::Rejected>(&outcome)) return rejected->reason;
  return "it did not come to an output";
}

bool is_known_by_types(const std::vector<Form>& forms, const Form& form) {
  return std::any_of(forms.begin(), forms.end(), [&](const Form& known) { return known.has_types_of(form); });
}

// One inquiry on one set of forms.
class Experiment {
 public:
  Experiment(const Inquiry& inquiry, const Stages& base) {
    answer_.op = inquiry.op;
    for (const std::string& id : inquiry.aspects) answer_.aspects.push_back(find_aspect(inquiry.op, id));
    hypotheses_ = combinations(answer_.aspects, base);
  }

  // The rivals of the next case.
  [[nodiscard]] NextRivals rivals() const { return NextRivals(hypotheses_); }

  // Whether any two candidates predict different outputs: only then is the case worth running.
  bool predict(const Case& test_case) {
    const auto modelled = ModelledCase::prepare(test_case);
    if (modelled == nullptr) return false;
    predictions_.clear();
    for (const Hypothesis& h : hypotheses_) predictions_.push_back(*modelled->run(h.stages));
    return std::any_of(predictions_.begin(), predictions_.end(),
                       [&](const Tensor& prediction) { return prediction != predictions_.front(); });
  }

  // Holds the predictions against what the backend computed; whether one more candidate is out. An output
  // of another shape is a failure that no way of computing explains.
  bool eliminate(const Case& test_case, const Tensor& got) {
    if (got.type != predictions_.front().type || got.shape != predictions_.front().shape) return false;
    const std::vector<bool> tells = telling_elements();
    bool is_news = false;
    for (std::size_t h = 0; h < hypotheses_.size(); ++h) {
      is_news = compare(test_case, got, predictions_[h], tells, hypotheses_[h].candidate) || is_news;
    }
    ++answer_.cases;
    answer_.elements += tells.size();
    return is_news;
  }

  // Whether another case is of use after `idle` ones in a row that eliminated nothing.
  [[nodiscard]] bool is_over(int idle) const {
    std::size_t left = 0;
    bool in_doubt = false;
    for (const Hypothesis& h : hypotheses_) {
      left += h.candidate.survives() ? 1 : 0;
      in_doubt = in_doubt || (!h.candidate.survives() && h.candidate.refuted_elements < kFewElements);
    }
    if (left > 1) return idle >= kIdleCasesOfSeveral;
    return left == 0 || idle >= (in_doubt ? kIdleCasesInDoubt : kIdleCases);
  }

  Answer take(std::vector<Form> forms) {
    answer_.forms = std::move(forms);
    for (Hypothesis& h : hypotheses_) answer_.candidates.push_back(std::move(h.candidate));
    return std::move(answer_);
  }

 private:
  static std::uint64_t raw(const Tensor& tensor, std::size_t i) {
    return raw_bits_at(tensor.bytes, bits_of(tensor.type), static_cast<std::int64_t>(i));
  }

  // The elements on which candidates disagree.
  [[nodiscard]] std::vector<bool> telling_elements() const {
    std::vector<bool> tells(static_cast<std::size_t>(predictions_.front().elements()));
    for (std::size_t i = 0; i < tells.size(); ++i) {
      tells[i] = std::any_of(predictions_.begin(), predictions_.end(),
                             [&](const Tensor& p) { return raw(p, i) != raw(predictions_.front(), i); });
    }
    return tells;
  }

  static bool compare(const Case& test_case, const Tensor& got, const Tensor& predicted, const std::vector<bool>& tells,
                      Candidate& candidate) {
    const bool survived = candidate.survives();
    std::uint64_t right = 0;
    std::uint64_t wrong = 0;
    for (std::size_t i = 0; i < tells.size(); ++i) {
      if (raw(got, i) == raw(predicted, i)) {
        right += tells[i] ? 1 : 0;
      } else if (++wrong == 1 && survived) {
        const auto element = static_cast<std::int64_t>(i);
        candidate.refutation = {test_case, element, element_text(got, element), element_text(predicted, element)};
      }
    }
    candidate.confirmed_elements += right;
    candidate.confirmed_cases += right > 0 ? 1 : 0;
    candidate.refuted_elements += wrong;
    candidate.refuted_cases += wrong > 0 ? 1 : 0;
    return survived && wrong > 0;
  }

  Answer answer_;
  std::vector<Hypothesis> hypotheses_;
  std::vector<Tensor> predictions_;
};

class Identifier {
 public:
  Identifier(Backend& backend, const IdentifyOptions& options) : backend_(backend), options_(options) {
    result_.backend = backend.info();
    result_.seed = options.seed;
    for (const Op op : kAllOps) known_.emplace(op, reference_stages(reference::RoundingProfile::correctly_rounded));
  }

  Identification run() {
    for (const Inquiry& inquiry : inquiries()) inquire(inquiry);
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

  [[nodiscard]] Case draw(const Inquiry& inquiry, const Form& form, const Rivals& rivals) {
    const std::uint64_t number = draws_;
    Rng rng = next_stream();
    Case test_case = inquiry.draw(rng, form, rivals);
    std::string topic;
    for (const std::string& aspect : inquiry.aspects) topic += "-" + aspect;
    test_case.id = "identify" + topic + "-" + std::to_string(options_.seed) + "-" + std::to_string(number);
    test_case.provenance = {"identify", options_.seed, number};
    return test_case;
  }

  // The first form of each list that the backend takes. What it once took of an operator is not searched again.
  std::vector<Form> accepted_forms(const Inquiry& inquiry, std::string& reason) {
    std::vector<Form> accepted;
    const std::vector<Form>& before = accepted_[inquiry.op];
    const bool is_linear = inquiry.op == Op::quantize_linear || inquiry.op == Op::dequantize_linear;
    for (const std::vector<Form>& chain : inquiry.forms) {
      for (const Form& form : chain) {
        const bool is_candidate = before.empty() || std::find(before.begin(), before.end(), form) != before.end() ||
                                  (is_linear && !is_known_by_types(before, form));
        if (!is_candidate || !takes(inquiry, form, reason)) continue;
        accepted.push_back(form);
        break;
      }
    }
    return accepted;
  }

  bool takes(const Inquiry& inquiry, const Form& form, std::string& reason) {
    for (int i = 0; i < kDrawsForAForm; ++i) {
      const Outcome outcome = execute_on_backend(draw(inquiry, form, NoRivals()));
      if (std::holds_alternative<outcome::Produced>(outcome)) return true;
      if (reason.empty()) reason = refusal_of(outcome);
    }
    return false;
  }

  void inquire(const Inquiry& inquiry) {
    std::string reason;
    const std::vector<Form> forms = accepted_forms(inquiry, reason);
    if (accepted_[inquiry.op].empty()) accepted_[inquiry.op] = forms;
    Answer answer = ask(inquiry, forms);
    if (forms.empty()) answer.declined = reason;
    if (!answer.survivors().empty()) return keep(std::move(answer));
    std::vector<Answer> by_types = ask_by_types(inquiry, forms);
    const auto is_answered = [](const Answer& a) { return !a.survivors().empty(); };
    if (!by_types.empty() && std::all_of(by_types.begin(), by_types.end(), is_answered)) return keep_all(by_types);
    if (auto narrowed = ask_narrowed(inquiry, forms)) return keep(std::move(*narrowed));
    if (std::any_of(by_types.begin(), by_types.end(), is_answered)) return keep_all(by_types);
    keep(std::move(answer));
  }

  // Types may have arithmetics of their own, which no candidate for all of them can follow.
  std::vector<Answer> ask_by_types(const Inquiry& inquiry, const std::vector<Form>& forms) {
    std::vector<Answer> answers;
    for (std::size_t i = 0; i < forms.size(); ++i) {
      if (is_known_by_types({forms.begin(), forms.begin() + static_cast<std::ptrdiff_t>(i)}, forms[i])) continue;
      std::vector<Form> alike;
      std::copy_if(forms.begin(), forms.end(), std::back_inserter(alike),
                   [&](const Form& form) { return form.has_types_of(forms[i]); });
      answers.push_back(ask(inquiry, alike));
      answers.back().by_types = true;
    }
    if (answers.size() < 2) answers.clear();
    return answers;
  }

  // A backend may compute wrongly with a parameter, a defect beside its arithmetic, and rightly without.
  std::optional<Answer> ask_narrowed(const Inquiry& inquiry, const std::vector<Form>& forms) {
    for (const Narrowing& narrowing : kNarrowings) {
      std::vector<Form> narrowed;
      for (Form form : forms) {
        narrowing.narrow(form);
        std::string reason;
        const bool is_new = std::find(narrowed.begin(), narrowed.end(), form) == narrowed.end();
        if (is_new && takes(inquiry, form, reason)) narrowed.push_back(form);
      }
      Answer answer = ask(inquiry, narrowed);
      answer.narrowed = narrowing.text;
      if (!narrowed.empty() && !answer.survivors().empty()) return answer;
    }
    return std::nullopt;
  }

  Answer ask(const Inquiry& inquiry, const std::vector<Form>& forms) {
    Experiment experiment(inquiry, known_.at(inquiry.op));
    int idle = 0;
    for (int i = 0; i < kMostCases && !forms.empty() && !experiment.is_over(idle); ++i) {
      const Form& form = forms[static_cast<std::size_t>(i) % forms.size()];
      const Case test_case = draw(inquiry, form, experiment.rivals());
      ++idle;
      if (!experiment.predict(test_case)) continue;
      const Outcome outcome = execute_on_backend(test_case);
      const auto* const produced = std::get_if<outcome::Produced>(&outcome);
      if (produced != nullptr && experiment.eliminate(test_case, produced->output)) idle = 0;
    }
    return experiment.take(forms);
  }

  void keep_all(std::vector<Answer>& answers) {
    for (Answer& answer : answers) keep(std::move(answer));
  }

  // Later inquiries start from what this one found out.
  void keep(Answer answer) {
    const auto survivors = answer.survivors();
    if (!survivors.empty() && !answer.by_types && !answer.forms.empty()) {
      for (const Way* const way : survivors.front()->ways) way->replace(known_.at(answer.op));
    }
    result_.answers.push_back(std::move(answer));
  }

  Backend& backend_;
  const IdentifyOptions& options_;
  Identification result_;
  GuardedOutput output_;
  std::map<Op, Stages> known_;
  std::map<Op, std::vector<Form>> accepted_;
  std::uint64_t draws_ = 0;
};

std::vector<Inquiry> all_inquiries() {
  std::vector<Inquiry> all = convolution_inquiries();
  std::vector<Inquiry> linear = linear_inquiries();
  std::move(linear.begin(), linear.end(), std::back_inserter(all));
  return all;
}

}  // namespace

bool Form::has_types_of(const Form& other) const {
  return x == other.x && w == other.w && y == other.y;
}

std::string types_text(const Form& form) {
  const bool has_weights = form.op == Op::qlinear_conv || form.op == Op::conv_integer;
  std::string text = "x " + name_of(form.x);
  if (has_weights) text += ", w " + name_of(form.w);
  return form.op == Op::conv_integer ? text : text + ", y " + name_of(form.y);
}

std::span<const Inquiry> inquiries() {
  static const std::vector<Inquiry> all = all_inquiries();
  return all;
}

std::vector<const Candidate*> Answer::survivors() const {
  std::vector<const Candidate*> left;
  for (const Candidate& candidate : candidates) {
    if (candidate.survives()) left.push_back(&candidate);
  }
  return left;
}

const Candidate* Answer::nearest_rival() const {
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

// Expressions: their text, what they compute, and that each slot's reference is what the reference does.
#include "harness/model/defects/expression.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <filesystem>
#include <fstream>

#include "harness/diagnose/explain/probes.h"
#include "harness/forms/defects/defect_files.h"
#include "harness/model/defects/diagnosed_case.h"
#include "harness/model/operator.h"
#include "harness/tests/temporary_folder.h"

namespace qconform::diagnose {
namespace {

using Node = Expression::Node;

constexpr Operation kLast = Operation::choose;

void append_random(std::vector<Node>& nodes, const ExpressionSlot& slot, int depth) {
  const auto pick = [](int below) { return *rc::gen::inRange(0, below); };
  if (depth == 0 || pick(4) == 0) {
    if (pick(2) == 0) return nodes.push_back({Operation::constant, *rc::gen::arbitrary<std::int64_t>()});
    return nodes.push_back({Operation::variable, pick(static_cast<int>(slot.variables.size()))});
  }
  const auto first = static_cast<int>(Operation::negate);
  const auto operation = static_cast<Operation>(first + pick(static_cast<int>(kLast) - first + 1));
  for (int i = 0; i < operands_of(operation); ++i) append_random(nodes, slot, depth - 1);
  nodes.push_back({operation});
}

std::vector<std::pair<const Operator*, const ExpressionSlot*>> all_slots() {
  std::vector<std::pair<const Operator*, const ExpressionSlot*>> all;
  for (const Operator& known : operators()) {
    for (const ExpressionSlot* slot : slots_of(known.name)) all.emplace_back(&known, slot);
  }
  return all;
}

RC_GTEST_PROP(Expressions, TextsParseToWhatTheyWereMadeOf, ()) {
  const auto slots = all_slots();
  const ExpressionSlot& slot =
      *slots[static_cast<std::size_t>(*rc::gen::inRange(0, static_cast<int>(slots.size())))].second;
  RC_PRE(slot.allowed != Operators::none);
  std::vector<Node> nodes;
  append_random(nodes, slot, 3);
  const Expression expression(slot, std::move(nodes));
  const auto parsed = Expression::parse(slot, expression.text());
  RC_LOG() << expression.text();
  RC_ASSERT(parsed.has_value());
  RC_ASSERT(*parsed == expression);
}

std::string canonical(const char* slot, const char* text) {
  const auto parsed = Expression::parse(*find_slot("QLinearConv", slot), text);
  return parsed ? parsed->text() : parsed.error().text();
}

TEST(Expressions, AreWrittenWithAsFewParenthesesAsPossible) {
  EXPECT_EQ(canonical("w_scale.index", "(channel) % (group_channels)"), "channel % group_channels");
  EXPECT_EQ(canonical("w_scale.index", "channel-(channels-1)"), "channel - (channels - 1)");
  EXPECT_EQ(canonical("pads.end", "axes == 1?begin:end"), "axes == 1 ? begin : end");
  EXPECT_EQ(canonical("x_difference", "wrap8( x - -3 )"), "wrap8(x - -3)");
  EXPECT_EQ(canonical("x_difference", "-(x + 1) * -x"), "-(x + 1) * -x");
}

TEST(Expressions, SayWhatIsNotUnderstood) {
  EXPECT_EQ(canonical("w_scale.index", "chanel % 2"),
            "w_scale.index: expected a name out of channel, channels, group_channels, groups, a number or (, got "
            "\"chanel % 2\"");
  EXPECT_EQ(canonical("w_scale.index", "channel %"), "w_scale.index: expected a name, a number or (, got the end");
  EXPECT_EQ(canonical("w_scale.index", "channel 2"), "w_scale.index: expected an operator or the end, got \"2\"");
  EXPECT_EQ(canonical("x_difference", "wrap8(x"), "x_difference: expected ) behind the operands, got the end");
  EXPECT_EQ(canonical("product", "exact + 1"), "product: expected one name alone, got \"exact + 1\"");
  EXPECT_NE(canonical("x_difference", "99999999999999999999").find("expected a number of 64 bits"), std::string::npos);
  EXPECT_NE(canonical("x_difference", std::string(5000, '(').c_str()).find("no deeper than 32"), std::string::npos);
}

std::int64_t value_of(const char* text) {
  return Expression::parse(*find_slot("QLinearConv", "total"), text)->evaluate({{-8, 7}});
}

TEST(Expressions, ComputeWhatTheySay) {
  EXPECT_EQ(value_of("-7 / 2"), -4);
  EXPECT_EQ(value_of("-7 % 4"), 1);
  EXPECT_EQ(value_of("7 / 0"), 0);
  EXPECT_EQ(value_of("wrap8(128)"), -128);
  EXPECT_EQ(value_of("saturate16(40000)"), 32767);
  EXPECT_EQ(value_of("saturate(40000)"), 7);
  EXPECT_EQ(value_of("int32_or_lowest(2147483648)"), -2147483648);
  EXPECT_EQ(value_of("2 < 1 ? 3 : 4 ^ 1"), 5);
  EXPECT_EQ(value_of("9223372036854775807 + 1"), INT64_MIN);
}

// The pipeline is the same where an expression does what the reference does.
TEST(Expressions, OfTheReferenceChangeNothing) {
  for (const auto& [op, slot] : all_slots()) {
    const auto reference = Expression::parse(*slot, slot->reference);
    ASSERT_TRUE(reference.has_value()) << slot->name << ": " << reference.error().text();
    EXPECT_EQ(reference->text(), slot->reference);
    Stages stages;
    slot->set(stages, *reference);
    Probes probes(*op, 7);
    for (int i = 0; i < 150; ++i) {
      const Case test_case = probes.next();
      const auto modelled = ModelledCase::prepare(test_case);
      if (modelled == nullptr) continue;
      ASSERT_EQ(modelled->run(stages), modelled->run(Stages())) << op->name << " " << slot->name;
    }
  }
}

TEST(LearntModels, AreOneForEachText) {
  const ExpressionSlot& slot = *find_slot("QLinearConv", "w_scale.index");
  const Defect& model = model_of("QLinearConv", *Expression::parse(slot, "0"));
  EXPECT_EQ(model.id, "w_scale.index = 0");
  EXPECT_EQ(stages_of(model), std::vector<std::string_view>{"w_scale"});
  EXPECT_EQ(&model, &model_of("QLinearConv", *Expression::parse(slot, "(0)")));
  EXPECT_NE(&model, &model_of("QLinearConv", *Expression::parse(slot, "1")));
}

std::string message_of(const std::filesystem::path& file, std::string_view text) {
  std::ofstream(file) << text;
  const auto model = model_named(file.string(), RoundingProfile::correctly_rounded, "--backend");
  return model ? "" : model.error().text();
}

TEST(LearntModels, AreReadFromFilesAndTheirErrorsNameFieldValueAndRule) {
  const testing::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "model.json";
  const Defect& model =
      model_of("QLinearConv", *Expression::parse(*find_slot("QLinearConv", "w_scale.index"), "channel % groups"));
  EXPECT_EQ(message_of(file, model_text(model, "a test")), "");
  const auto read = load_model(file.string());
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(*read, &model);

  const std::string at = "--backend: " + file.string() + ": ";
  const std::string head = R"({"format": "qconform-model", "version": 1, "operator": "QLinearConv", )";
  EXPECT_EQ(message_of(file, head + R"("stage": "w_scale.index", "expression": "chan"})"),
            at +
                "expression: w_scale.index: expected a name out of channel, channels, group_channels, groups, a number "
                "or (, got \"chan\"");
  EXPECT_EQ(message_of(file, head + R"("stage": "nothing", "expression": "0"})").find(at + "stage: expected one of "),
            0U);
  EXPECT_NE(message_of(file, "{").find(file.string()), std::string::npos);
  EXPECT_NE(message_of(file, head + R"("stage": "pad"})").find("expression"), std::string::npos);
  const auto absent = model_named("no/such.json", RoundingProfile::correctly_rounded, "--backend");
  ASSERT_FALSE(absent.has_value());
  EXPECT_NE(absent.error().text().find("no/such.json"), std::string::npos);
}

}  // namespace
}  // namespace qconform::diagnose

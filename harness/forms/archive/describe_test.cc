// One description, every archive: JSON both ways, CBOR, the schema, arbitrary values.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <nlohmann/json.hpp>

#include "harness/forms/archive/archive.h"
#include "harness/tests/arbitrary_archive.h"

namespace qconform {
namespace {

struct DescribedPart {
  QC_DESCRIBED(.name = "part", .doc = "A part.");
  QC_FIELD(std::string, name, {}, "name", .min_length = 1);
  QC_FIELD(std::uint64_t, size, {1}, "size", .doc = "In bytes.", .minimum = 1);

  bool operator==(const DescribedPart&) const = default;
};

struct Whole {
  static constexpr std::array<std::string_view, 2> kColours{"red", "green"};

  QC_DESCRIBED();
  QC_FIELD(std::vector<DescribedPart>, parts, {}, "parts");
  QC_LINE(describe_derived(archive, "size", [&self] { return self.size(); }));
  QC_FIELD(std::string, colour, {"red"}, "colour", .names = Whole::kColours);
  QC_FIELD(std::string, note, {}, "note", .presence = Presence::omitted);
  QC_FIELD(std::optional<double>, seconds, {}, "seconds", .form = Form::seconds);
  QC_FIELD(int, jobs, {1}, "number of jobs", .minimum = 1);

  [[nodiscard]] std::uint64_t size() const {
    std::uint64_t sum = 0;
    for (const DescribedPart& part : parts) sum += part.size;
    return sum;
  }

  bool operator==(const Whole&) const = default;
};

Json document() {
  return write_document(description_of(Whole{.parts = {{"a", 2}, {"b", 3}}, .seconds = 0.5}));
}

std::string error_of(const Json& json, Author author = Author::qconform) {
  const auto read = read_document<Whole>(json, author);
  return read ? "" : read.error().text();
}

TEST(Describe, WritesMembersInTheOrderOfTheirLines) {
  EXPECT_EQ(document().dump(), R"({"parts":[{"name":"a","size":2},{"name":"b","size":3}],"size":5,"colour":"red",)"
                               R"("seconds":0.5,"number of jobs":1})");
}

RC_GTEST_PROP(Describe, GivesTheSameValueAgain, ()) {
  testing::ArbitraryArchive arbitrary(testing::Texts::unicode);
  Whole whole;
  describe(arbitrary, whole, FieldRule{});
  const auto again = from_cbor<Whole>(to_cbor(whole), "whole");
  if (!again) RC_FAIL(again.error().text());
  RC_ASSERT(*again == whole);
}

TEST(Describe, ErrorsNameThePlace) {
  struct JsonEdit {
    const char* pointer;
    Json value;
    const char* error;
  };
  for (const JsonEdit& edit :
       std::vector<JsonEdit>{{"/parts/1/size", -1, "parts[1].size: expected an integer that is not negative, got -1"},
                             {"/parts/1/odd", 1, "parts[1]: unknown key \"odd\"; known are name, size"},
                             {"/parts/0", "a", "parts[0]: expected an object, got \"a\""},
                             {"/size", 6U, "size: 6, but its parts are 5 together"},
                             {"/seconds", -0.5, "seconds: expected seconds, not negative, got -0.5"},
                             {"/number of jobs", 0, "number of jobs: expected a number from 1 to 2147483647, got 0"}}) {
    Json json = document();
    json[Json::json_pointer(edit.pointer)] = edit.value;
    EXPECT_EQ(error_of(json), edit.error);
  }
  Json json = document();
  json["parts"][0].erase("name");
  EXPECT_EQ(error_of(json), "parts[0]: misses the key \"name\"");
}

// A person's mistake is told; what another program wrote is taken as it is.
TEST(Describe, HoldsWhatPeopleWriteAgainstItsRules) {
  Json json = document();
  json["parts"][1]["name"] = "";
  EXPECT_EQ(error_of(json, Author::people), "parts[1].name: expected 1 or more characters, got \"\"");
  EXPECT_EQ(error_of(json), "");
  json = document();
  json["colour"] = "blue";
  EXPECT_EQ(error_of(json, Author::people), "colour: expected one of red, green, got \"blue\"");
  EXPECT_EQ(error_of(json), "");
  EXPECT_EQ(error_of(document(), Author::people), "");
}

TEST(Describe, TakesWhatMayBeLeftOutAndNothingElse) {
  Json json = document();
  json["note"] = "a";
  EXPECT_EQ(error_of(json), "");
  for (const char* key : {"note", "seconds"}) json.erase(key);
  EXPECT_EQ(error_of(json), "");
  json.erase("number of jobs");
  EXPECT_EQ(error_of(json), "misses the key \"number of jobs\"");
}

TEST(Describe, RefusesCborThatIsCutShortOrIsAnotherThing) {
  const std::string bytes = to_cbor(DescribedPart{"a", 2});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(from_cbor<DescribedPart>(std::string_view(bytes).substr(0, size), "part")) << size;
  }
  EXPECT_EQ(from_cbor<Whole>(bytes, "journal").error().text(), "journal: misses the key \"parts\"");
}

TEST(Describe, StatesTheSchema) {
  const Json schema = schema_of({"whole-1", "A whole", "All of it."}, description_of(Whole()));
  EXPECT_EQ(schema["required"], Json({"parts", "size", "colour", "number of jobs"}));
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_EQ(schema["properties"]["colour"], Json::parse(R"({"enum": ["red", "green"]})"));
  EXPECT_EQ(schema["properties"]["parts"]["items"], Json::parse(R"({"$ref": "#/$defs/part"})"));
  EXPECT_EQ(schema["$defs"]["part"]["properties"]["size"],
            Json::parse(R"({"type": "integer", "minimum": 1, "description": "In bytes."})"));
  EXPECT_EQ(schema["$defs"]["part"]["properties"]["name"], Json::parse(R"({"type": "string", "minLength": 1})"));
}

}  // namespace
}  // namespace qconform

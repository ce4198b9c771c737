// Every text names one backend or is an error, and every backend has a text.
#include "harness/backends/specification.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

namespace qconform::backend {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = Specification::Kind;

Specification parsed(std::string_view text) {
  auto what = parse_specification(text);
  EXPECT_TRUE(what) << text << ": " << what.error().text();
  return what ? *what : Specification{};
}

std::string error_of(std::string_view text) {
  const auto what = parse_specification(text);
  EXPECT_FALSE(what) << text;
  return what ? "" : what.error().text();
}

struct SpecificationExample {
  std::string_view text;
  Specification what;
};

class Examples : public ::testing::TestWithParam<SpecificationExample> {};

TEST_P(Examples, AreReadAndWritten) {
  EXPECT_EQ(parsed(GetParam().text), GetParam().what) << GetParam().text << " as " << text_of(parsed(GetParam().text));
  EXPECT_EQ(text_of(GetParam().what), GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(
    Named, Examples,
    ::testing::Values(
        SpecificationExample{"avx2", {.name = "avx2"}},
        SpecificationExample{"avx2@ort-f32", {.name = "avx2", .word = "ort-f32"}},
        SpecificationExample{"onednn:3.12@avx2", {.name = "onednn", .version = "3.12", .word = "avx2"}},
        SpecificationExample{"avx2[Haswell]", {.name = "avx2", .cpu = "Haswell"}},
        SpecificationExample{"scalar[aarch64:max]", {.name = "scalar", .cpu = "aarch64:max"}},
        SpecificationExample{"onednn@avx2[Haswell]@valid-only",
                             {.name = "onednn", .word = "avx2", .cpu = "Haswell", .valid_only = true}},
        SpecificationExample{"onnxruntime:1.21.0@all,session.x64quantprecision=1",
                             {.name = "onnxruntime",
                              .version = "1.21.0",
                              .word = "all",
                              .settings = {{"session.x64quantprecision", "1"}}}},
        SpecificationExample{"onnxruntime@ep=NAME,library=/a b/c=d.so",
                             {.name = "onnxruntime", .settings = {{"ep", "NAME"}, {"library", "/a b/c=d.so"}}}},
        SpecificationExample{R"(mine@a="x,y@z ""[1]""",b=)",
                             {.name = "mine", .settings = {{"a", R"(x,y@z "[1]")"}, {"b", ""}}}},
        SpecificationExample{R"(mine@a="[1]"[max])", {.name = "mine", .settings = {{"a", "[1]"}}, .cpu = "max"}}));

INSTANTIATE_TEST_SUITE_P(
    WithAnArgument, Examples,
    ::testing::Values(SpecificationExample{"plugin:./x.so", {Kind::plugin, "./x.so"}},
                      SpecificationExample{"plugin:./x@1.so", {Kind::plugin, "./x@1.so"}},
                      SpecificationExample{"plugin:a,b=c[1]/x.so", {Kind::plugin, "a,b=c[1]/x.so"}},
                      SpecificationExample{"plugin:./x.so@threads=2",
                                           {.kind = Kind::plugin, .name = "./x.so", .settings = {{"threads", "2"}}}},
                      SpecificationExample{"plugin:./x@k.so@a=1,b=2[Haswell]@valid-only",
                                           {.kind = Kind::plugin,
                                            .name = "./x@k.so",
                                            .settings = {{"a", "1"}, {"b", "2"}},
                                            .cpu = "Haswell",
                                            .valid_only = true}},
                      SpecificationExample{"plugin:dir@v=1/x.so@", {Kind::plugin, "dir@v=1/x.so"}},
                      SpecificationExample{"plugin:dir/x[1]@", {Kind::plugin, "dir/x[1]"}},
                      SpecificationExample{"plugin:x@valid-only@@valid-only",
                                           {.kind = Kind::plugin, .name = "x@valid-only", .valid_only = true}},
                      SpecificationExample{"plugin:x@", {Kind::plugin, "x@"}},
                      SpecificationExample{"process:python3 a.py --b @c", {Kind::process, "python3 a.py --b @c"}},
                      SpecificationExample{"process:run --set @a=1 [2]", {Kind::process, "run --set @a=1 [2]"}},
                      SpecificationExample{"process:mine@valid-only",
                                           {.kind = Kind::process, .name = "mine", .valid_only = true}},
                      SpecificationExample{"process:mail @valid-only@", {Kind::process, "mail @valid-only"}},
                      SpecificationExample{"defect:half-away+k-tail@ort-f32",
                                           {.kind = Kind::defect, .name = "half-away+k-tail", .word = "ort-f32"}},
                      SpecificationExample{"defect:half-away@valid-only",
                                           {.kind = Kind::defect, .name = "half-away", .valid_only = true}}));

TEST(Specification, TheEndingsMayComeInAnyOrder) {
  EXPECT_EQ(parsed("mine@valid-only[Haswell]"), parsed("mine[Haswell]@valid-only"));
  EXPECT_EQ(parsed("mine@valid-only@valid-only"), parsed("mine@valid-only"));
}

TEST(Specification, OtherTextIsAnErrorThatSaysWhatIsExpected) {
  EXPECT_THAT(error_of(""), HasSubstr("--backend: expected a backend's name"));
  EXPECT_THAT(error_of("onednn:"), HasSubstr("\"onednn:\": expected a version behind the colon"));
  EXPECT_THAT(error_of("onednn@"), HasSubstr("expected a word or KEY=VALUE behind the @, got \"\""));
  EXPECT_THAT(error_of("onednn@avx2,avx512"), HasSubstr("expected KEY=VALUE behind the comma, got \"avx512\""));
  EXPECT_THAT(error_of("onednn@a=1,a=2"), HasSubstr("a is set twice"));
  EXPECT_THAT(error_of("onednn@1=2"), HasSubstr("expected a word or KEY=VALUE behind the @, got \"1=2\""));
  EXPECT_THAT(error_of("onednn@a=b@c"), HasSubstr("a value with , \" @ [ or ] stands in double quotes"));
  EXPECT_THAT(error_of("onednn@a=\"b"), HasSubstr("no end of the quoted value of a"));
  EXPECT_THAT(error_of("onednn@a=\"b\"c"), HasSubstr("expected a comma behind the quoted value of a, got \"c\""));
  EXPECT_THAT(error_of("avx2[Haswell"), HasSubstr("expected [CPU] at the end"));
  EXPECT_THAT(error_of("plugin:"), HasSubstr("expected PATH.so behind plugin:"));
  EXPECT_THAT(error_of("process: "), HasSubstr("process: needs a command"));
}

INSTANTIATE_TEST_SUITE_P(
    WithAnAlias, Examples,
    ::testing::Values(SpecificationExample{"mine=avx2@ort-f32", {.name = "avx2", .word = "ort-f32", .alias = "mine"}},
                      SpecificationExample{"a.b_c-1=process:x=1 y",
                                           {.kind = Kind::process, .name = "x=1 y", .alias = "a.b_c-1"}},
                      SpecificationExample{"mine#2=plugin:x.so",
                                           {.kind = Kind::plugin, .name = "x.so", .alias = "mine", .number = 2}}));

TEST(Specification, AnAliasIsAWord) {
  EXPECT_THAT(error_of("my kernel=process:x"), HasSubstr("in front of a backend stands ALIAS="));
  EXPECT_THAT(error_of("a#1=avx2"), HasSubstr("in front of a backend stands ALIAS="));
  EXPECT_THAT(error_of("a#02=avx2"), HasSubstr("in front of a backend stands ALIAS="));
  EXPECT_THAT(error_of("1=avx2"), HasSubstr("in front of a backend stands ALIAS="));
  EXPECT_THAT(error_of(std::string(49, 'a') + "=avx2"), HasSubstr("an alias has at most 48 characters"));
}

TEST(Specification, NamesAreShort) {
  const std::pair<const char*, const char*> names[] = {
      {"avx2@ort-f32", "avx2@ort-f32"},
      {"onednn:3.12@avx2[Haswell]", "onednn:3.12@avx2[Haswell]"},
      {"mine=plugin:./x.so", "mine"},
      {"plugin:/a/b/libmine.so@threads=2[Haswell]@valid-only", "libmine.so@threads=2[Haswell]@valid-only"},
      {"process:./server --fast", "server"},
      {"process:A=1 '/opt/my tools/server' -x", "server"},
      {"process:mine@valid-only", "mine@valid-only"},
      {"process:python3 -u scripts/dequantize.py --x", "dequantize.py"},
      {"process:/usr/bin/python3.11 -m qconform.serve --path /a my.module:Kernel", "Kernel"},
      {"process:python3 -m qconform.serve my.module.kernel", "kernel"},
      {"process:node server.mjs", "server.mjs"},
      {"process:nodeserver a", "nodeserver"},
      {"plugin:./line\nbreak.so", "line\\x0abreak.so"},
      {"process:\x1b[2J", "\\x1b[2J"},
  };
  for (const auto& [text, name] : names) EXPECT_EQ(short_name(std::string_view(text)), name);
  for (const char* prefix : {"plugin:", "process:", "defect:./", "onnxruntime@a="}) {
    const std::string name = short_name(std::string_view(prefix + std::string(1 << 20, 'x') + ".end"));
    EXPECT_EQ(name.size(), 48U) << name;
    EXPECT_THAT(name, ::testing::AllOf(HasSubstr("xxx...xxx"), ::testing::EndsWith(".end")));
  }
}

TEST(Specification, NamesOfSeveralAreNumbered) {
  std::vector<Specification> all;
  for (const char* text : {"plugin:a/x.so", "plugin:b/x.so", "avx2", "x.so=avx2", "avx2"}) all.push_back(parsed(text));
  number_names(all);
  std::vector<std::string> names;
  for (const Specification& what : all) names.push_back(short_name(what));
  EXPECT_THAT(names, ElementsAre("x.so", "x.so#2", "avx2", "x.so#3", "avx2#2"));
  EXPECT_EQ(text_of(all[1]), "#2=plugin:b/x.so");
  EXPECT_EQ(text_of(all[3]), "x.so#3=avx2");
  EXPECT_EQ(parsed(text_of(all[1])), all[1]);
}

TEST(Specification, ListsKeepTheSettingsOfABackendTogether) {
  EXPECT_THAT(split_specifications("avx2,onednn@avx2,onnxruntime@opt"),
              ElementsAre("avx2", "onednn@avx2", "onnxruntime@opt"));
  EXPECT_THAT(split_specifications("onnxruntime@all,a=1,b=\"2,3\",avx2"),
              ElementsAre("onnxruntime@all,a=1,b=\"2,3\"", "avx2"));
  EXPECT_THAT(split_specifications("avx2"), ElementsAre("avx2"));
}

constexpr Accepted::SettingKey kKeys[] = {{"threads", "1 to 64"}, {"session.*", "text"}};

TEST(Settings, ThatAreUnknownAreNamedBesideTheKnownOnes) {
  const Accepted accepted{{"avx2", "avx512_core"}, {std::begin(kKeys), std::end(kKeys)}};
  EXPECT_TRUE(check_settings(parsed("x@avx2,threads=2,session.any=1"), accepted));
  EXPECT_TRUE(check_settings(parsed("x"), {}));
  EXPECT_EQ(
      check_settings(parsed("x@avx3"), accepted).error().text(),
      "--backend: \"x@avx3\": no word \"avx3\"; did you mean avx2? There are @avx2, @avx512_core, @threads=1 to 64, "
      "@session.*=text and @valid-only");
  EXPECT_THAT(check_settings(parsed("x@thread=2"), accepted).error().text(),
              HasSubstr("no key \"thread\"; did you mean threads? There are @avx2"));
  EXPECT_THAT(check_settings(parsed("x@a=2"), {}).error().text(), HasSubstr("no key \"a\". There is @valid-only"));
}

TEST(Version, ReportsTheAvailableOne) {
  EXPECT_TRUE(check_version(parsed("x:3.12"), "3.12.1"));
  EXPECT_TRUE(check_version(parsed("x:2024-11"), "2024-11-08"));
  EXPECT_TRUE(check_version(parsed("x:3.12.1"), "3.12.1"));
  EXPECT_TRUE(check_version(parsed("x"), "3.12.1"));
  EXPECT_EQ(check_version(parsed("x:3.1"), "3.12.1").error().text(),
            "--backend: \"x:3.1\": no release 3.1 of x here; there is 3.12.1");
}

// Text of the characters that mean something, and of a few that do not.
std::string arbitrary_text(std::string_view letters) {
  const auto text = *rc::gen::container<std::vector<char>>(rc::gen::elementOf(std::string(letters)));
  return {text.begin(), text.end()};
}

std::string arbitrary_argument() {
  const auto ending = *rc::gen::element<std::string>("", "@valid-only", "[cpu]", "@", "@a=b", "@a=\"");
  return arbitrary_text("ab/.=,@[]\" ") + ending + *rc::gen::element<std::string>("", "@", "@valid-only");
}

Specification arbitrary_specification() {
  Specification what;
  what.kind = *rc::gen::element(Kind::named, Kind::plugin, Kind::process, Kind::defect);
  const bool is_text = what.kind == Kind::plugin || what.kind == Kind::process;
  what.name = "n" + (is_text ? arbitrary_argument() : arbitrary_text("ab.+-_1"));
  what.valid_only = *rc::gen::arbitrary<bool>();
  if (what.kind == Kind::process) return what;
  if (what.kind == Kind::named && *rc::gen::arbitrary<bool>()) what.version = "1" + arbitrary_text("2.ab");
  if (!is_text && *rc::gen::arbitrary<bool>()) what.word = "w" + arbitrary_text("1.-_b");
  for (const std::string& key :
       *rc::gen::container<std::set<std::string>>(rc::gen::element<std::string>("a", "b1", "session.x-y", "Z_"))) {
    what.settings.push_back({key, arbitrary_text("ab=,@[]\" /.")});
  }
  if (*rc::gen::arbitrary<bool>()) what.cpu = "c" + arbitrary_text("pu1:.-");
  return what;
}

RC_GTEST_PROP(Specification, ComesBackFromItsText, ()) {
  const Specification what = arbitrary_specification();
  RC_LOG(text_of(what));
  const auto back = parse_specification(text_of(what));
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == what);
}

RC_GTEST_PROP(Specification, OfAnyTextHasATextOfItsOwn, ()) {
  const auto what = parse_specification(*rc::gen::element<std::string>("", "plugin:", "process:", "defect:", "n") +
                                        arbitrary_argument());
  if (!what) return;
  const auto back = parse_specification(text_of(*what));
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == *what);
}

RC_GTEST_PROP(Specification, InAListComesBack, ()) {
  std::vector<std::string> texts;
  for (int i = *rc::gen::inRange(1, 4); i > 0; --i) {
    Specification what = arbitrary_specification();
    if (what.kind != Kind::named) what = {.name = "n"};
    texts.push_back(text_of(what));
  }
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : ",") + text;
  RC_ASSERT(split_specifications(list) == texts);
}

}  // namespace
}  // namespace qconform::backend

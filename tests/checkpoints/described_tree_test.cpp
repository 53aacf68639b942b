#include "tuner/checkpoints/described_tree.h"

#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.h"
#include "tuner/checkpoints/manifest.h"

namespace tune {

namespace {

using Catch::Matchers::Contains;

DescribedTree a_tree() {
  return {{{"layers/bias", 3, "aa"}, {"weights", 10, "bb"}}, {{"last", "layers/../weights"}}};
}

std::string wrong(const DescribedTree& tree) { return wrong_tree(tree).value_or("nothing"); }

DescribedTree with_links(std::vector<DescribedTree::Link> links) {
  DescribedTree tree = a_tree();
  tree.links = std::move(links);
  return tree;
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

}  // namespace

TEST_CASE("A name below a directory has parts that lead nowhere else", "[described_tree]") {
  for (const char* const name : {"a", "a/b", "a b", "..a", "...", "a/..b", ".hidden", "\xc3\xa4"}) {
    INFO(name);
    CHECK_FALSE(wrong_name(name));
  }
  for (const std::string& name :
       {std::string(), std::string("/"), std::string("/etc/passwd"), std::string(".."),
        std::string("."), std::string("../a"), std::string("a/.."), std::string("a/../b"),
        std::string("./a"), std::string("a//b"), std::string("a/"), std::string("a\0b", 3),
        std::string("\xff"), std::string(256, 'a'), repeated("a/", 2048) + "a"}) {
    INFO(name);
    CHECK(wrong_name(name));
  }
}

TEST_CASE("A tree whose names and links go together is none that is wrong", "[described_tree]") {
  CHECK(wrong(a_tree()) == "nothing");
  CHECK(wrong(with_links({{"a/b/in", "../../weights"},
                          {"deep", "a/b"},
                          {"through", "deep/../../weights"},
                          {"nowhere", "not/there"},
                          {"here", "."},
                          {"circle", "circle"},
                          {"to", "fro"},
                          {"fro", "to"},
                          {"sub/manifest.json", "x"}})) == "nothing");
}

TEST_CASE("Links are judged together, as each leads on by way of the others", "[described_tree]") {
  // Each of the two stays inside by its text alone.
  CHECK_THAT(wrong(with_links({{"a/b/c/d/f", "../../../../e"}, {"f", "a/b/c/d/f/../.."}})),
             Contains("the link 'f' leads out of it"));
  CHECK_THAT(wrong(with_links({{"deep", "a/b"}, {"link", "deep/../../../note"}, {"a/b", "../e"}})),
             Contains("leads out of it"));
  CHECK_THAT(wrong(with_links({{"out", ".."}})), Contains("'out' leads out"));
  CHECK_THAT(wrong(with_links({{"a/out", "../.."}})), Contains("leads out"));
  CHECK_THAT(wrong(with_links({{"out", "/etc"}})), Contains("leads out"));
  CHECK_THAT(wrong(with_links({{"hop", "out"}, {"out", "no/../.."}})), Contains("leads out"));
}

TEST_CASE("Nothing lies below a link or a file, and no name is there twice", "[described_tree]") {
  // The one that wrote into a home directory: each passes by its text, and the second is made
  // through the first.
  CHECK_THAT(
      wrong(with_links({{"a/b/c/d/f", "../../../../e"}, {"a/b/c/d/f/out", "../../../../../"}})),
      Contains("'a/b/c/d/f/out' lies below 'a/b/c/d/f', which is no directory"));
  CHECK_THAT(wrong(with_links({{"weights/in", "x"}})), Contains("lies below 'weights'"));
  CHECK_THAT(wrong(with_links({{"layers", "x"}})), Contains("'layers/bias' lies below 'layers'"));
  CHECK_THAT(wrong(with_links({{"weights", "x"}})), Contains("'weights' is in it twice"));
  CHECK_THAT(wrong(with_links({{"x", "a"}, {"x", "b"}})), Contains("'x' is in it twice"));
  CHECK(wrong(with_links({{"weights.old", "x"}, {"layers-1", "y"}, {"weights!", "z"}})) ==
        "nothing");
}

TEST_CASE("The manifest's own name is taken", "[described_tree]") {
  CHECK_THAT(wrong(with_links({{"manifest.json", "weights"}})), Contains("manifest.json"));
  CHECK_THAT(wrong(with_links({{"manifest.json/x", "weights"}})), Contains("manifest.json"));
}

TEST_CASE("A name or a target that is no path makes a tree wrong", "[described_tree]") {
  CHECK_THAT(wrong(with_links({{"../up", "weights"}})), Contains("the name '../up' leads"));
  CHECK_THAT(wrong(with_links({{"l", ""}})), Contains("'l' leads to what is no path"));
  CHECK_THAT(wrong(with_links({{"l", std::string("a\0b", 3)}})), Contains("no path"));
  CHECK_THAT(wrong(with_links({{"l", std::string(5000, 'a')}})), Contains("no path"));
  DescribedTree tree = a_tree();
  tree.files[0].path = "/etc/passwd";
  CHECK_THAT(wrong(tree), Contains("the name '/etc/passwd' has an empty part"));
  // What a terminal would obey is not repeated.
  tree.files[0].path = "\x1b[2J/../x";
  CHECK_THAT(wrong(tree), Contains("the name ' [2J/../x' leads elsewhere"));
}

TEST_CASE("Sizes that no disk has together are not added up", "[described_tree]") {
  DescribedTree tree = a_tree();
  tree.files[0].bytes = tree.files[1].bytes = std::uint64_t{1} << 63;
  CHECK_THAT(wrong(tree), Contains("more bytes than a disk can have"));
  CHECK(tree.bytes() == std::uint64_t{0x7fffffffffffffff});
}

TEST_CASE("Links that only a long walk could judge are refused by it", "[described_tree]") {
  // 40 links of 2,000 parts each, by way of one another: a kernel would go all that way.
  std::vector<DescribedTree::Link> links;
  for (int i = 0; i < 40; ++i) {
    links.push_back({"l" + std::to_string(i), repeated("./", 2000) + "l" + std::to_string(i + 1)});
  }
  CHECK_THAT(wrong(with_links(links)), Contains("leads out"));
}

TEST_CASE("A manifest that is too long, or nested too deeply, is none", "[manifest]") {
  CHECK(parse_manifest("{}").is_object());
  CHECK(parse_manifest("{").is_discarded());
  const std::string deep = R"({"manifest":1,"files":[],"config":)" + repeated("[", 100'000) +
                           repeated("]", 100'000) + "}";
  CHECK(parse_manifest(deep).is_discarded());
  CHECK(parse_manifest(std::string(most_manifest_bytes, ' ') + "{}").is_discarded());
}

}  // namespace tune

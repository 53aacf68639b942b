// Named tensors, written and read again.
#include "trainable/blobs.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/trainable/blobs_fixture.h"

using namespace tune;
using blobs::Dtype;
namespace fs = std::filesystem;

namespace {

std::string names_of(const std::vector<const blobs::Tensor*>& tensors) {
  std::string text;
  for (const auto* tensor : tensors) text += std::string(tensor->name) + " ";
  return text;
}

std::vector<std::string> entries(const fs::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// A small model in one file.
fs::path put_model(const BlobDirectory& directory) {
  blobs::Writer writer(directory.path / "model.safetensors",
                       {{"flags", Dtype::BOOL, {3}},
                        {"layers.0.weight", Dtype::F32, {2, 2}},
                        {"layers.1.weight", Dtype::F32, {2}},
                        {"steps", Dtype::I64, {}},
                        {"none", Dtype::F16, {0, 7}}},
                       {{"format", "pt"}});
  writer.write("flags", std::array<bool, 3>{true, false, true});
  writer.write("steps", std::vector<std::int64_t>{-7});
  writer.write("layers.0.weight", std::vector<float>{1, 2});
  writer.write("layers.1.weight", std::vector<float>{5, 6});
  writer.write("layers.0.weight", std::vector<float>{3, 4});
  writer.finish();
  return directory.path / "model.safetensors";
}

}  // namespace

TEST_CASE("What was written in pieces and in any order is read by name", "[unit][blobs]") {
  const BlobDirectory directory;
  const blobs::Reader reader(put_model(directory));
  CHECK(reader.tensors().size() == 5);
  CHECK(reader.metadata() == blobs::Metadata{{"format", "pt"}});
  const auto& weight = reader.at("layers.0.weight");
  CHECK(weight.dtype == Dtype::F32);
  CHECK(std::vector(weight.shape.begin(), weight.shape.end()) == std::vector<std::uint64_t>{2, 2});
  CHECK(weight.bytes == 16);
  CHECK(reader.read<float>(weight) == std::vector<float>{1, 2, 3, 4});
  CHECK(reader.read<std::int64_t>(reader.at("steps")) == std::vector<std::int64_t>{-7});
  CHECK(reader.at("steps").shape.empty());
  CHECK(reader.read<std::uint8_t>(reader.at("flags")) == std::vector<std::uint8_t>{1, 0, 1});
  CHECK(reader.view(reader.at("none")).empty());
  CHECK(reader.find("layers.2.weight") == nullptr);
  std::array<float, 2> end{};
  reader.read(weight, std::as_writable_bytes(std::span(end)), 8);
  CHECK(end == std::array<float, 2>{3, 4});
}

TEST_CASE("Each tensor lies at a multiple of its element's size in the file", "[unit][blobs]") {
  const BlobDirectory directory;
  const blobs::Reader reader(put_model(directory));
  for (const auto& tensor : reader.tensors()) {
    CAPTURE(tensor.name);
    CHECK(tensor.offset % std::max(1U, bits(tensor.dtype) / 8) == 0);
    if (tensor.bytes == 0) continue;
    const auto address = reinterpret_cast<std::uintptr_t>(reader.view(tensor).data());
    CHECK(address % (bits(tensor.dtype) / 8) == 0);
  }
}

TEST_CASE("A view has the bytes that a read copies", "[unit][blobs]") {
  const BlobDirectory directory;
  const blobs::Reader reader(put_model(directory));
  for (const auto& tensor : reader.tensors()) {
    std::vector<std::byte> copy(tensor.bytes);
    reader.read(tensor, copy);
    const auto view = reader.view(tensor);
    CHECK(std::equal(view.begin(), view.end(), copy.begin(), copy.end()));
  }
}

TEST_CASE("A tensor is not read as another type, nor over its end", "[unit][blobs]") {
  const BlobDirectory directory;
  const fs::path file = put_model(directory);
  const blobs::Reader reader(file);
  CHECK_THROWS_WITH(reader.read<double>(reader.at("layers.0.weight")),
                    file.string() + " has 'layers.0.weight' as F32, not as F64");
  std::array<std::byte, 8> eight{};
  CHECK_THROWS_WITH(reader.read(reader.at("steps"), eight, 1),
                    file.string() + " has 8 bytes of 'steps', and others were asked for");
  CHECK_THROWS_WITH(reader.at("step"), file.string() + " has no tensor 'step'");
}

TEST_CASE("Names with quotes, newlines, NULs and any letters come back", "[unit][blobs]") {
  const BlobDirectory directory;
  const fs::path file = directory.path / "odd";
  const std::vector<std::string> names = {
      "a\"b\\", "line\nend", std::string("nul\0!", 5), "größe/模型/\xF0\x9F\x98\x80", "", "\x7F"};
  std::vector<blobs::Declared> declared;
  for (const auto& name : names) declared.push_back({name, Dtype::U8, {1}});
  blobs::Writer writer(file, declared, {{"k\"", "v\t"}});
  for (std::uint8_t i = 0; i < names.size(); ++i) writer.write(names[i], std::array{i});
  writer.finish();
  const blobs::Reader reader(file);
  CHECK(reader.metadata() == blobs::Metadata{{"k\"", "v\t"}});
  for (std::uint8_t i = 0; i < names.size(); ++i) {
    CHECK(reader.read<std::uint8_t>(reader.at(names[i])) == std::vector{i});
  }
}

TEST_CASE("A file appears under its name when it is finished and not before", "[unit][blobs]") {
  const BlobDirectory directory;
  const fs::path file = directory.put("m.safetensors", "what was there before");
  {
    blobs::Writer writer(file, {{"a", Dtype::U8, {2}}});
    writer.write("a", std::array<std::uint8_t, 1>{1});
    CHECK(entries(directory.path).size() == 2);
    CHECK_THROWS_WITH(writer.finish(), file.string() + " lacks the last 1 bytes of 'a'");
    CHECK(bytes_of(file) == "what was there before");
  }
  CHECK(entries(directory.path) == std::vector<std::string>{"m.safetensors"});
  CHECK(bytes_of(file) == "what was there before");

  blobs::Writer writer(file, {{"a", Dtype::U8, {2}}});
  writer.write("a", std::array<std::uint8_t, 2>{1, 2});
  writer.finish();
  CHECK(entries(directory.path) == std::vector<std::string>{"m.safetensors"});
  CHECK(refusal_of(file).empty());
  CHECK_THROWS_WITH(writer.finish(), file.string() + " is finished already");
  CHECK_THROWS_WITH(writer.write("a", std::array<std::uint8_t, 1>{1}),
                    file.string() + " is finished already");
}

TEST_CASE("A writer takes what was declared and nothing else", "[unit][blobs]") {
  const BlobDirectory directory;
  const fs::path file = directory.path / "m";
  blobs::Writer writer(file, {{"a", Dtype::F32, {2}}});
  const std::string name = file.string();
  CHECK_THROWS_WITH(writer.write("b", std::array<float, 1>{}),
                    name + " was not said to have a tensor 'b'");
  CHECK_THROWS_WITH(writer.write("a", std::array<double, 1>{}),
                    name + " was said to have 'a' as F32, not as F64");
  CHECK_THROWS_WITH(writer.write("a", std::array<float, 3>{}),
                    name + " takes 8 more bytes of 'a', got 12");
  using Problem = std::pair<std::vector<blobs::Declared>, std::string>;
  constexpr auto many = std::numeric_limits<std::uint64_t>::max();
  for (const auto& [declared, sentence] : std::vector<Problem>{
           {{{"a", Dtype::U8, {}}, {"a", Dtype::U8, {}}}, "two of its tensors have one name"},
           {{{"__metadata__", Dtype::U8, {}}}, "no tensor can be called __metadata__"},
           {{{"\xFF", Dtype::U8, {}}}, "the name of tensor 0 is not UTF-8"},
           {{{"a", Dtype::F32, {many}}},
            "tensor 'a' is F32 [18446744073709551615], which is no number of bytes"},
           {{{"a", Dtype::F4, {3}}}, "tensor 'a' is F4 [3], which is no number of bytes"},
           {{{"a", Dtype::U8, std::vector<std::uint64_t>(65, 1)}},
            "tensor 'a' has more than 64 dimensions"}}) {
    CHECK_THROWS_WITH(blobs::Writer(file, declared), name + " cannot be written: " + sentence);
  }
  CHECK_THROWS_WITH(blobs::Writer(file, {}, {{"a", "\xFF"}}),
                    name + " cannot be written: the metadata's 'a' is not UTF-8");
  CHECK_THROWS_WITH(
      blobs::Writer(directory.path / "none" / "m", {}),
      (directory.path / "none" / "m").string() + " cannot be written: No such file or directory");
}

TEST_CASE("A write that fails is said by the writer, which leaves nothing", "[unit][blobs]") {
  const BlobDirectory directory;
  const fs::path file = directory.path / "m";
  // Files may not grow over this.
  struct rlimit before {};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit small { 100, before.rlim_max };
  std::string sentence;
  {
    blobs::Writer writer(file, {{"a", Dtype::U8, {200}}});
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
    try {
      writer.write("a", std::vector<std::uint8_t>(200));
    } catch (const blobs::Error& error) {
      sentence = error.what();
    }
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  }
  std::signal(SIGXFSZ, handler);
  CHECK(sentence == file.string() + " cannot be written: File too large");
  CHECK(entries(directory.path).empty());

  // Somebody else has removed what was being written.
  blobs::Writer writer(file, {});
  fs::remove(directory.path / entries(directory.path).at(0));
  CHECK_THROWS_WITH(writer.finish(),
                    file.string() + " cannot be written: No such file or directory");
  CHECK(entries(directory.path).empty());
}

TEST_CASE("Patterns fit whole names, and a star stands for dots too", "[unit][blobs]") {
  CHECK(blobs::fits("layers.*", "layers.0.weight"));
  CHECK(blobs::fits("*.weight", "layers.0.weight"));
  CHECK(blobs::fits("*", ""));
  CHECK(blobs::fits("l*.?.w*t", "layers.0.weight"));
  CHECK(blobs::fits("*a*b*", "xxaxxaxxb"));
  CHECK_FALSE(blobs::fits("layers", "layers.0"));
  CHECK_FALSE(blobs::fits("layers.?", "layers.10"));
  CHECK_FALSE(blobs::fits("*.weigh", "layers.0.weight"));
  CHECK_FALSE(blobs::fits("", "a"));
  CHECK(blobs::fits("[ab]", "[ab]"));
}

TEST_CASE("A part is selected by patterns, strictly or listing what is missing", "[unit][blobs]") {
  const BlobDirectory directory;
  const blobs::Reader reader(put_model(directory));
  CHECK(names_of(reader.select({"layers.*"}).tensors) == "layers.0.weight layers.1.weight ");
  CHECK(names_of(reader.select({"*.1.*", "layers.*"}).tensors) ==
        "layers.0.weight layers.1.weight ");
  CHECK_THROWS_WITH(
      reader.select({"layers.*", "head.*"}),
      (directory.path / "model.safetensors").string() + " has no tensor that fits 'head.*'");
  const auto lenient = reader.select({"layers.*", "head.*"}, blobs::Strictness::lenient);
  CHECK(lenient.tensors.size() == 2);
  CHECK(lenient.missing == std::vector<std::string>{"head.*"});
}

TEST_CASE("A model's names are matched, strictly or listing both kinds of difference",
          "[unit][blobs]") {
  const BlobDirectory directory;
  const blobs::Reader reader(put_model(directory));
  CHECK(reader.match({"flags", "layers.0.weight", "layers.1.weight", "none", "steps"})
            .tensors.size() == 5);
  CHECK_THROWS_WITH(reader.match({"flags", "layers.0.weight", "layers.1.weight", "head", "none"}),
                    (directory.path / "model.safetensors").string() +
                        " lacks 'head', and has 'steps', which nobody has asked for");
  const auto lenient = reader.match({"steps", "head"}, blobs::Strictness::lenient);
  CHECK(names_of(lenient.tensors) == "steps ");
  CHECK(lenient.missing == std::vector<std::string>{"head"});
  CHECK(lenient.unexpected.size() == 4);
}

TEST_CASE("All files of a directory are one set of names", "[unit][blobs]") {
  const BlobDirectory directory;
  put_model(directory);
  directory.put("notes.txt", "no tensors");
  directory.put(".hidden.safetensors", "being written");
  {
    blobs::Writer writer(directory.path / "optimizer.safetensors", {{"momentum", Dtype::F64, {}}});
    writer.write("momentum", std::array{0.9});
    writer.finish();
  }
  blobs::Reader reader(directory.path);
  CHECK(reader.files().size() == 2);
  CHECK(reader.tensors().size() == 6);
  const blobs::Reader moved = std::move(reader);
  CHECK(moved.read<double>(moved.at("momentum")) == std::vector<double>{0.9});
  CHECK(moved.read<float>(moved.at("layers.1.weight")) == std::vector<float>{5, 6});

  blobs::Writer writer(directory.path / "z.safetensors", {{"steps", Dtype::U8, {}}});
  writer.write("steps", std::array<std::uint8_t, 1>{1});
  writer.finish();
  CHECK(refusal_of(directory.path) ==
        directory.path.string() +
            " has the tensor 'steps' twice: in model.safetensors and in z.safetensors");
}

TEST_CASE("An open file is read to its end although it was deleted", "[unit][blobs]") {
  const BlobDirectory directory;
  const fs::path file = put_model(directory);
  const blobs::Reader reader(file);
  fs::remove(file);
  CHECK(reader.read<float>(reader.at("layers.1.weight")) == std::vector<float>{5, 6});
  CHECK(reader.view(reader.at("layers.1.weight")).size() == 8);
}

TEST_CASE("A file that is shortened while it is open is said by read", "[unit][blobs]") {
  const BlobDirectory directory;
  const fs::path file = put_model(directory);
  const blobs::Reader reader(file);
  fs::resize_file(file, reader.at("layers.1.weight").offset + 4);
  CHECK_THROWS_WITH(reader.read<float>(reader.at("layers.1.weight")),
                    file.string() + " has become shorter since it was opened");
}

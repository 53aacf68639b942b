// What named tensors cost: a file written and read beside plain `write`, mmap and `read` of as many
// bytes, each in the same round, and one tensor of many.
//   bench_blobs [--mib N] [--tensors N] [--rounds N] [--dir DIR] [--clock wall|cpu]
// On a machine that has other work to do, the processor's time tells more than the wall's.
#include "trainable/blobs.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/bench/report.h"

namespace tune::bench {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::size_t mib = 1024;
  int tensors = 10'000;
  int rounds = 7;
  clockid_t clock = CLOCK_MONOTONIC;
  fs::path directory = fs::temp_directory_path();
};

constexpr std::size_t mebibyte = 1 << 20;
constexpr std::size_t piece_bytes = 4 * mebibyte;
constexpr std::size_t tensor_bytes = 64 * mebibyte;

double now_s(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void require(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(what);
}

/// Each word of it is looked at.
std::uint64_t sum_of(const std::byte* data, std::size_t bytes) {
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at + 8 <= bytes; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + at, 8);
    sum += word;
  }
  return sum;
}

class Files {
 public:
  explicit Files(const Options& options) : bytes_(options.mib * mebibyte), piece_(piece_bytes) {
    directory_ = (options.directory / "tune-bench-XXXXXX").string();
    require(::mkdtemp(directory_.data()) != nullptr, "cannot make a directory");
    for (std::size_t i = 0; i < piece_.size(); ++i) {
      piece_[i] = static_cast<std::byte>(i * 2654435761U >> 13);
    }
    for (std::size_t left = bytes_; left > 0; left -= std::min(left, tensor_bytes)) {
      declared_.push_back({"layer." + std::to_string(declared_.size()),
                           blobs::Dtype::U8,
                           {std::min(left, tensor_bytes)}});
    }
  }
  ~Files() { fs::remove_all(directory_); }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  void clear() const {
    fs::remove(plain());
    fs::remove(tensors());
  }

  void write_plain() const {
    const int fd = ::open(plain().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    require(fd >= 0, "cannot open the plain file");
    for (std::size_t left = bytes_; left > 0;) {
      const ssize_t done = ::write(fd, piece_.data(), std::min(left, piece_.size()));
      require(done > 0, "cannot write the plain file");
      left -= static_cast<std::size_t>(done);
    }
    ::close(fd);
  }

  void write_blobs() const {
    blobs::Writer writer(tensors(), declared_);
    for (const auto& one : declared_) {
      for (std::uint64_t left = one.shape[0]; left > 0;) {
        const auto bytes = std::min<std::uint64_t>(left, piece_.size());
        writer.write(one.name, std::span(piece_).first(bytes));
        left -= bytes;
      }
    }
    writer.finish();
  }

  std::uint64_t map_plain() const {
    const int fd = ::open(plain().c_str(), O_RDONLY | O_CLOEXEC);
    void* const map = ::mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, fd, 0);
    require(map != MAP_FAILED, "cannot map the plain file");
    const std::uint64_t sum = sum_of(static_cast<const std::byte*>(map), bytes_);
    ::munmap(map, bytes_);
    ::close(fd);
    return sum;
  }

  std::uint64_t view_blobs() const {
    const blobs::Reader reader(tensors());
    std::uint64_t sum = 0;
    for (const auto& tensor : reader.tensors()) {
      const auto view = reader.view(tensor);
      sum += sum_of(view.data(), view.size());
    }
    return sum;
  }

  std::uint64_t read_plain() const {
    const int fd = ::open(plain().c_str(), O_RDONLY | O_CLOEXEC);
    std::vector<std::byte> piece(piece_bytes);
    std::uint64_t sum = 0;
    for (std::size_t left = bytes_; left > 0;) {
      const ssize_t done = ::read(fd, piece.data(), piece.size());
      require(done > 0, "cannot read the plain file");
      sum += sum_of(piece.data(), static_cast<std::size_t>(done));
      left -= static_cast<std::size_t>(done);
    }
    ::close(fd);
    return sum;
  }

  std::uint64_t read_blobs() const {
    const blobs::Reader reader(tensors());
    std::vector<std::byte> piece(piece_bytes);
    std::uint64_t sum = 0;
    for (const auto& tensor : reader.tensors()) {
      for (std::uint64_t at = 0; at < tensor.bytes; at += piece.size()) {
        const auto bytes = std::min<std::uint64_t>(piece.size(), tensor.bytes - at);
        reader.read(tensor, std::span(piece).first(bytes), at);
        sum += sum_of(piece.data(), bytes);
      }
    }
    return sum;
  }

  fs::path many() const { return fs::path(directory_) / "many.safetensors"; }

  double mib() const { return static_cast<double>(bytes_) / mebibyte; }

 private:
  fs::path plain() const { return fs::path(directory_) / "plain"; }
  fs::path tensors() const { return fs::path(directory_) / "tensors.safetensors"; }

  std::string directory_;
  std::size_t bytes_;
  std::vector<std::byte> piece_;
  std::vector<blobs::Declared> declared_;
};

/// The file to read one tensor of.
std::string write_many(const Files& files, int tensors) {
  std::vector<blobs::Declared> declared;
  for (int i = 0; i < tensors; ++i) {
    declared.push_back(
        {"model.layers." + std::to_string(i) + ".weight", blobs::Dtype::F32, {8, 8}});
  }
  blobs::Writer writer(files.many(), declared);
  std::vector<float> values(64);
  for (const auto& one : declared) {
    values[0] += 1;
    writer.write(one.name, values);
  }
  writer.finish();
  return declared[declared.size() * 3 / 4].name;
}

void run(const Options& options) {
  const Files files(options);
  Report report;
  const auto seconds_of = [&](const auto& work) {
    const double begin_s = now_s(options.clock);
    work();
    return now_s(options.clock) - begin_s;
  };
  const std::string name = write_many(files, options.tensors);
  const std::string of = " of " + std::to_string(options.tensors);
  for (int round = 0; round < options.rounds; ++round) {
    const auto beside = [&](const char* what, double limit_s, double seconds) {
      Row& row = report.row({what, "MiB/s", {}, {}, 0.9, Aim::at_least});
      row.measured.push_back(files.mib() / seconds);
      row.limit.push_back(files.mib() / limit_s);
    };
    // Neither replaces a file, and neither is always the first.
    files.clear();
    double plain_s = 0;
    if (round % 2 == 0) plain_s = seconds_of([&] { files.write_plain(); });
    const double writer_s = seconds_of([&] { files.write_blobs(); });
    if (round % 2 == 1) plain_s = seconds_of([&] { files.write_plain(); });
    beside("write, by write", plain_s, writer_s);
    std::array<std::uint64_t, 4> sums{};
    const double map_s = seconds_of([&] { sums[0] = files.map_plain(); });
    beside("view, by mmap", map_s, seconds_of([&] { sums[1] = files.view_blobs(); }));
    const double read_s = seconds_of([&] { sums[2] = files.read_plain(); });
    beside("read, by read", read_s, seconds_of([&] { sums[3] = files.read_blobs(); }));
    for (const std::uint64_t sum : sums) require(sum == sums[0], "other bytes were read");

    std::vector<float> values;
    const double open_s = seconds_of([&] {
      const blobs::Reader reader(files.many());
      values = reader.read<float>(reader.at(name));
    });
    require(values.size() == 64 && values[0] > 0, "the one tensor is another one");
    report.row({"open, and read one tensor" + of, "ms", {}, {}, {}, Aim::at_most})
        .measured.push_back(1e3 * open_s);
    const blobs::Reader reader(files.many());
    report.row({"read one tensor" + of, "ms", {}, {}, 1, Aim::at_most})
        .measured.push_back(1e3 *
                            seconds_of([&] { values = reader.read<float>(reader.at(name)); }));
  }
  report.print(std::cout);
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const std::string value = argv[i + 1];
    if (name == "--mib") {
      options.mib = std::stoul(value);
    } else if (name == "--tensors") {
      options.tensors = std::stoi(value);
    } else if (name == "--rounds") {
      options.rounds = std::stoi(value);
    } else if (name == "--clock") {
      options.clock = value == "cpu" ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
    } else if (name == "--dir") {
      options.directory = fs::absolute(value);
    } else {
      throw std::invalid_argument("unknown option " + name);
    }
  }
  return options;
}

}  // namespace
}  // namespace tune::bench

int main(int argc, char** argv) {
  try {
    tune::bench::run(tune::bench::parse(argc, argv));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "bench_blobs: " << error.what() << "\n";
    return 1;
  }
}

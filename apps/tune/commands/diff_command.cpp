// `tune diff`: what has changed from one checkpoint to another, tensor by tensor.
// Changes nothing; reads, and maps no file.
#include <algorithm>
#include <filesystem>
#include <set>

#include "apps/tune/commands.h"
#include "apps/tune/output.h"
#include "tuner/base/clean_text.h"
#include "tuner/base/count_of.h"
#include "tuner/base/error.h"
#include "tuner/checkpoint_reference.h"
#include "tuner/model/metrics.h"
#include "tuner/spec/spec.h"
#include "tuner/view/blob_difference.h"
#include "tuner/view/blob_list.h"

namespace tune {

namespace {

/// One tensor that is not the same.
struct Changed {
  std::string name;
  const char* change;  ///< "values", "dtype", "shape", "added", "removed"
  const blobs::Tensor* before = nullptr;
  const blobs::Tensor* after = nullptr;
  BlobDifference by = {};
};

blobs::Reader reader_of(const std::string& checkpoint) {
  const auto here = std::filesystem::current_path();
  return blobs::Reader(find_checkpoint(checkpoint, here, ExperimentSpec().storage_path));
}

std::vector<Changed> compare(const blobs::Reader& before, const blobs::Reader& after) {
  std::vector<Changed> changes;
  for (const auto& a : before.tensors()) {
    const std::string name(a.name);
    const blobs::Tensor* const b = after.find(a.name);
    if (b == nullptr) {
      changes.push_back({name, "removed", &a, nullptr});
    } else if (a.dtype != b->dtype) {
      changes.push_back({name, "dtype", &a, b});
    } else if (!std::equal(a.shape.begin(), a.shape.end(), b->shape.begin(), b->shape.end())) {
      changes.push_back({name, "shape", &a, b});
    } else if (const auto by = difference(before, a, after, *b); !by.is_same) {
      changes.push_back({name, "values", &a, b, by});
    }
  }
  for (const auto& b : after.tensors()) {
    if (before.find(b.name) == nullptr) {
      changes.push_back({std::string(b.name), "added", nullptr, &b});
    }
  }
  std::sort(changes.begin(), changes.end(),
            [](const Changed& a, const Changed& b) { return a.name < b.name; });
  return changes;
}

Json to_json(const Changed& one) {
  const auto described = [](const blobs::Tensor* tensor) {
    return tensor == nullptr ? Json() : Json(blob_json(*tensor));
  };
  Json json = {{"name", one.name},
               {"change", one.change},
               {"before", described(one.before)},
               {"after", described(one.after)}};
  if (one.by.has_numbers) {
    json["max_abs"] = encode_number(one.by.max_abs);
    json["relative_l2"] = encode_number(one.by.relative_l2);
    json["nans_before"] = one.by.nans_before;
    json["nans_after"] = one.by.nans_after;
  }
  return json;
}

std::string type_of(const blobs::Tensor& tensor) {
  return std::string(to_string(tensor.dtype)) + " " + shape_of(tensor);
}

void print_changes(const std::vector<Changed>& changes) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& one : changes) {
    std::string type = type_of(one.before != nullptr ? *one.before : *one.after);
    if (one.before != nullptr && one.after != nullptr && !one.by.has_numbers &&
        type != type_of(*one.after)) {
      type += " -> " + type_of(*one.after);
    }
    auto& row = rows.emplace_back(std::vector<std::string>{one.name, one.change, type});
    const BlobDifference& by = one.by;
    if (!by.has_numbers) {
      row.insert(row.end(), {"-", "-", "-"});
      continue;
    }
    row.push_back(format_metric(by.max_abs));
    row.push_back(format_metric(by.relative_l2));
    row.push_back(by.nans_before == by.nans_after
                      ? std::to_string(by.nans_before)
                      : std::to_string(by.nans_before) + " -> " + std::to_string(by.nans_after));
  }
  print_table(
      {{"tensor"}, {"change"}, {"type"}, {"max abs", true}, {"relative L2", true}, {"NaN", true}},
      rows);
}

int compare_and_print(const DiffRequest& request) {
  const blobs::Reader before = reader_of(request.before);
  const blobs::Reader after = reader_of(request.after);
  const auto changes = compare(before, after);
  std::set<std::string_view> names;
  for (const auto* reader : {&before, &after}) {
    for (const auto& tensor : reader->tensors()) names.insert(tensor.name);
  }
  if (request.json) {
    Json list = Json::array();
    for (const auto& one : changes) list.push_back(to_json(one));
    print_json({{"before", before.path().string()},
                {"after", after.path().string()},
                {"tensors", names.size()},
                {"differ", changes.size()},
                {"changes", std::move(list)}});
  } else {
    if (!changes.empty()) print_changes(changes);
    const std::string of = count_of(names.size(), "tensor");
    print(changes.empty() ? "no difference in " + of + "\n"
                          : std::to_string(changes.size()) + " of " + of +
                                (changes.size() == 1 ? " differs\n" : " differ\n"));
  }
  return changes.empty() ? exit_ok : exit_differ;
}

}  // namespace

int diff_command(const DiffRequest& request) {
  // Whatever keeps them from being compared is 2, as it is with diff(1).
  try {
    return compare_and_print(request);
  } catch (const Error& error) {
    complain(error.what());
  } catch (const blobs::Error& error) {
    complain(error.what());
  }
  return exit_bad_input;
}

}  // namespace tune

// `tune report`: what was searched, what came out, and what is worth knowing, as sentences and as
// a page. Changes nothing in the experiments.
#include <filesystem>
#include <fstream>

#include "apps/tune/commands.h"
#include "apps/tune/output.h"
#include "apps/tune/report_data.h"
#include "apps/tune/report_page.h"
#include "tuner/base/count_of.h"
#include "tuner/base/error.h"
#include "tuner/disk/file_system.h"
#include "tuner/view/experiment_view.h"

namespace tune {

namespace {

std::vector<std::string> experiments_of(const ReportRequest& request) {
  std::vector<std::string> all;
  for (const std::string& directory : request.directories) {
    const auto inside =
        is_experiment(directory) ? std::vector<std::filesystem::path>() : experiments_in(directory);
    for (const auto& each : inside) all.push_back(each.string());
    // What is none is said of it where it is read.
    if (inside.empty()) all.push_back(directory);
  }
  return all;
}

/// Error (user) if another file than a report has the name.
void require_replaceable(const std::filesystem::path& file) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (!std::filesystem::exists(status)) return;
  std::string beginning(64, '\0');
  if (std::filesystem::is_regular_file(status)) {
    std::ifstream in(file, std::ios::binary);
    in.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  }
  if (is_report_page(beginning)) return;
  throw user_error(file.string() + " exists already and is no report: it is not overwritten");
}

void print_sentences(const Json& report) {
  bool is_first = true;
  for (const Json& each : report.at("experiments")) {
    if (!std::exchange(is_first, false)) print("\n");
    if (const auto& problem = each.at("problem"); problem != "") {
      complain(problem.get<std::string>());
      continue;
    }
    print(each.at("sentence").get<std::string>() + "\n");
    for (const Json& finding : each.at("findings")) {
      print("- " + finding.at("sentence").get<std::string>() + "\n");
    }
  }
}

/// Without what only pictures need.
Json answer_of(const Json& report, const ReportRequest& request, std::uintmax_t bytes) {
  Json experiments = Json::array();
  for (const Json& each : report.at("experiments")) {
    const bool is_bad = each.at("problem") != "";
    experiments.push_back({{"directory", each.at("directory")},
                           {"problem", each.at("problem")},
                           {"sentence", is_bad ? Json("") : each.at("sentence")},
                           {"findings", is_bad ? Json::array() : each.at("findings")}});
  }
  const bool is_written = bytes > 0;
  return {{"file", is_written
                       ? Json(std::filesystem::absolute(request.html).lexically_normal().string())
                       : Json()},
          {"bytes", is_written ? Json(bytes) : Json()},
          {"experiments", std::move(experiments)}};
}

}  // namespace

int report_command(const ReportRequest& request) {
  const bool to_output = request.html == "-";
  if (request.json && to_output) {
    throw user_error("--json says what was written to a file: with --html - leave it out");
  }
  const bool to_file = !request.html.empty() && !to_output;
  if (to_file) require_replaceable(request.html);
  const Json report = report_data(experiments_of(request));
  std::uintmax_t bytes = 0;
  if (to_file || to_output) {
    const std::string page = report_page(report);
    bytes = page.size();
    if (to_output) {
      print_data(page);
      return exit_ok;
    }
    make_posix_file_system()->replace(request.html, page);
  }
  if (request.json) {
    print_json(answer_of(report, request, bytes));
    return exit_ok;
  }
  print_sentences(report);
  if (to_file)
    print("\nwritten to " + request.html + " (" + format_bytes(static_cast<double>(bytes)) + ")\n");
  return exit_ok;
}

}  // namespace tune

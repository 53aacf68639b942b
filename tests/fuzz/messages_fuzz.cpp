// Lines of a trainable to the driver, and lines of a driver to the trainable: any bytes are a
// message or a fault in words. The first byte chooses the side.
#include <cstdint>
#include <string>

#include "trainable/protocol.h"
#include "tuner/base/error.h"
#include "tuner/execution/local/message_parser.h"
#include "tuner/model/event.h"

namespace {

void to_driver(std::string_view line) {
  static tune::MessageParser parser;
  std::string padded(line);
  padded.append(tune::MessageParser::padding_bytes, '\0');
  const tune::Wakeup wakeup =
      parser.parse(tune::LaunchId{1}, std::string_view(padded).substr(0, line.size()));
  if (const auto* const faulted = std::get_if<tune::Faulted>(&wakeup)) {
    tune::ensure(!faulted->reason.empty(), "a fault has a reason");
  }
  const auto* const reported = std::get_if<tune::Reported>(&wakeup);
  if (reported == nullptr || !reported->metrics) return;
  // What is accepted goes into the journal as it came: it must be read again as the same.
  tune::ResultReported body;
  body.attempt = 1;
  body.result.training_iteration = 1;
  body.result.metrics = *reported->metrics;
  std::string text;
  tune::append_json(text, {1, 2.5, body});
  tune::ensure(text.find('\n') == std::string::npos, "a record is one line");
  const tune::Event again = tune::parse_event(text);
  std::string text_again;
  tune::append_json(text_again, again);
  tune::ensure(text == text_again, "a record is read as it was written");
  const auto& numbers = std::get<tune::ResultReported>(again.body).result.metrics.numbers;
  tune::ensure(numbers.size() == reported->metrics->numbers.size(), "no metric is lost");
}

void to_trainable(std::string_view line) {
  try {
    const auto command = tune::protocol::parse_command(line);
    const std::string text = tune::protocol::format(command);
    tune::ensure(tune::protocol::format(tune::protocol::parse_command(text)) == text,
                 "a command is read as it was written");
  } catch (const std::exception&) {
    // The trainable says so and ends.
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view line(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (line.find('\n') != std::string_view::npos) return -1;
  if (data[0] == 't') {
    to_trainable(line);
  } else {
    to_driver(line);
  }
  return 0;
}

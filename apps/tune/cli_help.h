// What the command line says of itself: its texts as data, and sentences for lines that it does not
// understand.
#pragma once

#include "apps/tune/cli_texts.h"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace tune {

CommandText text_of(const CLI::App& app);

/// The same with the names of policies and schemas, which the parser does not know.
CommandText completable_text_of(const CLI::App& app);

/// Says what is wrong with the line, or prints the help that was asked for. Returns the exit code.
/// `behind`: the words behind "--", which the parser has not seen.
int explain(const CLI::App& app, const CLI::ParseError& error,
            const std::vector<std::string>& behind);

}  // namespace tune

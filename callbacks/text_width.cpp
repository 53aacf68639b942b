// Counts columns with wcwidth under a UTF-8 locale of this thread's own (uselocale).
#include "callbacks/text_width.h"

#include <locale.h>
#include <wchar.h>

#include <algorithm>

namespace tune {

namespace {

/// For this thread and for as long as it lives, characters are Unicode's, whatever the user's
/// locale says of the terminal: what a table aligns may go to a file.
class UnicodeHere {
 public:
  UnicodeHere() : before_(locale() != nullptr ? ::uselocale(locale()) : nullptr) {}
  ~UnicodeHere() {
    if (before_ != nullptr) ::uselocale(before_);
  }
  UnicodeHere(const UnicodeHere&) = delete;
  UnicodeHere& operator=(const UnicodeHere&) = delete;

  /// Those of the character at the front of `text`; `bytes` becomes its length.
  std::size_t columns_of_first(std::string_view text, std::size_t& bytes) const {
    bytes = 1;
    while (bytes < text.size() && (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80) ++bytes;
    if (before_ == nullptr || bytes == 1) return 1;
    wchar_t character = 0;
    mbstate_t state{};
    if (::mbrtowc(&character, text.data(), bytes, &state) != bytes) return 1;
    const int columns = ::wcwidth(character);
    return columns < 0 ? 1 : static_cast<std::size_t>(columns);  // newer than the C library
  }

 private:
  static locale_t locale() {
    static const locale_t made = [] {
      for (const char* const name : {"C.UTF-8", "C.utf8", "en_US.UTF-8"}) {
        const locale_t one = ::newlocale(LC_CTYPE_MASK, name, nullptr);
        if (one != nullptr) return one;
      }
      return locale_t{};
    }();
    return made;
  }

  locale_t before_;
};

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

}  // namespace

std::size_t width_of(std::string_view text) {
  if (is_ascii(text)) return text.size();
  const UnicodeHere unicode;
  std::size_t columns = 0;
  for (std::size_t bytes = 0; !text.empty(); text.remove_prefix(bytes)) {
    columns += unicode.columns_of_first(text, bytes);
  }
  return columns;
}

std::string_view first_columns(std::string_view text, std::size_t width) {
  if (is_ascii(text)) return text.substr(0, width);
  const UnicodeHere unicode;
  std::size_t end = 0;
  std::size_t columns = 0;
  for (std::size_t bytes = 0; end < text.size(); end += bytes) {
    columns += unicode.columns_of_first(text.substr(end), bytes);
    if (columns > width) break;
  }
  return text.substr(0, end);
}

}  // namespace tune

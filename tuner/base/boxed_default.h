// A member that nearly all of very many objects have at its default value, such as a trial's error:
// one pointer in the object, and a value on the heap only where it is another.
#pragma once

#include <memory>
#include <utility>

namespace tune {

/// A value that is mostly the default one, such as an empty text, and then takes no more room than
/// a pointer. Copied as a value.
template <class T>
class BoxedDefault {
 public:
  BoxedDefault() = default;
  BoxedDefault(const BoxedDefault& other) : BoxedDefault(other.get()) {}
  BoxedDefault(BoxedDefault&&) noexcept = default;
  BoxedDefault(T value) {  // NOLINT(google-explicit-constructor)
    if (value != T()) value_ = std::make_unique<T>(std::move(value));
  }
  BoxedDefault& operator=(const BoxedDefault& other) { return *this = BoxedDefault(other); }
  BoxedDefault& operator=(BoxedDefault&&) noexcept = default;

  const T& get() const {
    static const T none{};
    return value_ ? *value_ : none;
  }
  const T& operator*() const { return get(); }
  const T* operator->() const { return &get(); }
  operator const T&() const { return get(); }  // NOLINT(google-explicit-constructor)
  bool empty() const { return get().empty(); }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace tune

// An op's attributes: any plain struct with defaulted == and a free function `std::string print(const T&)`
// (e.g. "stride=2 pad=1"; empty for none), kept by value behind one type.
#pragma once

#include <memory>
#include <string>
#include <typeinfo>

#include "core/error.h"

namespace mpt {

struct NoAttributes {
    bool operator==(const NoAttributes&) const = default;
};
inline std::string print(const NoAttributes&) {
    return {};
}

class Attributes {
  public:
    Attributes() : Attributes(NoAttributes{}) {}
    template <typename T>
    Attributes(T value) : held_(std::make_shared<const Holder<T>>(std::move(value))) {}  // NOLINT: by design

    template <typename T>
    const T& as() const {
        const auto* holder = dynamic_cast<const Holder<T>*>(held_.get());
        MPT_CHECK(holder != nullptr, std::string("attributes are not a ") + typeid(T).name());
        return holder->value;
    }
    std::string text() const { return held_->text(); }
    bool operator==(const Attributes& other) const {
        return held_ == other.held_ || held_->equals(*other.held_);
    }

  private:
    struct Base {
        virtual ~Base() = default;
        virtual std::string text() const = 0;
        virtual bool equals(const Base& other) const = 0;
    };
    template <typename T>
    struct Holder final : Base {
        explicit Holder(T v) : value(std::move(v)) {}
        std::string text() const override { return print(value); }
        bool equals(const Base& other) const override {
            const auto* same = dynamic_cast<const Holder*>(&other);
            return same != nullptr && same->value == value;
        }
        T value;
    };
    std::shared_ptr<const Base> held_;  // immutable, shared between copies of a node
};

}  // namespace mpt

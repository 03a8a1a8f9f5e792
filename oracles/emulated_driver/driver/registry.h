// Handles: numbers that name live objects, so that a stale or foreign handle is told from a live one.
#pragma once
#include <cstdint>
#include <memory>
#include <unordered_map>

namespace emucuda {

// Handles are never used twice and are no addresses of this machine: whoever follows one crashes.
template <class Object, class Handle, unsigned kind>
class Registry {
  public:
    Handle add(std::shared_ptr<Object> object) {
        uint64_t number = (uint64_t{0x0E00 + kind} << 48) | (++last_ << 4);
        objects_.emplace(number, std::move(object));
        return reinterpret_cast<Handle>(number);
    }

    // Empty when the handle names nothing that lives.
    std::shared_ptr<Object> find(Handle handle) const {
        auto found = objects_.find(reinterpret_cast<uint64_t>(handle));
        return found == objects_.end() ? nullptr : found->second;
    }

    std::shared_ptr<Object> remove(Handle handle) {
        auto object = find(handle);
        objects_.erase(reinterpret_cast<uint64_t>(handle));
        return object;
    }

    template <class Condition>
    void remove_if(Condition condition) {
        for (auto entry = objects_.begin(); entry != objects_.end();)
            entry = condition(*entry->second) ? objects_.erase(entry) : std::next(entry);
    }

    template <class Visit>
    void for_each(Visit visit) const {
        for (const auto &[number, object] : objects_) visit(*object);
    }

    size_t size() const { return objects_.size(); }

  private:
    std::unordered_map<uint64_t, std::shared_ptr<Object>> objects_;
    uint64_t last_ = 0;
};

}  // namespace emucuda

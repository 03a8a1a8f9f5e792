#include "settings.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <utility>

namespace emucuda {
namespace {

constexpr const char *separators = " ,;\t\n";

// A number with an optional binary suffix: 64K, 512M, 2G.
bool parse_size(const std::string &text, size_t &size) {
    char *end = nullptr;
    unsigned long long number = strtoull(text.c_str(), &end, 0);
    if (end == text.c_str()) return false;
    switch (*end) {
        case 'K': number <<= 10, ++end; break;
        case 'M': number <<= 20, ++end; break;
        case 'G': number <<= 30, ++end; break;
        default: break;
    }
    size = number;
    return *end == 0;
}

// Entry points are named with or without their version: cuMemAlloc means cuMemAlloc_v2 as well.
bool names(const std::string &given, const std::string &entry_point) {
    if (given == entry_point) return true;
    size_t at = entry_point.rfind("_v");
    return at != std::string::npos && given == entry_point.substr(0, at);
}

// Entry points that no failure is planned for: what they answer does not depend on the device, or is another's.
constexpr const char *never_fail[] = {"cuGetErrorName", "cuGetErrorString", "cuGetProcAddress", "cuEventRecordWithFlags"};

// Whether a failure of that name can come: one of no entry point would be waited for in vain.
bool can_fail(const std::string &name) {
    for (const char *exempt : never_fail)
        if (names(name, exempt) || names(exempt, name)) return false;
    return name.rfind("cu", 0) == 0 && entry_point(name);
}

}  // namespace

void *entry_point(const std::string &name) {
    static void *self = [] {
        Dl_info info{};
        dladdr(reinterpret_cast<void *>(&entry_point), &info);
        return dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    }();
    for (const char *version : {"_v4", "_v3", "_v2", ""})
        if (void *found = dlsym(self, (name + version).c_str())) return found;
    return nullptr;
}

bool sanitized() {
    static const bool found = dlsym(RTLD_DEFAULT, "__asan_init") != nullptr;
    return found;
}

Settings::Settings() {
    const char *const keys[] = {"mode", "order",   "seed",   "devices",      "memory", "protect", "free",
                                "log",  "capability", "across", "host_atomics", "fail"};
    for (const char *key : keys) {
        std::string variable = "EMUCUDA_";
        for (const char *letter = key; *letter; ++letter) variable += char(*letter - 'a' + 'A');
        const char *value = getenv(variable.c_str());
        if (!value) continue;
        std::string words;
        for (const char *rest = value; *rest;) {
            std::string text = rest;
            size_t length = text.find_first_of(separators);
            text = text.substr(0, length);
            if (!text.empty()) words += std::string(key) + "=" + text + " ";
            rest += text.size() + (rest[text.size()] != 0);
        }
        apply(words);
    }
    if (const char *words = getenv("EMUCUDA")) apply(words);
}

bool Settings::apply(const std::string &words) {
    size_t at = 0;
    while ((at = words.find_first_not_of(separators, at)) != std::string::npos) {
        size_t end = std::min(words.find_first_of(separators, at), words.size());
        std::string word = words.substr(at, end - at);
        size_t sign = word.find('=');
        if (sign == std::string::npos || !set(word.substr(0, sign), word.substr(sign + 1))) {
            fprintf(stderr, "emulated driver: \"%s\" is no setting\n", word.c_str());
            return false;
        }
        at = end;
    }
    return true;
}

bool Settings::set(const std::string &key, const std::string &value) {
    size_t number = 0;
    bool is_number = parse_size(value, number);
    if (key == "mode") {
        if (value == "eager") return mode = Mode::eager, true;
        if (value == "lazy") return mode = Mode::lazy, true;
        if (value == "shuffled") return mode = Mode::shuffled, true;
        return false;
    }
    if (key == "order") {
        if (value == "forward") return order = Order::forward, true;
        if (value == "reversed") return order = Order::reversed, true;
        if (value == "shuffled") return order = Order::shuffled, true;
        return false;
    }
    if (key == "fail") return value.empty() ? (faults_.clear(), true) : add_fault(value);
    if (key == "free") {
        free_waits = value == "waits";
        return free_waits || value == "now";
    }
    if (key == "across") {
        plain_across = value == "plain";
        return plain_across || value == "named";
    }
    if (!is_number) return false;
    if (key == "host_atomics") return host_atomics = number != 0, true;
    if (key == "seed") return random.seed(number), until_change_ = 0, true;
    if (key == "protect") return protect = number != 0, true;
    if (key == "log") return log = number != 0, true;
    if (key == "memory") return memory = number, number > 0;
    if (key == "devices") return devices = int(number), number <= 64;
    if (key == "capability") return capability = int(number), number >= 50;
    return false;
}

bool Settings::add_fault(const std::string &value) {
    char name[64], how[3];
    unsigned long long nth = 0;
    int code = 0;
    if (sscanf(value.c_str(), "%63[^:]:%llu%2[+=@]%d", name, &nth, how, &code) != 4 || !nth || code <= 0) return false;
    std::string sign = how;
    if ((sign != "=" && sign != "+=" && sign != "@") || !can_fail(name)) return false;
    faults_.push_back({name, nth, CUresult(code), sign == "+=", sign == "@"});
    return true;
}

CUresult Settings::fault_of_call(const char *name) {
    ++calls_[name];
    work_fault_ = CUDA_SUCCESS;
    CUresult result = CUDA_SUCCESS;
    for (Fault &fault : faults_) {
        if (!names(fault.name, name)) continue;
        ++fault.seen;
        bool hit = fault.seen == fault.nth || (fault.persistent && fault.seen > fault.nth);
        if (!hit) continue;
        (fault.when_run ? work_fault_ : result) = fault.code;
    }
    return result;
}

CUresult Settings::fault_of_work() { return std::exchange(work_fault_, CUDA_SUCCESS); }

bool Settings::eager_now() {
    if (until_change_ == 0) {
        constexpr unsigned rates[] = {0, 0, 10, 40, 80};  // per cent
        eagerness_ = rates[below(std::size(rates))];
        until_change_ = unsigned(1 + below(40));
    }
    --until_change_;
    return below(100) < eagerness_;
}

uint64_t Settings::calls(const std::string &name) const {
    uint64_t count = 0;
    for (const auto &[entry_point, calls] : calls_)
        if (names(name, entry_point)) count += calls;
    return count;
}

}  // namespace emucuda

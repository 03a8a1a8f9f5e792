#include "context.h"

#include <algorithm>

namespace emucuda {
namespace {

bool pending(const OperationRef &operation) { return operation && operation->state != Operation::done; }

void add(std::vector<OperationRef> &operations, const OperationRef &operation) {
    if (pending(operation)) operations.push_back(operation);
}

}  // namespace

bool sticks(CUresult error) {
    switch (error) {
        case CUDA_ERROR_ECC_UNCORRECTABLE:
        case CUDA_ERROR_NVLINK_UNCORRECTABLE:
        case CUDA_ERROR_ILLEGAL_ADDRESS:
        case CUDA_ERROR_LAUNCH_TIMEOUT:
        case CUDA_ERROR_ASSERT:
        case CUDA_ERROR_HARDWARE_STACK_ERROR:
        case CUDA_ERROR_ILLEGAL_INSTRUCTION:
        case CUDA_ERROR_MISALIGNED_ADDRESS:
        case CUDA_ERROR_INVALID_ADDRESS_SPACE:
        case CUDA_ERROR_INVALID_PC:
        case CUDA_ERROR_LAUNCH_FAILED:
        case CUDA_ERROR_UNKNOWN:
            return true;
        default:
            return false;
    }
}

// The legacy stream waits for every blocking stream, and they for it; streams made NON_BLOCKING are left out.
std::vector<OperationRef> Context::order(const Stream &stream) const {
    std::vector<OperationRef> after;
    add(after, stream.tail);
    add(after, fence_);
    if (!stream.legacy) {
        if (stream.blocking()) add(after, legacy.tail);
        return after;
    }
    for (const auto &other : streams_)
        if (other->blocking()) add(after, other->tail);
    for (const OperationRef &operation : orphans_) add(after, operation);
    return after;
}

std::vector<OperationRef> Context::tails() const {
    std::vector<OperationRef> found;
    add(found, legacy.tail);
    add(found, fence_);
    for (const auto &stream : streams_) add(found, stream->tail);
    for (const OperationRef &operation : orphans_) add(found, operation);
    return found;
}

void Context::orphan(const Stream &stream) {
    orphans_.erase(std::remove_if(orphans_.begin(), orphans_.end(), [](const auto &one) { return !pending(one); }),
                   orphans_.end());
    if (stream.blocking()) add(orphans_, stream.tail);
    auto is_it = [&](const auto &one) { return one.get() == &stream; };
    streams_.erase(std::remove_if(streams_.begin(), streams_.end(), is_it), streams_.end());
}

std::shared_ptr<Stream> Context::of_this_thread() {
    std::shared_ptr<Stream> &stream = per_thread_[std::this_thread::get_id()];
    if (!stream) {
        stream = std::make_shared<Stream>();
        stream->context = weak_from_this();
        adopt(stream);
    }
    return stream;
}

void Context::lose(CUresult error) {
    if (!lost) lost = error;
}

}  // namespace emucuda

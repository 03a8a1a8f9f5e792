#include "work.h"

#include <algorithm>
#include <unordered_set>

#include "context.h"

namespace emucuda {

OperationRef Work::queue(std::shared_ptr<Context> context, std::shared_ptr<Task> task,
                         const std::vector<OperationRef> &after) {
    auto operation = std::make_shared<Operation>();
    operation->context = std::move(context);
    operation->task = std::move(task);
    operation->number = ++last_number_;
    operation->fault = settings_.fault_of_work();
    for (const OperationRef &earlier : after) {
        if (!earlier || earlier->state == Operation::done) continue;
        operation->after.push_back(earlier);
        earlier->before.push_back(operation.get());
        ++operation->waits_for;
    }
    queued_.emplace(operation->number, operation);
    return operation;
}

void Work::begin(const OperationRef &operation, Lock &lock) {
    if (settings_.mode != Mode::eager) return;
    for (const OperationRef &one : needed_by({operation})) {
        if (one->state == Operation::running) return;
        run(one, lock);
    }
}

void Work::complete(Operation &operation) {
    operation.state = Operation::done;
    operation.finished = std::chrono::steady_clock::now();
    for (Operation *later : operation.before) --later->waits_for;
    operation.before.clear();
    operation.after.clear();
    operation.task.reset();
    operation.context.reset();
    queued_.erase(operation.number);
    changed_.notify_all();
}

CUresult Work::execute(Operation &operation, Lock &lock) {
    // Kept here: a thread that the driver is open to during a callback may forget the operation's context.
    std::shared_ptr<Context> context = operation.context;
    std::shared_ptr<Task> task = operation.task;
    if (context->lost) return CUDA_SUCCESS;
    if (operation.fault) {
        task->run_partly(*context);
        return operation.fault;
    }
    if (!task->calls_back()) return task->run(*context);
    lock.unlock();
    CUresult result = task->run(*context);
    lock.lock();
    return result;
}

void Work::run(const OperationRef &operation, Lock &lock) {
    if (operation->state != Operation::queued) return wait_while_running(operation, lock);
    operation->state = Operation::running;
    std::shared_ptr<Context> context = operation->context;
    if (CUresult error = execute(*operation, lock)) context->lose(error);
    if (operation->state == Operation::running) complete(*operation);
}

void Work::wait_while_running(const OperationRef &operation, Lock &lock) {
    changed_.wait(lock, [&] { return operation->state != Operation::running; });
}

std::vector<OperationRef> Work::needed_by(const std::vector<OperationRef> &targets) const {
    std::vector<OperationRef> found, open;
    std::unordered_set<const Operation *> met;
    auto meet = [&](const OperationRef &operation) {
        if (operation && operation->state != Operation::done && met.insert(operation.get()).second)
            open.push_back(operation);
    };
    for (const OperationRef &target : targets) meet(target);
    while (!open.empty()) {
        OperationRef operation = open.back();
        open.pop_back();
        found.push_back(operation);
        for (const OperationRef &earlier : operation->after) meet(earlier);
    }
    // The order of queueing is one of those that the partial order allows.
    std::sort(found.begin(), found.end(), [](const auto &a, const auto &b) { return a->number < b->number; });
    return found;
}

void Work::finish(const std::vector<OperationRef> &targets, Lock &lock) {
    std::vector<OperationRef> needed = needed_by(targets);
    if (settings_.mode != Mode::shuffled) {
        for (const OperationRef &operation : needed) run(operation, lock);
        return;
    }
    // A random order of what is needed, with work that nobody asked for in between.
    while (!needed.empty()) {
        if (settings_.eager_now()) {
            if (OperationRef other = any_ready()) run(other, lock);
        }
        std::vector<OperationRef> may_run;
        for (const OperationRef &operation : needed)
            if (operation->waits_for == 0) may_run.push_back(operation);
        if (!may_run.empty()) run(may_run[settings_.below(may_run.size())], lock);
        needed.erase(std::remove_if(needed.begin(), needed.end(),
                                    [](const OperationRef &one) { return one->state == Operation::done; }),
                     needed.end());
    }
}

void Work::finish_all_of(const Context &context, Lock &lock) {
    std::vector<OperationRef> targets;
    for (const auto &[number, operation] : queued_)
        if (operation->context.get() == &context) targets.push_back(operation);
    finish(targets, lock);
}

void Work::finish_all_on(int device, Lock &lock) {
    std::vector<OperationRef> targets;
    for (const auto &[number, operation] : queued_)
        if (operation->context->device == device) targets.push_back(operation);
    finish(targets, lock);
}

void Work::abandon(const Context &context) {
    std::vector<OperationRef> forgotten;
    for (const auto &[number, operation] : queued_)
        if (operation->context.get() == &context) forgotten.push_back(operation);
    for (const OperationRef &operation : forgotten) {
        for (const OperationRef &earlier : operation->after) {
            auto &before = earlier->before;
            before.erase(std::remove(before.begin(), before.end(), operation.get()), before.end());
        }
        complete(*operation);
    }
}

OperationRef Work::any_ready() {
    std::vector<OperationRef> may_run;
    for (const auto &[number, operation] : queued_)
        if (operation->state == Operation::queued && !operation->waits_for) may_run.push_back(operation);
    return may_run.empty() ? nullptr : may_run[settings_.below(may_run.size())];
}

void Work::stir(Lock &lock) {
    if (settings_.mode != Mode::shuffled) return;
    while (settings_.eager_now()) {
        OperationRef operation = any_ready();
        if (!operation) return;
        run(operation, lock);
    }
}

void Work::nudge(const OperationRef &target, Lock &lock) {
    for (const OperationRef &operation : needed_by({target}))
        if (!operation->waits_for && operation->state == Operation::queued) return run(operation, lock);
}

}  // namespace emucuda

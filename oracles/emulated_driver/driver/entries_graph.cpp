// Entry points: capture of streams, graphs and their launches.
#include <algorithm>

#include "graph.h"

using namespace emucuda;

namespace {

std::vector<GraphNode *> frontier_of(const Graph &graph, const CUgraphNode *nodes, size_t count) {
    std::vector<GraphNode *> found;
    for (size_t i = 0; i < count; ++i) found.push_back(graph.find(nodes[i]));
    return found;
}

CUresult begin(const Call &call, CUstream handle, CUstreamCaptureMode mode) {
    auto stream = call.stream(handle);
    if (!stream) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (stream->capture) return CUDA_ERROR_ILLEGAL_STATE;
    static unsigned long long last_id = 0;
    auto capture = std::make_shared<Capture>();
    capture->origin = stream.get();
    capture->mode = mode;
    capture->id = ++last_id;
    capture->members.push_back(stream);
    stream->capture = capture;
    stream->frontier.clear();
    auto &captures = call.driver.captures;
    captures.erase(std::remove_if(captures.begin(), captures.end(), [](const auto &one) { return one.expired(); }),
                   captures.end());
    captures.push_back(capture);
    return CUDA_SUCCESS;
}

// Whether everything that other streams added is before what comes next in the origin.
bool joined(const Capture &capture) {
    std::vector<const GraphNode *> open(capture.origin->frontier.begin(), capture.origin->frontier.end());
    std::vector<bool> reached(capture.graph->nodes.size());
    while (!open.empty()) {
        const GraphNode *node = open.back();
        open.pop_back();
        if (reached[node->index]) continue;
        reached[node->index] = true;
        open.insert(open.end(), node->after.begin(), node->after.end());
    }
    return std::all_of(reached.begin(), reached.end(), [](bool one) { return one; });
}

CUresult end(const Call &call, CUstream handle, CUgraph *graph) {
    auto stream = call.stream(handle);
    if (!stream) return CUDA_ERROR_INVALID_HANDLE;
    auto capture = stream->capture;
    if (!capture) return CUDA_ERROR_ILLEGAL_STATE;
    if (capture->origin != stream.get()) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    bool local = capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    if (local && capture->thread != std::this_thread::get_id()) return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    bool whole = joined(*capture);
    for (const auto &entry : capture->members) {
        auto member = entry.lock();
        if (!member || member->capture != capture) continue;
        member->capture.reset();
        member->frontier.clear();
    }
    auto &captures = call.driver.captures;
    auto is_it = [&](const auto &one) { return one.lock() == capture; };
    captures.erase(std::remove_if(captures.begin(), captures.end(), is_it), captures.end());
    *graph = nullptr;
    if (capture->spoiled) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (!whole) return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    *graph = call.driver.graphs.add(capture->graph);
    return CUDA_SUCCESS;
}

CUresult kernel_task(const Call &call, const CUDA_KERNEL_NODE_PARAMS &p, std::shared_ptr<KernelTask> &task) {
    task = std::make_shared<KernelTask>();
    task->function = call.driver.functions.find(p.func);
    if (!task->function) return CUDA_ERROR_INVALID_HANDLE;
    task->grid = {p.gridDimX, p.gridDimY, p.gridDimZ};
    task->block = {p.blockDimX, p.blockDimY, p.blockDimZ};
    task->shared_bytes = p.sharedMemBytes;
    if (CUresult wrong = task->check()) return wrong;
    return task->take(p.kernelParams, p.extra);
}

CUresult add(const Call &call, CUgraphNode *node, CUgraph handle, const CUgraphNode *after, size_t count,
             std::shared_ptr<Task> task) {
    auto graph = call.driver.graphs.find(handle);
    if (!graph) return CUDA_ERROR_INVALID_HANDLE;
    std::vector<GraphNode *> earlier = frontier_of(*graph, after, count);
    if (std::count(earlier.begin(), earlier.end(), nullptr)) return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeType type = node_type(*task);
    *node = reinterpret_cast<CUgraphNode>(graph->add(std::move(task), type, std::move(earlier)));
    return CUDA_SUCCESS;
}

CUresult instantiate(const Call &call, CUgraphExec *executable, CUgraph handle) {
    auto graph = call.driver.graphs.find(handle);
    if (!graph) return CUDA_ERROR_INVALID_HANDLE;
    *executable = call.driver.executables.add(std::make_shared<GraphExec>(graph));
    return CUDA_SUCCESS;
}

CUresult launch(const Call &call, CUgraphExec handle, CUstream stream_handle) {
    auto executable = call.driver.executables.find(handle);
    auto stream = call.stream(stream_handle);
    if (!executable || !stream) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture) return CUDA_ERROR_NOT_SUPPORTED;
    if (CUresult refused = refuse_beside_capture(call.driver, *stream)) return refused;
    if (CUresult lost = stream->context.lock()->lost) return lost;
    executable->launch(call, *stream);
    return CUDA_SUCCESS;
}

CUresult set_kernel(const Call &call, CUgraphExec handle, CUgraphNode node_handle, const CUDA_KERNEL_NODE_PARAMS &p) {
    auto executable = call.driver.executables.find(handle);
    if (!executable) return CUDA_ERROR_INVALID_HANDLE;
    const GraphNode *node = executable->graph->find(node_handle);
    if (!node || node->type != CU_GRAPH_NODE_TYPE_KERNEL) return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<KernelTask> task;
    if (CUresult wrong = kernel_task(call, p, task)) return wrong;
    auto owner = [](const Task &one) { return dynamic_cast<const KernelTask &>(one).function->module->context.lock(); };
    if (owner(*task) != owner(*node->task)) return CUDA_ERROR_INVALID_VALUE;
    executable->tasks[node->index] = task;
    return CUDA_SUCCESS;
}

// A graph of the same shape gives the executable graph its parameters.
CUresult update(const Call &call, CUgraphExec handle, CUgraph graph_handle, CUgraphExecUpdateResultInfo *info) {
    auto executable = call.driver.executables.find(handle);
    auto graph = call.driver.graphs.find(graph_handle);
    if (!executable || !graph) return CUDA_ERROR_INVALID_HANDLE;
    GraphExec fresh(graph);
    bool same = fresh.after == executable->after;
    for (size_t i = 0; same && i < fresh.tasks.size(); ++i)
        same = node_type(*fresh.tasks[i]) == node_type(*executable->tasks[i]);
    if (info) {
        *info = {};
        info->result = same ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    }
    if (!same) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    executable->tasks = fresh.tasks;
    return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
    return enter(__func__, Needs::live_context, [&](const Call &call) { return begin(call, stream, mode); });
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
    return enter(__func__, Needs::live_context, [&](const Call &call) { return end(call, stream, graph); });
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
    return enter(__func__, Needs::driver, [&](const Call &) {
        if (!mode || *mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
        std::swap(*mode, capture_mode());
        return CUDA_SUCCESS;
    });
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        auto stream = call.stream(handle);
        if (!stream) return CUDA_ERROR_INVALID_HANDLE;
        *status = !stream->capture           ? CU_STREAM_CAPTURE_STATUS_NONE
                  : stream->capture->spoiled ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                             : CU_STREAM_CAPTURE_STATUS_ACTIVE;
        return CUDA_SUCCESS;
    });
}

CUresult cuGraphCreate(CUgraph *graph, unsigned flags) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        if (flags) return CUDA_ERROR_INVALID_VALUE;
        *graph = call.driver.graphs.add(std::make_shared<Graph>());
        return CUDA_SUCCESS;
    });
}

CUresult cuGraphDestroy(CUgraph graph) {
    return enter(__func__, Needs::driver, [&](const Call &call) {
        return call.driver.graphs.remove(graph) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    });
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
                                 const CUDA_KERNEL_NODE_PARAMS *parameters) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        std::shared_ptr<KernelTask> task;
        if (CUresult wrong = kernel_task(call, *parameters, task)) return wrong;
        return add(call, node, graph, after, count, task);
    });
}

CUresult cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        return add(call, node, graph, after, count, std::make_shared<MarkerTask>());
    });
}

CUresult cuGraphAddHostNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
                            const CUDA_HOST_NODE_PARAMS *parameters) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        auto task = std::make_shared<HostTask>();
        task->function = parameters->fn;
        task->argument = parameters->userData;
        return add(call, node, graph, after, count, task);
    });
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode *nodes, size_t *count) {
    return enter(__func__, Needs::driver, [&](const Call &call) {
        auto graph = call.driver.graphs.find(handle);
        if (!graph) return CUDA_ERROR_INVALID_HANDLE;
        size_t all = graph->nodes.size();
        for (size_t i = 0; nodes && i < *count; ++i)
            nodes[i] = i < all ? reinterpret_cast<CUgraphNode>(graph->nodes[i].get()) : nullptr;
        *count = nodes ? std::min(*count, all) : all;
        return CUDA_SUCCESS;
    });
}

CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType *type) {
    return enter(__func__, Needs::driver, [&](const Call &call) {
        const GraphNode *node = nullptr;
        call.driver.graphs.for_each([&](const Graph &graph) { node = node ? node : graph.find(handle); });
        if (!node) return CUDA_ERROR_INVALID_VALUE;
        *type = node->type;
        return CUDA_SUCCESS;
    });
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *executable, CUgraph graph, unsigned long long) {
    return enter(__func__, Needs::live_context, [&](const Call &call) { return instantiate(call, executable, graph); });
}

CUresult cuGraphInstantiateWithParams(CUgraphExec *executable, CUgraph graph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS *parameters) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        parameters->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
        parameters->hErrNode_out = nullptr;
        return instantiate(call, executable, graph);
    });
}

CUresult cuGraphUpload(CUgraphExec executable, CUstream stream) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        bool known = call.driver.executables.find(executable) && call.stream(stream);
        return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    });
}

CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
    return enter(__func__, Needs::live_context, [&](const Call &call) { return launch(call, executable, stream); });
}

CUresult cuGraphExecDestroy(CUgraphExec executable) {
    return enter(__func__, Needs::driver, [&](const Call &call) {
        return call.driver.executables.remove(executable) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    });
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec executable, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS *parameters) {
    return enter(__func__, Needs::live_context,
                 [&](const Call &call) { return set_kernel(call, executable, node, *parameters); });
}

CUresult cuGraphExecUpdate_v2(CUgraphExec executable, CUgraph graph, CUgraphExecUpdateResultInfo *info) {
    return enter(__func__, Needs::live_context,
                 [&](const Call &call) { return update(call, executable, graph, info); });
}

}  // extern "C"

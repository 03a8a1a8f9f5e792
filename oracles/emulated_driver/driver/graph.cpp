#include "graph.h"

#include <algorithm>

namespace emucuda {

CUgraphNodeType node_type(const Task &task) {
    if (dynamic_cast<const KernelTask *>(&task)) return CU_GRAPH_NODE_TYPE_KERNEL;
    if (dynamic_cast<const CopyTask *>(&task)) return CU_GRAPH_NODE_TYPE_MEMCPY;
    if (dynamic_cast<const FillTask *>(&task)) return CU_GRAPH_NODE_TYPE_MEMSET;
    if (dynamic_cast<const HostTask *>(&task)) return CU_GRAPH_NODE_TYPE_HOST;
    return CU_GRAPH_NODE_TYPE_EMPTY;
}

GraphNode *Graph::add(std::shared_ptr<Task> task, CUgraphNodeType type, std::vector<GraphNode *> after) {
    GraphNode node{this, std::move(task), type, std::move(after), nodes.size()};
    nodes.push_back(std::make_unique<GraphNode>(std::move(node)));
    return nodes.back().get();
}

GraphNode *Graph::find(CUgraphNode handle) const {
    for (const auto &node : nodes)
        if (reinterpret_cast<CUgraphNode>(node.get()) == handle) return node.get();
    return nullptr;
}

// Nodes are only ever made after those they depend on, so their numbers are an order of the kind wanted.
GraphExec::GraphExec(std::shared_ptr<Graph> source) : graph(std::move(source)) {
    for (const auto &node : graph->nodes) {
        tasks.push_back(node->task->copy());
        after.emplace_back();
        for (const GraphNode *earlier : node->after) after.back().push_back(earlier->index);
    }
}

void GraphExec::launch(const Call &call, Stream &stream) {
    auto context = stream.context.lock();
    std::vector<OperationRef> start = context->order(stream), ends, queued;
    start.push_back(last);
    for (size_t i = 0; i < tasks.size(); ++i) {
        std::vector<OperationRef> earlier;
        for (size_t index : after[i]) earlier.push_back(queued[index]);
        if (earlier.empty()) earlier = start;
        // The task is copied: an update of the executable graph must not reach launches that are queued already.
        queued.push_back(call.driver.work.queue(context, tasks[i]->copy(), earlier));
    }
    ends = queued;
    if (ends.empty()) ends = start;
    last = call.driver.work.queue(context, std::make_shared<MarkerTask>(), ends);
    stream.tail = last;
    OperationRef end = last;
    call.driver.work.begin(end, call.lock);
}

CUresult capture_task(Stream &stream, std::shared_ptr<Task> task) {
    Capture &capture = *stream.capture;
    if (capture.spoiled) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    CUgraphNodeType type = node_type(*task);
    stream.frontier = {capture.graph->add(std::move(task), type, stream.frontier)};
    return CUDA_SUCCESS;
}

CUresult refuse_beside_capture(Driver &driver, const Stream &stream) {
    if (!stream.legacy) return CUDA_SUCCESS;
    for (const auto &entry : driver.captures) {
        auto capture = entry.lock();
        if (!capture || !capture->origin->blocking()) continue;
        if (capture->origin->context.lock() != stream.context.lock()) continue;
        capture->spoiled = true;
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    return CUDA_SUCCESS;
}

CUstreamCaptureMode &capture_mode() {
    thread_local CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    return mode;
}

CUresult refuse_unsafe_call(Driver &driver) {
    if (capture_mode() == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
    for (const auto &entry : driver.captures) {
        auto capture = entry.lock();
        if (!capture || capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED) continue;
        bool ours = capture->thread == std::this_thread::get_id();
        bool everybodys = capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL && capture_mode() == capture->mode;
        if (!ours && !everybodys) continue;
        capture->spoiled = true;
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return CUDA_SUCCESS;
}

}  // namespace emucuda

// Graphs: work recorded once, by capturing streams or node by node, and launched many times.
#pragma once
#include <cuda.h>

#include <memory>
#include <thread>
#include <vector>

#include "driver.h"
#include "tasks.h"

namespace emucuda {

struct GraphNode {
    Graph *graph;
    std::shared_ptr<Task> task;
    CUgraphNodeType type;
    std::vector<GraphNode *> after;
    size_t index;
};

struct Graph {
    std::vector<std::unique_ptr<GraphNode>> nodes;

    GraphNode *add(std::shared_ptr<Task> task, CUgraphNodeType type, std::vector<GraphNode *> after);
    // Nodes may be named by their addresses for as long as the graph lives.
    GraphNode *find(CUgraphNode handle) const;
};

// A graph made ready to run: tasks of its own, in an order that respects their dependencies.
struct GraphExec {
    std::shared_ptr<Graph> graph;  // kept for the names of its nodes
    std::vector<std::shared_ptr<Task>> tasks;
    std::vector<std::vector<size_t>> after;
    OperationRef last;  // a graph does not overtake its own former launch

    explicit GraphExec(std::shared_ptr<Graph> source);
    void launch(const Call &call, Stream &stream);
};

struct Capture {
    std::shared_ptr<Graph> graph = std::make_shared<Graph>();
    Stream *origin;
    CUstreamCaptureMode mode;
    std::thread::id thread = std::this_thread::get_id();
    unsigned long long id;
    bool spoiled = false;
    std::vector<std::weak_ptr<Stream>> members;
};

CUgraphNodeType node_type(const Task &task);
CUresult capture_task(Stream &stream, std::shared_ptr<Task> task);
// The legacy stream must not be used while a blocking stream of its context is captured.
CUresult refuse_beside_capture(Driver &driver, const Stream &stream);
// What the calling thread lets captures forbid it.
CUstreamCaptureMode &capture_mode();
// Calls that would wait or ask, or that change memory, during a capture that forbids them.
CUresult refuse_unsafe_call(Driver &driver);

}  // namespace emucuda

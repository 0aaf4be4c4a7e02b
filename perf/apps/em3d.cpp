// Electromagnetic waves on a bipartite graph: electric nodes take weighted sums of magnetic ones,
// then the other way round. A few edges lead to other ranks, and these values are fetched one by
// one. So there is little computing between requests. There are four ways:
//   get1  each remote value by MPI_Get and flush where it is needed (request and reply)
//   get   all remote values by MPI_Get, one flush before the half step
//   put   each value by MPI_Put to all ranks that need it, as soon as it is computed
//   send  one message per pair of ranks and half step
// Source: Falsafi and Wood 1996, 6.3 (em3d: 8160 nodes, 5 % of the edges remote).
#include <unordered_map>

#include "app.hpp"

namespace {

struct Edge {
  int owner;
  int index;  // of a node of the other kind, on its owner
  double weight;
};

// The nodes of both kinds, equally many on each rank; every rank has the whole graph.
struct Graph {
  int nodes;   // of one kind on one rank
  int degree;  // edges into a node
  std::vector<Edge> edges[2];
  [[nodiscard]] const Edge* edges_of(int kind, int owner, int node) const {
    return &edges[kind][(static_cast<std::size_t>(owner) * static_cast<std::size_t>(nodes) +
                         static_cast<std::size_t>(node)) *
                        static_cast<std::size_t>(degree)];
  }
};

Graph make_graph(int nodes, int degree, double remote) {
  Graph graph{nodes, degree, {}};
  app::Random random(app::seed);
  for (auto& edges : graph.edges)
    for (int owner = 0; owner < app::ranks; ++owner)
      for (int i = 0; i < nodes * degree; ++i) {
        const bool far = app::ranks > 1 && random.uniform() < remote;
        const int shift = far ? 1 + random.below(app::ranks - 1) : 0;
        edges.push_back({(owner + shift) % app::ranks, random.below(nodes), random.uniform()});
      }
  return graph;
}

double start_value(int kind, int owner, int node) {
  return 1.0 + 0.01 * ((kind * 31 + owner * 17 + node * 7) % 101);
}

// Returns the new value of one node, from the values of the other kind's nodes, value_of(edge).
template <class Function>
double summed(const Graph& graph, int kind, int owner, int node, double old, Function&& value_of) {
  const Edge* edge = graph.edges_of(kind, owner, node);
  double sum = 0;
  for (int e = 0; e < graph.degree; ++e) sum += edge[e].weight * value_of(edge[e]);
  return 0.5 * old + 0.5 * sum / graph.degree;
}

using Values = std::vector<std::vector<double>>;  // [owner][node], of one kind

void sequential(const Graph& graph, Values (&values)[2], int iterations) {
  for (int k = 0; k < iterations; ++k)
    for (int kind = 0; kind < 2; ++kind)
      for (int owner = 0; owner < app::ranks; ++owner)
        for (int node = 0; node < graph.nodes; ++node) {
          double& value =
              values[kind][static_cast<std::size_t>(owner)][static_cast<std::size_t>(node)];
          value = summed(graph, kind, owner, node, value, [&](const Edge& edge) {
            return values[1 - kind][static_cast<std::size_t>(edge.owner)]
                         [static_cast<std::size_t>(edge.index)];
          });
        }
}

// Returns the nodes of kind 1 - `kind` on `producer` that `consumer` needs for `kind`, each once, in order.
std::vector<int> needed(const Graph& graph, int kind, int consumer, int producer) {
  std::vector<int> nodes;
  const Edge* edge = graph.edges_of(kind, consumer, 0);
  for (int i = 0; i < graph.nodes * graph.degree; ++i)
    if (edge[i].owner == producer) nodes.push_back(edge[i].index);
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

// A rank's nodes and its copies of other ranks' nodes ("ghosts"), in one window:
// [kind 0 | kind 1 | ghosts of kind 1 for kind 0 | ghosts of kind 0 for kind 1].
class Rank {
 public:
  Rank(const Graph& graph, app::Window& window) : graph_(graph), window_(window) {
    for (int kind = 0; kind < 2; ++kind) {
      int at = 0;
      for (int producer = 0; producer < app::ranks; ++producer) {
        if (producer == app::rank) continue;
        for (const int node : needed(graph, kind, app::rank, producer))
          wanted_[kind].push_back({producer, node, at++});
      }
      for (const Wanted& wanted : wanted_[kind])
        slot_[kind][{wanted.owner, wanted.node}] = wanted.ghost;
      for (int consumer = 0; consumer < app::ranks; ++consumer) {
        if (consumer == app::rank) continue;
        int ghost = 0;
        for (int producer = 0; producer < app::ranks; ++producer) {
          if (producer == consumer) continue;
          for (const int node : needed(graph, kind, consumer, producer)) {
            if (producer == app::rank) offered_[kind].push_back({consumer, node, ghost});
            ++ghost;
          }
        }
      }
    }
    start();
  }

  // All ghosts of one kind fit into this.
  static std::size_t bytes(const Graph& graph) {
    const auto kind = static_cast<std::size_t>(graph.nodes);
    return 8 * (2 * kind + 2 * kind * static_cast<std::size_t>(app::ranks));
  }

  void start() {
    for (int kind = 0; kind < 2; ++kind)
      for (int node = 0; node < graph_.nodes; ++node)
        nodes(kind)[node] = start_value(kind, app::rank, node);
    for (int kind = 0; kind < 2; ++kind)
      for (const Wanted& wanted : wanted_[kind])
        ghosts(kind)[wanted.ghost] = start_value(1 - kind, wanted.owner, wanted.node);
    MPI_Win_sync(window_.get());
  }

  void iterate(const std::string& how) {
    for (int kind = 0; kind < 2; ++kind) {
      if (how == "send") exchange(kind);
      if (how == "get") fetch(kind);
      for (int node = 0; node < graph_.nodes; ++node)
        nodes(kind)[node] =
            summed(graph_, kind, app::rank, node, nodes(kind)[node], [&](const Edge& edge) {
              if (edge.owner == app::rank) return nodes(1 - kind)[edge.index];
              if (how == "get1") return fetch_one(kind, edge);
              return ghosts(kind)[slot_[kind].at({edge.owner, edge.index})];
            });
      if (how == "put") push(1 - kind);
      if (how == "send") continue;  // the next exchange orders the accesses
      MPI_Win_sync(window_.get());
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Win_sync(window_.get());
    }
  }

  double* nodes(int kind) { return base() + kind * graph_.nodes; }
  [[nodiscard]] std::size_t remote_values() const { return wanted_[0].size() + wanted_[1].size(); }

 private:
  struct Wanted {
    int owner;
    int node;
    int ghost;
  };
  struct Hash {
    std::size_t operator()(const std::pair<int, int>& key) const {
      return static_cast<std::size_t>(key.first) * 1000003u + static_cast<std::size_t>(key.second);
    }
  };

  double* base() { return reinterpret_cast<double*>(window_.memory()); }
  double* ghosts(int kind) { return base() + ghosts_at(kind); }
  // The offset is the same on every rank.
  [[nodiscard]] int ghosts_at(int kind) const { return graph_.nodes * (2 + kind * app::ranks); }

  double fetch_one(int kind, const Edge& edge) {
    double value = 0;
    MPI_Get(&value, 1, MPI_DOUBLE, edge.owner, 8 * ((1 - kind) * graph_.nodes + edge.index), 1,
            MPI_DOUBLE, window_.get());
    MPI_Win_flush(edge.owner, window_.get());
    return value;
  }

  void fetch(int kind) {
    for (const Wanted& wanted : wanted_[kind])
      MPI_Get(&ghosts(kind)[wanted.ghost], 1, MPI_DOUBLE, wanted.owner,
              8 * ((1 - kind) * graph_.nodes + wanted.node), 1, MPI_DOUBLE, window_.get());
    MPI_Win_flush_all(window_.get());
  }

  // Puts this rank's nodes of kind 1 - `kind` to all ranks that need them for `kind`.
  void push(int kind) {
    for (const Wanted& offered : offered_[kind])
      MPI_Put(&nodes(1 - kind)[offered.node], 1, MPI_DOUBLE, offered.owner,
              8 * static_cast<MPI_Aint>(ghosts_at(kind) + offered.ghost), 1, MPI_DOUBLE,
              window_.get());
    MPI_Win_flush_all(window_.get());
  }

  void exchange(int kind) {
    std::vector<MPI_Request> requests;
    std::vector<double> out;
    out.reserve(offered_[kind].size());
    for_each_peer(wanted_[kind], [&](int peer, std::size_t first, std::size_t count) {
      requests.emplace_back();
      MPI_Irecv(&ghosts(kind)[wanted_[kind][first].ghost], static_cast<int>(count), MPI_DOUBLE,
                peer, kind, MPI_COMM_WORLD, &requests.back());
    });
    for_each_peer(offered_[kind], [&](int peer, std::size_t first, std::size_t count) {
      const double* begin = out.data() + out.size();
      for (std::size_t i = first; i < first + count; ++i)
        out.push_back(nodes(1 - kind)[offered_[kind][i].node]);
      requests.emplace_back();
      MPI_Isend(begin, static_cast<int>(count), MPI_DOUBLE, peer, kind, MPI_COMM_WORLD,
                &requests.back());
    });
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  }

  template <class Function>
  static void for_each_peer(const std::vector<Wanted>& list, Function&& function) {
    for (std::size_t first = 0; first < list.size();) {
      std::size_t last = first;
      while (last < list.size() && list[last].owner == list[first].owner) ++last;
      function(list[first].owner, first, last - first);
      first = last;
    }
  }

  const Graph& graph_;
  app::Window& window_;
  std::vector<Wanted> wanted_[2];   // of kind 1 - k for kind k, by owner
  std::vector<Wanted> offered_[2];  // `owner` is the consumer, `ghost` is there
  std::unordered_map<std::pair<int, int>, int, Hash> slot_[2];
};

}  // namespace

int main(int argc, char** argv) {
  app::Options options(argc, argv, "em3d", "Waves on a bipartite graph: fine-grained remote data.");
  const std::vector<std::string> ways = {"send", "get1", "get", "put"};
  const auto chosen = options.choices("--ways", ways, ways, "how remote values come");
  const int nodes = options.number("--nodes", 1000, 120, "nodes of either kind on a rank");
  const int degree = options.number("--degree", 10, 6, "edges into each node");
  const double remote = options.real("--remote", 5, 5, "percent of the edges from other ranks");
  const int iterations = options.number("--iterations", 20, 4, "iterations");
  const std::string windows = options.choice("--window", app::kWindows, app::kWindowsHelp);
  app::Run run(options);
  app::want(nodes > 0 && degree > 0 && iterations > 0, "the graph is empty");

  const Graph graph = make_graph(nodes, degree, remote / 100);
  Values right[2];
  for (int kind = 0; kind < 2; ++kind)
    for (int owner = 0; owner < app::ranks; ++owner) {
      right[kind].emplace_back();
      for (int node = 0; node < nodes; ++node)
        right[kind].back().push_back(start_value(kind, owner, node));
    }
  sequential(graph, right, iterations);

  app::Window window(static_cast<MPI_Aint>(Rank::bytes(graph)), windows);
  if (!window.problem().empty()) {
    for (const auto& way : chosen) app::Run::absent("em3d_" + way, nodes, window.problem());
    return run.finish();
  }
  window.lock_all();
  Rank mine(graph, window);
  std::vector<std::vector<double>> values(chosen.size());
  for (int repeat = 0; repeat < options.repeats(); ++repeat)
    for (std::size_t way = 0; way < chosen.size(); ++way) {
      mine.start();
      const double seconds = app::longest([&] {
        for (int k = 0; k < iterations; ++k) mine.iterate(chosen[way]);
      });
      values[way].push_back(seconds * 1e6 / iterations);
      for (int kind = 0; kind < 2; ++kind)
        for (int node = 0; node < nodes; ++node) {
          const double expected =
              right[kind][static_cast<std::size_t>(app::rank)][static_cast<std::size_t>(node)];
          app::require(mine.nodes(kind)[node] == expected, "%s: node %d is %.17g, not %.17g",
                       chosen[way].c_str(), node, mine.nodes(kind)[node], expected);
        }
      MPI_Barrier(MPI_COMM_WORLD);  // no rank starts anew while others read
    }
  for (std::size_t way = 0; way < chosen.size(); ++way)
    run.report({.bench = "em3d_" + chosen[way],
                .size = nodes,
                .values = values[way],
                .counts = {{"remote_values", static_cast<double>(mine.remote_values())}},
                .against = {"em3d_" + chosen.front()}});
  return run.finish();
}

// Appends nodes to a graph: names by scope, types by the op's own rule.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/op.h"
#include "graph/variables.h"

namespace mpt {

class GraphBuilder {
  public:
    explicit GraphBuilder(Graph& graph, VariableTable* variables = nullptr)
        : graph_(graph), variables_(variables) {}

    ValueId input(const std::string& name, TensorType type);
    // A parameter's f32 master (or a running statistic) of the variable table; added to the table when new.
    // `name` is appended to the scope: in scope "layer1.0", parameter("conv1.weight", ...) .
    ValueId parameter(const std::string& name, const Shape& shape, Role role, Initializer init,
                      FileLayout layout = {});
    // Consecutive rows of a parameter as a value of its own: a product with a part of a packed matrix.
    ValueId parameter_rows(ValueId parameter, std::int64_t first, std::int64_t count);
    // Any place of the store, e.g. a variable's gradient; one value per place.
    ValueId stored(const std::string& name, TensorType type, StoreRef place);

    // Adds a node and returns its outputs. The name is scope + "." + name, made unique by a suffix.
    std::vector<ValueId> node(const OpType& op, Attributes attributes, std::vector<ValueId> inputs,
                              const std::string& name);
    // The same for an op with one output.
    ValueId add(const OpType& op, Attributes attributes, std::vector<ValueId> inputs,
                const std::string& name) {
        return node(op, std::move(attributes), std::move(inputs), name).front();
    }
    void output(const std::string& name, ValueId value) { graph_.outputs.push_back({name, value}); }

    Graph& graph() { return graph_; }
    const TensorType& type(ValueId id) const { return graph_.type(id); }
    VariableTable* variables() { return variables_; }

    // Scopes: names of layers, the phase and the block given to new nodes.
    void set_phase(Phase phase) { phase_ = phase; }
    void set_block(int block) { block_ = block; }
    const std::string& scope() const { return scope_; }

    class Scope {
      public:
        Scope(GraphBuilder& b, const std::string& part) : builder_(b), saved_(b.scope_) {
            b.scope_ = saved_.empty() ? part : saved_ + "." + part;
        }
        ~Scope() { builder_.scope_ = saved_; }
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;

      private:
        GraphBuilder& builder_;
        std::string saved_;
    };

  private:
    std::string scoped(const std::string& name) const { return scope_.empty() ? name : scope_ + "." + name; }

    Graph& graph_;
    VariableTable* variables_;
    std::string scope_;
    Phase phase_ = Phase::kForward;
    int block_ = kNone;
};

}  // namespace mpt

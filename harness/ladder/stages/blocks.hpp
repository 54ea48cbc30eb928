#pragma once
// The parts that composite stages share: weights, products, the attention block and the GRU. They write calls
// with a Composer; row = b * seq + t throughout (docs/operations.md). Names begin with the caller's prefix.
#include <map>
#include <string>
#include <vector>

#include "harness/ladder/case.hpp"
#include "harness/ladder/composer.hpp"

namespace parity {

/// Makes the weights of a stage and the products that take them. Products take their factors in `factor`
/// (narrow formats round activations and trained weights with `cast`, once); everything else is the
/// composer's real dtype. Weights are inputs of the stage, or, when they are trained, states in the real
/// dtype.
class Layers {
 public:
  enum class Weights : std::uint8_t { given, trained };
  Layers(Composer& composer, DType factor, Weights weights = Weights::given)
      : composer_(composer), factor_(factor), weights_(weights) {}

  /// A factor of products, [out, in], values of scale near 1/sqrt(in).
  TensorId matrix(const std::string& name, std::int64_t out, std::int64_t in);
  /// A table of vectors of scale near 1/sqrt(width), read by `embedding`: never narrow.
  TensorId table(const std::string& name, std::int64_t count, std::int64_t width);
  /// A bias, [n]: values of scale `scale`, a power of two.
  TensorId bias(const std::string& name, std::int64_t n, double scale);
  /// A gain, [n]: all ones when trained, else values around one are the case's business: the fill.
  TensorId gain(const std::string& name, std::int64_t n);
  /// `tensor` in the products' dtype.
  TensorId as_factor(TensorId tensor);
  /// X W^T + bias, `bias` may be no_tensor. Stored in the real dtype.
  TensorId linear(TensorId x, TensorId weight, TensorId bias, const std::string& name);
  /// The same into a tensor that exists.
  void linear_into(TensorId x, TensorId weight, TensorId bias, TensorId y);

  Composer& composer() { return composer_; }
  /// Every weight made so far, in order; of a trained matrix the state itself, not its rounded copy.
  const std::vector<TensorId>& parameters() const { return parameters_; }

 private:
  TensorId parameter(const std::string& name, const Shape& shape, Content content, DType dtype);

  Composer& composer_;
  DType factor_;
  Weights weights_;
  std::vector<TensorId> parameters_;
  std::map<TensorId, TensorId> factors_;
};

/// The dtype of the factors of a composite case's products. The case must store its real dtype and take that,
/// f16 or bf16; anything else is an error, kept by the composer.
DType product_dtype(Composer& composer, const Case& c);

/// The power of two nearest to 1/sqrt(fan_in), on the logarithmic scale.
double weight_scale(std::int64_t fan_in);

/// The tables of a rotation: cos and sin of [seq, rotary / 2].
struct RopeTables {
  TensorId cos = no_tensor, sin = no_tensor;
};
RopeTables rope_tables(Composer& composer, std::int64_t seq, std::int64_t rotary);

struct AttentionShape {
  std::int64_t seq = 1, heads = 1, kv_heads = 1, head_dim = 2;
  std::int64_t rotary = 2;             ///< columns of a head that are turned, even
  std::string pairing = "half_split";  ///< or interleaved
  bool causal = true;
  bool xsa = true;             ///< take from each result its part along its own value vector
  double eps = 0x1p-20;        ///< of both normalisations
  TensorId valid = no_tensor;  ///< [N] i32
};

/// x + W_o xsa(attention(gain rope(norm(W_q n)), rope(norm(W_k n)), W_v n)), n = rms_norm(x): pre-norm, with
/// RMS normalisation of each query and key head and one gain a query head. X [N, width]; weights "norm",
/// "w_q", "w_k", "w_v", "q_gain", "w_o". An error unless kv_heads divides heads.
TensorId attention_block(Layers& layers, TensorId x, const AttentionShape& shape, const RopeTables& tables,
                         const std::string& prefix = "");

/// Weights of a GRU cell as torch.nn.GRUCell names them; rows of gates r | z | n.
struct GruWeights {
  TensorId w_ih = no_tensor, w_hh = no_tensor, b_ih = no_tensor, b_hh = no_tensor;
};
GruWeights gru_weights(Layers& layers, std::int64_t inputs, std::int64_t hidden, const std::string& prefix);

/// One step, linear before reset: h' of x [B, inputs] and h [B, hidden].
TensorId gru_cell(Layers& layers, TensorId x, TensorId h, const GruWeights& weights,
                  const std::string& prefix = "");

/// `seq` steps from the state h0 [B, hidden] over X [B * seq, inputs]. The products with W_ih are one call;
/// each step reads and writes its rows (t, seq + t, ...) of whole sequences by view.
struct GruStates {
  TensorId all = no_tensor;   ///< [B * seq, hidden]: the state after each step
  TensorId last = no_tensor;  ///< [B, hidden], a view of it
};
GruStates gru_sequence(Layers& layers, TensorId x, TensorId h0, std::int64_t seq, const GruWeights& weights,
                       const std::string& prefix = "");

/// x + gru_sequence(rms_norm(x)): a layer of a stack, width = hidden. Weights "norm" and the GRU's.
TensorId gru_layer(Layers& layers, TensorId x, TensorId h0, std::int64_t seq, double eps,
                   const std::string& prefix);

}  // namespace parity

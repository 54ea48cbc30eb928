// What every gemm shader shares: sizes, strides and the switches a pipeline is specialized with. The numbers of
// the constants are those of GemmConstant in gemm_plan.cpp; the push constants those of common_dispatch() there.
//
// y[b] = activation(alpha * (A[b] B[b]) + beta * C[b]), A: m x k, B: k x n. Strides are in elements and say which
// element is meant, so a transposed operand is one with its two strides exchanged. Every buffer is bound whole,
// guard zones included: a read beside the tensor hits NaN instead of a driver's bounds check.

layout(constant_id = 1) const uint GUARD_BYTES = 4096;  // the tensor starts here in its buffer

const uint TYPE_F32 = 0;
const uint TYPE_F16 = 1;
const uint TYPE_BF16 = 2;

layout(push_constant) uniform Push {
  uint m, n, k;
  uint first_batch;
  uint a_m, a_k, a_batch;
  uint b_k, b_n, b_batch;
  uint c_m, c_n, c_batch;
  uint y_m, y_n, y_batch;
  float alpha, beta;
  // Switches that are the same for a whole dispatch. They are no specialization constants, for each combination
  // would then be a pipeline of its own to compile.
  uint flags;
} push;

bool has_c() { return (push.flags & 1u) != 0u; }             // beta != 0: otherwise C is never read
bool a_in_vectors() { return (push.flags & 2u) != 0u; }      // aligned vectors along the fast axis
bool a_k_fast() { return (push.flags & 8u) != 0u; }          // neighbours along k are neighbours in memory
bool b_n_fast() { return (push.flags & 4096u) != 0u; }       // neighbours along n are neighbours in memory
bool b_in_vectors() { return (push.flags & 4u) != 0u; }
uint c_type() { return push.flags >> 4 & 3u; }               // TYPE_*
uint y_type() { return push.flags >> 6 & 3u; }
uint activation() { return push.flags >> 8 & 15u; }          // parity::Function

// INTEGER: factors of 8 bits; sums, C and y are of 32 bits and wrap. alpha and beta are whole numbers then.
#ifdef INTEGER
#define NUMBER int
#else
#define NUMBER float
#endif

layout(set = 0, binding = 2) readonly buffer CNumbers { NUMBER c_32[]; };
layout(set = 0, binding = 3) writeonly buffer YNumbers { NUMBER y_32[]; };
#ifdef STORAGE16
layout(set = 0, binding = 2) readonly buffer CHalves { uint16_t c_u16[]; };
layout(set = 0, binding = 3) writeonly buffer YHalves { uint16_t y_u16[]; };
#endif

uint batch_index() { return push.first_batch + gl_WorkGroupID.z; }

// From a call to dispatches: views with strides, limits, tile sizes, constants.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "backends/vulkan/gemm.hpp"
#include "harness/ladder/guarded_buffer.hpp"

namespace parity::vulkan {

namespace {

/// constant_id of the shaders; gemm_interface.glsl, tiled.comp and coopmat.comp.
enum GemmConstant : std::uint32_t {
  local_size = 0,
  guard = 1,
  tiled_rm = 2,
  tiled_rn = 3,
  tiled_widen_in_integers = 4,
  matrix_a_k_fast = 2,
  matrix_b_n_fast = 3,
  matrix_m = 4,
  matrix_n = 5,
  matrix_k = 6,
  matrix_tm = 7,
  matrix_tn = 8,
  matrix_sx = 9,
  matrix_sy = 10,
  matrix_ks = 11,
  matrix_subgroup = 12,
};

Result<MatrixView> view_of(const Program& program, TensorId id, bool transpose) {
  const TensorSpec& spec = program.spec(id);
  const std::size_t rank = spec.shape.size();
  if (rank < 2 || rank > 3 || spec.strides.size() != rank)
    return fail(ErrorKind::unsupported,
                fmt::format("tensor '{}' has rank {}; the Vulkan gemm takes 2 or 3", spec.name, rank));
  MatrixView view;
  view.tensor = id;
  view.dtype = spec.dtype;
  view.batch = rank == 3 ? spec.shape[0] : 1;
  view.batch_stride = view.batch == 1 ? 0 : spec.strides[0];
  view.rows = spec.shape[rank - 2];
  view.cols = spec.shape[rank - 1];
  view.row_stride = spec.strides[rank - 2];
  view.col_stride = spec.strides[rank - 1];
  if (transpose) {
    std::swap(view.rows, view.cols);
    std::swap(view.row_stride, view.col_stride);
  }
  return view;
}

/// A bias [n]: every row is the same.
Result<MatrixView> bias_view(const Program& program, TensorId id, std::int64_t rows) {
  const TensorSpec& spec = program.spec(id);
  if (spec.shape.size() != 1 || spec.strides.size() != 1)
    return fail(ErrorKind::unsupported, fmt::format("bias '{}' has rank {}; the Vulkan linear takes 1",
                                                    spec.name, spec.shape.size()));
  return MatrixView{id, spec.dtype, 1, rows, spec.shape[0], 0, 0, spec.strides[0]};
}

std::uint32_t type_code(DType dtype) {
  return dtype == DType::f16 ? 1u : dtype == DType::bf16 ? 2u : 0u;
}

std::int64_t tiles(std::int64_t size, std::int64_t tile) {
  return (size + tile - 1) / tile;
}

/// Whether vectors of `width` neighbours along the fast axis are aligned wherever the kernel reads one.
bool aligned(std::int64_t fast_stride, std::int64_t slow_stride, std::int64_t slow_size,
             std::int64_t batch_stride, std::int64_t width) {
  return fast_stride == 1 && (slow_size <= 1 || slow_stride % width == 0) && batch_stride % width == 0;
}

/// Constants and buffers common to all kernels; the kernel's own constants are appended by the caller.
Dispatch common_dispatch(const GemmCall& call, const Capabilities& capabilities, Shader shader, bool float16,
                         std::int64_t vector_width) {
  // A dimension of one element is no axis to run along.
  const bool k_fast = call.a.col_stride == 1 || call.a.row_stride != 1;
  const bool n_fast = call.b.col_stride == 1 || call.b.row_stride != 1;
  const bool a_aligned =
      k_fast ? aligned(call.a.col_stride, call.a.row_stride, call.a.rows, call.a.batch_stride, vector_width)
             : aligned(call.a.row_stride, call.a.col_stride, call.a.cols, call.a.batch_stride, vector_width);
  const bool b_aligned =
      n_fast ? aligned(call.b.col_stride, call.b.row_stride, call.b.rows, call.b.batch_stride, vector_width)
             : aligned(call.b.row_stride, call.b.col_stride, call.b.cols, call.b.batch_stride, vector_width);
  const MatrixView c = call.c.value_or(MatrixView{call.a.tensor});

  Dispatch dispatch;
  dispatch.pipeline.shader = shader;
  dispatch.pipeline.modes = choose_float_modes(capabilities, float16);
  dispatch.pipeline.bindings = 4;
  // Constants are listed in the order of their ids, without gaps: a validation layer of 2026 takes the n-th
  // entry for constant n.
  dispatch.pipeline.constants = {{local_size, 1}, {guard, word(static_cast<std::int64_t>(guard_bytes))}};
  const bool cooperative = shader == Shader::coopmat_16bit || shader == Shader::coopmat_f16 ||
                           shader == Shader::coopmat_i8 || shader == Shader::coopmat_i8_vectors_of_8;
  if (cooperative) {
    dispatch.pipeline.constants.push_back({matrix_a_k_fast, k_fast ? 1u : 0u});
    dispatch.pipeline.constants.push_back({matrix_b_n_fast, n_fast ? 1u : 0u});
  }
  const std::uint32_t flags = (call.c ? 1u : 0u) | (a_aligned ? 2u : 0u) | (b_aligned ? 4u : 0u) |
                              (k_fast ? 8u : 0u) | (n_fast ? 4096u : 0u) | type_code(c.dtype) << 4 |
                              type_code(call.y.dtype) << 6 | static_cast<std::uint32_t>(call.activation) << 8;
  // C unread: its binding needs some buffer that nobody writes.
  dispatch.buffers = {call.a.tensor, call.b.tensor, c.tensor, call.y.tensor};
  dispatch.push_words = {
      word(call.y.rows),
      word(call.y.cols),
      word(call.a.cols),
      0,
      word(call.a.row_stride),
      word(call.a.col_stride),
      word(call.a.batch_stride),
      word(call.b.row_stride),
      word(call.b.col_stride),
      word(call.b.batch_stride),
      word(c.row_stride),
      word(c.col_stride),
      word(c.batch_stride),
      word(call.y.row_stride),
      word(call.y.col_stride),
      word(call.y.batch_stride),
      std::bit_cast<std::uint32_t>(call.alpha),
      std::bit_cast<std::uint32_t>(call.beta),
      flags,
  };
  return dispatch;
}
constexpr std::size_t first_batch_word = 3;

struct TileSize {
  std::uint32_t rows = 16, cols = 16;
};

bool is_gpu(const Capabilities& c) {
  return c.type != VK_PHYSICAL_DEVICE_TYPE_CPU;
}
/// Tiles that a large device needs to be busy; below it smaller tiles are better.
constexpr std::int64_t busy_tiles = 96;

/// Groups of four a thread along m and n: 128 x 128 tiles where there are enough of them.
std::uint32_t tiled_groups(const Capabilities& capabilities, const GemmCall& call) {
  const std::int64_t large = tiles(call.y.rows, 128) * tiles(call.y.cols, 128) * call.y.batch;
  return is_gpu(capabilities) && large >= busy_tiles ? 2 : 1;
}

Shader tiled_shader(const Capabilities& capabilities, DType input) {
  if (input == DType::f16) return Shader::tiled_f16;
  if (input == DType::i8) return Shader::tiled_i8;
  return capabilities.storage16 ? Shader::tiled_f32_storage16 : Shader::tiled_f32;
}

Shader cooperative_shader(const GemmPath& path, const CooperativeShape& shape) {
  if (path.input == DType::i8)
    return vector_bytes(shape) == 16 ? Shader::coopmat_i8 : Shader::coopmat_i8_vectors_of_8;
  return path.accumulate == DType::f16 ? Shader::coopmat_f16 : Shader::coopmat_16bit;
}

TileSize tile_size(const Capabilities& capabilities, const GemmPath& path, const GemmCall& call) {
  switch (path.kernel) {
    case GemmKernel::naive:
      return {16, 16};
    case GemmKernel::tiled: {
      const std::uint32_t size = 64 * tiled_groups(capabilities, call);
      return {size, size};
    }
    case GemmKernel::cooperative: {
      const auto shape = shape_of(capabilities, path);
      if (!shape) break;
      const auto tiling = choose_tiling(capabilities, *shape, call.y.rows, call.y.cols);
      if (tiling) return {tiling->rows(*shape), tiling->cols(*shape)};
    }
  }
  return {};
}

}  // namespace

Result<GemmCall> parse_gemm_call(const OpCall& call, const Program& program) {
  const bool linear = call.op == "linear";
  if (call.inputs.size() < 2 || call.outputs.empty())
    return fail(ErrorKind::internal, fmt::format("{}: two inputs and an output are needed", call.op));
  GemmCall parsed;
  auto a = view_of(program, call.inputs[0], !linear && call.attributes.integer("trans_a") != 0);
  auto b = view_of(program, call.inputs[1], linear || call.attributes.integer("trans_b") != 0);
  auto y = view_of(program, call.outputs[0], false);
  for (auto* view : {&a, &b, &y})
    if (!*view) return tl::unexpected(view->error());
  parsed.a = *a;
  parsed.b = *b;
  parsed.y = *y;
  const TensorId addend = call.inputs.size() > 2 ? call.inputs[2] : no_tensor;
  if (linear) {
    const std::string name = call.attributes.text("activation", "identity");
    const auto function = parse_function(name);
    if (!function || *function == Function::exp)
      return fail(ErrorKind::unsupported,
                  fmt::format("linear: no Vulkan path has the activation '{}'", name));
    parsed.activation = *function;
    parsed.beta = 1;
    if (addend != no_tensor) {
      auto bias = bias_view(program, addend, parsed.y.rows);
      if (!bias) return tl::unexpected(bias.error());
      parsed.c = *bias;
    }
  } else {
    parsed.alpha = static_cast<float>(call.attributes.real("alpha", 1));
    parsed.beta = static_cast<float>(call.attributes.real("beta", 0));
    if (addend != no_tensor && parsed.beta != 0) {
      auto c = view_of(program, addend, false);
      if (!c) return tl::unexpected(c.error());
      parsed.c = *c;
    }
  }
  return parsed;
}

std::optional<CooperativeTiling> choose_tiling(const Capabilities& capabilities,
                                               const CooperativeShape& shape, std::int64_t rows,
                                               std::int64_t cols) {
  // Rows of 64 bytes along k.
  const std::uint32_t factor_bytes = shape.a == VK_COMPONENT_TYPE_SINT8_KHR ? 1 : 2;
  const std::uint32_t vector = vector_bytes(shape) / factor_bytes;
  const std::uint32_t ks = std::max(1u, 64 / factor_bytes / shape.k);
  const auto fits = [&](const CooperativeTiling& t) {
    const std::uint32_t threads = t.sx * t.sy * capabilities.subgroup;
    const std::uint32_t bm = t.rows(shape), bn = t.cols(shape), bk = t.ks * shape.k;
    const auto tile_bytes = [&](std::uint32_t size) {
      return std::max(size * (bk / vector + 1), bk * (size / vector + 1)) * vector_bytes(shape);
    };
    const std::uint32_t scratch = t.sx * t.sy * shape.m * shape.n * 4;
    return capabilities.subgroup > 0 && threads <= capabilities.invocations &&
           threads <= capabilities.group_size[0] &&
           tile_bytes(bm) + tile_bytes(bn) + scratch <= capabilities.shared_bytes;
  };
  // Eight subgroups of 2 x 4 matrices: 128 x 128 outputs for 16 x 16 matrices.
  const CooperativeTiling large{2, 4, 2, 4, ks};
  if (is_gpu(capabilities) && fits(large) &&
      tiles(rows, large.rows(shape)) * tiles(cols, large.cols(shape)) >= busy_tiles)
    return large;
  for (const CooperativeTiling& t : {CooperativeTiling{2, 2, 2, 2, ks}, CooperativeTiling{2, 2, 1, 1, ks},
                                     CooperativeTiling{1, 1, 1, 1, 1}})
    if (fits(t)) return t;
  return std::nullopt;
}

Support gemm_supports_call(const Capabilities& capabilities, const GemmPath& path, const GemmCall& call,
                           const Program& program) {
  std::vector<MatrixView> views{call.a, call.b, call.y};
  if (call.c) views.push_back(*call.c);
  for (const MatrixView& view : views) {
    const TensorSpec& spec = program.spec(view.tensor);
    const auto layout = guarded_layout(spec);
    if (!layout) return unsupported(layout.error().message);
    const std::uint64_t most = std::min(capabilities.max_storage_range, std::uint64_t{0xffffffff});
    if (layout->total() > most)
      return unsupported(
          fmt::format("tensor '{}' needs {} bytes with its guard zones; the device binds at most {} "
                      "(maxStorageBufferRange)",
                      spec.name, layout->total(), most));
  }
  const bool integer = path.input == DType::i8;
  for (const float factor : {call.alpha, call.beta})
    if (integer && factor != std::trunc(factor))
      return unsupported(fmt::format("products of integers take whole alpha and beta, not {}", factor));
  for (const MatrixView* view : {&call.y, call.c ? &*call.c : nullptr}) {
    if (!view) continue;
    const TensorSpec& spec = program.spec(view->tensor);
    if (view->dtype == (integer ? DType::i32 : DType::f32)) continue;
    if (integer || (view->dtype != DType::f16 && view->dtype != DType::bf16))
      return unsupported(fmt::format("tensor '{}' is {}; the shaders read and store {}", spec.name,
                                     name_of(view->dtype), integer ? "i32" : "f32, f16 and bf16"));
    if (!capabilities.storage16)
      return unsupported(
          fmt::format("tensor '{}' is {}, which needs storageBuffer16BitAccess; the device does not "
                      "offer it",
                      spec.name, name_of(view->dtype)));
  }
  const TileSize tile = tile_size(capabilities, path, call);
  if (tiles(call.y.cols, tile.cols) > capabilities.group_count[0] ||
      tiles(call.y.rows, tile.rows) > capabilities.group_count[1])
    return unsupported(fmt::format("a {} x {} result needs more workgroups than the device takes ({} x {})",
                                   call.y.rows, call.y.cols, capabilities.group_count[1],
                                   capabilities.group_count[0]));
  return {};
}

Result<std::vector<Dispatch>> plan_gemm(const Capabilities& capabilities, const GemmPath& path,
                                        const GemmCall& call) {
  if (call.y.batch == 0 || call.y.rows == 0 || call.y.cols == 0) return std::vector<Dispatch>{};
  const TileSize tile = tile_size(capabilities, path, call);
  Dispatch dispatch;
  switch (path.kernel) {
    case GemmKernel::naive:
      dispatch =
          common_dispatch(call, capabilities,
                          capabilities.storage16 ? Shader::naive_f32_storage16 : Shader::naive_f32, false, 1);
      break;
    case GemmKernel::tiled: {
      const bool f16 = path.input == DType::f16;
      dispatch = common_dispatch(call, capabilities, tiled_shader(capabilities, path.input), f16, 4);
      const std::uint32_t groups = tiled_groups(capabilities, call);
      auto& constants = dispatch.pipeline.constants;
      constants.push_back({tiled_rm, groups});
      constants.push_back({tiled_rn, groups});
      if (f16)
        constants.push_back({tiled_widen_in_integers, preserves_float16_denormals(capabilities) ? 0u : 1u});
      break;
    }
    case GemmKernel::cooperative: {
      const auto shape = shape_of(capabilities, path);
      const auto tiling = shape ? choose_tiling(capabilities, *shape, call.y.rows, call.y.cols)
                                : std::optional<CooperativeTiling>{};
      if (!tiling) return fail(ErrorKind::unsupported, fmt::format("{}: no legal matrix shape", path.name));
      dispatch =
          common_dispatch(call, capabilities, cooperative_shader(path, *shape), path.input == DType::f16,
                          vector_bytes(*shape) / static_cast<std::int64_t>(size_of(path.input)));
      dispatch.pipeline.bfloat16 = path.input == DType::bf16;
      const std::uint32_t subgroup = capabilities.subgroup;
      if (capabilities.subgroup_control && capabilities.full_subgroups)
        dispatch.pipeline.subgroup_size = subgroup;
      auto& constants = dispatch.pipeline.constants;
      constants[local_size].value = tiling->sx * tiling->sy * subgroup;
      for (const auto& [id, value] : {std::pair<GemmConstant, std::uint32_t>{matrix_m, shape->m},
                                      {matrix_n, shape->n},
                                      {matrix_k, shape->k},
                                      {matrix_tm, tiling->tm},
                                      {matrix_tn, tiling->tn},
                                      {matrix_sx, tiling->sx},
                                      {matrix_sy, tiling->sy},
                                      {matrix_ks, tiling->ks},
                                      {matrix_subgroup, subgroup}})
        constants.push_back({id, value});
      break;
    }
  }
  dispatch.groups[0] = word(tiles(call.y.cols, tile.cols));
  dispatch.groups[1] = word(tiles(call.y.rows, tile.rows));
  std::vector<Dispatch> dispatches;
  for (std::int64_t first = 0; first < call.y.batch;) {
    const std::int64_t count = std::min<std::int64_t>(call.y.batch - first, capabilities.group_count[2]);
    dispatch.push_words[first_batch_word] = word(first);
    dispatch.groups[2] = word(count);
    dispatches.push_back(dispatch);
    first += count;
  }
  return dispatches;
}

namespace {

class GemmFamily final : public KernelFamily {
 public:
  std::vector<Implementation> implementations(const Capabilities& capabilities) const override {
    return gemm_implementations(capabilities);
  }
  Support supports(const Capabilities& capabilities, const Implementation& implementation) const override {
    const GemmPath* path = find_gemm_path(implementation.path);
    if (!path)
      return {Support::Kind::not_applicable, fmt::format("'{}' is no gemm path", implementation.path)};
    return gemm_supports(capabilities, *path);
  }
  Support supports(const Capabilities& capabilities, const Implementation& implementation, const OpCall& call,
                   const Program& program) const override {
    const auto parsed = parse_gemm_call(call, program);
    if (!parsed) return unsupported(parsed.error().message);
    return gemm_supports_call(capabilities, *find_gemm_path(implementation.path), *parsed, program);
  }
  Result<std::vector<Dispatch>> plan(const Capabilities& capabilities, const Implementation& implementation,
                                     const OpCall& call, const Program& program) const override {
    auto parsed = parse_gemm_call(call, program);
    if (!parsed) return tl::unexpected(parsed.error());
    return plan_gemm(capabilities, *find_gemm_path(implementation.path), *parsed);
  }
};

}  // namespace

std::unique_ptr<const KernelFamily> make_gemm_family() {
  return std::make_unique<GemmFamily>();
}

}  // namespace parity::vulkan

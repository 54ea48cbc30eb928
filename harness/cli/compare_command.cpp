#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cmath>

#include "harness/cli/compare_contract.hpp"
#include "harness/cli/exit_code.hpp"
#include "harness/cli/output.hpp"
#include "harness/cli/version.hpp"
#include "harness/tensor/safetensors.hpp"
#include "reports/failure_text.hpp"
#include "reports/record_json.hpp"
#include "reports/statistics_text.hpp"

namespace parity::cli {
namespace {

struct CompareOptions {
  std::string got, want, op, settings, in, acc, model = "unknown", nan = "reject";
  std::vector<std::string> inputs;
  std::int64_t k = 0;
  double max_product = 0;
  bool json = false;
};

Result<Tensor> read_named(const char* role, const std::string& source) {
  auto tensor = read_tensor(source);
  if (!tensor) return fail(tensor.error().kind, fmt::format("{}: {}", role, tensor.error().message));
  return tensor;
}

Result<void> reject_nan(const char* role, const Tensor& tensor) {
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    if (std::isnan(tensor.value(i)))
      return bad_input(fmt::format(
          "{} holds a NaN at element {} (row-major); --nan allow takes it as the truth", role, i));
  return {};
}

Result<OutputRecord> judged(const CompareOptions& options, const Context& context, const Tensor& got,
                            const std::optional<Tensor>& want) {
  const auto accumulate = parse_dtype(options.acc.empty() ? "f32" : options.acc);
  if (!accumulate || !(is_float(*accumulate) || *accumulate == DType::i32))
    return bad_input(fmt::format("--acc {}: may be f64, f32, f16, bf16, or i32 for int8", options.acc));
  const auto input = parse_dtype(options.in.empty() ? "f32" : options.in);
  if (!input || !(is_float(*input) || *input == DType::i8))
    return bad_input(fmt::format("--in {}: may be f64, f32, f16, bf16 or i8", options.in));
  const KernelClaim claim{*accumulate, options.model};

  if (options.op == "identity") {
    if (!want) return bad_input("--op identity compares with WANT, which is missing");
    return judge_copy(got, *want);
  }
  if (!options.inputs.empty()) {
    auto inputs =
        read_user_inputs(options.inputs, options.nan == "allow" ? NanPolicy::allow : NanPolicy::reject);
    if (!inputs) return tl::unexpected(inputs.error());
    std::string text = options.op + (options.settings.empty() ? "" : " " + options.settings);
    if (!options.in.empty()) text += fmt::format(" in={}", name_of(*input));
    if (!options.acc.empty()) text += fmt::format(" acc={}", name_of(*accumulate));
    return judge_with_inputs(got, text, *inputs, claim, context);
  }
  if (!want)
    return bad_input("nothing to compare with: give WANT, or the op's inputs (--input A=... --input B=...)");
  if ((options.k > 0) != (options.max_product > 0))
    return bad_input("--k and --max-product belong together: sum |ab| <= k * max-product bounds the error");
  if (options.k > 0 && (*input == DType::i8 || *accumulate == DType::i32))
    return bad_input("--k and --max-product: products of integers are exact; compare with --op identity");
  if (options.k > 0) return judge_with_products(got, *want, options.k, options.max_product, claim, *input);
  return measure_only(got, *want);
}

Record as_record(const CompareOptions& options, OutputRecord output) {
  Record record;
  record.case_text = "compare --op " + options.op;
  record.stage = options.op;
  record.path = "GOT";
  record.device = {options.got, "file", "computed elsewhere", "", "", {}};
  record.verdict = output.judgement.verdict;
  if (!output.judgement.reasons.empty()) record.reason = output.judgement.reasons.front();
  record.provenance = provenance();
  record.outputs.push_back(std::move(output));
  return record;
}

/// With inputs and WANT both given: how WANT itself does under the same contract.
void judge_want(const CompareOptions& options, const Context& context, const Tensor& want) {
  auto record = judged(options, context, want, std::nullopt);
  if (!record) return complain("WANT itself: " + record.error().message);
  const Verdict verdict = record->judgement.verdict;
  print(fmt::format("WANT itself, against the reference: {} (err/bound {:.3g})\n", name_of(verdict),
                    record->judgement.statistics.max_bound_ratio));
  if (verdict != Verdict::pass)
    print("WANT does not hold the contract either: is it the result of these inputs?\n");
}

int run(const Context& context, const CompareOptions& options) {
  auto got = read_named("GOT", options.got);
  if (!got) return report(got.error());
  std::optional<Tensor> want;
  if (!options.want.empty()) {
    auto read = read_named("WANT", options.want);
    if (!read) return report(read.error());
    want.emplace(std::move(*read));
    if (options.nan == "reject")
      if (auto checked = reject_nan("WANT", *want); !checked) return report(checked.error());
  }
  auto output = judged(options, context, *got, want);
  if (!output) return report(output.error());
  const Record record = as_record(options, std::move(*output));
  if (options.json) {
    print(to_json_line(record) + "\n");
  } else {
    print(statistics_text(record.outputs.front()));
    if (want && !options.inputs.empty()) judge_want(options, context, *want);
    print(record.verdict == Verdict::pass ? "pass\n" : failure_text(record));
  }
  if (record.verdict == Verdict::pass) return passed;
  return record.verdict == Verdict::untrusted ? nothing_judged : contract_failed;
}

}  // namespace

void add_compare_command(CLI::App& app, Context& context) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* command =
      app.add_subcommand("compare", "Judges a tensor computed elsewhere under a named op's contract");
  command->add_option("got", options->got, "The tensor to judge: FILE.npy or FILE.safetensors:TENSOR")
      ->required();
  command->add_option("want", options->want, "What it should be, taken as the truth (best in fp64)");
  std::vector<std::string> ops = {"identity"};
  for (const auto& stage : context.stages.all()) ops.emplace_back(stage->name());
  command->add_option("--op", options->op, "The op that made GOT; identity: a copy or a conversion")
      ->required()
      ->check(CLI::IsMember(ops));
  command
      ->add_option(
          "-i,--input", options->inputs,
          "An input of the op: A=a.npy, or B=model.safetensors:lm_head.weight; several times. `parity "
          "list OP` names them")
      ->allow_extra_args(false);
  command->add_option("--set", options->settings,
                      "The op's settings as in a case text, for example 'tb=t alpha=0.5'; `parity list OP` "
                      "shows them");
  command->add_option("--in", options->in,
                      "Format that the kernel read its inputs in: f64, f32, f16, bf16 or i8 (default: the "
                      "input files', else f32)");
  command->add_option("--acc", options->acc,
                      "Format that it added in: f64, f32, f16 or bf16 (default: f32), i32 for int8");
  command->add_option("--model", options->model, "How it added, if that is known; see below")
      ->check(CLI::IsMember(claim_models()))
      ->capture_default_str();
  command->add_option("--k", options->k, "How many products each sum has (with --max-product)")
      ->check(CLI::Range(1, 1 << 24));
  command
      ->add_option("--max-product", options->max_product,
                   "P: no product |a*b| in the sums is larger (with --k)")
      ->check(CLI::PositiveNumber);
  command
      ->add_option(
          "--nan", options->nan,
          "A NaN in WANT or --input: reject it as a mistake, or allow it and judge who may become NaN")
      ->check(CLI::IsMember({"reject", "allow"}))
      ->capture_default_str();
  command->add_flag("--json", options->json, "The record as one JSON line, for programs");
  command->footer(
      "What can be judged depends on what is known:\n"
      "  --input A=... --input B=...   the full contract against parity's own fp64 reference; WANT is "
      "optional and is\n"
      "                                judged beside GOT. With a definite --model GOT must have its bits.\n"
      "  WANT, --k and --max-product   a wider, certain contract: sum |ab| <= k P, sum (ab)^2 <= k P^2.\n"
      "  WANT alone                    every statistic, but no contract follows (a healthy kernel may be off "
      "by any\n"
      "                                amount where large products cancel): untrusted, exit code 4; fail "
      "where a NaN\n"
      "                                or Inf stands for a number.\n"
      "  --op identity                 GOT must be WANT rounded once to GOT's dtype, bit for bit.\n"
      "\n"
      "--model: unknown (any order; of 16-bit inputs a tensor core's adder too), or, and then the bits are "
      "the "
      "contract:\n"
      "  fma           one chain of fused multiply-adds in the order of k\n"
      "  separate      the same, every product rounded before it is added\n"
      "  pairwise      a balanced tree\n"
      "  tensor-core   an NVIDIA Hopper tensor core: 16 products and the sum in one step, truncated\n"
      "Sums of int8 products in int32 are exact in any order, modulo 2^32: every element must be equal.\n"
      "\n"
      "Examples:\n"
      "  parity compare got.npy --op gemm --input A=a.npy --input B=b.npy --set tb=t\n"
      "  parity compare got.npy want.npy --op gemm --k 4096 --max-product 9.5\n"
      "  parity compare y.npy --op linear --input X=x.npy --input W=w.npy --set 'bias=n' --model fma\n"
      "  parity compare out.safetensors:y ref.safetensors:y --op identity\n"
      "\n"
      "Exit codes: 0 pass; 1 fail or suspect; 2 a file or argument is wrong; 4 nothing could be judged.");
  command->callback([&context, options] { context.exit_code = run(context, *options); });
}

}  // namespace parity::cli

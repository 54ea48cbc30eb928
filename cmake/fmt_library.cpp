// The one translation unit that compiles fmt's functions. Header-only use compiles them in every file that
// formats something, which is most of the build's time; the distributions' shared libfmt would have to travel
// with the program.
#ifndef FMT_HEADER_ONLY
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

// What format.h and core.h only declare: see the declarations there.
template auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl<char>(locale_ref) -> char;
template auto dragonbox::to_decimal<float>(float) noexcept -> dragonbox::decimal_fp<float>;
template auto dragonbox::to_decimal<double>(double) noexcept -> dragonbox::decimal_fp<double>;
#if FMT_VERSION >= 100000
template void vformat_to<char>(buffer<char>&, string_view, vformat_args<>::type, locale_ref);
#endif

}  // namespace detail
FMT_END_NAMESPACE
#endif

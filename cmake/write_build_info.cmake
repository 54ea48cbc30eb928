# Writes build_info.cpp (OUTPUT) for the commit of SOURCE; touches it only when it changes.
execute_process(COMMAND git -C ${SOURCE} rev-parse --short=12 HEAD
  OUTPUT_VARIABLE commit ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
if(failed)
  set(commit unknown)
else()
  execute_process(COMMAND git -C ${SOURCE} status --porcelain --untracked-files=no
    OUTPUT_VARIABLE changes ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(changes)
    string(APPEND commit "+")
  endif()
endif()
set(text "#include \"harness/base/build_info.hpp\"

namespace parity {

BuildInfo build_info() { return {\"${VERSION}\", \"${commit}\", \"${COMPILER}\", \"${FLAGS}\"}; }

}  // namespace parity
")
set(old)
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
if(NOT text STREQUAL old)
  file(WRITE ${OUTPUT} "${text}")
endif()

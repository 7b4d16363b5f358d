# The house rules of the build: one set of flags for everything, and the functions
# that make a folder a library, a program, a test or a proof that its headers stand alone.
include_guard(GLOBAL)

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

option(VX_CCACHE "Compile through ccache when it is installed" ON)
set(VX_SANITIZE "" CACHE STRING "Sanitizers for the whole build, for example address,undefined")

# ccache only trusts precompiled headers when told which of its checks they upset.
find_program(VX_CCACHE_PROGRAM ccache)
if(VX_CCACHE AND VX_CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime;${VX_CCACHE_PROGRAM}")
endif()

# Places where tests make the product die or its disk fail (base/fault_point.h). Never in a release:
# there no environment variable reaches them.
option(VX_FAULTS "Compile in the faults that tests switch on by environment variables" OFF)

# Options of every target of ours; packages are system headers and stay outside the warnings.
add_library(vx_flags INTERFACE)
target_compile_options(vx_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
  -Wold-style-cast -Wimplicit-fallthrough -Werror -fno-omit-frame-pointer)
# All symbols are bound when a program starts. Bound at its first call, a function leaves the vector registers
# on the stack, and those may hold the secret that was copied last, even in a thread that was only just started.
target_link_options(vx_flags INTERFACE -Wl,-z,relro,-z,now)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(vx_flags INTERFACE
    -Wduplicated-cond -Wlogical-op
    # False alarms of GCC 12 in its own headers once inlined (string, optional, variant).
    -Wno-restrict -Wno-maybe-uninitialized -Wno-array-bounds
    -Wno-stringop-overflow -Wno-stringop-overread
    # Without it ccache cannot see what a precompiled header was made of.
    -fpch-preprocess)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # GCC 12's own std::stable_sort uses what C++17 deprecated, and Clang blames the caller.
  target_compile_options(vx_flags INTERFACE -Wno-deprecated-declarations)
endif()
if(VX_FAULTS)
  target_compile_definitions(vx_flags INTERFACE VX_FAULTS=1)
endif()
if(VX_SANITIZE)
  target_compile_options(vx_flags INTERFACE
    -fsanitize=${VX_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(vx_flags INTERFACE -fsanitize=${VX_SANITIZE})
  # A sanitizer doubles what is linked, forty programs of it: LLVM's linker takes a fifth of the time.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_link_options(vx_flags INTERFACE -fuse-ld=lld)
  endif()
endif()

# With a sanitizer and without any optimisation the tests of the core take fifty times as long; optimising
# more than doubles what the compiler takes. So only what computes much is optimised, and there without the
# checks of every pointer (null, alignment and the like): with them the compiler takes 1.6 times as long, and
# most of what they see ends in an access that the address sanitizer reports.
set(VX_COMPUTING_OPTIONS "" CACHE STRING "Further options for what computes much, for example -O1")
set(_vx_computing vx_base vx_model vx_core vx_agent vx_engine vx_sim vortex-sim
    test_core test_agent test_engine test_sim)

# Precompiled headers are built once per flavour and shared by all targets of that flavour. Clang accepts
# them only with the same optimisation: then there is one more, <flavour>_plain, for what is not optimised.
function(_vx_pch target header)
  file(GENERATE OUTPUT "${CMAKE_BINARY_DIR}/pch/${target}.cc" CONTENT "// Carrier of the precompiled header.\n")
  add_library(${target} OBJECT "${CMAKE_BINARY_DIR}/pch/${target}.cc")
  target_link_libraries(${target} PRIVATE vx_flags fmt::fmt ${ARGN})
  target_precompile_headers(${target} PRIVATE "${header}")
  if(VX_COMPUTING_OPTIONS AND target MATCHES "^vx(_test)?_pch$")
    target_compile_options(${target} PRIVATE ${VX_COMPUTING_OPTIONS})
    _vx_pch(${target}_plain "${header}" ${ARGN})
    target_include_directories(${target}_plain PRIVATE "${PROJECT_SOURCE_DIR}/src")
  endif()
endfunction()

# Every target of ours: flags, include roots, the shared precompiled header.
function(_vx_common target pch)
  target_link_libraries(${target} PRIVATE vx_flags)
  string(REGEX REPLACE "[-_](planted|mutants)$" "" name "${target}")
  if(VX_COMPUTING_OPTIONS AND pch MATCHES "^vx(_test)?_pch$")
    if(name IN_LIST _vx_computing)
      target_compile_options(${target} PRIVATE ${VX_COMPUTING_OPTIONS})
    else()
      set(pch ${pch}_plain)
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${pch})
endfunction()

# Several sources in one translation unit: what they instantiate is compiled once for all of them, which
# halves the time of a build from nothing. Then names in anonymous namespaces must differ between the
# files of a folder, so it is for the tests and for folders that were asked. For work on one of them:
# cmake --preset dev -DVX_TOGETHER=OFF.
option(VX_TOGETHER "Compile several sources of tests and of some libraries as one" ON)
set(VX_TOGETHER_FILES 6 CACHE STRING "How many sources are compiled as one")
function(_vx_together target)
  if(VX_TOGETHER)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${VX_TOGETHER_FILES})
    # GCC takes an included source for a header.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# vx_library(NAME <n> [EXCEPT <names>] [DEPS <targets>] [DEFINES <definitions>] [INCLUDE <dirs>]
#            [PCH <flavour>] [RECURSE] [TOGETHER] [OPTIONAL_BUILD])
# The *.cc of this folder (with RECURSE of those below too) as a static library that other folders
# include from the root src/. A folder with no *.cc yet is an interface library.
function(vx_library)
  cmake_parse_arguments(A "RECURSE;TOGETHER;OPTIONAL_BUILD" "NAME;PCH" "EXCEPT;DEPS;DEFINES;INCLUDE" ${ARGN})
  if(NOT A_PCH)
    set(A_PCH vx_pch)
  endif()
  if(A_RECURSE)
    file(GLOB_RECURSE A_SOURCES CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cc")
  else()
    file(GLOB A_SOURCES CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cc")
  endif()
  foreach(name IN LISTS A_EXCEPT)
    list(REMOVE_ITEM A_SOURCES "${CMAKE_CURRENT_SOURCE_DIR}/${name}")
  endforeach()
  if(NOT A_SOURCES)
    add_library(${A_NAME} INTERFACE)
    target_include_directories(${A_NAME} INTERFACE "${PROJECT_SOURCE_DIR}/src" ${A_INCLUDE})
    target_link_libraries(${A_NAME} INTERFACE ${A_DEPS})
    target_compile_definitions(${A_NAME} INTERFACE ${A_DEFINES})
    return()
  endif()
  add_library(${A_NAME} STATIC ${A_SOURCES})
  target_include_directories(${A_NAME} PUBLIC "${PROJECT_SOURCE_DIR}/src" ${A_INCLUDE})
  target_link_libraries(${A_NAME} PUBLIC ${A_DEPS} fmt::fmt)
  target_compile_definitions(${A_NAME} PUBLIC ${A_DEFINES})
  _vx_common(${A_NAME} ${A_PCH})
  if(A_TOGETHER)
    _vx_together(${A_NAME})
  endif()
  if(A_OPTIONAL_BUILD)
    set_target_properties(${A_NAME} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()

# vx_planted_library(<library> <options of vx_library>): the same sources again as <library>_planted,
# with the planted bugs compiled in. Built only when asked for.
option(VX_PLANTED "Offer the planted-bug flavour of core, agent and sim" ON)
function(vx_planted_library name)
  if(VX_PLANTED)
    vx_library(NAME ${name}_planted ${ARGN} DEFINES VX_PLANTED_BUGS=1 OPTIONAL_BUILD)
  endif()
endfunction()

# vx_program(NAME <n> SOURCES <files> [DEPS <targets>] [PCH <flavour>] [OPTIONAL_BUILD])
# Programs land in <build>/bin.
function(vx_program)
  cmake_parse_arguments(A "OPTIONAL_BUILD" "NAME;PCH" "SOURCES;DEPS" ${ARGN})
  if(NOT A_PCH)
    set(A_PCH vx_pch)
  endif()
  add_executable(${A_NAME} ${A_SOURCES})
  target_link_libraries(${A_NAME} PRIVATE ${A_DEPS} fmt::fmt)
  target_include_directories(${A_NAME} PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/src")
  set_target_properties(${A_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
  _vx_common(${A_NAME} ${A_PCH})
  if(A_OPTIONAL_BUILD)
    set_target_properties(${A_NAME} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()

# vx_ctest(NAME <n> [TIMEOUT <seconds>] [LABELS <labels>] [ENVIRONMENT <NAME=value>] COMMAND <command>)
# An entry of ctest. With a sanitizer, whatever its processes do wrong is written to <build>/reports, and
# the last entry of the run fails if there is anything: a worker that is started again after a crash, or a
# program whose output nobody reads, would hide it.
set(VX_REPORTS "${CMAKE_BINARY_DIR}/reports")
# g++ brings addr2line along; Clang's own symbolizer is one more large package.
find_program(VX_ADDR2LINE addr2line REQUIRED)
set(_common "log_path=${VX_REPORTS}/report:external_symbolizer_path=${VX_ADDR2LINE}")
set(VX_SANITIZER_ENVIRONMENT
    VX_SANITIZED=1
    # Leaks are looked for at the end of every process. Memory that was freed is held back for a while to
    # see uses of it; a hundred processes at once cannot hold 256 MB each.
    "ASAN_OPTIONS=detect_leaks=1:quarantine_size_mb=32:malloc_context_size=12:${_common}"
    "UBSAN_OPTIONS=print_stacktrace=1:${_common}"
    "TSAN_OPTIONS=halt_on_error=1:${_common}")
function(vx_ctest)
  cmake_parse_arguments(A "" "NAME;TIMEOUT" "LABELS;ENVIRONMENT;COMMAND" ${ARGN})
  if(NOT A_TIMEOUT)
    set(A_TIMEOUT 120)
  endif()
  add_test(NAME ${A_NAME} COMMAND ${A_COMMAND})
  if(VX_SANITIZE)
    list(APPEND A_ENVIRONMENT ${VX_SANITIZER_ENVIRONMENT})
    set_tests_properties(${A_NAME} PROPERTIES FIXTURES_REQUIRED sanitizer_reports)
  endif()
  set_tests_properties(${A_NAME} PROPERTIES TIMEOUT ${A_TIMEOUT} LABELS "${A_LABELS}"
                       ENVIRONMENT "${A_ENVIRONMENT}")
endfunction()

# vx_sanitizer_reports(): the entries that run before and after all others when there is a sanitizer.
function(vx_sanitizer_reports)
  if(NOT VX_SANITIZE)
    return()
  endif()
  set(script "${PROJECT_SOURCE_DIR}/tests/support/sanitizer_reports.sh")
  add_test(NAME sanitizer_reports_clear COMMAND "${script}" clear "${VX_REPORTS}")
  add_test(NAME sanitizer_reports_none COMMAND "${script}" none "${VX_REPORTS}")
  set_tests_properties(sanitizer_reports_clear PROPERTIES FIXTURES_SETUP sanitizer_reports)
  set_tests_properties(sanitizer_reports_none PROPERTIES FIXTURES_CLEANUP sanitizer_reports)
endfunction()

# vx_test(NAME <n> [DEPS <targets>] [DEFINES <definitions>] [LABELS <labels>] [TIMEOUT <seconds>]
#         [PCH <flavour>])
# All *.cc of this folder as one test binary and one ctest entry: starting a process per test
# costs more than the tests. A folder without sources is skipped. Target vx_unit_tests builds all of them.
add_custom_target(vx_unit_tests)
function(vx_test)
  cmake_parse_arguments(A "" "NAME;TIMEOUT;PCH" "DEPS;DEFINES;LABELS" ${ARGN})
  if(NOT A_PCH)
    set(A_PCH vx_test_pch)
  endif()
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cc")
  if(NOT sources)
    return()
  endif()
  if(NOT A_TIMEOUT)
    set(A_TIMEOUT 600)
  endif()
  add_executable(${A_NAME} ${sources})
  target_link_libraries(${A_NAME} PRIVATE ${A_DEPS} fmt::fmt GTest::gmock GTest::gtest_main rapidcheck)
  target_include_directories(${A_NAME} PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/src")
  target_compile_definitions(${A_NAME} PRIVATE ${A_DEFINES})
  set_target_properties(${A_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
  _vx_common(${A_NAME} ${A_PCH})
  _vx_together(${A_NAME})
  add_dependencies(vx_unit_tests ${A_NAME})
  vx_ctest(NAME ${A_NAME} TIMEOUT ${A_TIMEOUT} LABELS ${A_LABELS} COMMAND ${A_NAME} --gtest_brief=1)
endfunction()

# vx_headers_alone(<folders>): target of the same name that compiles every header with nothing before it that
# it does not include itself, twice and without the precompiled header. A header that leans on what its
# includer happened to include fails here. One unit proves it for a chain of headers, each of which includes
# the one before (scripts/lib/header_chains.py).
function(vx_headers_alone)
  set(units "")
  find_program(VX_PYTHON python3)
  if(VX_PYTHON AND VX_TESTS)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS scripts/lib/header_chains.py)
    execute_process(COMMAND "${VX_PYTHON}" scripts/lib/header_chains.py ${ARGN}
                    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE chains
                    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    string(REPLACE "\n" ";" chains "${chains}")
  endif()
  foreach(chain IN LISTS chains)
    string(REPLACE " " ";" headers "${chain}")
    list(TRANSFORM headers REPLACE "(.+)" "#include \"\\1\"\n" OUTPUT_VARIABLE text)
    list(JOIN text "" text)
    list(GET headers -1 last)
    string(MAKE_C_IDENTIFIER "${last}" unit)
    set(unit "${CMAKE_BINARY_DIR}/headers_alone/${unit}.cc")
    file(GENERATE OUTPUT "${unit}" CONTENT "${text}${text}")
    list(APPEND units "${unit}")
  endforeach()
  if(NOT units)
    add_custom_target(vx_headers_alone)
    return()
  endif()
  add_library(vx_headers_alone OBJECT EXCLUDE_FROM_ALL ${units})
  target_link_libraries(vx_headers_alone PRIVATE vx_flags vx_asio fmt::fmt tomlplusplus::tomlplusplus
                        GTest::gmock GTest::gtest rapidcheck)
  if(VX_BENCH)
    target_link_libraries(vx_headers_alone PRIVATE benchmark::benchmark)
  endif()
  target_include_directories(vx_headers_alone PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/src")
  # Only the parse matters; a header may define things it does not use.
  target_compile_options(vx_headers_alone PRIVATE -O0 -g0 -Wno-unused)
endfunction()

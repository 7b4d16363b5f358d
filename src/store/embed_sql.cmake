# Writes one C++ header with every statement of sql/*.sql and the list of migrations.
#
# A file of statements is cut at lines `-- name: insert_task` (becomes kInsertTask) and
# `-- part: task_kept` (text that stands for @task_kept@ in the statements of its file). Marks with a
# colon, such as @columns:workers w@, stay: the records fill them in (store/record_sql.h).
# Every file of migrations/ is one migration; their order is that of the file names.
# Values: SQL_DIR, the folder of a database; OUT, the header; DATABASE, the namespace.

# Brackets and semicolons would be taken for list syntax: they travel under other names.
macro(read_sql file var)
  file(READ "${file}" ${var})
  string(REPLACE ";" "<semicolon>" ${var} "${${var}}")
  string(REPLACE "[" "<open>" ${var} "${${var}}")
  string(REPLACE "]" "<close>" ${var} "${${var}}")
endmacro()

function(constant_name name var)
  set(result "k")
  string(REPLACE "_" ";" words "${name}")
  foreach(word IN LISTS words)
    string(SUBSTRING "${word}" 0 1 first)
    string(SUBSTRING "${word}" 1 -1 rest)
    string(TOUPPER "${first}" first)
    string(APPEND result "${first}${rest}")
  endforeach()
  set(${var} "${result}" PARENT_SCOPE)
endfunction()

set(names "")
set(text "#pragma once\n// Made by embed_sql.cmake from the .sql files; not to be edited.\n// One constant per statement, all statements by name, and the migrations in their order.\n\n#include <string_view>\n\nnamespace vortex::store::${DATABASE}::sql {\n\n")

file(GLOB files "${SQL_DIR}/sql/*.sql")
list(SORT files)
foreach(file IN LISTS files)
  read_sql("${file}" content)
  string(REGEX REPLACE "\n-- (name|part): " ";\\1:" sections "\n${content}")
  list(POP_FRONT sections)  # what stands before the first mark is a comment about the file
  set(parts "")
  set(statements "")
  foreach(section IN LISTS sections)
    string(FIND "${section}" "\n" end)
    string(SUBSTRING "${section}" 0 ${end} mark)
    string(SUBSTRING "${section}" ${end} -1 body)
    string(REGEX REPLACE "\n--[^\n]*" "" body "${body}")
    string(STRIP "${body}" body)
    if(mark MATCHES "^part:(.*)$")
      list(APPEND parts "${CMAKE_MATCH_1}")
      set(part_${CMAKE_MATCH_1} "${body}")
      continue()
    endif()
    string(REPLACE "name:" "" name "${mark}")
    foreach(part IN LISTS parts)
      string(REPLACE "@${part}@" "${part_${part}}" body "${body}")
    endforeach()
    if(body MATCHES "@[a-z_]+@")
      message(FATAL_ERROR "${file}: ${name} uses ${CMAKE_MATCH_0}, which is no part of this file")
    endif()
    constant_name("${name}" constant)
    string(APPEND text "inline constexpr std::string_view ${constant} = R\"sql(${body})sql\";\n\n")
    string(APPEND names "{\"${name}\", ${constant}},\n")
  endforeach()
endforeach()

string(APPEND text "struct Named {\n  std::string_view name;\n  std::string_view text;\n}<semicolon>\ninline constexpr Named kStatements<open><close> = {\n${names}}<semicolon>\n\n")

string(APPEND text "inline constexpr std::string_view kMigrations<open><close> = {\n")
file(GLOB files "${SQL_DIR}/migrations/*.sql")
list(SORT files)
foreach(file IN LISTS files)
  read_sql("${file}" content)
  string(APPEND text "R\"sql(${content})sql\",\n")
endforeach()
string(APPEND text "};\n\n}  // namespace vortex::store::${DATABASE}::sql\n")

string(REPLACE "<semicolon>" ";" text "${text}")
string(REPLACE "<open>" "[" text "${text}")
string(REPLACE "<close>" "]" text "${text}")
file(WRITE "${OUT}" "${text}")

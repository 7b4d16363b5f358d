#pragma once
// SQL made from the tables of the records (model/records.h).
//
// Statements stand in .sql files; where they name all columns of a record they say so instead:
//   @columns:workers w@   the columns of a row, as decoding reads them, in front of a FROM
//   @insert:runs@         inserts a row; one that is there already stays as it is
//   @upsert:machines@     inserts a row or changes the one that is there
//   @update:workers@      changes what changes often in a row that is there
// The parameters of the last three are the columns they write, in the order of the table. With _set
// (@upsert_set:workers@) each parameter is an array, $1::bigint[], and the statement writes a row
// for each of their elements; no two may have the same key. What differs between databases is in
// Dialect; arrays are PostgreSQL's. Pure functions.

#include <string>
#include <string_view>

namespace vortex::store {

struct Dialect {
  char parameter;               // in front of its number
  std::string_view same_as;     // compares values of which both may be NULL
  std::string_view zero = "0";  // a number of the type of the columns
};

// The statement with its @...@ filled in. Asserts that there are such records: .sql files are ours.
std::string with_records(std::string_view sql, const Dialect& dialect);

}  // namespace vortex::store

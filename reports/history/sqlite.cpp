#include "reports/history/sqlite.hpp"

#include <fmt/core.h>
#include <sqlite3.h>

#include <cmath>

namespace parity {
namespace {

/// How long to wait for another program that writes.
constexpr int busy_milliseconds = 20'000;

tl::unexpected<Error> sql_error(const std::string& file, int code, const char* text) {
  switch (code & 0xff) {
    case SQLITE_NOTADB:
      return bad_input(fmt::format("{}: is no SQLite database, so no history", file));
    case SQLITE_CORRUPT:
      return bad_input(
          fmt::format("{}: is damaged ({}); make a new history from the files of records", file, text));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return bad_input(fmt::format("{}: another program is writing to it; try again when it is done", file));
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return bad_input(fmt::format("{}: may not be written ({})", file, text));
    case SQLITE_CANTOPEN:
      return bad_input(fmt::format("{}: cannot be opened ({})", file, text));
    default:
      return fail(ErrorKind::internal, fmt::format("{}: {}", file, text));
  }
}

}  // namespace

SqlStatement::SqlStatement(sqlite3* database, std::string file, sqlite3_stmt* statement)
    : database_(database), file_(std::move(file)), statement_(statement, sqlite3_finalize) {}

void SqlStatement::rewind() {
  sqlite3_reset(statement_.get());
}

void SqlStatement::bind(int place, std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), place, value);
}

void SqlStatement::bind(int place, double value) {
  sqlite3_bind_double(statement_.get(), place, value);
}

void SqlStatement::bind(int place, std::string_view value) {
  sqlite3_bind_text(statement_.get(), place, value.data(), static_cast<int>(value.size()), SQLITE_TRANSIENT);
}

Result<bool> SqlStatement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return sql_error(file_, code, sqlite3_errmsg(database_));
}

Result<void> SqlStatement::run() {
  const auto stepped = step();
  rewind();
  if (!stepped) return tl::unexpected(stepped.error());
  return {};
}

std::int64_t SqlStatement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

double SqlStatement::number(int column) const {
  // SQLite keeps a NaN as NULL.
  if (sqlite3_column_type(statement_.get(), column) == SQLITE_NULL) return std::nan("");
  return sqlite3_column_double(statement_.get(), column);
}

std::string SqlStatement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  return bytes ? std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column)))
               : std::string();
}

SqlDatabase::SqlDatabase(std::string file, sqlite3* database)
    : file_(std::move(file)), database_(database, sqlite3_close) {}

Result<SqlDatabase> SqlDatabase::open(const std::filesystem::path& file, bool create) {
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(file.c_str(), &opened,
                                   SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0), nullptr);
  SqlDatabase database(file.string(), opened);
  if (code != SQLITE_OK) return sql_error(database.file_, code, sqlite3_errstr(code));
  sqlite3_extended_result_codes(opened, 1);
  sqlite3_busy_timeout(opened, busy_milliseconds);
  return database;
}

Result<void> SqlDatabase::execute(const char* sql) {
  const int code = sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return sql_error(file_, code, sqlite3_errmsg(database_.get()));
  return {};
}

Result<SqlStatement> SqlDatabase::prepare(std::string_view sql) const {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v2(database_.get(), sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  if (code != SQLITE_OK) return sql_error(file_, code, sqlite3_errmsg(database_.get()));
  return SqlStatement(database_.get(), file_, statement);
}

Result<std::int64_t> SqlDatabase::number(std::string_view sql) const {
  auto statement = prepare(sql);
  if (!statement) return tl::unexpected(statement.error());
  const auto row = statement->step();
  if (!row) return tl::unexpected(row.error());
  return *row ? statement->integer(0) : 0;
}

std::int64_t SqlDatabase::row() const {
  return sqlite3_last_insert_rowid(database_.get());
}

std::int64_t SqlDatabase::changed_rows() const {
  return sqlite3_changes(database_.get());
}

}  // namespace parity

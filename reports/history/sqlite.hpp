#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "harness/base/result.hpp"

struct sqlite3;
struct sqlite3_stmt;

// SQLite with errors as values. Private to the history.
namespace parity {

/// A prepared statement. Places are counted from 1 for what is bound and from 0 for columns, as SQLite does.
class SqlStatement {
 public:
  SqlStatement(sqlite3* database, std::string file, sqlite3_stmt* statement);

  template <class... T>
  SqlStatement& with(const T&... values) {
    rewind();
    int place = 0;
    (bind(++place, values), ...);
    return *this;
  }
  /// true: there is a row.
  Result<bool> step();
  /// The same for a statement without rows.
  Result<void> run();

  std::int64_t integer(int column) const;
  double number(int column) const;
  std::string text(int column) const;

 private:
  void rewind();
  void bind(int place, std::int64_t value);
  void bind(int place, double value);
  void bind(int place, std::string_view value);

  sqlite3* database_;
  std::string file_;
  std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement_;
};

/// A database file.
class SqlDatabase {
 public:
  /// `create`: an absent file is made. A file that may only be read is opened for that.
  static Result<SqlDatabase> open(const std::filesystem::path& file, bool create);

  Result<void> execute(const char* sql);
  Result<SqlStatement> prepare(std::string_view sql) const;
  /// The one number that a query gives.
  Result<std::int64_t> number(std::string_view sql) const;
  /// Of the last insertion.
  std::int64_t row() const;
  /// By the last statement that changes anything.
  std::int64_t changed_rows() const;

 private:
  SqlDatabase(std::string file, sqlite3* database);
  std::string file_;
  std::unique_ptr<sqlite3, int (*)(sqlite3*)> database_;
};

}  // namespace parity

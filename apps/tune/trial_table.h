// Rows of values under the names of fields: in order, and as a table or CSV.
#pragma once

#include <vector>

#include "tuner/view/trial_fields.h"

namespace tune {

using TableRows = std::vector<std::vector<Json>>;

/// Numbers by value, before text by its letters. What is missing or NaN comes last, whichever way
/// the rest is sorted.
bool sorts_before(const Json& a, const Json& b, bool descending);

/// For people and for spreadsheets: times are dates, with their zone.
/// `shown`: what a table has in the places of `rows`; empty: these themselves.
void print_as_table(const std::vector<TrialFields::Field>& columns, const TableRows& rows,
                    const TableRows& shown = {});
void print_as_csv(const std::vector<TrialFields::Field>& columns, const TableRows& rows);

}  // namespace tune
